//! Devices for tests.

use burn::tensor::Device;

use super::DeviceName;
use crate::skipped;

/// The first device of a backend, if there is one.
///
/// # Panics
/// If there is none and `SIMILE_REQUIRE_DEVICES` names it.
pub(crate) fn present(name: DeviceName) -> Option<Device> {
    let required = std::env::var("SIMILE_REQUIRE_DEVICES").unwrap_or_default();
    let present = name.available().into_iter().next();
    let is_required = required.split(',').any(|required| required == name.to_string());
    assert!(present.is_some() || !is_required, "no device `{name}`");
    present.map(|present| present.device)
}

/// The same, for a test that needs one: the test is noted as skipped where there is none.
///
/// # Panics
/// As [`present`].
pub(crate) fn needed(name: DeviceName) -> Option<Device> {
    let device = present(name);
    if device.is_none() {
        skipped::note(&format!("this build and machine have no device `{name}`"));
    }
    device
}
