//! The memory that the process takes now.

use std::fmt::{self, Display, Formatter};

use burn::tensor::Device;

use super::available::resident;

/// Bytes, as far as the system and the device tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Used {
    /// Memory of the machine, without pages of files.
    pub(crate) host: Option<u64>,
    /// Memory that is reserved on the device.
    pub(crate) device: Option<u64>,
}

impl Used {
    /// The present use. The device's allocator is asked, which may wait for work that was given to it.
    pub(crate) fn now(device: &Device) -> Self {
        Self { host: resident(), device: device.memory_pool_usage().map(|pools| pools.bytes_reserved) }
    }
}

impl Display for Used {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        match self.host {
            Some(host) => write!(f, "  {:.1} GB", gigabytes(host))?,
            None => return Ok(()),
        }
        match self.device {
            Some(device) => write!(f, ", {:.1} GB on the device", gigabytes(device)),
            None => Ok(()),
        }
    }
}
