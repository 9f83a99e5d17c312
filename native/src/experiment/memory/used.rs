//! The memory that the process takes now.

use std::fmt::{self, Display, Formatter};

use burn::tensor::Device;

use super::available::resident;
use crate::units::gigabytes;

/// Bytes, as far as the system and the device tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsedMemory {
    /// Memory of the machine, without pages of files.
    pub(crate) host: Option<u64>,
    /// Memory that is reserved on the device.
    pub(crate) device: Option<u64>,
}

impl UsedMemory {
    /// The present use. The device's allocator is asked, which may wait for work that was given to it.
    pub(crate) fn now(device: &Device) -> Self {
        Self { host: resident(), device: device.memory_pool_usage().map(|pools| pools.bytes_reserved) }
    }
}

impl Display for UsedMemory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let device = self.device.map(|device| format!("{:.1} GB on the device", gigabytes(device)));
        match (self.host, device) {
            (Some(host), Some(device)) => write!(f, "  {:.1} GB, {device}", gigabytes(host)),
            (Some(host), None) => write!(f, "  {:.1} GB", gigabytes(host)),
            (None, Some(device)) => write!(f, "  {device}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On systems that do not tell the memory of a process, that of the device was not shown either.
    #[test]
    fn memory_is_shown_as_far_as_it_is_known() {
        let shown = |host: Option<u64>, device: Option<u64>| UsedMemory { host, device }.to_string();
        let (host, device) = (Some(2_500_000_000), Some(40_000_000_000));
        assert_eq!(shown(host, device), "  2.5 GB, 40.0 GB on the device");
        assert_eq!(shown(host, None), "  2.5 GB");
        assert_eq!(shown(None, device), "  40.0 GB on the device");
        assert_eq!(shown(None, None), "");
    }
}
