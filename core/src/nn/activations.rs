//! The memory that a network's forward pass keeps, which each design computes from its settings.

/// Numbers of one image in a training step, in the float type of the images.
///
/// They count the numbers that the forward pass keeps for the backward pass: the image, the input of each layer, and the values
/// before and after each normalisation or activation. A convolution with batch norm thus keeps `2 c h w` numbers for
/// maps of `c` channels and `h × w` places. Temporary buffers are not counted.
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
    /// kept before and after its normalisation, beside the image, the pooled maps with their sources, and the features.
    #[test]
    fn networks_keep_what_their_layers_compute() {
        let counts = |name: Architecture, input_size: usize| {
            let activations = EncoderConfig { name, input_size, ..EncoderConfig::default() }.activations();
            (activations.kept, activations.largest)
        };
        let (image, pooled, stem) = (3 * 224 * 224, 64 * 56 * 56, 64 * 112 * 112);
        let residual =
            |convolutions: u64, features: u64| (2 * convolutions + image + 2 * pooled + features, stem);
        assert_eq!(counts(Architecture::ResNet18, 224), residual(2_483_712, 512));
        assert_eq!(counts(Architecture::ResNet34, 224), residual(3_738_112, 512));
        assert_eq!(counts(Architecture::ResNet50, 224), residual(11_113_984, 2048));
        assert_eq!(counts(Architecture::ResNet101, 224), residual(16_231_936, 2048));
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
}
