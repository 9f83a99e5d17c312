//! The devices under test, and the comparison of results.
#![allow(deprecated, reason = "Burn 0.22 retires ndarray and still has it")]

use burn::tensor::{DType, Device, Tensor, TensorData};

/// A device with a name for messages, its float type, and its tolerance.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) device: Device,
    pub(crate) dtype: DType,
    pub(crate) tolerance: f64,
}

impl Target {
    fn new(name: &'static str, device: Device, dtype: DType) -> Self {
        let tolerance = if dtype == DType::F64 { 1e-10 } else { 2e-5 };
        Self { name, device: device.autodiff(), dtype, tolerance }
    }

    /// The same for results that are in `f32` on every device.
    pub(crate) fn in_f32(&self) -> Self {
        Self { device: self.device.clone(), tolerance: self.tolerance.max(2e-5), ..*self }
    }

    /// The same for products of matrices and convolutions, whose factors tensor cores round to the 11 bits of TF32.
    pub(crate) fn of_products(&self) -> Self {
        let rounding = if self.name == "cuda" { 5e-3 } else { 0.0 };
        Self { device: self.device.clone(), tolerance: self.tolerance.max(rounding), ..*self }
    }

    /// A leaf of the graph.
    pub(crate) fn leaf<const D: usize>(&self, values: &[f64], shape: [usize; D]) -> Tensor<D> {
        let data = TensorData::new(values.to_vec(), shape);
        Tensor::from_data(data, (&self.device, self.dtype)).require_grad()
    }
}

/// Every compiled backend, or those that `SIMILE_TARGETS` names, with commas between; the CPU in both types.
pub(crate) fn targets() -> Vec<Target> {
    let mut targets = Vec::new();
    #[cfg(feature = "flex")]
    for (name, dtype) in [("flex", DType::F32), ("flex in f64", DType::F64)] {
        targets.push(Target::new(name, Device::flex(), dtype));
    }
    #[cfg(feature = "ndarray")]
    targets.push(Target::new("ndarray", Device::ndarray(), DType::F32));
    #[cfg(any(feature = "wgpu", feature = "vulkan"))]
    targets.push(Target::new("wgpu", Device::wgpu(Default::default()), DType::F32));
    #[cfg(feature = "cuda")]
    targets.push(Target::new("cuda", Device::cuda(0), DType::F32));
    if let Ok(names) = std::env::var("SIMILE_TARGETS") {
        targets.retain(|target| names.split(',').any(|name| name == target.name));
        assert!(!targets.is_empty(), "SIMILE_TARGETS={names}: none of these is built in");
    }
    targets
}

/// Numbers from -1 to 1 that look like noise.
pub(crate) fn noise(count: usize, seed: u32) -> Vec<f64> {
    let hash = |i: u32| (i + 1).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
    let mix = |h: u32| (h ^ (h >> 15)).wrapping_mul(2_246_822_519);
    (0..count as u32).map(|i| f64::from(mix(hash(i))) / f64::from(1_u32 << 31) - 1.0).collect()
}

/// The values of a tensor.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Compares relative to the largest expected value.
pub(crate) fn assert_close(values: &[f64], expected: &[f64], target: &Target, what: &str) {
    assert_eq!(values.len(), expected.len(), "{what} on {}", target.name);
    let scale = expected.iter().fold(1e-3_f64, |largest, x| largest.max(x.abs()));
    for (at, (value, expected)) in values.iter().zip(expected).enumerate() {
        let error = (value - expected).abs() / scale;
        assert!(error <= target.tolerance, "{what} on {}, value {at}: {value}, not {expected}", target.name);
    }
}
