//! What is present in a folder, what is missing, and what is corrupt.

use std::fmt;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use serde::Serialize;
use simile_core::data::formats::cifar::{Cifar, names};
use simile_core::data::formats::idx;

use super::cache::hex;
use super::cifar::Files;
use super::file::{content, find, is_gzip, read, unpack};
use super::official::Official;
use super::pictures_check::PicturesReport;
use super::{Result, load_cifar, load_imagenet32, load_stl10, mnist, pictures_check};
use crate::config::data::{DataSection, DatasetName};

/// Pictures that are named in text; all of them are in the JSON document.
const MOST_SHOWN: usize = 20;

/// The state of a data set's folder.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The data set.
    pub(crate) name: String,
    /// The folder that was named.
    pub(crate) folder: PathBuf,
    /// Each official file.
    pub(crate) files: Vec<FileReport>,
    /// The pictures that annotations name, where they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pictures: Option<PicturesReport>,
    /// What is wrong although every file is readable: splits that do not fit together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// Whether the data set can be used: nothing missing, nothing corrupt.
    pub(crate) sound: bool,
}

/// The state of one file.
#[derive(Debug, Serialize)]
pub(crate) struct FileReport {
    /// Its official name.
    pub(crate) name: String,
    /// Where it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<PathBuf>,
    #[serde(flatten)]
    pub(crate) state: State,
}

/// What was found out about a file.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub(crate) enum State {
    /// Its MD5 is the official one.
    Official {
        /// MD5 of the file, or of its content where the archive was packed anew.
        md5: String,
    },
    /// It is well formed; there is no MD5 to compare, or another one.
    WellFormed {
        /// What was found.
        detail: String,
    },
    /// It cannot be used.
    Corrupt {
        /// Why.
        reason: String,
    },
    /// It is not there.
    Missing,
}

impl State {
    fn is_usable(&self) -> bool {
        matches!(self, Self::Official { .. } | Self::WellFormed { .. })
    }
}

/// Looks at every file of a data set in a folder, and at every picture where it has them.
///
/// # Errors
/// Only for a folder that is none: whatever is wrong with a file is in the report.
pub(crate) fn check(folder: &Path, official: &Official, section: &DataSection) -> Result<Report> {
    let (files, together) = match section.dataset {
        DatasetName::Mnist | DatasetName::ColourMnist | DatasetName::BiasedMnist => {
            (check_mnist(folder)?, mnist::load_mnist(folder).map(|_| ()))
        }
        DatasetName::Cifar10 => {
            (check_cifar(Cifar::Ten, folder)?, load_cifar(Cifar::Ten, folder).map(|_| ()))
        }
        DatasetName::Cifar100 => {
            (check_cifar(Cifar::Hundred, folder)?, load_cifar(Cifar::Hundred, folder).map(|_| ()))
        }
        DatasetName::Stl10 => (Vec::new(), load_stl10(folder).map(|_| ())),
        DatasetName::Imagenet32 => (Vec::new(), load_imagenet32(folder).map(|_| ())),
        _ => return pictures_check::check(official, section, folder),
    };
    let usable = files.iter().all(|file| file.state.is_usable());
    let problem = if usable { together.err().map(|error| error.to_string()) } else { None };
    let sound = usable && problem.is_none();
    Ok(Report { name: official.name.into(), folder: folder.into(), files, pictures: None, problem, sound })
}

fn check_mnist(folder: &Path) -> Result<Vec<FileReport>> {
    let found = mnist::locate(folder)?;
    let files = mnist::OFFICIAL.iter().zip(found).map(|(official, path)| {
        let state = path.as_deref().map_or(State::Missing, |path| mnist_state(path, official));
        FileReport { name: official.name.into(), path, state }
    });
    Ok(files.collect())
}

