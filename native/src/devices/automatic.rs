//! The device that `auto` takes: the first real GPU that passes its self-test, else the CPU.

use std::sync::Once;

use anyhow::{Result, anyhow};

use super::{AvailableDevice, DeviceKind, DeviceName, child};
use crate::console::line_even_if_muted;

/// The device for a process of this machine. Says once which devices failed their self-test.
///
/// # Errors
/// If nothing is left to compute on.
pub(super) fn automatic(process: usize) -> Result<AvailableDevice> {
    static ANNOUNCED: Once = Once::new();
    let candidates = candidates(&DeviceName::Auto.available(), process);
    let ChosenDevice { device, failed } =
        choose(candidates, |device| child::check(device.choice().to_string()))?;
    if !failed.is_empty() {
        // Each process of a group has devices of its own.
        let announce =
            || line_even_if_muted(format_args!("{}; taking {}", failed.join("; "), device.choice()));
        ANNOUNCED.call_once(announce);
    }
    Ok(device)
}

/// The devices that a process may take, the preferred one first: of each backend the first real GPU for the first process of a
/// machine, the second for the second, and so on in turn; at last the CPU.
fn candidates(present: &[AvailableDevice], process: usize) -> Vec<AvailableDevice> {
    let mut candidates = vec![];
    for backend in DeviceName::BACKENDS {
        let gpus = present.iter().filter(|device| device.name == backend && device.kind == DeviceKind::Gpu);
        let gpus: Vec<&AvailableDevice> = gpus.collect();
        candidates.extend(gpus.get(process % gpus.len().max(1)).copied().cloned());
    }
    candidates.extend(present.iter().find(|device| device.kind == DeviceKind::Cpu).cloned());
    candidates
}

struct ChosenDevice {
    device: AvailableDevice,
    /// The devices that were preferred, each with its failure.
    failed: Vec<String>,
}

/// The first candidate that passes. The CPU is not tested, because others are compared with it.
fn choose(
    candidates: Vec<AvailableDevice>,
    mut check: impl FnMut(&AvailableDevice) -> Result<(), String>,
) -> Result<ChosenDevice> {
    let mut failed = vec![];
    for device in candidates {
        let outcome = if device.kind == DeviceKind::Cpu { Ok(()) } else { check(&device) };
        match outcome {
            Ok(()) => return Ok(ChosenDevice { device, failed }),
            Err(reason) => failed.push(format!("{}: its self-test {reason}", device.choice())),
        }
    }
    let reason = if failed.is_empty() { "no GPU was found".to_owned() } else { failed.join("; ") };
    Err(anyhow!(
        "{reason}, and no CPU backend is built in; build with `--features flex`, or name a device with `--device` \
         (`simile devices` lists what is there)"
    ))
}

#[cfg(all(test, feature = "flex"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn present(name: DeviceName, index: usize, kind: DeviceKind) -> AvailableDevice {
        AvailableDevice { name, index, kind, device: Device::flex() }
    }

    /// A machine with two GPUs, through three backends, and a software adapter.
    fn machine() -> Vec<AvailableDevice> {
        use DeviceName::{Cpu, Cuda, Ndarray, Vulkan, Wgpu};
        let gpus = |name| [0, 1].map(|index| present(name, index, DeviceKind::Gpu));
        let software = [present(Vulkan, 2, DeviceKind::Software), present(Wgpu, 2, DeviceKind::Software)];
        let cpus = [present(Cpu, 0, DeviceKind::Cpu), present(Ndarray, 0, DeviceKind::Cpu)];
        [gpus(Cuda), gpus(Vulkan), gpus(Wgpu), software, cpus].concat()
    }

    fn names(devices: &[AvailableDevice]) -> String {
        devices.iter().map(|device| device.choice().to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn processes_of_a_machine_share_its_gpus_and_no_software_adapter_is_among_them() {
        assert_eq!(names(&candidates(&machine(), 0)), "cuda vulkan wgpu cpu");
        assert_eq!(names(&candidates(&machine(), 1)), "cuda:1 vulkan:1 wgpu:1 cpu");
        assert_eq!(names(&candidates(&machine(), 2)), "cuda vulkan wgpu cpu");
        let software = [present(DeviceName::Wgpu, 0, DeviceKind::Software)];
        assert_eq!(names(&candidates(&software, 0)), "");
        assert!(choose(candidates(&software, 0), |_| Ok(())).is_err());
    }

    #[test]
    fn the_first_that_passes_is_taken_and_the_failures_before_it_are_told() {
        let chosen = |bad: &[DeviceName]| {
            let mut asked = vec![];
            let choice = choose(candidates(&machine(), 1), |device| {
                asked.push(device.clone());
                if bad.contains(&device.name) { Err("ended with signal 11".into()) } else { Ok(()) }
            });
            let ChosenDevice { device, failed } = choice.unwrap();
            (device.choice().to_string(), failed, names(&asked))
        };
        assert_eq!(chosen(&[]), ("cuda:1".into(), vec![], "cuda:1".into()));
        let failed = |name| format!("{name}: its self-test ended with signal 11");
        let bad = [DeviceName::Cuda, DeviceName::Vulkan];
        let failures = vec![failed("cuda:1"), failed("vulkan:1")];
        assert_eq!(chosen(&bad), ("wgpu:1".into(), failures, "cuda:1 vulkan:1 wgpu:1".into()));
        let (taken, failures, asked) = chosen(&DeviceName::BACKENDS);
        // The CPU is not asked.
        assert_eq!((taken.as_str(), failures.len(), asked.as_str()), ("cpu", 3, "cuda:1 vulkan:1 wgpu:1"));
    }

    #[test]
    fn a_build_without_a_cpu_says_which_devices_failed() {
        let gpu = vec![present(DeviceName::Vulkan, 0, DeviceKind::Gpu)];
        let error = choose(gpu, |_| Err("took more than 300 s".into())).err().unwrap().to_string();
        assert!(error.starts_with("vulkan: its self-test took more than 300 s, and no CPU"), "{error}");
        let error = choose(vec![], |_| Ok(())).err().unwrap().to_string();
        assert!(error.starts_with("no GPU was found, and no CPU"), "{error}");
    }

    #[test]
    fn auto_without_a_gpu_is_the_cpu() {
        let device = automatic(0).unwrap();
        if !cfg!(any(feature = "wgpu", feature = "vulkan", feature = "cuda")) {
            assert_eq!((device.name, device.kind), (DeviceName::Cpu, DeviceKind::Cpu));
        }
        assert_ne!(device.kind, DeviceKind::Software);
    }
}
