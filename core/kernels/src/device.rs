use burn::backend::DispatchDevice;
use burn::tensor::Device;

/// Whether tensors of a device lie in the memory of the program, so that reading them waits for nothing and copies little.
///
/// An operation asks nothing like it: its backend has a body. It is for work that has to leave Burn, such as a solver in `f64`
/// where a GPU has none.
pub fn is_cpu(device: &Device) -> bool {
    match device.clone().inner().as_dispatch() {
        #[cfg(feature = "flex")]
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => true,
        _ => false,
    }
}
