//! The number of images in one forward pass of an evaluation. Nothing is kept for a gradient, but the maps of all images of a pass are
//! there at once, so that hundreds of large images would take more memory than the training steps that were checked.
//!
//! It follows from the network and the device alone, not from the free memory: a run gives the same bytes again.

use simile_core::nn::EncoderConfig;
use simile_kernels::DeviceMemory;

/// Most images of a pass: more are not faster.
const MOST: usize = 512;
/// Bytes of a pass, unless [`SHARE_OF_DEVICE`] is more.
const BUDGET: u64 = 512 << 20;
/// A pass may take this part of the memory of a GPU whose driver tells it.
const SHARE_OF_DEVICE: u64 = 16;
/// Tensors as large as the largest that are there at once: the input of a layer, its output, and an identity or a buffer beside them.
const LARGEST_AT_ONCE: u64 = 3;
/// Bytes of an `f32`.
const F32_BYTES: u64 = 4;

/// The number of images of a pass through a network, a power of two; `stored` is the bytes of an image before it is resized, and
/// `device` the memory of a GPU.
pub(crate) fn images_of_pass(encoder: &EncoderConfig, stored: usize, device: Option<DeviceMemory>) -> usize {
    let largest = F32_BYTES * encoder.activations().largest;
    let device_bytes = device.and_then(|device| device.all).map_or(0, |all| all / SHARE_OF_DEVICE);
    let by_budget = BUDGET.max(device_bytes) / (LARGEST_AT_ONCE * largest + stored as u64).max(1);
    let in_a_tensor = device.map_or(u64::MAX, |device| device.tensor / largest.max(1));
    let fitting = by_budget.min(in_a_tensor).clamp(1, MOST as u64) as usize;
    1 << fitting.ilog2()
}

#[cfg(test)]
mod tests {
    use simile_core::nn::Architecture;

    use super::*;

    fn images(name: Architecture, input_size: usize, device: Option<DeviceMemory>) -> usize {
        let encoder = EncoderConfig { name, input_size, ..EncoderConfig::default() };
        images_of_pass(&encoder, 3 * input_size.pow(2), device)
    }

    /// 512 images of 224 pixels took 3 GB after steps of 0.7 GB.
    #[test]
    fn a_pass_of_large_images_has_fewer() {
        assert_eq!(images(Architecture::LeNet5, 32, None), 512);
        assert_eq!(images(Architecture::ResNet18, 32, None), 512);
        assert_eq!(images(Architecture::ResNet18, 224, None), 32);
        assert_eq!(images(Architecture::ResNet50, 224, None), 32);
    }

    #[test]
    fn the_memory_of_a_gpu_and_its_largest_tensor_count() {
        let gpu = |all: Option<u64>, tensor: u64| Some(DeviceMemory { all, tensor });
        assert_eq!(images(Architecture::ResNet50, 224, gpu(Some(140 << 30), 100 << 30)), 512);
        assert_eq!(images(Architecture::ResNet50, 224, gpu(Some(1 << 30), 1 << 30)), 32);
        // Mesa's software device could not allocate 226,492,416 bytes for 512 images of 192 pixels.
        assert_eq!(images(Architecture::Mlp, 192, None), 256);
        assert_eq!(images(Architecture::Mlp, 192, gpu(None, 64 << 20)), 128);
        assert_eq!(images(Architecture::Mlp, 192, gpu(None, 1)), 1);
    }
}
