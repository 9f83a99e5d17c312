//! One network and one objective on two views: the case of most objectives.
//!
//! An objective that reads class scores gets one pass over view a only: its scores are `logits`, its embeddings
//! `view_a`, as the features that [`End`](crate::loss::End) compares. Every other objective gets the projections of
//! both views.

use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings};
use super::state::TRAINED;
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, StateReader, StateWriter, Views};
use crate::error::Result;
use crate::loss;
use crate::loss::Objective;
use crate::loss::batch::Batch;
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::optim::Optimizer;

/// One network and one objective. The objective gets the projections as `view_a` and `view_b`, those of view a also as
/// the class scores `logits`; one that conditions on the representation gets the encoder's embeddings as `z_a` and `z_b`.
/// An objective that reads class scores gets view a only: its scores as `logits`, its embeddings as `view_a`.
#[derive(Debug)]
pub struct Single {
    model: Model,
    objective: Box<dyn Objective>,
}

impl Single {
    /// A randomly initialised network.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        network: &ModelConfig,
        objective: Box<dyn Objective>,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        Ok(Self { model: network.init(device, rng)?, objective })
    }
}

impl Algorithm for Single {
    fn name(&self) -> &'static str {
        "single"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        if self.objective.spec().head.scores(1, 1).is_some() {
            let features = self.model.encoder.forward(views.a.clone());
            let scores = self.model.head.forward(features.clone());
            let batch = context.with_tensor("logits", scores).with_tensor("view_a", features);
            return loss::loss(self.objective.as_ref(), &batch);
        }
        let embeddings = passes::embed(&self.model, views);
        let [a, b] = embeddings.project(&self.model).split();
        let context =
            loss::with_representations(self.objective.as_ref(), context, || Ok(embeddings.split()))?;
        let batch =
            context.with_tensor("logits", a.clone()).with_tensor("view_a", a).with_tensor("view_b", b);
        loss::loss(self.objective.as_ref(), &batch)
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

/// The settings of [`Single`]: none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SingleSettings {}

impl AlgorithmSettings for SingleSettings {
    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[["{}", "nt-xent", "lenet5"], ["{}", "cross-entropy", "lenet5"]]
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let objective = context.objective.build()?;
        Ok(Box::new(Single::new(context.network, objective, context.device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let mut workload = Workload { pairs: step.pairs_of_views(), ..step.base() };
        workload.add_training_pass(step.views(), &step.network);
        workload
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::GradCache;
    use super::super::testing::{Recorder, falls, network, rng, train, views};
    use super::*;
    use crate::loss::spec::{Described, Spec};
    use crate::loss::{CrossEntropy, End, Evaluation, NtXent};
    use crate::numeric::matrix::Matrix;

    #[test]
    fn a_contrastive_and_a_supervised_objective_fall() {
        let labels = Batch::default().with_indices("labels", vec![0, 1, 2, 0, 1, 2]);
        let objectives: [Box<dyn Objective>; 2] =
            [Box::new(NtXent::default()), Box::new(CrossEntropy::default())];
        for objective in objectives {
            let mut algorithm = Single::new(&network(3), objective, &Device::flex(), &mut rng(1)).unwrap();
            assert!(falls(&train(&mut algorithm, &labels, 4)));
        }
    }

    #[test]
    fn an_objective_of_the_representation_gets_it_before_the_head_and_unless_a_condition_is_given() {
        let (views, network) = (views(6, 2), network(4));
        for [apart, chunked] in [[false, false], [true, false], [false, true]] {
            let recorder = Recorder::default();
            let (objective, device) = (Box::new(recorder.clone()), Device::flex());
            let mut algorithm: Box<dyn Algorithm> = match chunked {
                true => Box::new(GradCache::new(&network, objective, 4, &device, &mut rng(1)).unwrap()),
                false => Box::new(Single::new(&network, objective, &device, &mut rng(1)).unwrap()),
            };
            let views = views.clone().with_per_view_batch_norm(apart);
            let given = Matrix::from_fn(6, 3, |i, j| (i * j) as f64);
            algorithm.loss(&views, Batch::default()).unwrap();
            algorithm.loss(&views, Batch::default().with_condition("z", given.clone())).unwrap();

            let seen = recorder.batches.lock().unwrap();
            assert_eq!(seen[0].tensor("recorder", "view_a").unwrap().dims(), [6, 4]);
            for (name, images) in [("z_a", &views.a), ("z_b", &views.b)] {
                let embedding = seen[0].condition("recorder", name, 6).unwrap();
                let expected = algorithm.model().encoder.forward(images.clone()).without_autodiff();
                let expected = Matrix::from_data(&expected.into_data()).unwrap();
                assert_eq!(
                    (embedding.rows(), embedding.columns()),
                    (6, 84),
                    "{name} is the embedding of LeNet-5"
                );
                let pairs = embedding.data().iter().zip(expected.data());
                assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-5, "{name}");
            }
            assert!(!seen[0].has_condition("z"));
            assert_eq!(seen[1].condition("recorder", "z", 6).unwrap(), &given);
            assert!(!seen[1].has_condition("z_a"));
        }
    }

    /// An objective on class scores that the registry does not have.
    #[derive(Debug, Serialize)]
    struct Unregistered {}

    impl Described for Unregistered {
        const SPEC: Spec = Spec { name: "unregistered", ..CrossEntropy::SPEC };
    }

    impl Objective for Unregistered {
        fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
            assert_eq!(
                batch.tensor(self.name(), "view_a")?.dims(),
                [6, 84],
                "view_a is the embedding of LeNet-5"
            );
            assert!(batch.tracked("view_b").is_none());
            CrossEntropy::default().evaluate(batch)
        }
    }

    #[test]
    fn an_objective_of_ones_own_gets_the_class_scores_that_it_reads() {
        let labels = Batch::default().with_indices("labels", vec![0, 1, 2, 0, 1, 2]);
        let mut algorithm =
            Single::new(&network(3), Box::new(Unregistered {}), &Device::flex(), &mut rng(1)).unwrap();
        algorithm.loss(&views(6, 2), labels).unwrap();
    }

    #[test]
    fn a_classifier_sees_one_view_and_end_its_features() {
        let context = Batch::default()
            .with_indices("labels", vec![0, 1, 2, 0, 1, 2])
            .with_indices("bias", vec![0, 0, 1, 1, 0, 1]);
        let mut algorithm =
            Single::new(&network(3), Box::new(End::default()), &Device::flex(), &mut rng(1)).unwrap();
        let views = views(6, 2);
        let loss: f64 = algorithm.loss(&views, context.clone()).unwrap().inner().into_scalar();
        let other = Views { b: views.b.clone() * 0.0, ..views.clone() };
        assert_eq!(loss, algorithm.loss(&other, context.clone()).unwrap().inner().into_scalar::<f64>());

        let features = algorithm.model.encoder.forward(views.a.clone());
        let scores = algorithm.model.head.forward(features.clone());
        let of = |seen: Tensor<2>| -> f64 {
            let batch = context.clone().with_tensor("logits", scores.clone()).with_tensor("view_a", seen);
            loss::loss(&End::default(), &batch).unwrap().without_autodiff().into_scalar()
        };
        assert!((loss - of(features)).abs() < 1e-5);
        assert!((loss - of(scores.clone())).abs() > 1e-3);
    }
}
