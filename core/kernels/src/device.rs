use burn::backend::DispatchDevice;
use burn::tensor::Device;

/// True if tensors of a device are in the memory of the program, so that a read neither waits nor copies much.
///
/// Operations do not need this: each backend has a body. It is for work outside of Burn, such as a solver in `f64`,
/// which a GPU lacks, or views of bytes in the memory of the program.
pub fn is_cpu(device: &Device) -> bool {
    match device.clone().inner().as_dispatch() {
        #[cfg(feature = "flex")]
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => true,
        _ => false,
    }
}

/// The memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes that it may hold at once, if its driver reports them: that of CUDA, and that of Vulkan in a build with the
    /// feature `vulkan`, its largest heap; wgpu does not.
    pub all: Option<u64>,
    /// Bytes of the largest tensor.
    pub tensor: u64,
}

/// The memory that CubeCL reports of a device; `None` for a CPU. Opens the device.
pub fn memory(device: &Device) -> Option<DeviceMemory> {
    #[cfg(feature = "cube")]
    if let DispatchDevice::Cube(device) = device.clone().inner().as_dispatch() {
        let client = device.client();
        let memory = &client.properties().memory;
        return Some(DeviceMemory { all: memory.max_memory(), tensor: memory.max_page_size });
    }
    let _ = device;
    None
}
