//! The moving averages of losses that give the released weights of learning from failure.

use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor};

use crate::error::{Error, Result, positive, within};
use crate::loss::logits::below;
use crate::numeric::matrix::indices;

/// The average of a sample that was never visited; losses are at least 0.
pub(super) const UNSEEN: f64 = -1.0;

/// Most entries of the table of averages: 1 GiB in `f32`.
const MOST_ENTRIES: usize = 1 << 28;

/// The released weights of [LfF](crate::loss::Lff): moving averages of both networks' losses, by training sample.
///
/// ```text
/// m_i <- CE_i at the first visit of sample i,  alpha m_i + (1 - alpha) CE_i at each later one
/// W_i = b_i / ( b_i + d_i + eps ),   b_i, d_i = m_i / max over the class of i of m      (of each network)
/// ```
///
/// Nam et al., *Learning from Failure: Training Debiased Classifier from Biased Classifier* (2020), in the released code. The
/// averages lie on the device of the losses, so that a step of training reads nothing from it.
#[derive(Debug, Clone)]
pub struct LossAverages {
    alpha: f64,
    eps: f64,
    labels: Vec<usize>,
    classes: usize,
    /// The slot of each sample in the tables below.
    slots: Vec<usize>,
    /// The sample at each slot, or their number where there is none.
    samples: Tensor<1, Int>,
    /// `[classes x most samples of a class, 1]`, so that the largest of a class is that of a row.
    biased: Tensor<2>,
    debiased: Tensor<2>,
}

impl LossAverages {
    /// Initial averages, without any loss, for training samples of the given classes; `alpha` (0.7 as released) is
    /// the fraction that an average keeps at each visit, `eps` (1e-8) is added to the denominator of the weights. The
    /// averages are kept in `dtype` on `device`.
    ///
    /// # Errors
    /// `alpha` is not in 0..=1, `eps` is not above 0, or classes times the samples of the largest one exceed 2^28.
    pub fn new(labels: Vec<usize>, alpha: f64, eps: f64, (device, dtype): (&Device, DType)) -> Result<Self> {
        within("ema_alpha", alpha, 0.0, 1.0)?;
        positive("eps", eps)?;
        let classes = labels.iter().max().map_or(1, |label| label.saturating_add(1));
        let most = most_of_a_class(&labels);
        let entries = classes.checked_mul(most).filter(|&entries| entries <= MOST_ENTRIES);
        let entries = entries.ok_or_else(|| {
            let reason = "expected classes, integers from 0 without gaps, of similar sizes: averages are kept for as many \
                          samples of each class as the largest one has";
            Error::parameter("labels", classes - 1, reason)
        })?;
        let mut counts = vec![0; classes];
        let mut samples = vec![labels.len(); entries];
        let mut slots = Vec::with_capacity(labels.len());
        for (sample, &label) in labels.iter().enumerate() {
            let slot = label * most + counts[label];
            counts[label] += 1;
            samples[slot] = sample;
            slots.push(slot);
        }
        let device = &device.clone().inner();
        let unseen = Tensor::full([entries, 1], UNSEEN, (device, dtype));
        let samples = indices(&samples, device);
        Ok(Self { alpha, eps, labels, classes, slots, samples, biased: unseen.clone(), debiased: unseen })
    }

    /// Updates the averages with the cross-entropies `[n]` of a batch of training `samples`, and returns a weight for
    /// each of them, `[n, 1]`, in their order.
    ///
    /// The largest average of a class is that over all of its training samples, however old; one that was never
    /// visited counts as 0. A sample that comes twice in the batch is visited twice, in order.
    ///
    /// # Errors
    /// A sample is not in the training set, or the batch and its losses differ in length.
    pub fn update(&mut self, samples: &[usize], biased: Tensor<1>, debiased: Tensor<1>) -> Result<Tensor<2>> {
        below("samples", samples, self.labels.len())?;
        let counts = [biased.dims()[0], debiased.dims()[0]];
        if counts != [samples.len(); 2] {
            let expected = format!("{} of each network", samples.len());
            return Err(Error::shape("losses", expected, format!("{} and {}", counts[0], counts[1])));
        }
        for visits in rounds(samples) {
            let slots: Vec<usize> = visits.iter().map(|&at| self.slots[samples[at]]).collect();
            let (rows, slots) = (self.indices(&visits), self.indices(&slots));
            for (averages, losses) in [(&mut self.biased, &biased), (&mut self.debiased, &debiased)] {
                let losses: Tensor<2> = losses.clone().without_autodiff().unsqueeze_dim(1);
                let losses = losses.cast(averages.dtype()).select(0, rows.clone());
                let before = averages.clone().select(0, slots.clone());
                let after = before.clone() * self.alpha + losses.clone() * (1.0 - self.alpha);
                let after = after.mask_where(before.lower_elem(0.0), losses);
                *averages = averages.clone().select_assign(0, slots.clone(), after, IndexingUpdateOp::Assign);
            }
        }
        let labels: Vec<usize> = samples.iter().map(|&sample| self.labels[sample]).collect();
        let slots: Vec<usize> = samples.iter().map(|&sample| self.slots[sample]).collect();
        let (labels, slots) = (self.indices(&labels), self.indices(&slots));
        let relative = |averages: &Tensor<2>| {
            let most = averages.dims()[0] / self.classes;
            let largest = averages.clone().reshape([self.classes, most]).max_dim(1);
            let largest = largest.select(0, labels.clone());
            let is_zero = largest.clone().lower_equal_elem(0.0);
            let share = averages.clone().select(0, slots.clone()) / largest.mask_fill(is_zero.clone(), 1.0);
            share.mask_fill(is_zero, 0.0)
        };
        let (b, d) = (relative(&self.biased), relative(&self.debiased));
        Ok(b.clone() / (b + d + self.eps))
    }

