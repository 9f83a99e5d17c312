//! One process at a time fetches a file into a folder: two would write to one part of it, and unpack into one temporary folder.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::data::error::{DataError, Result};

/// How often a lock file is opened that the process which held it removes at that moment.
const ATTEMPTS: usize = 8;

/// The system's lock on `.NAME.lock`, which is released when the process ends in any way.
#[derive(Debug)]
pub(super) struct Lock {
    /// None in a folder that cannot be written to, which the first file that is fetched says.
    file_and_path: Option<(File, PathBuf)>,
}

impl Lock {
    /// Takes the lock on the file `name` from `url` in the folder `place`.
    ///
    /// # Errors
    /// If another process holds it.
    pub(super) fn take(name: &str, url: &str, place: &Path) -> Result<Self> {
        let path = place.join(format!(".{name}.lock"));
        for _ in 0..ATTEMPTS {
            let Ok(file) = File::options().write(true).create(true).truncate(false).open(&path) else {
                return Ok(Self { file_and_path: None });
            };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => break,
                // Another process held it when it was opened, and has removed it since: the next process would make a new one.
                Ok(()) if !is_at(&file, &path) => {}
                // Some network file systems have no locks.
                Ok(()) | Err(TryLockError::Error(_)) => {
                    return Ok(Self { file_and_path: Some((file, path)) });
                }
            }
        }
        let reason =
            format!("another process fetches {name} into {}; wait until it has ended", place.display());
        Err(DataError::Fetch { url: url.into(), reason })
    }
}

/// True if an open file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// True: the standard library does not tell files apart on this system.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.file_and_path {
            // Removed before it is released, so that it is not one that another process holds. One that has opened it and takes its
            // lock afterwards finds that it is gone.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_file_that_was_removed_is_not_the_one_at_its_path() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lock");
        let file = File::create(&path).unwrap();
        assert!(is_at(&file, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path), "nothing is there");
        File::create(&path).unwrap();
        assert!(!is_at(&file, &path), "another file is there");
    }

    /// Two held it, one of them by the file that a third had removed.
    #[test]
    fn one_of_many_holds_it_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let (holders, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let take = || {
            for _ in 0..500 {
                let Ok(lock) = Lock::take("x", "", place.path()) else { continue };
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                taken.fetch_add(1, Ordering::SeqCst);
                thread::yield_now();
                holders.fetch_sub(1, Ordering::SeqCst);
                drop(lock);
            }
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(take);
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
