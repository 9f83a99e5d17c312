//! The run folder and its files. A file is either complete or absent: each is written to a temporary file and moved.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;

use crate::console::line;
use crate::exit::usage;
use crate::run_folder::atomic_file::{AtomicFile, TEMPORARY_PREFIX, temporary_in};
use crate::run_folder::lock::{self, HOLDER, LOCK, Lock};
use crate::run_folder::record::{Measurement, RunResult};
use crate::shell::resume_command;

pub(crate) const RECIPE: &str = "recipe.toml";
pub(crate) const METRICS: &str = "metrics.jsonl";
pub(crate) const MODEL: &str = "model.safetensors";
pub(crate) const LAST_MODEL: &str = "model-last.safetensors";
pub(crate) const WEIGHTS: &str = "weights.safetensors";
pub(crate) const RESULT: &str = "result.json";
pub(crate) const FIGURES: &str = "figures.json";
pub(crate) const REPORT: &str = "report.html";
pub(crate) const STATE: &str = "state";
/// An upper bound of the bytes of a file of a run.
const LARGEST: u64 = 1 << 32;

/// A folder of one run.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    root: PathBuf,
    /// The lock of the process that writes to the folder.
    lock: Option<Arc<Lock>>,
}

impl RunFolder {
    /// Creates the folder `out`, or a new one under `runs/` if the user gave none, and locks it for this process.
    ///
    /// # Errors
    /// A usage error if `out` is not empty; a failure if it cannot be created or written to, or another process holds
    /// it.
    pub(crate) fn create(out: Option<&Path>, name: &str) -> Result<Self> {
        let root = match out {
            Some(out) => named(out)?,
            None => unused(Path::new("runs"), name)?,
        };
        let making = || format!("cannot make the run folder {}", root.display());
        fs::create_dir_all(root.join(STATE)).with_context(making)?;
        let folder = Self { root, lock: None }.locked()?;
        // Another process may have begun a run since the first check.
        refuse_what_holds_something(&folder.root)?;
        // Checked now, and not at the first checkpoint.
        temporary_in(&folder.root)
            .with_context(|| format!("cannot write to the run folder {}", folder.root.display()))?;
        Ok(folder)
    }

