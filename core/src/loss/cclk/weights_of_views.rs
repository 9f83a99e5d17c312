//! `W` of both views of a batch, on the host and on the device of the embeddings.

use std::iter;
use std::sync::Arc;

use burn::tensor::Tensor;

use super::settings::CclkSettings;
use crate::error::{Result, positive};
use crate::kernel::conditional::{Accuracy, ConditionWeights, DeviceWeights, SolvedCondition, WeightScheme};
use crate::loss::batch::{Batch, check_rows};
use crate::loss::condition::ConditionedByKernel;
use crate::loss::pairwise::{PairWeights, PairwiseLoss};
use crate::loss::views::{Direction, TwoViews};
use crate::numeric::matrix::check_values;

/// The largest difference of similarities at which the CPU takes terms relative to the largest possible one, and not to the largest of
/// their row: `SPAN` of `core/kernels/src/cpu/pairs/symmetric`.
const LONGEST_SPAN: f64 = 60.0;
/// The smallest sum of weights times exponentials whose reciprocal, over a temperature, is in `f32`.
const SMALLEST_SUM: f64 = 1e-36;
/// A row whose largest weight is above this has ten digits of its shares in `f32`.
const SMALLEST_LARGEST: f64 = 1e-20;

/// The conditions of each view, which stand in place of `z`.
const OF_EACH_VIEW: [&str; 2] = ["z_a", "z_b"];

/// True if a condition of a view is given, in any form.
fn has_condition_of_a_view(batch: &Batch) -> bool {
    OF_EACH_VIEW.into_iter().any(|name| batch.is_given(name))
}

impl CclkSettings {
    /// The weights of rows on a device, which are not read; with the Gram matrix of the variant. The kernel fits the rows.
    ///
    /// # Errors
    /// The kernel or `lambda` is out of range.
    fn weights_on_device(&self, z_a: Tensor<2>, z_b: Tensor<2>, like: &Tensor<2>) -> Result<WeightsOfViews> {
        self.kernel.check()?;
        positive("lambda", self.lambda)?;
        let diagonal = self.gram_diagonal();
        let of = |z: Tensor<2>| {
            DeviceWeights::from_rows(&self.kernel, z.cast(like.dtype()), self.lambda, diagonal)
        };
        Ok(WeightsOfViews { a: of(z_a), b: Some(of(z_b)), is_symmetric: true, accuracy: Accuracy::Unknown })
    }

    /// The weights of both views on the host, from `z`, or from `z_a` and `z_b`.
    fn weights_on_host(&self, batch: &Batch, objective: &str, samples: usize) -> Result<HostWeightsOfViews> {
        let of = |name| Ok(Arc::new(self.weights(batch.condition(objective, name, samples)?)?));
        // One of both is not enough, and is not passed over for `z`, nor for the solution, which is that of `z`.
        if has_condition_of_a_view(batch) {
            return Ok(HostWeightsOfViews { a: of("z_a")?, b: Some(of("z_b")?) });
        }
        match batch.solution(samples) {
            Some(SolvedCondition::Weights(both)) => Ok(HostWeightsOfViews { a: Arc::clone(both), b: None }),
            _ => Ok(HostWeightsOfViews { a: of("z")?, b: None }),
        }
    }

    /// The weights of both views on the device of the embeddings.
    pub(super) fn weights_of_views(
        &self,
        batch: &Batch,
        objective: &str,
        views: &TwoViews,
    ) -> Result<WeightsOfViews> {
        Ok(self.weights_on_host(batch, objective, views.size)?.on_device(&views.a.rows()))
    }

    /// The same for a loss that normalises each row of weights itself, in the normalised form. A row of very small weights is
    /// rescaled, so that neither they nor their products with exponentials leave `f32`.
    pub(super) fn weights_to_normalise(
        &self,
        batch: &Batch,
        objective: &str,
        views: &TwoViews,
    ) -> Result<WeightsOfViews> {
        let (on_host, like) = (self.weights_on_host(batch, objective, views.size)?, views.a.rows());
        let span = (2.0 / self.temperature).min(LONGEST_SPAN);
        let least = (SMALLEST_SUM * span.exp()).max(SMALLEST_LARGEST);
        Ok(match self.variant {
            WeightScheme::Normalised => on_host.rescaled_on_device(least, &like),
            _ => on_host.on_device(&like),
        })
    }

