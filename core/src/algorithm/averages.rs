//! The moving averages of [`LffWeights`](crate::loss::LffWeights) on the device of the losses, so that a step reads nothing.

use burn::tensor::{DType, Device, IndexingUpdateOp, Tensor};

use super::{StateReader, StateWriter};
use crate::error::{Result, positive, within};
use crate::loss::logits::below;
use crate::nn::checkpoint::CheckpointError;
use crate::numeric::matrix::{Matrix, indices};

/// A sample that was never visited; losses are at least 0.
const UNSEEN: f32 = -1.0;

/// The averages of both networks by training sample, in `f32`.
///
/// They lie by class, `[classes, most samples of a class]`, so that the largest of each class is that of a row.
#[derive(Debug, Clone)]
pub(super) struct Averages {
    alpha: f64,
    eps: f64,
    labels: Vec<usize>,
    /// The place of each sample.
    places: Vec<usize>,
    classes: usize,
    device: Device,
    biased: Tensor<2>,
    debiased: Tensor<2>,
}

impl Averages {
    /// Averages without any loss, with the settings of [`LffWeights::new`](crate::loss::LffWeights::new).
    ///
    /// # Errors
    /// `alpha` is not in 0..=1, or `eps` is not above 0.
    pub(super) fn new(labels: Vec<usize>, alpha: f64, eps: f64, device: &Device) -> Result<Self> {
        within("ema_alpha", alpha, 0.0, 1.0)?;
        positive("eps", eps)?;
        let classes = labels.iter().max().map_or(1, |label| label + 1);
        let mut counts = vec![0; classes];
        let mut within_class = |&label: &usize| {
            counts[label] += 1;
            counts[label] - 1
        };
        let ranks: Vec<usize> = labels.iter().map(&mut within_class).collect();
        let most = counts.into_iter().max().unwrap_or_default().max(1);
        let places = labels.iter().zip(ranks).map(|(label, rank)| label * most + rank).collect();
        let device = device.clone().inner();
        let unseen = Tensor::full([classes * most, 1], UNSEEN, (&device, DType::F32));
        Ok(Self { alpha, eps, labels, places, classes, device, biased: unseen.clone(), debiased: unseen })
    }

    /// Takes the losses `[n]` of a batch of training samples and returns their weights, `[n, 1]`: see
    /// [`LffWeights::update`](crate::loss::LffWeights::update).
    ///
    /// # Errors
    /// A sample is not in the training set.
    pub(super) fn update(
        &mut self,
        samples: &[usize],
        biased: Tensor<1>,
        debiased: Tensor<1>,
    ) -> Result<Tensor<2>> {
        below("samples", samples, self.labels.len())?;
        for visits in rounds(samples) {
            let rows = indices(&visits, &self.device);
            let places: Vec<usize> = visits.iter().map(|&at| self.places[samples[at]]).collect();
            let places = indices(&places, &self.device);
            for (values, losses) in [(&mut self.biased, &biased), (&mut self.debiased, &debiased)] {
                let losses: Tensor<2> = losses.clone().unsqueeze_dim(1);
                let losses = losses.cast(DType::F32).select(0, rows.clone());
                let before = values.clone().select(0, places.clone());
                let after = before.clone() * self.alpha + losses.clone() * (1.0 - self.alpha);
                let after = after.mask_where(before.clone().lower_elem(0.0), losses);
                // Exact, as a sum with the difference would not be.
                let cleared =
                    values.clone().select_assign(0, places.clone(), before.neg(), IndexingUpdateOp::Add);
                *values = cleared.select_assign(0, places.clone(), after, IndexingUpdateOp::Add);
            }
        }
        let labels: Vec<usize> = samples.iter().map(|&sample| self.labels[sample]).collect();
        let places: Vec<usize> = samples.iter().map(|&sample| self.places[sample]).collect();
        let (labels, places) = (indices(&labels, &self.device), indices(&places, &self.device));
        let relative = |values: &Tensor<2>| {
            let most = values.dims()[0] / self.classes;
            let largest = values.clone().reshape([self.classes, most]).max_dim(1);
            let largest = largest.select(0, labels.clone());
            let is_zero = largest.clone().lower_equal_elem(0.0);
            let share = values.clone().select(0, places.clone()) / largest.mask_fill(is_zero.clone(), 1.0);
            share.mask_fill(is_zero, 0.0)
        };
        let (b, d) = (relative(&self.biased), relative(&self.debiased));
        Ok(b.clone() / (b + d + self.eps))
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        let places = indices(&self.places, &self.device);
        state.tensor(BIASED, self.biased.clone().select(0, places.clone()));
        state.tensor(DEBIASED, self.debiased.clone().select(0, places));
    }

    pub(super) fn restore(&mut self, state: &mut StateReader) -> std::result::Result<(), CheckpointError> {
        let like = Tensor::zeros([self.labels.len(), 1], (&self.device, DType::F32));
        // Older states hold bits of `f64`.
        let bits: Option<[Vec<Option<u64>>; 2]> = state.value("averages")?;
        let [biased, debiased] = match bits {
            None => [state.tensor(BIASED, &like)?, state.tensor(DEBIASED, &like)?],
            Some(bits) => bits.map(|bits| {
                let value = |bits: Option<u64>| bits.map_or(f64::from(UNSEEN), f64::from_bits);
                let mut values: Vec<f64> = bits.into_iter().map(value).collect();
                values.resize(self.labels.len(), f64::from(UNSEEN));
                Matrix::column(&values).to_tensor(&self.device, DType::F32)
            }),
        };
        for (values, stored) in [(&mut self.biased, biased), (&mut self.debiased, debiased)] {
            let places = indices(&self.places, &self.device);
            let unseen = values.zeros_like() + f64::from(UNSEEN);
            // An unseen place is -1, to which the stored value less -1 is added in two exact parts.
            let cleared = unseen.select_assign(0, places.clone(), stored.ones_like(), IndexingUpdateOp::Add);
            *values = cleared.select_assign(0, places, stored, IndexingUpdateOp::Add);
        }
        Ok(())
    }
}

const BIASED: &str = "averages.biased";
const DEBIASED: &str = "averages.debiased";

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
    use crate::loss::LffWeights;

    #[test]
    fn they_are_those_of_the_host_also_for_a_sample_that_comes_twice() {
        let labels = vec![0, 2, 2, 0, 1, 2, 0];
        let mut on_host = LffWeights::new(labels.clone(), 0.7, 1e-8).unwrap();
        let mut averages = Averages::new(labels, 0.7, 1e-8, &Device::flex()).unwrap();
        let batches = [vec![0, 4, 2], vec![2, 2, 6], vec![5, 1, 2, 0, 0], vec![3, 6]];
        for (step, samples) in batches.iter().enumerate() {
            let losses = |of: usize| -> Vec<f64> {
                (0..samples.len()).map(|i| ((i * 7 + step * 3 + of * 5) % 11) as f64 / 4.0).collect()
            };
            let place = |values: &[f64]| {
                let data = TensorData::new(values.to_vec(), [values.len()]);
                Tensor::<1>::from_data(data, (&Device::flex(), DType::F32))
            };
            let expected = on_host.update(samples, &losses(0), &losses(1)).unwrap();
            let found = averages.update(samples, place(&losses(0)), place(&losses(1))).unwrap();
            for (found, expected) in found.into_data().iter::<f64>().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "step {step}: {found} {expected}");
            }
        }
        assert!(
            averages
                .update(&[7], Tensor::zeros([1], &Device::flex()), Tensor::zeros([1], &Device::flex()))
                .is_err()
        );
    }
}