fn mnist_state(path: &Path, official: &mnist::Official) -> State {
    let examine = || -> Result<State> {
        let bytes = read(path)?;
        let archive = if is_gzip(path) { md5(&bytes) } else { String::new() };
        if archive == official.archive {
            return Ok(State::Official { md5: archive });
        }
        let bytes = unpack(path, bytes)?;
        let content = md5(&bytes);
        if content == official.content {
            return Ok(State::Official { md5: content });
        }
        let origin = path.display().to_string();
        let count = match official.name.contains("images") {
            true => idx::images(&bytes, &origin)?.len(),
            false => idx::labels(&bytes, 10, &origin)?.len(),
        };
        let expected = official.content;
        let detail =
            format!("{count} entries, but its content has MD5 {content}, the official one {expected}");
        Ok(State::WellFormed { detail })
    };
    examine().unwrap_or_else(|error| State::Corrupt { reason: error.to_string() })
}

fn check_cifar(cifar: Cifar, folder: &Path) -> Result<Vec<FileReport>> {
    let files = Files::of(cifar);
    let folders = files.folders(folder)?;
    let (archive, official) = files.archive;
    let unpacked = files.train.iter().any(|name| find(&folders, &[(*name).into()]).is_some());
    if let Some(path) = files.archive(folder).filter(|_| !unpacked) {
        let state = archive_state(cifar, &path, official);
        return Ok(vec![FileReport { name: archive.into(), path: Some(path), state }]);
    }
    let report = |name: &'static str| {
        let path = find(&folders, &[name.into()]);
        let state = path.as_deref().map_or(State::Missing, |path| cifar_state(cifar, path));
        FileReport { name: name.into(), path, state }
    };
    Ok(files.all().map(report).collect())
}

fn archive_state(cifar: Cifar, path: &Path, official: &str) -> State {
    let examine = || -> Result<State> {
        let found = md5(&read(path)?);
        if found == official {
            return Ok(State::Official { md5: found });
        }
        let splits = load_cifar(cifar, path.parent().unwrap_or(path))?;
        let count = splits.train.len() + splits.test.len();
        Ok(State::WellFormed {
            detail: format!("{count} images, but MD5 {found}, the official one {official}"),
        })
    };
    examine().unwrap_or_else(|error| State::Corrupt { reason: error.to_string() })
}

fn cifar_state(cifar: Cifar, path: &Path) -> State {
    let examine = || -> Result<State> {
        let bytes = content(path)?;
        if path.extension().is_some_and(|extension| extension == "txt") {
            let count = names(&String::from_utf8_lossy(&bytes)).len();
            return Ok(State::WellFormed { detail: format!("{count} names") });
        }
        let (classes, origin) = (cifar.classes(), path.display().to_string());
        let numbered = |count: usize| (0..count).map(|i| i.to_string()).collect();
        let parsed = simile_core::data::formats::cifar::parse(
            cifar,
            &[(bytes.as_slice(), origin.as_str())],
            numbered(classes),
            numbered(20),
        )?;
        Ok(State::WellFormed { detail: format!("{} images", parsed.len()) })
    };
    examine().unwrap_or_else(|error| State::Corrupt { reason: error.to_string() })
}

