//! The cache of decoded and resized pictures on the disk: a folder with a file of records for each folder of pictures, size and
//! fit (see [`layout`](super::layout)).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::layout::{Key, Layout};

/// Files that are asked for at once. On a network file system every request waits as long, whatever the number of processors
/// here: at half a millisecond, the files of ImageNet would take minutes on two.
const AT_ONCE: usize = 64;

/// A folder of files of records.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which is created with the first file.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder named by `SIMILE_CACHE`, none if that is `off`, or `simile` in the user's cache folder.
    pub(crate) fn for_user() -> Option<Self> {
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

    /// The file of records of a layout.
    pub(super) fn file(&self, layout: &Layout) -> PathBuf {
        self.folder.join(layout.name())
    }
}

/// The keys and sizes in bytes of picture files as they are now.
pub(super) fn keys(root: &Path, files: &[String]) -> Vec<(Key, u64)> {
    ask_each(files, |file| {
        let known = fs::metadata(root.join(file)).ok();
        let size = known.as_ref().map_or(0, fs::Metadata::len);
        let date = known.and_then(|known| known.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        (Key::of(file, size, date.map_or(0, |date| date.as_nanos())), size)
    })
}

/// An answer of the file system on each file, in their order.
fn ask_each<T: Send>(files: &[String], ask: impl Fn(&String) -> T + Sync + Send) -> Vec<T> {
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

    #[test]
    fn a_picture_that_is_changed_has_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["0.png", "1.png", "none.png"].map(String::from);
        for file in &files[..2] {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        let first = keys(folder.path(), &files);
        assert_eq!(keys(folder.path(), &files), first);
        assert!(first[0] != first[1] && first[1] != first[2]);
        fs::write(folder.path().join("1.png"), "longer").unwrap();
        let second = keys(folder.path(), &files);
        assert_eq!([0, 1, 2].map(|at| first[at] == second[at]), [true, false, true]);
    }

    #[test]
    fn files_that_answer_late_are_asked_for_together() {
        let files: Vec<String> = (0..4 * AT_ONCE).map(|i| i.to_string()).collect();
        let (waiting, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ask = |file: &String| {
            most.fetch_max(waiting.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(20));
            waiting.fetch_sub(1, Ordering::SeqCst);
            file.clone()
        };
        assert_eq!(ask_each(&files, ask), files);
        let most = most.into_inner();
        assert!(most > AT_ONCE / 2, "{most} at once");
    }
}
