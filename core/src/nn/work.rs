//! The arithmetic and the memory traffic of a network's forward pass, which each design computes from its settings.

/// The forward pass of one image.
///
/// Like torchvision and He et al., it counts the products of convolutions, linear layers and attention, but no additions of a bias,
/// normalisations, activations and pools. Every layer is assumed to read its input once and to write its output once:
///
/// ```text
/// convolution, linear, pool    reads its input, writes its output
/// normalisation in training    reads for the moments, reads again, writes
/// residual block               reads the identity
/// separate activation          reads, writes
/// ```
///
/// Caches, which save reads, and temporary buffers of a layer, which add some, are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Multiply-adds.
    pub multiply_adds: u64,
    /// Numbers that layers read and write for an image.
    pub traffic: u64,
    /// Weights of convolutions and linear layers, which are read once for all images of a pass.
    pub weights: u64,
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |all, Self { multiply_adds, traffic, weights }| Self {
            multiply_adds: all.multiply_adds + multiply_adds,
            traffic: all.traffic + traffic,
            weights: all.weights + weights,
        })
    }
}

/// The cost of layers so far, with the size of the maps after the last of them: `channels × side × side` numbers an image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layers {
    pub(super) channels: usize,
    side: usize,
    pub(super) work: Work,
}

/// The windows of a convolution or a pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) padding: usize,
}

impl Window {
    /// A window of one place.
    pub(super) const PLACE: Self = Self { kernel: 1, stride: 1, padding: 0 };

    /// The side of the output for maps of `side`.
    pub(super) fn after(self, side: usize) -> usize {
        (side + 2 * self.padding).saturating_sub(self.kernel) / self.stride + 1
    }
}

impl Layers {
    /// No layers yet, on an image.
    pub(super) fn from_maps(channels: usize, side: usize) -> Self {
        Self { channels, side, work: Work::default() }
    }

    /// No layers yet, on a row of numbers.
    pub(super) fn from_row(numbers: usize) -> Self {
        Self::from_maps(numbers, 1)
    }

    fn numbers(&self) -> u64 {
        (self.channels * self.side.pow(2)) as u64
    }

    /// Adds a layer that reads these maps and writes others.
    fn to_maps(mut self, channels: usize, side: usize) -> Self {
        let read = self.numbers();
        (self.channels, self.side) = (channels, side);
        self.work.traffic += read + self.numbers();
        self
    }

    /// Adds a convolution.
    pub(super) fn convolution(self, outputs: usize, window: Window) -> Self {
        let weights = (self.channels * outputs * window.kernel.pow(2)) as u64;
        let mut after = self.to_maps(outputs, window.after(self.side));
        after.work.multiply_adds += weights * (after.side.pow(2)) as u64;
        after.work.weights += weights;
        after
    }

    /// Adds a transposed convolution to maps of `side`.
    pub(super) fn transposed(self, outputs: usize, kernel: usize, side: usize) -> Self {
        let weights = (self.channels * outputs * kernel.pow(2)) as u64;
        let mut after = self.to_maps(outputs, side);
        after.work.multiply_adds += weights * (self.side.pow(2)) as u64;
        after.work.weights += weights;
        after
    }

    /// Adds a batch norm, with the activation that is fused with it.
    pub(super) fn normalised(mut self) -> Self {
        self.work.traffic += 3 * self.numbers();
        self
    }

    /// Adds a separate activation.
    pub(super) fn activated(self) -> Self {
        self.to_maps(self.channels, self.side)
    }

    /// Adds the read of an identity of this size, which is added during the normalisation.
    pub(super) fn added(mut self) -> Self {
        self.work.traffic += self.numbers();
        self
    }

    /// Adds a pool.
    pub(super) fn pool(self, window: Window) -> Self {
        self.to_maps(self.channels, window.after(self.side))
    }

    /// Adds the mean of each map.
    pub(super) fn averaged(self) -> Self {
        self.to_maps(self.channels, 1)
    }

    /// Adds an upsampling by 2, which writes every place four times.
    pub(super) fn doubled(self) -> Self {
        self.to_maps(self.channels, 2 * self.side)
    }

    /// Adds a linear layer of all maps.
    pub(super) fn linear(self, outputs: usize) -> Self {
        let weights = self.numbers() * outputs as u64;
        let mut after = self.to_maps(outputs, 1);
        after.work.multiply_adds += weights;
        after.work.weights += weights;
        after
    }

    /// Begins a branch at these maps.
    pub(super) fn branch(&self) -> Self {
        Self::from_maps(self.channels, self.side)
    }

