//! The network of LfF's Colored MNIST: three layers of 100 features, each with ReLU, on the raw pixels (Nam et al.,
//! *Learning from Failure*, 2020).

use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};

use super::activations::Activations;
use super::design::{Design, Settings, Shapes, check_flat_side};
use super::initial::InitialValues;
use super::layers::Linear;
use super::norm_steps::{Flow, Segment, Segments, Step};
use super::operations::Operation;
use super::work::{Layers, Work};

/// Number of features, of every layer.
const EMBEDDING_SIZE: usize = 100;
const LAYERS: usize = 3;

/// The network; tensor names are `layers.0.weight`, `layers.0.bias`, ...
#[derive(Module, Debug)]
pub struct Mlp {
    layers: Vec<Linear>,
}

impl Mlp {
    /// A network for images of this many values.
    pub fn new(values: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let inputs = std::iter::once(values).chain(std::iter::repeat(EMBEDDING_SIZE)).take(LAYERS);
        Self { layers: inputs.map(|inputs| Linear::new(inputs, EMBEDDING_SIZE, device, initial)).collect() }
    }

    /// `[n, channels, h, w]` to `[n, 100]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        self.layers.iter().fold(images.flatten(1, 3), |hidden, layer| relu(layer.forward(hidden)))
    }

    /// One segment: it has no batch norm.
    fn segments(&self) -> Vec<Segment<'_>> {
        vec![vec![Step::of(|flow| Flow::from_rows(self.forward(flow.maps)))]]
    }
}

/// The design of [`Mlp`].
pub(crate) struct MlpDesign;

impl Design for MlpDesign {
    type Network = Mlp;
    const NAME: &'static str = "mlp";
    const TITLE: &'static str = "three layers of 100 features on the raw pixels, of LfF";
    const PYTORCH: &'static str = include_str!("mlp.py");
    const SEGMENTS: Option<Segments<Self::Network>> = Some(Mlp::segments);

    fn features(_settings: &Settings) -> usize {
        EMBEDDING_SIZE
    }

    fn init(settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> Mlp {
        Mlp::new(settings.channels * settings.side * settings.side, device, initial)
    }

    fn min_parameters(settings: &Settings) -> u64 {
        let [side, channels] = [settings.side, settings.channels].map(|number| number as u64);
        channels * side * side * EMBEDDING_SIZE as u64
    }

    fn activations(settings: &Settings) -> Activations {
        // Before and after each activation.
        Activations::from_image(settings.channels, settings.side).and(2 * LAYERS as u64, EMBEDDING_SIZE)
    }

    fn work(settings: &Settings) -> Work {
        let image = Layers::from_maps(settings.channels, settings.side);
        (0..LAYERS).fold(image, |hidden, _| hidden.linear(EMBEDDING_SIZE).activated()).work
    }

    fn operations(_settings: &Settings) -> Vec<Operation> {
        let layers = (0..LAYERS).flat_map(|at| [Operation::linear(format!("layers.{at}")), Operation::Relu]);
        [Operation::Flatten].into_iter().chain(layers).collect()
    }

    fn recognises(shapes: &Shapes<'_>) -> bool {
        matches!(shapes.get("layers.0.weight"), Some([_, _]))
    }

    fn check_side(side: usize) -> Result<(), String> {
        check_flat_side(side, Self::NAME)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::module::Module as _;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::nn::{Architecture, EncoderConfig};

    #[test]
    fn it_has_lffs_layers() {
        let config = EncoderConfig { name: Architecture::Mlp, input_size: 28, ..EncoderConfig::default() };
        let network = config.init(&Device::flex(), &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        assert_eq!(network.num_params(), (3 * 784 + 1) * 100 + 2 * 101 * 100);
        assert_eq!(network.forward(Tensor::ones([2, 3, 28, 28], &Device::flex())).dims(), [2, 100]);
        let large = EncoderConfig { input_size: 1024, ..config };
        assert!(large.validate().unwrap_err().to_string().contains("encoder.input_size"));
    }
}
