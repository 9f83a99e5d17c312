//! The cache of decoded and resized pictures on the disk: a folder with a file of [`records`](super::records) for each list of
//! pictures, named by a digest of everything that determines its content: the folder, the path, size and date of every
//! picture, the requested size, and the version of this program.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use md5::{Digest as _, Md5};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::resize::ResizeSpec;
use crate::data::files::digest::hex;

/// Fewest pictures of an entry: decoding fewer is as quick as looking them up.
const FEWEST: usize = 256;

/// Files that are asked for at once. A file system of another machine lets each wait for as long, whatever the number of
/// processors here: at half a millisecond, those of ImageNet would take minutes on two.
const AT_ONCE: usize = 64;

/// A folder of entries.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which is created with the first entry.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder named by `SIMILE_CACHE`, none if that is `off`, or `simile` in the user's cache folder.
    pub(crate) fn of_user() -> Option<Self> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        match variable("SIMILE_CACHE") {
            Some(folder) if folder.as_os_str() == "off" => None,
            Some(folder) => Some(Self::new(folder)),
            None => variable("XDG_CACHE_HOME")
                .or_else(|| variable("LOCALAPPDATA"))
                .or_else(|| variable("HOME").map(|home| home.join(".cache")))
                .map(|folder| Self::new(folder.join("simile"))),
        }
    }

    /// The file of an entry; none for fewer pictures than [`FEWEST`].
    pub(super) fn entry(&self, root: &Path, files: &[String], resize: ResizeSpec) -> Option<PathBuf> {
        if files.len() < FEWEST {
            return None;
        }
        let mut digest = Md5::new();
        let root = root.canonicalize().unwrap_or_else(|_| root.into());
        let ResizeSpec { side, channels, fit } = resize;
        // The names of the keys in earlier entries.
        let size = format!("Framing {{ side: {side}, channels: {channels}, fit: {fit:?} }}");
        digest.update(format!("{} {} {size}\n", env!("CARGO_PKG_VERSION"), root.display()));
        let known = |file: &String| {
            let known = fs::metadata(root.join(file)).ok();
            let size = known.as_ref().map_or(0, fs::Metadata::len);
            let date = known.and_then(|known| known.modified().ok()?.duration_since(UNIX_EPOCH).ok());
            (size, date.map_or(0, |date| date.as_nanos()))
        };
        for (file, (size, date)) in files.iter().zip(of_each(files, known)) {
            digest.update(format!("{file}\n{size} {date}\n"));
        }
        Some(self.folder.join(format!("{}.records", hex(&digest.finalize()))))
    }
}

/// An answer of the file system on each file, in their order.
fn of_each<T: Send>(files: &[String], ask: impl Fn(&String) -> T + Sync + Send) -> Vec<T> {
    let all = || files.par_iter().map(ask).collect();
    match ThreadPoolBuilder::new().num_threads(AT_ONCE).build() {
        Ok(waiting) => waiting.install(all),
        Err(_) => all(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::data::settings::Fit;

    const RESIZE: ResizeSpec = ResizeSpec { side: 2, channels: 1, fit: Fit::Middle };

    #[test]
    fn an_entry_is_named_by_all_that_decides_it() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<String> = (0..FEWEST).map(|i| format!("{i}.png")).collect();
        for file in &files {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        let cache = Cache::new(folder.path().join("cache"));
        let entry = |files: &[String], resize| cache.entry(folder.path(), files, resize).unwrap();
        let first = entry(&files, RESIZE);
        assert_eq!(entry(&files, RESIZE), first);
        assert_ne!(entry(&files, ResizeSpec { side: 3, ..RESIZE }), first);
        assert_ne!(entry(&files, ResizeSpec { fit: Fit::Whole, ..RESIZE }), first);
        fs::write(folder.path().join("7.png"), "longer").unwrap();
        assert_ne!(entry(&files, RESIZE), first);
        assert!(cache.entry(folder.path(), &files[1..], RESIZE).is_none());
    }
    #[test]
    fn files_that_answer_late_are_asked_for_together() {
        let files: Vec<String> = (0..FEWEST).map(|i| i.to_string()).collect();
        let (waiting, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ask = |file: &String| {
            most.fetch_max(waiting.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(20));
            waiting.fetch_sub(1, Ordering::SeqCst);
            file.clone()
        };
        assert_eq!(of_each(&files, ask), files);
        let most = most.into_inner();
        assert!(most > AT_ONCE / 2, "{most} at once");
    }
}