    /// Adds the layers of another branch.
    pub(super) fn beside(mut self, branch: Self) -> Self {
        self.work = [self.work, branch.work].into_iter().sum();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Work;
    use crate::nn::{Architecture, EncoderConfig};

    fn work(name: Architecture, input_size: usize, output: Option<usize>) -> Work {
        EncoderConfig { name, input_size, output, ..EncoderConfig::default() }.work()
    }

    /// torchvision's documentation gives 1.81, 3.66, 4.09 and 7.80 billion for `ResNet18_Weights`, `ResNet34_Weights` and so on, with
    /// the classifier of 1000 classes, and 11.69, 21.80, 25.56 and 44.55 million parameters, of which those of normalisations and the
    /// bias are not counted here.
    #[test]
    fn residual_networks_multiply_as_often_as_published() {
        use Architecture::{ResNet18, ResNet34, ResNet50, ResNet101};
        for (name, products, parameters, channels) in [
            (ResNet18, 1_814_073_344, 11_689_512, 4800),
            (ResNet34, 3_663_761_408, 21_797_672, 8512),
            (ResNet50, 4_089_184_256, 25_557_032, 26_560),
            (ResNet101, 7_801_405_440, 44_549_160, 52_672),
        ] {
            let work = work(name, 224, Some(1000));
            assert_eq!(work.multiply_adds, products, "{}", name.name());
            assert_eq!(work.weights + 2 * channels + 1000, parameters, "{}", name.name());
        }
    }

    /// Chen et al., *A Simple Framework for Contrastive Learning of Visual Representations*, 2020, table 6 gives 24, 94 and 375 million
    /// parameters for ResNet-50 of one, two and four times the width.
    #[test]
    fn wide_networks_have_the_parameters_of_simclrs() {
        for (width, millions) in [(None, 24), (Some(64), 24), (Some(128), 94), (Some(256), 375)] {
            let name = Architecture::ResNet50;
            let config = EncoderConfig { name, input_size: 224, width, ..EncoderConfig::default() };
            let channels = 26_560 * width.unwrap_or(64) as u64 / 64;
            assert_eq!((config.work().weights + 2 * channels + 500_000) / 1_000_000, millions, "{width:?}");
        }
    }

    /// torchvision's documentation gives 17.56 billion and 86,567,656 parameters for `ViT_B_16_Weights` with the classifier of 1000
    /// classes; DeiT's paper, table 5, 4.6 billion and 22 million for its small network, of which timm counts 22,050,664.
    #[test]
    fn vision_transformers_multiply_as_often_as_published() {
        for (name, products, parameters, width) in [
            (Architecture::VitS16, 4_602_000_000_u64, 22_050_664, 384),
            (Architecture::VitB16, 17_560_000_000, 86_567_656, 768),
        ] {
            let (work, classes) = (work(name, 224, None), 1000);
            let all = work.multiply_adds + classes * width;
            assert!(all.abs_diff(products) * 1000 < products, "{}: {all}", name.name());
            // Biases and norms of a block, class token, positions, bias of the patches, last norm, bias of the classifier.
            let others = 12 * (3 + 1 + 4 + 1 + 4) * width + (1 + 197 + 1 + 2) * width + classes;
            assert_eq!(work.weights + classes * width + others, parameters, "{}", name.name());
        }
    }

    /// The image is read once. Each layer's maps are written once and read once, except that the last ones are not read.
    #[test]
    fn the_layers_of_lenet_are_counted_by_hand() {
        let products = 28 * 28 * 6 * 75 + 10 * 10 * 16 * 150 + 120 * 400 + 84 * 120;
        let weights = 6 * 75 + 16 * 150 + 120 * 400 + 84 * 120;
        let maps = [3 * 32 * 32, 6 * 28 * 28, 6 * 14 * 14, 16 * 10 * 10, 16 * 5 * 5, 120, 120];
        let traffic = 2 * maps.iter().sum::<u64>() - maps[0] + 84;
        assert_eq!(work(Architecture::LeNet5, 32, None), Work { multiply_adds: products, traffic, weights });
    }

    /// The formula counts the weights of the networks up to those of biases and normalisations, which are few.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn formulas_have_the_weights_of_their_networks() {
        use burn::module::Module;
        use burn::tensor::Device;

        use crate::nn::initial::Zeros;

        let narrow = [Architecture::ResNet18, Architecture::ResNet50].map(|name| (name, Some(24)));
        let all = Architecture::ALL.iter().map(|name| (*name, None));
        for (name, width) in all.chain(narrow) {
            let config = EncoderConfig { name, width, ..EncoderConfig::default() };
            let network = config.init(&Device::flex(), &mut Zeros).unwrap();
            let (counted, all) = (config.work().weights as f64, network.num_params() as f64);
            assert!(counted <= all && counted > 0.7 * all, "{}: {counted} of {all}", name.name());
        }
    }
}
