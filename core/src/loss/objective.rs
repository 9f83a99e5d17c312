//! An objective: maps a batch to a loss and its gradient.

use std::collections::BTreeMap;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::kernel::NoEffect;
use crate::kernel::conditional::Accuracy;
use crate::loss::batch::Batch;
use crate::loss::condition::ConditionedByKernel;
use crate::loss::spec::{Conditioning, Specified};
use crate::numeric::matrix::Matrix;
use crate::step_stage::StepStage;

/// The formula of an objective, where the paper and its released code differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The equation as printed.
    #[default]
    Paper,
    /// The code as released.
    Released,
}

/// A loss of a batch, with its gradient.
///
/// Its [`Spec`](crate::loss::spec::Spec) says its name, its inputs and the ranges of its parameters.
pub trait Objective: Specified + std::fmt::Debug + Send + Sync {
    /// The name in recipes and request files.
    fn name(&self) -> &'static str {
        self.spec().name
    }

    /// Checks the parameters: against their ranges, unless an objective has further conditions.
    ///
    /// # Errors
    /// The error names the parameter that is out of range.
    fn check(&self) -> Result<()> {
        self.check_ranges()
    }

    /// Reduces the output of a network trained with this objective, `[n, scores]`, to one score for each class, `[n, classes]`. By
    /// default the output is returned; domain-independent training has one block of scores for each domain and combines them.
    ///
    /// # Errors
    /// The number of columns is not that of such a network.
    fn class_scores(&self, scores: Matrix) -> Result<Matrix> {
        Ok(scores)
    }

    /// Its weights by a kernel of the condition, if it has such weights.
    fn conditioned_by_kernel(&self) -> Option<&dyn ConditionedByKernel> {
        None
    }

    /// True if the weights of the other samples are normalised to sum 1, so that only their ratios matter, however small they are.
    fn normalises_weights(&self) -> bool {
        false
    }

    /// A warning if the condition `z` of a batch, `[b, e]`, has no effect on the loss, such as one column of numbers of one sign under
    /// the kernel `cosine`: [`Kernel::warning`](crate::kernel::Kernel::warning), or
    /// [`Kernel::warning_if_normalised`](crate::kernel::Kernel::warning_if_normalised) if the objective normalises the weights. `None`
    /// for an objective without a kernel. One batch of a run is enough.
    ///
    /// It does not find a kernel so wide that all samples are nearly alike. `simile train` warns of that too, by
    /// [`Kernel::warning_of_first_batch`](crate::kernel::Kernel::warning_of_first_batch).
    fn warning(&self, z: &Matrix) -> Option<NoEffect> {
        let kernel = self.conditioned_by_kernel()?.kernel();
        kernel.fits(z).ok()?;
        match self.normalises_weights() {
            true => kernel.warning_if_normalised(z),
            false => kernel.warning(z),
        }
    }

    /// The loss of a batch and its gradient with respect to the inputs.
    ///
    /// # Errors
    /// An input is missing or has the wrong shape, or the objective is not defined on this batch.
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation>;
}

/// A loss with its gradient.
#[derive(Debug)]
pub struct Evaluation {
    /// The loss, `[1]`.
    pub loss: Tensor<1>,
    /// Gradients by the name of the input, in its shape, with respect to the input as given: to embeddings before they are
    /// normalised, unless the batch marks them as unit rows ([`Batch::with_unit_rows`]).
    pub gradients: BTreeMap<String, Tensor<2>>,
    /// Parts of the loss, weights and other intermediate results, by name. Those that cost work of their own are there only if [details
    /// are requested](Batch::with_details).
    pub aux: BTreeMap<String, Aux>,
}

/// An intermediate result.
#[derive(Debug, Clone)]
pub enum Aux {
    /// A number on the host.
    Number(f64),
    /// One number on the device.
    Scalar(Tensor<1>),
    /// One number for each sample or anchor.
    Vector(Tensor<1>),
    /// A matrix on the device.
    Tensor(Tensor<2>),
    /// A matrix on the host.
    Matrix(Matrix),
}

impl Evaluation {
    /// A loss without gradients.
    pub fn new(loss: Tensor<1>) -> Self {
        Self { loss, gradients: BTreeMap::new(), aux: BTreeMap::new() }
    }

    /// Adds a gradient.
    #[must_use]
    pub fn with_gradient(mut self, input: &str, gradient: Tensor<2>) -> Self {
        self.gradients.insert(input.into(), gradient);
        self
    }

    /// Adds intermediate results that cost work of their own, if details are requested. A training step reads none of them.
    ///
    /// # Errors
    /// Those of `add`.
    pub(crate) fn with_details(self, batch: &Batch, add: impl FnOnce(Self) -> Result<Self>) -> Result<Self> {
        if batch.is_detailed() { add(self) } else { Ok(self) }
    }

    /// Adds the two parts of the loss: `positive`, the contribution of the similarities of the positive pairs, and `negative`, the rest.
    #[must_use]
    pub(crate) fn with_parts(self, positive: Tensor<1>) -> Self {
        let negative = self.loss.clone() - positive.clone();
        self.with_aux("positive", Aux::Scalar(positive)).with_aux("negative", Aux::Scalar(negative))
    }

    /// Adds an intermediate result.
    #[must_use]
    pub fn with_aux(mut self, name: &str, value: Aux) -> Self {
        self.aux.insert(name.into(), value);
        self
    }

