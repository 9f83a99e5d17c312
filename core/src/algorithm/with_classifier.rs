//! A contrastive objective with a classifier, trained jointly.

use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings, Meaning};
use super::state::TRAINED;
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, StateReader, StateWriter, Views};
use crate::error::{Error, Result, single};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::loss::{CrossEntropy, Objective};
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::optim::Optimizer;

/// True for an objective that has the cross-entropy of the classifier as a part.
pub(super) fn includes_cross_entropy(spec: &Spec) -> bool {
    spec.needs("logits")
}

/// A network whose embeddings are compared and whose head classifies: a contrastive objective on embeddings, with a jointly
/// trained classifier on the same embeddings.
///
/// ```text
/// L = contrast( embeddings of both views ) + ce_weight mean CE( head( embeddings of the images to classify ), their classes )
/// ```
///
/// This is the release of BiasCon (Hong and Yang, *Unbiased Classification through Bias-Contrastive and
/// Bias-Balanced Learning*, 2021): there is no projection head, the objective compares embeddings, and the
/// classifier is the network's head. The images to classify are a separate batch, drawn without weights and not
/// augmented ([`Views::to_classify`], 128 beside 64 pairs), with their classes `ce_labels`; if absent they are view
/// a of the batch, with `labels`. `ce_weight` is 0.01. The objective `biascon-total` includes the cross-entropy and
/// takes the scores as `logits`; for any other objective it is added here.
#[derive(Debug)]
pub struct WithClassifier {
    model: Model,
    objective: Box<dyn Objective>,
    ce_weight: f64,
}

impl WithClassifier {
    /// A randomly initialised network, whose head gives a score for each class. `ce_weight` is not used if the
    /// objective includes the cross-entropy, as `biascon-total` does.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        network: &ModelConfig,
        objective: Box<dyn Objective>,
        ce_weight: f64,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        Ok(Self { model: network.init(device, rng)?, objective, ce_weight })
    }
}

impl Algorithm for WithClassifier {
    fn name(&self) -> &'static str {
        "with-classifier"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let (images, classes) = images_to_classify(views, &context, self.name())?;
        let scores = passes::output(&self.model, images);
        let [a, b] = passes::embed(&self.model, views).split();
        let batch = context.with_tensor("view_a", a).with_tensor("view_b", b);
        if includes_cross_entropy(self.objective.spec()) {
            let batch = batch.with_tensor("logits", scores).with_indices("ce_labels", classes);
            return loss::loss(self.objective.as_ref(), &batch);
        }
        let entropy = cross_entropy(scores, classes)?;
        Ok(loss::loss(self.objective.as_ref(), &batch)? + entropy * self.ce_weight)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        passes::descend(&mut self.model, loss, optimizer, learning_rate)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.model);
        Ok(())
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.model = state.module(TRAINED, self.model.clone())?;
        Ok(())
    }
}

/// The images to classify, and their classes.
pub(super) fn images_to_classify(
    views: &Views,
    context: &Batch,
    algorithm: &str,
) -> Result<(Tensor<4>, Vec<usize>)> {
    let (images, name) = match &views.to_classify {
        Some(images) => (images, "ce_labels"),
        None => (&views.a, "labels"),
    };
    let classes = context.indices(algorithm, name, images.dims()[0])?.to_vec();
    Ok((images.clone(), classes))
}

/// The cross-entropy of scores.
pub(super) fn cross_entropy(scores: Tensor<2>, classes: Vec<usize>) -> Result<Tensor<1>> {
    let batch = Batch::default().with_tensor("logits", scores).with_indices("labels", classes);
    loss::loss(&CrossEntropy::default(), &batch)
}

/// The settings of [`WithClassifier`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WithClassifierSettings {
    /// Factor of its cross-entropy. Default: 0.01, as published; `biascon-total` sets its factor in the objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_weight: Option<f64>,
}

/// Published factor of the cross-entropy.
const CE_WEIGHT: f64 = 0.01;

