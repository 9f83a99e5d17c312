//! The parsers, each with the keywords of its format.

mod arrays;
mod files;
mod tables;
mod text;
mod weights;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

/// A parser. Its answer does not matter, only that there is one.
pub(super) struct Target {
    pub(super) name: &'static str,
    /// The keywords of its format, which mutations insert at wrong places.
    pub(super) words: &'static [&'static [u8]],
    /// Valid files besides those of the corpus.
    pub(super) seeds: fn() -> Vec<Vec<u8>>,
    /// Files that are not mutated: earlier harmful cases that are too large for the corpus.
    pub(super) hostile: fn() -> Vec<Vec<u8>>,
    /// Repairs checksums and lengths of a mutated file.
    pub(super) repair: fn(Vec<u8>, &mut ChaCha8Rng) -> Vec<u8>,
    pub(super) run: fn(&[u8]),
}

impl Target {
    /// A target whose files are in the corpus and have no checksums.
    const fn new(name: &'static str, words: &'static [&'static [u8]], run: fn(&[u8])) -> Self {
        Self { name, words, seeds: Vec::new, hostile: Vec::new, repair: |bytes, _| bytes, run }
    }
}

/// All of them.
pub(super) fn all() -> Vec<Target> {
    [arrays::targets(), weights::targets(), tables::targets(), text::targets(), files::targets()]
        .into_iter()
        .flatten()
        .collect()
}

/// The target of a name, the faulty one too.
pub(super) fn named(name: &str) -> Option<Target> {
    all().into_iter().chain([faulty()]).find(|target| target.name == name)
}

/// A parser with all faults, for the test of the watching process.
fn faulty() -> Target {
    const FILES: [&[u8]; 5] = [b"panic", b"memory", b"sound", b"hang", b"sound"];
    Target {
        seeds: || vec![b"sound".to_vec()],
        hostile: || FILES.map(<[u8]>::to_vec).to_vec(),
        ..Target::new("faulty", &[], |bytes| match bytes {
            b"panic" => panic!("on purpose"),
            b"memory" => drop(std::hint::black_box(vec![1_u8; 2 << 30])),
            b"hang" => std::thread::sleep(std::time::Duration::from_secs(600)),
            _ => {
                said(Ok::<(), String>(()));
            }
        })
    }
}

/// True if a parser accepted its input.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// True if a parser accepted an input since the last call.
pub(super) fn taken() -> bool {
    TAKEN.swap(false, Relaxed)
}

/// Formats the error of a refused file, which must not fail either.
fn said<T, E: std::fmt::Display>(outcome: Result<T, E>) -> Option<T> {
    let taken = outcome.map_err(|error| format!("{error:#}")).ok();
    TAKEN.fetch_or(taken.is_some(), Relaxed);
    taken
}

thread_local! {
    static PLACE: TempDir = tempfile::tempdir().unwrap();
}

/// A folder that is removed at the end.
fn place() -> PathBuf {
    PLACE.with(|place| place.path().to_owned())
}

/// The bytes as a file of a name.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = place().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Two parts of the bytes, cut at a marker; the second is empty where there is none.
fn halves<'a>(bytes: &'a [u8], marker: &[u8]) -> (&'a [u8], &'a [u8]) {
    let at = bytes.windows(marker.len()).position(|window| window == marker);
    at.map_or((bytes, &[]), |at| (&bytes[..at], &bytes[at + marker.len()..]))
}

/// Makes the folder that archives are unpacked into empty.
fn emptied(folder: &Path) {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
}