    /// Adds `approximation_error`, the bound of the error of the weights `W`, if it is known and they are not exact.
    #[must_use]
    pub(crate) fn with_accuracy(self, accuracy: Accuracy) -> Self {
        match accuracy.bound() {
            Some(error) => self.with_aux("approximation_error", Aux::Number(error)),
            None => self,
        }
    }
}

/// The loss of a batch as a node of Burn's autodiff graph: its value is that of the objective, and `backward`
/// passes the objective's gradient on to the code that computed the inputs.
///
/// # Errors
/// As [`Objective::evaluate`].
pub fn loss(objective: &dyn Objective, batch: &Batch) -> Result<Tensor<1>> {
    let _span = StepStage::Loss.enter();
    let Evaluation { loss, gradients, .. } = objective.evaluate(batch)?;
    let mut total = loss;
    for (name, gradient) in gradients {
        if let Some(input) = batch.tracked(&name).filter(|t| t.is_autodiff()) {
            // The inner product has the desired gradient; subtracting its own value leaves the value of the loss.
            let product = (input.clone() * gradient.autodiff()).sum();
            total = product.clone() - product.detach().inner() + total;
        }
    }
    Ok(total)
}

/// The batch with the representations of both views as `z_a` and `z_b`, without a gradient, if the objective conditions on
/// them and no other condition is given, in any form: on the host if they lie in its memory, else as tensors on their device.
/// `representations` are the encoder's embeddings, before the head and without normalisation; they are computed only in
/// this case.
///
/// # Errors
/// An error of `representations`, or its tensors do not have two dimensions.
pub fn with_representations(
    objective: &dyn Objective,
    batch: Batch,
    representations: impl FnOnce() -> Result<[Tensor<2>; 2]>,
) -> Result<Batch> {
    let is_given = ["z", "z_a", "z_b"].into_iter().any(|name| batch.is_given(name));
    if objective.spec().conditioning() != Conditioning::Representation || is_given {
        return Ok(batch);
    }
    let [a, b] = representations()?;
    let read = Batch::default().with_tensor("z_a", a).with_tensor("z_b", b);
    ["z_a", "z_b"].into_iter().try_fold(batch, |batch, name| {
        Ok(match read.in_memory(objective.name(), name)? {
            Some(rows) => batch.with_condition(name, rows),
            None => batch.with_tensor(name, read.tensor(objective.name(), name)?),
        })
    })
}

/// Evaluates a scalar function of tensors by autodiff, for objectives that are not a
/// [`PairwiseLoss`](crate::loss::pairwise::PairwiseLoss).
///
/// Returns the value and one gradient for each input; an input that the value does not depend on has gradient 0.
/// `value` must multiply by a reciprocal instead of dividing by a number, which Burn 0.22 differentiates in `f32`.
pub fn differentiate<const N: usize>(
    inputs: [Tensor<2>; N],
    value: impl FnOnce([Tensor<2>; N]) -> Tensor<1>,
) -> (Tensor<1>, [Tensor<2>; N]) {
    let leaves = inputs.map(|t| t.without_autodiff().autodiff().require_grad());
    let value = value(leaves.clone());
    let mut gradients = value.is_tracked().then(|| value.backward());
    let collected = leaves.map(|leaf| {
        let gradient = gradients.as_mut().and_then(|g| leaf.grad_remove(g));
        gradient.unwrap_or_else(|| leaf.zeros_like().inner())
    });
    (value.inner(), collected)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Error;
    use crate::kernel::Degeneracy;
    use crate::loss::build;
    use crate::loss::finite_difference::{random, read};

    /// A condition that was given as tensors was replaced.
    #[test]
    fn representations_replace_no_condition_in_any_form() {
        let objective = build("hardneg-cclk", None, json!({})).unwrap();
        let z = || random(4, 2, 3);
        for given in [
            Batch::default().with_condition("z", read(z())),
            Batch::default().with_tensor("z", z()),
            Batch::default().with_tensor("z_a", z()).with_tensor("z_b", z()),
        ] {
            let kept = with_representations(objective.as_ref(), given, || Err(Error::Stopped)).unwrap();
            assert!(!kept.has_condition("z_a"));
        }
        let added = with_representations(objective.as_ref(), Batch::default(), || Ok([z(), z()])).unwrap();
        assert!(added.has_condition("z_a") && added.has_condition("z_b"));
    }

    #[test]
    fn a_condition_without_an_effect_warns_as_the_form_weighs() {
        let warning = |name: &str, form: Option<&str>, params: serde_json::Value, z: &[f64]| {
            let objective = build(name, form, params).unwrap();
            objective.warning(&Matrix::column(z)).map(|no_effect| no_effect.degeneracy)
        };
        let ages = [20.0, 40.0, 61.0];
        assert_eq!(warning("fair-cclk", None, json!({}), &ages), Some(Degeneracy::OneSign));
        assert_eq!(warning("nt-xent", None, json!({}), &ages), None);
        // Kernel values near 1e-87 add nothing to a weight near 1, but among themselves they have shares.
        let narrow = || json!({ "kernel": { "name": "rbf", "sigma": 0.05 } });
        let of_form = |form| warning("fair-cclk", Some(form), narrow(), &[0.0, 1.0, 2.0]);
        assert_eq!((of_form("normalised"), of_form("paper")), (None, Some(Degeneracy::AllApart)));
    }
}
