//! The report of `simile data check` on a folder: present, missing and corrupt files.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// Most pictures that are named in text; the JSON document names all of them.
const MOST_SHOWN: usize = 20;

/// The state of a data set's folder.
#[derive(Debug, Serialize)]
pub(crate) struct CheckReport {
    /// The data set.
    pub(crate) name: String,
    /// The folder, as given by the user.
    pub(crate) folder: PathBuf,
    /// Each official file.
    pub(crate) files: Vec<FileReport>,
    /// The pictures that annotations name, for data sets with annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pictures: Option<PicturesReport>,
    /// A problem of all files together: annotations that cannot be read, splits that do not fit together, or another number of pictures
    /// than the authors state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// True if no file is missing or corrupt, no picture is broken, and there is no `problem`. A run may use other data too: see
    /// [`MissingData::is_part`](super::presence::MissingData::is_part).
    pub(crate) sound: bool,
}

/// The state of one file.
#[derive(Debug, Serialize)]
pub(crate) struct FileReport {
    /// Its official name.
    pub(crate) name: String,
    /// Its path, if it is present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<PathBuf>,
    #[serde(flatten)]
    pub(crate) state: FileCheck,
}

/// The result of the check of a file.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub(crate) enum FileCheck {
    /// Its MD5 is the official one.
    Official {
        /// MD5 of the file, or of its content if the archive was repacked.
        md5: String,
    },
    /// It is well formed; there is no official MD5, or it differs.
    WellFormed {
        /// A description of the contents.
        detail: String,
    },
    /// It is damaged.
    Corrupt {
        /// The reason.
        reason: String,
    },
    /// It is missing.
    Missing,
}

impl FileCheck {
    pub(crate) fn is_usable(&self) -> bool {
        matches!(self, Self::Official { .. } | Self::WellFormed { .. })
    }
}

/// The result of the check of the pictures.
#[derive(Debug, Serialize)]
pub(crate) struct PicturesReport {
    /// Pictures that the annotations name.
    pub(crate) listed: usize,
    /// Pictures that are missing or cannot be decoded, each with the reason.
    pub(crate) broken: Vec<String>,
    /// Absent parts without which the data set can be used.
    pub(crate) notes: Vec<String>,
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            let shown =
                file.path.as_ref().map_or_else(|| file.name.clone(), |path| path.display().to_string());
            match &file.state {
                FileCheck::Official { md5 } => {
                    writeln!(f, "ok       {shown}: the official file (MD5 {md5})")?
                }
                FileCheck::WellFormed { detail } => writeln!(f, "ok       {shown}: {detail}")?,
                FileCheck::Corrupt { reason } => writeln!(f, "corrupt  {reason}")?,
                FileCheck::Missing => writeln!(f, "missing  {shown}")?,
            }
        }
        if let Some(pictures) = &self.pictures {
            pictures.notes.iter().try_for_each(|note| writeln!(f, "note     {note}"))?;
            let PicturesReport { listed, broken, .. } = pictures;
            match broken.len() {
                0 => writeln!(f, "ok       {listed} pictures")?,
                unusable => writeln!(f, "broken   {unusable} of {listed} pictures")?,
            }
            broken.iter().take(MOST_SHOWN).try_for_each(|reason| writeln!(f, "broken   {reason}"))?;
            if broken.len() > MOST_SHOWN {
                writeln!(f, "broken   and {} more (--json names each)", broken.len() - MOST_SHOWN)?;
            }
        }
        if let Some(problem) = &self.problem {
            writeln!(f, "wrong    {problem}")?;
        }
        let verdict = if self.sound {
            "is sound"
        } else {
            "is not the complete official data set: see the lines marked missing, corrupt, broken or wrong"
        };
        write!(f, "{} in {} {verdict}", self.name, self.folder.display())
    }
}
