use burn::backend::DispatchDevice;
use burn::tensor::Device;

/// True if tensors of a device are in the memory of the program, so that a read neither waits nor copies much.
///
/// Operations do not need this: each backend has a body. It is for work outside of Burn, such as a solver in `f64`,
/// which a GPU lacks.
pub fn is_cpu(device: &Device) -> bool {
    match device.clone().inner().as_dispatch() {
        #[cfg(feature = "flex")]
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => true,
        _ => false,
    }
}
