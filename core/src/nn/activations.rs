//! The memory that a network's forward pass keeps, which each design computes from its settings.

/// Numbers of one image in a training step, in the float type of the images.
///
/// They count the numbers that the forward pass keeps for the backward pass: the image, the input of each layer, and the values
/// before and after each normalisation or activation. A convolution with batch norm thus keeps `2 c h w` numbers for
/// maps of `c` channels and `h × w` places, and that of a residual block's shortcut `c h w`: nothing reads its normalised maps
/// again. Temporary buffers are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activations {
    /// The count of numbers that are kept.
    pub kept: u64,
    /// The count of numbers in the largest tensor.
    pub largest: u64,
    /// The count of numbers at the beginning of each segment: the image, and the inputs of residual blocks or of layers.
    pub between: u64,
}

impl Activations {
    /// The image alone.
    pub(super) fn from_image(channels: usize, side: usize) -> Self {
        Self::default().and(1, channels * side * side).and_between(channels * side * side)
    }

    /// Adds `tensors` tensors of `numbers` numbers each.
    #[must_use]
    pub(super) fn and(self, tensors: u64, numbers: usize) -> Self {
        let numbers = numbers as u64;
        Self { kept: self.kept + tensors * numbers, largest: self.largest.max(numbers), ..self }
    }

    /// Begins a segment with an input of so many numbers.
    #[must_use]
    pub(super) fn and_between(self, numbers: usize) -> Self {
        Self { between: self.between + numbers as u64, ..self }
    }
}

#[cfg(test)]
mod tests {
    use crate::nn::{Architecture, EncoderConfig};

    /// The results of all convolutions of torchvision's networks of 18, 34, 50 and 101 layers at 224 pixels are 2.48, 3.74, 11.11
    /// and 16.23 million numbers (Radosavovic et al., *Designing Network Design Spaces*, 2020, count them as activations); each is
    /// kept before and, but for those of shortcuts, after its normalisation, beside the image, the pooled maps with their sources, and
    /// the features.
    #[test]
    fn networks_keep_what_their_layers_compute() {
        let counts = |name: Architecture, input_size: usize| {
            let activations = EncoderConfig { name, input_size, ..EncoderConfig::default() }.activations();
            (activations.kept, activations.largest)
        };
        let (image, pooled, stem) = (3 * 224 * 224, 64 * 56 * 56, 64 * 112 * 112);
        let basic = 128 * 28 * 28 + 256 * 14 * 14 + 512 * 7 * 7;
        let bottleneck = 256 * 56 * 56 + 512 * 28 * 28 + 1024 * 14 * 14 + 2048 * 7 * 7;
        let residual = |convolutions: u64, shortcuts: u64, features: u64| {
            (2 * convolutions - shortcuts + image + 2 * pooled + features, stem)
        };
        assert_eq!(counts(Architecture::ResNet18, 224), residual(2_483_712, basic, 512));
        assert_eq!(counts(Architecture::ResNet34, 224), residual(3_738_112, basic, 512));
        assert_eq!(counts(Architecture::ResNet50, 224), residual(11_113_984, bottleneck, 2048));
        assert_eq!(counts(Architecture::ResNet101, 224), residual(16_231_936, bottleneck, 2048));
        let maps = [3 * 32 * 32, 6 * 28 * 28, 6 * 14 * 14, 16 * 10 * 10, 16 * 5 * 5];
        let between = |name: Architecture, input_size: usize| {
            EncoderConfig { name, input_size, ..EncoderConfig::default() }.activations().between
        };
        // The image, and the input of each block and of the last pool.
        let blocks =
            [64 * 56 * 56, 3 * 256 * 56 * 56, 4 * 512 * 28 * 28, 6 * 1024 * 14 * 14, 3 * 2048 * 7 * 7];
        assert_eq!(between(Architecture::ResNet50, 224), image + blocks.iter().sum::<u64>());
        assert_eq!(between(Architecture::LeNet5, 32), 3 * 32 * 32);
        assert_eq!(
            counts(Architecture::LeNet5, 32),
            (maps.iter().sum::<u64>() + 400 + 120 + 84, 6 * 28 * 28)
        );
    }

    /// Of a convolution that is normalised, the maps before it and, if the next layer reads them, after it.
    #[test]
    fn networks_of_small_images_keep_what_their_gradients_read() {
        let kept =
            |name| EncoderConfig { name, input_size: 32, ..EncoderConfig::default() }.activations().kept;
        let pixels = 32 * 32;
        // Only the mean of the last maps is read.
        assert_eq!(kept(Architecture::SimpleConv), (3 + 2 * (16 + 32 + 64) + 128) * pixels);
        // The rectifier is an operation of its own, whose input and output are two more tensors.
        assert_eq!(kept(Architecture::SimpleConv1x1), (3 + 3 * (16 + 32 + 64) + 2 * 128) * pixels);
        // The first maps are not normalised; a leaky rectifier keeps signs, in a byte.
        let [first, second, third] = [64 * 16 * 16, 128 * 8 * 8, 256 * 4 * 4];
        let (activated, signs) = (first + second + third, (first + second + third) / 4);
        assert_eq!(kept(Architecture::Dcgan), 3 * pixels + activated + second + third + signs);
        let maps = 32 * 16 * 16 + 64 * 8 * 8 + 128 * 4 * 4 + 256 * 2 * 2;
        assert_eq!(kept(Architecture::Vae), 3 * pixels + 2 * maps + 2 * 128);
    }
}
