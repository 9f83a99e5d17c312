//! The run folder and its files. A file is either whole or not there: each is written beside its place and moved.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

use super::record::Measurement;
use crate::exit::usage;

pub(crate) const RECIPE: &str = "recipe.toml";
pub(crate) const METRICS: &str = "metrics.jsonl";
pub(crate) const MODEL: &str = "model.safetensors";
pub(crate) const LAST_MODEL: &str = "model-last.safetensors";
pub(crate) const WEIGHTS: &str = "weights.safetensors";
pub(crate) const RESULT: &str = "result.json";
pub(crate) const FIGURES: &str = "figures.json";
pub(crate) const REPORT: &str = "report.html";
pub(crate) const STATE: &str = "state";

/// A folder that one run writes to.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    root: PathBuf,
}

impl RunFolder {
    /// Makes the folder `out`, or one that is free under `runs/` where the user named none.
    ///
    /// # Errors
    /// A usage error if `out` holds something; a failure if it cannot be made or written to.
    pub(crate) fn create(out: Option<&Path>, name: &str) -> Result<Self> {
        let root = out.map_or_else(|| unused(Path::new("runs"), name), Path::to_owned);
        if root.is_file() {
            return Err(usage(format_args!("{} is a file; name a folder with --out", root.display())));
        }
        if fs::read_dir(&root).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(usage(format_args!(
                "{0} is not empty; name another folder with --out, or continue its run with --resume {0}",
                root.display()
            )));
        }
        let folder = Self { root };
        fs::create_dir_all(folder.path(STATE))
            .with_context(|| format!("cannot make the run folder {}", folder.root.display()))?;
        // Found out now, and not at the first checkpoint.
        NamedTempFile::new_in(&folder.root)
            .with_context(|| format!("cannot write to the run folder {}", folder.root.display()))?;
        Ok(folder)
    }

    /// The folder of a run that was started before.
    ///
    /// # Errors
    /// A usage error if it holds no run.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let folder = Self { root: root.to_owned() };
        if folder.path(RECIPE).is_file() {
            Ok(folder)
        } else {
            Err(usage(format_args!("{} is not a run folder: it has no {RECIPE}", root.display())))
        }
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The place of one of its files.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file whole.
    ///
    /// # Errors
    /// If the folder cannot be written to or the disk is full; what stood there before is then still there.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<()> {
        write(&self.path(name), bytes.as_ref())
    }

    /// Writes a JSON document whole.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(crate) fn write_json(&self, name: impl AsRef<Path>, value: &impl Serialize) -> Result<()> {
        self.write(name, serde_json::to_string_pretty(value)? + "\n")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it is not there or cannot be read.
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> Result<Vec<u8>> {
        let path = self.path(name);
        fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Reads a JSON document.
    ///
    /// # Errors
    /// If it is not there or is not of that form.
    pub(crate) fn read_json<T: DeserializeOwned>(&self, name: impl AsRef<Path>) -> Result<T> {
        let name = name.as_ref();
        serde_json::from_slice(&self.read(name)?)
            .with_context(|| format!("{} is damaged", self.path(name).display()))
    }

    /// All lines of `metrics.jsonl`.
    ///
    /// # Errors
    /// If it is not there or a line is not a measurement.
    pub(crate) fn measurements(&self) -> Result<Vec<Measurement>> {
        let bytes = self.read(METRICS)?;
        let lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        lines
            .map(|(at, line)| {
                serde_json::from_slice(line)
                    .with_context(|| format!("{}, line {}: damaged", self.path(METRICS).display(), at + 1))
            })
            .collect()
    }
}

/// Writes a file whole: beside its place first, moved when all of it is on the disk.
///
/// # Errors
/// Names the file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::metadata(path).is_ok_and(|place| !place.is_file()) {
        // A device or a pipe is written to; moving a file there would replace it.
        return fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()));
    }
    let place = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = || -> io::Result<()> {
        let mut file = NamedTempFile::new_in(place)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        readable(&file)?;
        file.persist(path)?;
        Ok(())
    };
    whole().with_context(|| format!("cannot write {}", path.display()))
}

/// A temporary file is its owner's alone; a result is as readable as any other file.
#[cfg(unix)]
fn readable(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &NamedTempFile) -> io::Result<()> {
    Ok(())
}

/// A name as a folder's: lower case, whatever is not a letter, digit or point as a hyphen.
pub(crate) fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    name.chars()
        .map(plain)
        .collect::<String>()
        .split('-')
        .filter(|s| !s.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

fn unused(parent: &Path, name: &str) -> PathBuf {
    let numbered = |number: u32| match number {
        1 => parent.join(name),
        number => parent.join(format!("{name}-{number}")),
    };
    (1..).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| parent.join(name))
}

/// `metrics.jsonl`, open for appending.
pub(crate) struct MetricsLog {
    file: BufWriter<File>,
    path: PathBuf,
    bytes: u64,
}

impl MetricsLog {
    /// Opens the log and drops whatever follows its first `keep` bytes, so that a resumed run writes the lines
    /// after its checkpoint again.
    ///
    /// # Errors
    /// If it cannot be opened or is shorter than that.
    pub(crate) fn open(folder: &RunFolder, keep: u64) -> Result<Self> {
        let path = folder.path(METRICS);
        let opened = || -> io::Result<File> {
            let file = OpenOptions::new().create(true).append(true).open(&path)?;
            if file.metadata()?.len() < keep {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "shorter than its checkpoint says"));
            }
            file.set_len(keep)?;
            Ok(file)
        };
        let file = opened().with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self { file: BufWriter::new(file), path, bytes: keep })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn append(&mut self, measurement: &Measurement) -> Result<()> {
        let line = serde_json::to_string(measurement)? + "\n";
        self.file
            .write_all(line.as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Puts every line on the disk and says how many bytes there are.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn flush(&mut self) -> Result<u64> {
        let on_disk = |file: &mut BufWriter<File>| file.flush().and_then(|()| file.get_ref().sync_data());
        on_disk(&mut self.file).with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(self.bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn measurement(iteration: usize) -> Measurement {
        Measurement { arm: "a".into(), iteration, loss: 1.0 / 3.0, learning_rate: 0.1 }
    }

    #[test]
    fn a_folder_that_holds_something_is_refused() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("precious.txt"), "data").unwrap();
        let error = RunFolder::create(Some(place.path()), "x").unwrap_err();
        assert!(error.is::<crate::exit::Usage>() && error.to_string().contains("--resume"), "{error}");
    }

    #[test]
    fn the_default_place_is_the_first_that_is_free() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(unused(place.path(), "a"), place.path().join("a"));
        fs::create_dir(place.path().join("a")).unwrap();
        assert_eq!(unused(place.path(), "a"), place.path().join("a-2"));
    }

    #[test]
    fn a_resumed_log_repeats_no_line() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let mut log = MetricsLog::open(&folder, 0).unwrap();
        log.append(&measurement(1)).unwrap();
        let kept = log.flush().unwrap();
        log.append(&measurement(2)).unwrap();
        log.flush().unwrap();
        drop(log);
        let mut log = MetricsLog::open(&folder, kept).unwrap();
        log.append(&measurement(3)).unwrap();
        log.flush().unwrap();
        assert_eq!(folder.measurements().unwrap(), [measurement(1), measurement(3)]);
        assert!(MetricsLog::open(&folder, 1 << 20).is_err(), "a log that lost its end cannot be continued");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.json");
        write(&path, b"old").unwrap();
        let nowhere = place.path().join("missing").join("a.json");
        assert!(write(&nowhere, b"new").unwrap_err().to_string().contains("missing"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "no temporary file is left");
    }
}
