//! A generative adversarial network.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings};
use super::state::TRAINED;
use super::workload::{Network, StepContext, Workload};
use super::{Algorithm, ModelConfig, MovingAverage, StateReader, StateWriter, Views};
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::CrossEntropy;
use crate::loss::batch::Batch;
use crate::nn::checkpoint::CheckpointError;
use crate::nn::dcgan::{Generator, LATENTS};
use crate::nn::{Encoder, EncoderConfig, Model};
use crate::optim::Optimizer;

/// A generative adversarial network, discriminator and generator.
///
/// It is trained on its own; the features of its discriminator are a prior for
/// [`KernelDecoupledUniformity`](crate::loss::KernelDecoupledUniformity).
///
/// ```text
/// L_D = mean softplus( -D(x) ) + mean softplus( D(G(n)) )      x: images of view a, n: normal numbers
/// L_G = mean softplus( -D(G(n)) )                              the form that does not saturate
/// ```
///
/// Radford et al. (2016), after Goodfellow et al. (2014). `D` is the encoder, `dcgan`, with a head of one score; `L_D` and
/// `L_G` are the cross-entropies of two classes, generated and real, with the scores `0` and `D`. One step descends
/// both at once, each for its own network; usual code updates `D` first and computes `L_G` with the updated `D`.
/// Real and generated images pass through `D` separately, so that batch norm takes statistics of each. View b is
/// not used. Images must be normalised to −1..1, the range of `G`. The random numbers of a step follow from the
/// seed and the number of the step.
#[derive(Debug)]
pub struct Dcgan {
    trained: TrainedNetworks,
    seed: u64,
    steps: u64,
}

#[derive(Module, Debug)]
struct TrainedNetworks {
    model: Model,
    generator: Generator,
}

impl Dcgan {
    /// Both networks, randomly initialised.
    ///
    /// # Errors
    /// A setting is out of range, the encoder is no discriminator, or the head does not give exactly one score.
    pub fn new(network: &ModelConfig, device: &Device, rng: &mut impl Rng) -> Result<Self> {
        let model = network.init(device, rng)?;
        if !matches!(model.encoder, Encoder::Dcgan(_)) {
            let name = network.encoder.name.name();
            return Err(Error::parameter("encoder.name", name, "expected `dcgan` for the method `dcgan`"));
        }
        if network.head.output != 1 {
            return Err(Error::parameter(
                "head.output",
                network.head.output,
                "expected 1: one score, real or generated",
            ));
        }
        let (channels, side) = (network.encoder.channels, network.encoder.input_size);
        let generator = Generator::new(channels, side, &device.clone().autodiff(), rng);
        let (trained, seed) = (TrainedNetworks { model, generator }, rng.next_u64());
        Ok(Self { trained, seed, steps: 0 })
    }
}

/// The cross-entropy of the scores `[n, 1]` of images that are all real, or all generated.
fn cross_entropy(scores: Tensor<2>, is_true: bool) -> Result<Tensor<1>> {
    let rows = scores.dims()[0];
    let logits = Tensor::cat(vec![scores.clone().zeros_like(), scores], 1);
    let batch = Batch::default()
        .with_indices("labels", vec![usize::from(is_true); rows])
        .with_tensor("logits", logits);
    loss::loss(&CrossEntropy::default(), &batch)
}

impl Algorithm for Dcgan {
    fn name(&self) -> &'static str {
        "dcgan"
    }

    fn model(&self) -> &Model {
        &self.trained.model
    }

    fn loss(&mut self, views: &Views, _context: Batch) -> Result<Tensor<1>> {
        let images = views.a.clone();
        let dims = [views.samples(), LATENTS];
        let numbers = passes::normal_numbers((self.seed, self.steps), dims, &images.device());
        let TrainedNetworks { model, generator } = &self.trained;
        let generated = generator.forward(numbers);
        // The discriminator with fixed parameters: the generator's loss does not change it.
        let fixed = MovingAverage::target(model);
        let judged = fixed.head.forward(fixed.encoder.forward(generated.clone()));
        let true_scores = passes::output(model, images);
        let generated_scores = passes::output(model, generated.detach());
        Ok(cross_entropy(true_scores, true)?
            + cross_entropy(generated_scores, false)?
            + cross_entropy(judged, true)?)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        passes::descend(&mut self.trained, loss, optimizer, learning_rate)?;
        self.steps += 1;
        Ok(())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        state.value("drawn", &self.steps)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.trained = state.module(TRAINED, self.trained.clone())?;
        self.steps = state.value("drawn")?;
        Ok(())
    }
}

