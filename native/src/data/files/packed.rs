//! The files of a data set that is published as one archive: unpacked, or in the archive.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::archive::members;
use super::{LARGEST, content, find};
use crate::data::error::{DataError, Result};

/// The files of a data set.
pub(in crate::data) enum PackedFiles {
    /// Unpacked, each in the first of these folders that has it.
    Folders(Vec<PathBuf>),
    /// In this archive, with their content once it is opened.
    Archive(PathBuf, Option<HashMap<String, Vec<u8>>>),
}

impl PackedFiles {
    /// The files in an archive, if there is one and none of `marks` is unpacked in `folders`; otherwise those in `folders`. No file is
    /// opened.
    pub(in crate::data) fn of(folders: Vec<PathBuf>, archive: Option<PathBuf>, marks: &[&str]) -> Self {
        let is_unpacked = marks.iter().any(|&name| find(&folders, &[name.into()]).is_some());
        match archive.filter(|_| !is_unpacked) {
            Some(archive) => Self::Archive(archive, None),
            None => Self::Folders(folders),
        }
    }

    /// The same files, with the content of `names` if they are in an archive.
    ///
    /// # Errors
    /// If the archive cannot be read or is damaged, or a file in it is too large.
    pub(in crate::data) fn opened(self, names: &[&str]) -> Result<Self> {
        Ok(match self {
            Self::Archive(archive, None) => {
                let contents = members(&archive, names, LARGEST)?;
                Self::Archive(archive, Some(contents))
            }
            opened => opened,
        })
    }

    /// Those of `names` that are not there. An archive that is not opened is taken to be complete.
    pub(in crate::data) fn missing(&self, names: &[&str]) -> Vec<String> {
        names.iter().filter(|name| !self.has(name)).map(|&name| name.into()).collect()
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Folders(folders) => find(folders, &[name.into()]).is_some(),
            Self::Archive(_, contents) => {
                contents.as_ref().is_none_or(|contents| contents.contains_key(name))
            }
        }
    }

    /// The content of a file, and the name that messages use for it; none if the file is not there, or in an archive that is not opened.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(in crate::data) fn read(&self, name: &str) -> Result<Option<(String, Cow<'_, [u8]>)>> {
        Ok(match self {
            Self::Folders(folders) => match find(folders, &[name.into()]) {
                Some(path) => Some((path.display().to_string(), content(&path)?.into())),
                None => None,
            },
            Self::Archive(archive, contents) => {
                let bytes = contents.as_ref().and_then(|contents| contents.get(name));
                bytes.map(|bytes| (archive.join(name).display().to_string(), bytes.as_slice().into()))
            }
        })
    }
}

/// Refuses a data set that lacks files.
///
/// # Errors
/// Names them.
pub(in crate::data) fn refuse_missing(folder: &Path, missing: Vec<String>) -> Result<()> {
    if missing.is_empty() { Ok(()) } else { Err(DataError::Missing { folder: folder.into(), missing }) }
}
