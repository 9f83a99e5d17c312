//! The room on the disk of the cache, which is checked before pictures are decoded into it.

use std::path::Path;

/// The free bytes of the disk of a folder, if the system says.
#[cfg(unix)]
pub(crate) fn free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Not known here; a disk that becomes full is an error then.
#[cfg(not(unix))]
pub(crate) fn free(_folder: &Path) -> Option<u64> {
    None
}