fn md5(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            let shown =
                file.path.as_ref().map_or_else(|| file.name.clone(), |path| path.display().to_string());
            match &file.state {
                State::Official { md5 } => writeln!(f, "ok       {shown}: the official file (MD5 {md5})")?,
                State::WellFormed { detail } => writeln!(f, "ok       {shown}: {detail}")?,
                State::Corrupt { reason } => writeln!(f, "corrupt  {reason}")?,
                State::Missing => writeln!(f, "missing  {shown}")?,
            }
        }
        if let Some(pictures) = &self.pictures {
            pictures.notes.iter().try_for_each(|note| writeln!(f, "note     {note}"))?;
            let (sound, broken) = (pictures.listed - pictures.broken.len(), &pictures.broken);
            writeln!(f, "ok       {sound} of {} pictures", pictures.listed)?;
            broken.iter().take(MOST_SHOWN).try_for_each(|reason| writeln!(f, "broken   {reason}"))?;
            if broken.len() > MOST_SHOWN {
                writeln!(f, "broken   {} pictures in all (--json names each)", broken.len())?;
            }
        }
        if let Some(problem) = &self.problem {
            writeln!(f, "wrong    {problem}")?;
        }
        let verdict = if self.sound { "is sound" } else { "cannot be used as it is" };
        write!(f, "{} in {} {verdict}", self.name, self.folder.display())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::mnist::tests::{real, write_small};
    use super::*;
    use crate::data::official::official;
    use std::fs;

    fn check(folder: &Path, name: &str, dataset: DatasetName) -> Report {
        super::check(folder, official(name).unwrap(), &DataSection::of(dataset)).unwrap()
    }

    #[test]
    fn the_real_files_have_the_official_md5() {
        let folder = real("mnist-labels");
        let report = check(&folder, "colour-mnist", DatasetName::ColourMnist);
        for (at, file) in report.files.iter().enumerate() {
            let official = State::Official { md5: mnist::OFFICIAL[at].archive.into() };
            let expected = if file.name.contains("labels") { official } else { State::Missing };
            assert_eq!(file.state, expected, "{}", file.name);
        }
        assert!(!report.sound);
        // Packed anew or not at all, the content is still the official one.
        let copy = tempfile::tempdir().unwrap();
        let labels = content(&folder.join("t10k-labels-idx1-ubyte.gz")).unwrap();
        fs::write(copy.path().join("t10k-labels.idx1-ubyte"), labels).unwrap();
        let report = check(copy.path(), "mnist", DatasetName::Mnist);
        assert_eq!(report.files[3].state, State::Official { md5: mnist::OFFICIAL[3].content.into() });
        // A part of the digits is well formed, and used, and not the official data set.
        let report = check(&real("mnist"), "mnist", DatasetName::Mnist);
        assert!(report.sound, "{report}");
        assert!(report.files.iter().all(|file| matches!(file.state, State::WellFormed { .. })), "{report}");
    }

    #[test]
    fn each_file_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        write_small(folder.path(), 5);
        let report = check(folder.path(), "mnist", DatasetName::Mnist);
        assert!(report.sound && matches!(&report.files[0].state, State::WellFormed { .. }), "{report}");
        fs::write(folder.path().join("train-images-idx3-ubyte"), [0, 0, 8]).unwrap();
        fs::remove_file(folder.path().join("t10k-labels-idx1-ubyte")).unwrap();
        let report = check(folder.path(), "mnist", DatasetName::Mnist);
        let text = report.to_string();
        assert!(text.contains("corrupt  ") && text.contains("train-images-idx3-ubyte: 3 bytes"), "{text}");
        assert!(
            text.contains("missing  t10k-labels-idx1-ubyte") && text.contains("cannot be used"),
            "{text}"
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["files"][0]["state"], "corrupt");
        assert_eq!(json["sound"], false);
    }

    #[test]
    fn files_that_do_not_fit_together_are_a_problem() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_small(folder.path(), 5);
        write_small(other.path(), 6);
        fs::copy(other.path().join("train-labels-idx1-ubyte"), folder.path().join("train-labels-idx1-ubyte"))
            .unwrap();
        let report = check(folder.path(), "mnist", DatasetName::Mnist);
        assert!(!report.sound && report.to_string().contains("6 entries but there are 5 images"), "{report}");
    }

    #[test]
    fn the_part_of_cifar_that_is_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let record: Vec<u8> = std::iter::once(4).chain([9; 3072]).collect();
        fs::write(folder.path().join("data_batch_2.bin"), record.repeat(3)).unwrap();
        fs::write(folder.path().join("test_batch.bin"), record.repeat(2)).unwrap();
        fs::write(folder.path().join("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n").unwrap();
        let report = check(folder.path(), "cifar-10", DatasetName::Cifar10);
        let state = |name: &str| &report.files.iter().find(|file| file.name == name).unwrap().state;
        assert_eq!(*state("data_batch_1.bin"), State::Missing);
        assert_eq!(*state("data_batch_2.bin"), State::WellFormed { detail: "3 images".into() });
        assert_eq!(*state("test_batch.bin"), State::WellFormed { detail: "2 images".into() });
        assert_eq!(*state("batches.meta.txt"), State::WellFormed { detail: "10 names".into() });
    }
}
