//! The choice of the device. The backends are features of one binary; the choice among them is made at run time.

mod automatic;
mod child;
mod choice;
mod display;
mod self_test;
#[cfg(test)]
pub(crate) mod testing;

use std::fmt;

use burn::tensor::Device;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "cuda"))]
use burn::tensor::{DeviceType, Devices};
use clap::ValueEnum;
use serde::Serialize;

pub(crate) use child::{COMMAND as SELF_TEST, check, limit_own_time};
pub(crate) use choice::{ChoiceParser, DeviceChoice, DeviceSet};
pub(crate) use display::without_desktop;
pub(crate) use self_test::run as self_test;

/// A device as the user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeviceName {
    /// A real GPU that passes its self-test, else the CPU
    Auto,
    /// The CPU (Burn's flex backend: threads and SIMD)
    Cpu,
    /// The CPU through the ndarray backend, which Burn retires, for comparison
    Ndarray,
    /// Any GPU, through wgpu's choice of API; software adapters too
    Wgpu,
    /// A GPU through Vulkan
    Vulkan,
    /// An NVIDIA GPU through CUDA
    Cuda,
}

/// The kind of hardware of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeviceKind {
    Cpu,
    #[cfg_attr(not(any(feature = "wgpu", feature = "vulkan", feature = "cuda")), allow(dead_code))]
    Gpu,
    /// A GPU's interface computed by the CPU (lavapipe, SwiftShader, WARP): slow, used only when named.
    #[cfg_attr(not(any(feature = "wgpu", feature = "vulkan")), allow(dead_code))]
    Software,
}

/// A device that is built in and present.
#[derive(Debug, Clone)]
pub(crate) struct AvailableDevice {
    pub(crate) name: DeviceName,
    /// The index of the device in its backend.
    index: usize,
    pub(crate) kind: DeviceKind,
    pub(crate) device: Device,
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Ndarray => "ndarray",
            Self::Wgpu => "wgpu",
            Self::Vulkan => "vulkan",
            Self::Cuda => "cuda",
        })
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "CPU",
            Self::Gpu => "GPU",
            Self::Software => "software adapter",
        })
    }
}

impl DeviceName {
    /// Every name of a single backend, in the order in which `auto` prefers them.
    pub(crate) const BACKENDS: [Self; 5] = [Self::Cuda, Self::Vulkan, Self::Wgpu, Self::Cpu, Self::Ndarray];

    /// The cargo feature that builds it in.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Self::Auto | Self::Cpu => "flex",
            Self::Ndarray => "ndarray",
            Self::Wgpu => "wgpu",
            Self::Vulkan => "vulkan",
            Self::Cuda => "cuda",
        }
    }

    /// True if this binary contains the backend.
    pub(crate) fn built_in(self) -> bool {
        match self {
            Self::Auto => true,
            Self::Cpu => cfg!(feature = "flex"),
            Self::Ndarray => cfg!(feature = "ndarray"),
            Self::Wgpu => cfg!(feature = "wgpu"),
            Self::Vulkan => cfg!(feature = "vulkan"),
            Self::Cuda => cfg!(feature = "cuda"),
        }
    }

    /// The devices of this backend that this machine has now, real GPUs before software adapters.
    pub(crate) fn available(self) -> Vec<AvailableDevice> {
        let mut here: Vec<(DeviceKind, Device)> = match self {
            Self::Auto => return Self::BACKENDS.into_iter().flat_map(Self::available).collect(),
            #[cfg(feature = "flex")]
            Self::Cpu => vec![(DeviceKind::Cpu, Device::flex())],
            #[cfg(feature = "ndarray")]
            Self::Ndarray => vec![(DeviceKind::Cpu, ndarray())],
            #[cfg(feature = "wgpu")]
            Self::Wgpu => adapters(Device::enumerate(DeviceType::Wgpu), Device::wgpu),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => adapters(Device::enumerate(DeviceType::Vulkan), Device::vulkan),
            #[cfg(feature = "cuda")]
            Self::Cuda => listed(Device::enumerate(DeviceType::Cuda), |_| DeviceKind::Gpu),
            #[allow(unreachable_patterns, reason = "a backend that is not built in has no devices")]
            _ => Vec::new(),
        };
        here.sort_by_key(|(kind, _)| *kind == DeviceKind::Software);
        let numbered = here.into_iter().enumerate();
        numbered.map(|(index, (kind, device))| AvailableDevice { name: self, index, kind, device }).collect()
    }
}

#[cfg(feature = "ndarray")]
#[allow(deprecated, reason = "kept as a second opinion on the numbers until Burn removes it")]
fn ndarray() -> Device {
    Device::ndarray()
}

#[cfg(any(feature = "wgpu", feature = "vulkan"))]
fn adapters(
    devices: Devices,
    device_of_kind: fn(burn::tensor::DeviceKind) -> Device,
) -> Vec<(DeviceKind, Device)> {
    let software = device_of_kind(burn::tensor::DeviceKind::Cpu);
    listed(devices, |device| if *device == software { DeviceKind::Software } else { DeviceKind::Gpu })
}

#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "cuda"))]
fn listed(devices: Devices, kind: impl Fn(&Device) -> DeviceKind) -> Vec<(DeviceKind, Device)> {
    devices.iter().map(|device| (kind(device), device.clone())).collect()
}

impl AvailableDevice {
    /// The name by which `--device` chooses it.
    pub(crate) fn choice(&self) -> DeviceChoice {
        DeviceChoice { name: self.name, index: self.index }
    }

    /// Product name of the device, if its driver reports one. Opens the device.
    pub(crate) fn product_name(&self) -> Option<String> {
        #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "cuda"))]
        if self.kind != DeviceKind::Cpu {
            return self.device.identity().map(|identity| identity.name);
        }
        None
    }
}

impl fmt::Display for AvailableDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.choice(), self.kind)
    }
}