    /// Opens the folder of an existing run for reading.
    ///
    /// # Errors
    /// A usage error if it holds no run.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let folder = Self { root: root.to_owned(), lock: None };
        if folder.path(RECIPE).is_file() {
            return Ok(folder);
        }
        let none = || format!("{} is not a run folder: it has no {RECIPE}", root.display());
        Err(usage(runs_in(root).unwrap_or_else(none)))
    }

    /// Locks the folder for resuming its run, and removes temporary files of killed processes.
    ///
    /// # Errors
    /// If another process works on it, or it cannot be written to.
    pub(crate) fn locked(self) -> Result<Self> {
        let state = self.path(STATE);
        fs::create_dir_all(&state).with_context(|| format!("cannot make {}", state.display()))?;
        let lock = Arc::new(Lock::take(&state, &self.root)?);
        for place in [&self.root, &state] {
            for name in entries(place).into_iter().filter(|name| name.starts_with(TEMPORARY_PREFIX)) {
                // A remaining one does no harm.
                let _ = fs::remove_file(place.join(name));
            }
        }
        Ok(Self { lock: Some(lock), ..self })
    }

    /// Removes files, if they are there.
    ///
    /// # Errors
    /// If one of them cannot be removed.
    pub(crate) fn remove(&self, names: &[&str]) -> Result<()> {
        for path in names.iter().map(|name| self.path(name)) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The place of one of its files.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// If the folder cannot be written to, the disk is full, or another process has taken the run; the earlier file then
    /// remains.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.lock.as_ref().map_or(Ok(()), |lock| lock.check())?;
        write(&self.path(name), bytes.as_ref())
    }

    /// Writes `result.json` atomically.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(crate) fn write_result(&self, result: &RunResult) -> Result<()> {
        self.write(RESULT, serde_json::to_string_pretty(result)? + "\n")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it is missing or cannot be read.
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> Result<Vec<u8>> {
        let path = self.path(name);
        bytes_of(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Reads a JSON document.
    ///
    /// # Errors
    /// If it is missing or not of that form.
    pub(crate) fn read_json<T: DeserializeOwned>(&self, name: impl AsRef<Path>) -> Result<T> {
        let name = name.as_ref();
        serde_json::from_slice(&self.read(name)?)
            .with_context(|| format!("{} is damaged", self.path(name).display()))
    }

    /// The lines of `metrics.jsonl`. A variant that diverged and was made longer has repeated iterations: their later lines count.
    ///
    /// # Errors
    /// If it is missing or a line is not a measurement.
    pub(crate) fn measurements(&self) -> Result<Vec<Measurement>> {
        let bytes = self.read(METRICS)?;
        let lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let read = |(at, line): (usize, &[u8])| {
            serde_json::from_slice::<Measurement>(line)
                .with_context(|| format!("{}, line {}: damaged", self.path(METRICS).display(), at + 1))
        };
        Ok(without_repeated(lines.map(read).collect::<Result<_>>()?))
    }
}

/// Writes files into a folder, and says where.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_all(
    out: &Path,
    files: impl IntoIterator<Item = (impl AsRef<Path>, Vec<u8>)>,
) -> Result<()> {
    for (name, bytes) in files {
        let path = out.join(name);
        write(&path, &bytes)?;
        line(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// The lines of each variant before which it did not go back to an earlier iteration.
fn without_repeated(lines: Vec<Measurement>) -> Vec<Measurement> {
    let mut following: BTreeMap<String, usize> = BTreeMap::new();
    let mut unrepeated = Vec::with_capacity(lines.len());
    for line in lines.into_iter().rev() {
        if following.get(&line.variant).is_none_or(|next| line.iteration < *next) {
            following.insert(line.variant.clone(), line.iteration);
            unrepeated.push(line);
        }
    }
    unrepeated.reverse();
    unrepeated
}

/// The message for a folder that is no run and holds some, such as that of `--seeds`; none for any other folder.
pub(crate) fn runs_in(root: &Path) -> Option<String> {
    if root.join(RECIPE).is_file() {
        return None;
    }
    let mut runs = entries(root);
    runs.retain(|name| root.join(name).join(RECIPE).is_file());
    runs.sort_unstable_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    let first = root.join(runs.first()?);
    let (root, first) = (root.display(), first.display());
    Some(match runs.len() {
        1 => format!("`{root}` is not a run but holds one; name `{first}`"),
        _ => format!("`{root}` holds several runs: {}; name one, such as `{first}`", runs.join(", ")),
    })
}

/// The process that works on the run in a folder, in words, judged by its last beat.
pub(crate) fn process_at_work(root: &Path) -> Option<String> {
    lock::holder(&root.join(STATE)).map(|holder| holder.to_string())
}

/// The bytes of a regular file; a pipe or a device, which may never end, is refused.
pub(crate) fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::metadata(path)?;
    let refuse = |kind, reason| Err(io::Error::new(kind, reason));
    match file.len() {
        _ if !file.is_file() => refuse(ErrorKind::InvalidInput, "it is not a file"),
        LARGEST.. => refuse(ErrorKind::FileTooLarge, "it is too large to be of a run"),
        _ => fs::read(path),
    }
}

/// Writes a file atomically: to a temporary file beside it, which is moved once it is on the disk.
///
/// # Errors
/// Names the file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let whole = || -> io::Result<()> {
        let mut file = AtomicFile::begin(path)?;
        file.write_all(bytes)?;
        file.finish()
    };
    whole().with_context(|| format!("cannot write {}", path.display()))
}