    /// The averages of the biased and of the debiased network, `[training samples, 1]` each; -1 for a sample that was
    /// never visited.
    pub fn averages(&self) -> [Tensor<2>; 2] {
        let slots = self.indices(&self.slots);
        [&self.biased, &self.debiased].map(|averages| averages.clone().select(0, slots.clone()))
    }

    /// Replaces the averages by those of [`averages`](Self::averages).
    ///
    /// # Errors
    /// There is not one for each training sample.
    pub(super) fn set_averages(&mut self, averages: [Tensor<2>; 2]) -> Result<()> {
        for (stored, own) in averages.into_iter().zip([&mut self.biased, &mut self.debiased]) {
            let expected = [self.labels.len(), 1];
            if stored.dims() != expected {
                let shape = format!("{:?}", stored.dims());
                return Err(Error::shape("averages", format!("{expected:?}"), shape));
            }
            let unseen = Tensor::full([1, 1], UNSEEN, (&own.device(), own.dtype()));
            let stored = stored.cast(own.dtype());
            *own = Tensor::cat(vec![stored, unseen], 0).select(0, self.samples.clone());
        }
        Ok(())
    }

    fn indices(&self, values: &[usize]) -> Tensor<1, Int> {
        indices(values, &self.biased.device())
    }
}

fn most_of_a_class(labels: &[usize]) -> usize {
    let mut counts = std::collections::HashMap::new();
    for label in labels {
        *counts.entry(label).or_insert(0) += 1;
    }
    counts.into_values().max().unwrap_or(1)
}

/// The visits of a batch in rounds in which no sample comes twice: the first visits, the second ones, and so on.
fn rounds(samples: &[usize]) -> Vec<Vec<usize>> {
    let mut visited = std::collections::HashMap::new();
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for (at, sample) in samples.iter().enumerate() {
        let round = visited.entry(sample).or_insert(0);
        if *round == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[*round].push(at);
        *round += 1;
    }
    rounds
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;

    const F64: DType = DType::F64;

    fn averages(labels: Vec<usize>, dtype: DType) -> LossAverages {
        LossAverages::new(labels, 0.7, 1e-8, (&Device::flex(), dtype)).unwrap()
    }

    fn losses(values: &[f64]) -> Tensor<1> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), (&Device::flex(), F64))
    }

    fn values(tensor: Tensor<2>) -> Vec<f64> {
        tensor.into_data().iter::<f64>().collect()
    }

    #[test]
    fn averages_start_at_the_first_loss_and_divide_by_the_largest_of_the_class() {
        let mut weights = averages(vec![0, 0, 1], F64);
        weights.update(&[0, 2], losses(&[2.0, 5.0]), losses(&[1.0, 5.0])).unwrap();
        let second = weights.update(&[0, 1], losses(&[1.0, 0.85]), losses(&[1.0, 1.0])).unwrap();
        let biased = values(weights.averages()[0].clone());
        assert!((biased[0] - 1.7).abs() < 1e-12);
        assert_eq!(biased[1], 0.85);
        assert!((values(second)[1] - 0.5 / 1.5).abs() < 1e-6);
        assert!(weights.update(&[3], losses(&[1.0]), losses(&[1.0])).is_err());
        assert!(weights.update(&[0], losses(&[1.0, 1.0]), losses(&[1.0])).is_err());
    }

    #[test]
    fn a_sample_that_comes_twice_is_visited_twice_also_in_single_precision() {
        let labels = vec![0, 2, 2, 0, 1, 2, 0];
        for dtype in [F64, DType::F32] {
            let (mut once, mut twice) = (averages(labels.clone(), dtype), averages(labels.clone(), dtype));
            once.update(&[2, 4], losses(&[0.5, 0.25]), losses(&[1.0, 2.0])).unwrap();
            once.update(&[2], losses(&[3.0]), losses(&[0.125])).unwrap();
            let weights = once.update(&[2], losses(&[1.5]), losses(&[0.75])).unwrap();
            twice.update(&[2, 4], losses(&[0.5, 0.25]), losses(&[1.0, 2.0])).unwrap();
            let both = twice.update(&[2, 2], losses(&[3.0, 1.5]), losses(&[0.125, 0.75])).unwrap();
            assert_eq!(values(both), [values(weights.clone()), values(weights)].concat());
        }
    }

    #[test]
    fn averages_that_are_stored_go_on_as_before() {
        let mut weights = averages(vec![0, 2, 2, 0, 1], DType::F32);
        weights.update(&[0, 2, 4], losses(&[0.3, 0.7, 0.1]), losses(&[0.9, 0.2, 0.4])).unwrap();
        let mut restored = averages(vec![0, 2, 2, 0, 1], DType::F32);
        restored.set_averages(weights.averages()).unwrap();
        let next = |weights: &mut LossAverages| {
            values(weights.update(&[1, 2], losses(&[0.6, 0.5]), losses(&[0.8, 0.3])).unwrap())
        };
        assert_eq!(next(&mut weights), next(&mut restored));
        assert!(restored.set_averages(averages(vec![0], DType::F32).averages()).is_err());
    }

    #[test]
    fn labels_that_are_no_classes_are_refused() {
        let of = |labels| LossAverages::new(labels, 0.7, 1e-8, (&Device::flex(), F64)).map(drop);
        for labels in [vec![0, usize::MAX], vec![0, 1 << 40]] {
            assert!(of(labels).unwrap_err().to_string().contains("without gaps"));
        }
    }
}