    /// The same from the representations `z_a` and `z_b`, else from the condition `z`, else from the views as they are given.
    /// Representations and views are solved for on the host if they lie in its memory, else on their device.
    pub(super) fn weights_of_representations(
        &self,
        batch: &Batch,
        objective: &str,
        views: &TwoViews,
    ) -> Result<WeightsOfViews> {
        let has_own = has_condition_of_a_view(batch);
        let is_on_host = OF_EACH_VIEW.into_iter().any(|name| batch.has_condition(name));
        // `weights_to_normalise` refuses a `z` that is not on the host.
        if is_on_host || (!has_own && batch.is_given("z")) {
            return self.weights_to_normalise(batch, objective, views);
        }
        let [a, b] = if has_own { OF_EACH_VIEW } else { ["view_a", "view_b"] };
        if let (Some(z_a), Some(z_b)) = (batch.in_memory(objective, a)?, batch.in_memory(objective, b)?) {
            check_values(a, &z_a)?;
            check_values(b, &z_b)?;
            let batch = batch.clone().with_condition("z_a", z_a).with_condition("z_b", z_b);
            return self.weights_to_normalise(&batch, objective, views);
        }
        let (z_a, z_b) = (batch.tensor(objective, a)?, batch.tensor(objective, b)?);
        for (name, z) in [(a, &z_a), (b, &z_b)] {
            self.kernel.fits_columns(z.dims()[1])?;
            check_rows(name, views.size, z.dims()[0])?;
        }
        self.weights_on_device(z_a, z_b, &views.a.rows())
    }
}

/// The weights of both views on the host.
struct HostWeightsOfViews {
    a: Arc<ConditionWeights>,
    /// Those of view b; none if both views share those of view a.
    b: Option<Arc<ConditionWeights>>,
}

impl HostWeightsOfViews {
    /// On the device of a tensor, in its type.
    fn on_device(&self, like: &Tensor<2>) -> WeightsOfViews {
        let of = |weights: &ConditionWeights| weights.on_device(&like.device(), like.dtype());
        let accuracy_a = self.a.accuracy();
        let accuracy = self.b.as_ref().map_or(accuracy_a, |b| accuracy_a.and(b.accuracy()));
        WeightsOfViews { a: of(&self.a), b: self.b.as_deref().map(of), is_symmetric: true, accuracy }
    }

    /// The same with rows [rescaled](ConditionWeights::rescaled) whose largest weight is below `least`.
    fn rescaled_on_device(self, least: f64, like: &Tensor<2>) -> WeightsOfViews {
        let rescaled = |weights: &Arc<ConditionWeights>| weights.rescaled(least).map(Arc::new);
        let (a, b) = (rescaled(&self.a), self.b.as_ref().and_then(rescaled));
        let is_symmetric = a.is_none() && b.is_none();
        let rescaled = Self { a: a.unwrap_or(self.a), b: b.or(self.b) };
        WeightsOfViews { is_symmetric, ..rescaled.on_device(like) }
    }
}

/// The weights of view a and view b on the device of the embeddings.
pub(super) struct WeightsOfViews {
    a: DeviceWeights,
    /// Those of view b; none if both views share those of view a.
    b: Option<DeviceWeights>,
    /// False if rows are rescaled.
    is_symmetric: bool,
    pub(super) accuracy: Accuracy,
}

impl WeightsOfViews {
    /// The stacked rows compared with themselves, with the weights of each pair.
    ///
    /// # Errors
    /// As [`TwoViews::compare_stacked`].
    pub(super) fn compare_stacked<'p>(
        &self,
        views: &TwoViews,
        batch: &Batch,
        temperature: f64,
    ) -> Result<PairwiseLoss<'p>> {
        Ok(views.compare_stacked(batch, temperature)?.with_weights(self.stacked()))
    }

    /// The weights of stacked rows among themselves: each anchor gives both views of a sample the same weight.
    fn stacked(&self) -> PairWeights {
        let view_weights: Vec<&DeviceWeights> = iter::once(&self.a).chain(&self.b).collect();
        match self.is_symmetric {
            true => DeviceWeights::pair_weights(&view_weights),
            false => DeviceWeights::pair_weights_of_rows(&view_weights),
        }
    }

    /// The weight of a sample's own pair, for each stacked anchor.
    pub(super) fn own_weights(&self) -> Tensor<1> {
        let of = |direction| self.of(direction).diagonal();
        Tensor::cat(vec![of(Direction::AToB), of(Direction::BToA)], 0).squeeze_dim(1)
    }

    /// The weights of the anchors of a direction.
    pub(super) fn of(&self, direction: Direction) -> &DeviceWeights {
        match direction {
            Direction::AToB => &self.a,
            Direction::BToA => self.b.as_ref().unwrap_or(&self.a),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::loss::finite_difference::random;

    /// On a GPU such a ridge, and such a bandwidth, gave weights without a meaning.
    #[test]
    fn a_number_out_of_range_is_refused_on_a_device_too() {
        let refusal = |settings: CclkSettings| {
            let weights = settings.weights_on_device(random(3, 2, 1), random(3, 2, 2), &random(3, 4, 3));
            weights.map(drop).unwrap_err().to_string()
        };
        for lambda in [-1.0, 0.0, f64::NAN] {
            let error = refusal(CclkSettings { lambda, ..CclkSettings::default() });
            assert!(error.starts_with(&format!("`lambda` is {lambda}, ")), "{error}");
        }
        let error = refusal(CclkSettings { kernel: Kernel::rbf(0.0), ..CclkSettings::default() });
        assert!(error.starts_with("`kernel.temp_z` is 0, "), "{error}");
    }
}