impl AlgorithmSettings for WithClassifierSettings {
    fn meanings() -> &'static [Meaning] {
        &[("ce_weight", "Factor of the cross-entropy of the classifier, 0 or more; 0.01 by default.")]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[["{}", "biascon-total", "lenet5"], [r#"{"ce_weight": 0.5}"#, "contex", "lenet5"]]
    }

    fn check(&self, objective: &Spec, _steps: u64) -> Result<()> {
        let takes_weight = !includes_cross_entropy(objective);
        check_weight(self.ce_weight, takes_weight, "which has a `ce_weight` of its own; set that one")
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let (objective, weight) = (context.objective.build()?, self.ce_weight.unwrap_or(CE_WEIGHT));
        Ok(Box::new(WithClassifier::new(context.network, objective, weight, context.device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let pairs = step.pairs_of_embeddings(2 * step.samples, 2 * step.samples);
        let mut workload = Workload { pairs, ..step.base() };
        workload.add_training_pass(step.to_classify, &step.network);
        workload.add_training_pass(2 * step.samples, &step.network);
        workload
    }

    fn takes_images_to_classify(&self) -> bool {
        true
    }
}

/// Checks the factor of a jointly trained classifier; only some objectives take one.
pub(super) fn check_weight(ce_weight: Option<f64>, takes_weight: bool, otherwise: &str) -> Result<()> {
    match ce_weight {
        None => Ok(()),
        Some(weight) if takes_weight => single("method.ce_weight", weight).map(drop),
        Some(weight) => {
            let reason = format!("but not beside this objective, {otherwise}");
            Err(Error::parameter("method.ce_weight", weight, &reason))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, network, refusal, rng, train, views};
    use super::*;
    use crate::loss::{BiasCon, BiasConTotal, ConTeX};

    fn context() -> Batch {
        Batch::default()
            .with_indices("labels", vec![0, 1, 2, 0, 1, 2])
            .with_indices("bias", vec![0, 0, 1, 1, 0, 1])
    }

    fn algorithm(objective: Box<dyn Objective>) -> WithClassifier {
        WithClassifier::new(&network(3), objective, 0.01, &Device::flex(), &mut rng(5)).unwrap()
    }

    fn value(algorithm: &mut WithClassifier, views: &Views, context: Batch) -> f64 {
        algorithm.loss(views, context).unwrap().inner().into_scalar()
    }

    #[test]
    fn cross_entropy_beside_biascon_is_the_released_total() {
        let (mut contrasted, mut total) =
            (algorithm(Box::new(BiasCon::default())), algorithm(Box::new(BiasConTotal::default())));
        let (beside, views) = (views(4, 8).a, views(6, 3));
        let loss = value(&mut contrasted, &views, context());
        assert!((loss - value(&mut total, &views, context())).abs() < 1e-5);

        // A separate batch changes the cross-entropy and nothing else.
        let views = views.with_images_to_classify(beside.inner()).unwrap();
        let with = context().with_indices("ce_labels", vec![2, 2, 0, 1]);
        let other = value(&mut contrasted, &views, with.clone());
        assert!((other - value(&mut total, &views, with.clone())).abs() < 1e-5);
        assert!(other != loss && (other - loss).abs() < 0.02, "{other} {loss}");
        let mut none = algorithm(Box::new(BiasCon::default()));
        none.ce_weight = 0.0;
        let of_classes = (other - value(&mut none, &views, with)) / 0.01;
        assert!((0.5..2.0).contains(&of_classes), "of three classes, untrained: {of_classes}");
    }

    #[test]
    fn what_is_compared_is_the_embedding() {
        let views = views(6, 3);
        let mut algorithm = algorithm(Box::new(ConTeX::default()));
        algorithm.ce_weight = 0.0;
        let loss = value(&mut algorithm, &views, context());
        let of = |images: &Tensor<4>| algorithm.model.encoder.forward(images.clone());
        let batch = context().with_tensor("view_a", of(&views.a)).with_tensor("view_b", of(&views.b));
        let expected: f64 = loss::loss(&ConTeX::default(), &batch).unwrap().without_autodiff().into_scalar();
        assert!((loss - expected).abs() < 1e-5, "{loss} {expected}");
    }

    #[test]
    fn the_classifier_and_the_embedding_both_learn() {
        let mut algorithm = algorithm(Box::new(ConTeX::default()));
        let weights = |algorithm: &WithClassifier| {
            let of =
                |flat: crate::nn::checkpoint::Flat| flat.values.into_data().iter::<f32>().collect::<Vec<_>>();
            crate::nn::checkpoint::flattened("", &algorithm.model.head)
                .into_iter()
                .flat_map(of)
                .collect::<Vec<_>>()
        };
        let before = weights(&algorithm);
        assert!(falls(&train(&mut algorithm, &context(), 6)));
        assert_ne!(weights(&algorithm), before);
    }

    #[test]
    fn images_of_another_size_and_missing_classes_are_named() {
        let views = views(6, 3);
        let small = Tensor::zeros([4, 3, 16, 16], &Device::flex());
        assert!(views.clone().with_images_to_classify(small).unwrap_err().to_string().contains("classified"));
        let beside = Tensor::zeros([4, 3, 32, 32], &Device::flex());
        assert!(views.clone().with_plain(beside.clone()).unwrap_err().to_string().contains("plain"));
        let views = views.with_images_to_classify(beside).unwrap();
        let error = algorithm(Box::new(BiasCon::default())).loss(&views, context()).unwrap_err().to_string();
        assert!(error.contains("ce_labels"), "{error}");
    }

    #[test]
    fn a_factor_out_of_range_or_beside_a_factor_of_the_objective_is_named() {
        for (weight, objective) in [(-1.0, "contex"), (0.1, "biascon-total")] {
            let method = format!(r#"{{"name": "with-classifier", "ce_weight": {weight}}}"#);
            assert!(refusal(&method, objective).contains("method.ce_weight"), "{objective}");
        }
    }
}
