//! One process at a time works on a run: it holds a lock on a file of the folder, which the system releases when the
//! process ends in any way.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::console::line;

/// The lock of a run folder for this process.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock in the file `path`, for the run in `run`.
    ///
    /// # Errors
    /// If another process holds it; the error names that process.
    pub(crate) fn take(path: &Path, run: &Path) -> Result<Self> {
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {
                // The name of the process is for messages of others; the lock does not depend on it.
                let _ = file.set_len(0).and_then(|()| file.write_all(this_process().as_bytes()));
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Where a lock also excludes readers, the holder is not named.
                let _ = file.rewind().and_then(|()| file.read_to_string(&mut holder));
                let holder = if holder.is_empty() { "another process" } else { holder.trim() };
                anyhow::bail!(
                    "{holder} works on the run in {}; wait until it has ended, or end it",
                    run.display()
                );
            }
            Err(TryLockError::Error(error)) => line(format_args!(
                "{} cannot be locked ({error}); see to it that no other process works on this run",
                path.display()
            )),
        }
        Ok(Self { _file: file })
    }
}

fn this_process() -> String {
    format!("process {} on {}", std::process::id(), host())
}

fn host() -> String {
    let named = ["HOSTNAME", "COMPUTERNAME"].into_iter().find_map(|name| env::var(name).ok());
    let told = fs::read_to_string("/proc/sys/kernel/hostname").ok().or(named);
    told.map_or_else(|| "an unknown host".into(), |name| name.trim().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_is_told_who_holds_it_until_the_first_ends() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lock");
        let first = Lock::take(&path, place.path()).unwrap();
        let error = Lock::take(&path, place.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("process {} on ", std::process::id())), "{error}");
        drop(first);
        Lock::take(&path, place.path()).unwrap();
    }
}