/// Names of the entries of a folder; none if it cannot be read.
pub(crate) fn entries(place: &Path) -> Vec<String> {
    let directory = fs::read_dir(place).into_iter().flatten().flatten();
    directory.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The folder that the user gives, new or empty.
fn named(out: &Path) -> Result<PathBuf> {
    if out.is_file() {
        return Err(usage(format_args!("{} is a file; name a folder with --out", out.display())));
    }
    refuse_what_holds_something(out)?;
    Ok(out.to_owned())
}

/// Refuses a folder that is not empty, except for files of a process that was killed before its run began.
fn refuse_what_holds_something(root: &Path) -> Result<()> {
    if root.join(RECIPE).is_file() {
        return Err(usage(format_args!(
            "{} holds a run; name another folder with --out, or resume it: {}",
            root.display(),
            resume_command(root)
        )));
    }
    let is_left = |name: &String| match name.as_str() {
        STATE => {
            let is_left =
                |name: &String| [LOCK, HOLDER].contains(&name.as_str()) || name.starts_with(TEMPORARY_PREFIX);
            entries(&root.join(STATE)).iter().all(is_left)
        }
        name => name.starts_with(TEMPORARY_PREFIX),
    };
    match entries(root).iter().all(is_left) {
        true => Ok(()),
        false => Err(usage(format_args!("{} is not empty; name another folder with --out", root.display()))),
    }
}

/// Creates a new folder with a name, and with a number if the name exists. No two processes get the same.
fn unused(parent: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let mut number = 1_u32;
    loop {
        let path = parent.join(if number == 1 { name.to_owned() } else { format!("{name}-{number}") });
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < u32::MAX => {
                number += 1;
                // Somebody who gives the same command again after an interruption may mean that run.
                if path.join(RECIPE).is_file() && !path.join(RESULT).is_file() {
                    let resume = resume_command(&path);
                    line(format_args!(
                        "{} holds a run that has not finished; if no process works on it, `{resume}` goes on with it",
                        path.display()
                    ));
                }
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make the run folder {}", path.display()));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::thread;

    use super::*;
    use crate::exit::Usage;

    #[test]
    fn a_folder_that_holds_something_is_refused() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("precious.txt"), "data").unwrap();
        let error = RunFolder::create(Some(place.path()), "x").unwrap_err();
        assert!(error.is::<Usage>() && error.to_string().contains("not empty"), "{error}");
        fs::rename(place.path().join("precious.txt"), place.path().join(RECIPE)).unwrap();
        let error = RunFolder::create(Some(place.path()), "x").unwrap_err();
        assert!(error.is::<Usage>() && error.to_string().contains("--resume"), "{error}");
    }

    #[test]
    fn what_was_killed_before_its_recipe_is_begun_again_in_its_place() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        drop(RunFolder::create(Some(&run), "x").unwrap());
        fs::write(run.join(STATE).join(format!("{TEMPORARY_PREFIX}a")), "half").unwrap();
        fs::write(run.join(format!("{TEMPORARY_PREFIX}b")), "half").unwrap();
        drop(RunFolder::create(Some(&run), "x").unwrap());
        assert_eq!((entries(&run), entries(&run.join(STATE))), (vec![STATE.into()], vec![LOCK.into()]));
    }

    #[test]
    fn the_default_place_is_free_and_nobody_elses() {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path().join("runs");
        let mut folders: Vec<PathBuf> = thread::scope(|scope| {
            let begun: Vec<_> = (0..8).map(|_| scope.spawn(|| unused(&parent, "a").unwrap())).collect();
            begun.into_iter().map(|one| one.join().unwrap()).collect()
        });
        folders.sort();
        let expected = (1..=8).map(|n| parent.join(if n == 1 { "a".into() } else { format!("a-{n}") }));
        assert_eq!(folders, expected.collect::<Vec<_>>());
    }

    #[test]
    fn the_later_of_two_lines_of_an_iteration_counts() {
        let line = |(variant, iteration, loss): (&str, usize, f64)| Measurement {
            variant: variant.into(),
            iteration,
            loss,
            learning_rate: 0.1,
        };
        // The first diverged after iteration 20, was kept as it was at 10, and was made longer.
        let lines = [("a", 10, 1.0), ("a", 15, 2.0), ("a", 20, 9.0), ("b", 10, 3.0), ("a", 15, 1.5)];
        let kept = without_repeated(lines.map(line).to_vec());
        assert_eq!(kept, [("a", 10, 1.0), ("b", 10, 3.0), ("a", 15, 1.5)].map(line));
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
