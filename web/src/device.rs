//! Where tensors live: the CPU of the page, or WebGPU.

use wasm_bindgen::prelude::wasm_bindgen;

/// A device that was initialised.
#[wasm_bindgen]
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) inner: burn::tensor::Device,
}

#[wasm_bindgen]
impl Device {
    /// The CPU: one thread with SIMD.
    pub fn cpu() -> Self {
        Self { inner: burn::tensor::Device::flex() }
    }

    /// The adapter that the browser prefers.
    ///
    /// # Errors
    /// Rejects where the browser offers no adapter, or the adapter no device.
    #[cfg(feature = "wgpu")]
    pub async fn webgpu() -> Result<Self, wasm_bindgen::JsError> {
        let inner = burn::tensor::Device::wgpu_options().init_async().await?;
        Ok(Self { inner })
    }
}