/// The settings of [`Dcgan`]: none. The objective separates real from generated images.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DcganSettings {}

impl AlgorithmSettings for DcganSettings {
    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[["{}", "cross-entropy", "dcgan"]]
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        Ok(Box::new(Dcgan::new(context.network, context.device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let EncoderConfig { channels, input_size, .. } = step.network_config.encoder;
        let work = Generator::work(channels, input_size);
        let generator = Network::alone(Generator::activations(channels, input_size), work);
        let mut workload = step.base();
        workload.add_training_pass(step.samples, &generator);
        (0..3).for_each(|_| workload.add_training_pass(step.samples, &step.network));
        workload
    }

    fn scores(&self, _objective: &str, _classes: usize, _bias_count: usize) -> Option<usize> {
        Some(1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{network, rng, views};
    use super::*;
    use crate::nn::{Architecture, EncoderConfig};
    use crate::optim::OptimizerConfig;
    use crate::optim::rules::Adam;

    fn adversaries() -> ModelConfig {
        let encoder = EncoderConfig { name: Architecture::Dcgan, input_size: 16, ..EncoderConfig::default() };
        ModelConfig { encoder, ..network(1) }
    }

    fn small(views: &Views) -> Views {
        let part = |view: &Tensor<4>| view.clone().inner().slice([0..6, 0..3, 0..16, 0..16]);
        Views::new(part(&views.a), part(&views.b)).unwrap()
    }

    #[test]
    fn the_loss_is_that_of_two_binary_classifiers() {
        let scores = Tensor::<2>::from_data([[0.5], [-1.0]], &Device::flex().autodiff());
        let softplus = |x: f64| (1.0 + x.exp()).ln();
        let loss = |is_true| cross_entropy(scores.clone(), is_true).unwrap().inner().into_scalar::<f64>();
        assert!((loss(true) - (softplus(-0.5) + softplus(1.0)) / 2.0).abs() < 1e-6);
        assert!((loss(false) - (softplus(0.5) + softplus(-1.0)) / 2.0).abs() < 1e-6);
    }

    /// The discriminator separates real from generated images, and the generator's parameters change.
    #[test]
    fn both_networks_learn() {
        let mut algorithm = Dcgan::new(&adversaries(), &Device::flex(), &mut rng(2)).unwrap();
        let adam = Adam { learning_rate: 1e-3, beta1: 0.5, ..Adam::default() };
        let mut optimizer = Optimizer::new(OptimizerConfig::Adam(adam)).unwrap();
        let views = small(&views(6, 7));
        let generated_images = |algorithm: &Dcgan| {
            let (step, dims) = ((algorithm.seed, algorithm.steps), [6, LATENTS]);
            let numbers = passes::normal_numbers(step, dims, &Device::flex()).inner();
            algorithm.trained.generator.valid().forward(numbers)
        };
        let before = generated_images(&algorithm);
        for _ in 0..12 {
            let loss = algorithm.loss(&views, Batch::default()).unwrap();
            assert!(loss.clone().inner().into_scalar::<f32>().is_finite());
            algorithm.descend(loss, &mut optimizer, 1e-3).unwrap();
        }
        let score = |images: Tensor<4>| {
            let model = &algorithm.trained.model;
            model.head.forward(model.encoder.forward(images.autodiff())).inner().mean().into_scalar::<f32>()
        };
        let (of_true, of_generated) = (score(views.a.clone().inner()), score(generated_images(&algorithm)));
        assert!(of_true > of_generated, "true images score {of_true}, made ones {of_generated}");
        algorithm.steps = 0;
        let moved = (generated_images(&algorithm) - before).abs().mean().into_scalar::<f32>();
        assert!(moved > 1e-3, "the generator stood still: {moved}");
    }

    #[test]
    fn networks_that_do_not_fit_are_named() {
        let algorithm = |network: &ModelConfig| Dcgan::new(network, &Device::flex(), &mut rng(2));
        let error = algorithm(&network(1)).unwrap_err().to_string();
        assert!(error.contains("encoder.name") && error.contains("lenet5"), "{error}");
        let error =
            algorithm(&ModelConfig { head: network(10).head, ..adversaries() }).unwrap_err().to_string();
        assert!(error.contains("head.output"), "{error}");
    }
}
