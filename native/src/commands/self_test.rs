//! `simile self-test`, which is none of the commands: the self-test of a device, for the process that started this one.

use anyhow::Result;

use crate::cli::SelfTest;
use crate::devices::{DeviceName, limit_own_time, self_test};

/// Tests the device.
///
/// # Errors
/// It cannot be used.
pub(crate) fn run(arguments: &SelfTest) -> Result<()> {
    limit_own_time();
    let device = arguments.device.open()?.device;
    let cpu = [DeviceName::Cpu, DeviceName::Ndarray].into_iter().flat_map(DeviceName::available).next();
    self_test(&device, cpu.map(|cpu| cpu.device).as_ref())
}
