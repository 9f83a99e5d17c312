//! The device of tensors: the CPU of the page, or WebGPU.

#[cfg(feature = "wgpu")]
use burn::tensor::wgpu::{WgpuSetup, wgpu};
#[cfg(feature = "wgpu")]
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// A device that was initialised.
#[wasm_bindgen]
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) inner: burn::tensor::Device,
    /// The setup of the device, from which another is created when it is lost.
    #[cfg(feature = "wgpu")]
    setup: Option<WgpuSetup>,
}

#[wasm_bindgen]
impl Device {
    /// The CPU: one thread with SIMD.
    pub fn cpu() -> Self {
        Self {
            inner: burn::tensor::Device::flex(),
            #[cfg(feature = "wgpu")]
            setup: None,
        }
    }

    /// The adapter that the browser prefers. It can be opened once.
    ///
    /// # Errors
    /// Rejects where the browser offers no adapter, or the adapter no device.
    #[cfg(feature = "wgpu")]
    pub async fn webgpu() -> Result<Self, JsError> {
        let (inner, setup) = burn::tensor::Device::wgpu_options().init_with_setup_async().await?;
        Ok(Self { inner, setup: Some(setup) })
    }

    /// A replacement for a lost device.
    ///
    /// # Errors
    /// As [`webgpu`](Self::webgpu).
    #[cfg(feature = "wgpu")]
    pub async fn reopened(&self) -> Result<Self, JsError> {
        let Some(WgpuSetup { instance, backend, .. }) = self.setup.clone() else {
            return Err(JsError::new("the CPU cannot be lost"));
        };
        let preferred = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..wgpu::RequestAdapterOptions::default()
        };
        let adapter = instance.request_adapter(&preferred).await?;
        let wanted = wgpu::DeviceDescriptor {
            required_features: adapter.features().difference(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = adapter.request_device(&wanted).await?;
        let setup = WgpuSetup { instance, adapter, device, queue, backend };
        let inner = burn::tensor::Device::wgpu_options().setup(setup.clone()).init()?;
        Ok(Self { inner, setup: Some(setup) })
    }
}
