//! A variational autoencoder.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings};
use super::state::TRAINED;
use super::workload::{Network, StepContext, Workload};
use super::{Algorithm, ModelConfig, StateReader, StateWriter, Views};
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::{Objective, Vae};
use crate::nn::checkpoint::CheckpointError;
use crate::nn::vae::VaeDecoder;
use crate::nn::{Encoder, EncoderConfig, Model};
use crate::optim::Optimizer;

/// A variational autoencoder, encoder and decoder.
///
/// It is trained on its own; its code is a prior for
/// [`KernelDecoupledUniformity`](crate::loss::KernelDecoupledUniformity).
///
/// A step encodes view a, draws a code by `mean + e^{log_variance / 2} noise`, decodes it, and descends the loss of
/// [`Vae`]; view b is not used. The noise of a step follows from the seed and the number of the step. The encoder
/// must be one with a code, `vae`; its head is not trained.
#[derive(Debug)]
pub struct VariationalAutoencoder {
    trained: TrainedNetworks,
    objective: Vae,
    seed: u64,
    steps: u64,
}

#[derive(Module, Debug)]
struct TrainedNetworks {
    model: Model,
    decoder: VaeDecoder,
}

impl VariationalAutoencoder {
    /// Both networks, randomly initialised.
    ///
    /// # Errors
    /// A setting is out of range, or the encoder has no code.
    pub fn new(network: &ModelConfig, objective: Vae, device: &Device, rng: &mut impl Rng) -> Result<Self> {
        objective.check()?;
        let model = network.init(device, rng)?;
        if !matches!(model.encoder, Encoder::Vae(_)) {
            let name = network.encoder.name.name();
            return Err(Error::parameter("encoder.name", name, "expected `vae` for the method `vae`"));
        }
        let (channels, side) = (network.encoder.channels, network.encoder.input_size);
        let latents = network.encoder.embedding_size();
        let decoder = VaeDecoder::new(channels, side, latents, &device.clone().autodiff(), rng);
        let (trained, seed) = (TrainedNetworks { model, decoder }, rng.next_u64());
        Ok(Self { trained, objective, seed, steps: 0 })
    }
}

impl Algorithm for VariationalAutoencoder {
    fn name(&self) -> &'static str {
        "vae"
    }

    fn model(&self) -> &Model {
        &self.trained.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let Encoder::Vae(encoder) = &self.trained.model.encoder else {
            return Err(Error::parameter("encoder.name", "another", "expected `vae` for the method `vae`"));
        };
        let (mean, log_variance) = encoder.posterior(views.a.clone());
        let noise = passes::normal_numbers((self.seed, self.steps), mean.dims(), &mean.device());
        let codes = mean.clone() + (log_variance.clone() * 0.5).exp() * noise;
        let batch = context
            .with_tensor("images", views.a.clone().flatten(1, 3))
            .with_tensor("reconstruction", self.trained.decoder.forward(codes).flatten(1, 3))
            .with_tensor("mean", mean)
            .with_tensor("log_variance", log_variance);
        loss::loss(&self.objective, &batch)
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

/// The settings of [`VariationalAutoencoder`]: none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaeSettings {}

impl AlgorithmSettings for VaeSettings {
    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[["{}", "vae", "vae"]]
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let objective = context.objective.parse()?;
        Ok(Box::new(VariationalAutoencoder::new(context.network, objective, context.device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let encoder = &step.network_config.encoder;
        let EncoderConfig { channels, input_size, .. } = *encoder;
        let work = VaeDecoder::work(channels, input_size, encoder.embedding_size());
        let decoder = Network::alone(VaeDecoder::activations(channels, input_size), work);
        let mut workload = step.base();
        workload.add_training_pass(step.samples, &step.network);
        workload.add_training_pass(step.samples, &decoder);
        workload
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, network, rng, train};
    use super::*;
    use crate::nn::{Architecture, EncoderConfig};

    #[test]
    fn images_are_rebuilt_better_and_better() {
        let encoder = EncoderConfig { name: Architecture::Vae, output: Some(8), ..EncoderConfig::default() };
        let network = ModelConfig { encoder, ..network(3) };
        let algorithm = VariationalAutoencoder::new(&network, Vae::default(), &Device::flex(), &mut rng(2));
        assert!(falls(&train(&mut algorithm.unwrap(), &Batch::default(), 4)));
    }

    #[test]
    fn an_encoder_without_a_code_is_named() {
        let refusal = VariationalAutoencoder::new(&network(3), Vae::default(), &Device::flex(), &mut rng(2));
        let error = refusal.unwrap_err().to_string();
        assert!(error.contains("encoder.name") && error.contains("lenet5"), "{error}");
    }
}
