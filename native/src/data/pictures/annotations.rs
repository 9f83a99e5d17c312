//! Reads the catalogue of the pictures in a folder: the files of its annotations, and the places where they may lie.

use std::path::{Path, PathBuf};

use simile_core::data::Catalogue;

use super::list::PictureList;
use crate::data::error::{DataError, Result};
use crate::data::files::content;

/// The catalogue of the pictures of a data set.
#[derive(Debug)]
pub(crate) struct Annotations {
    /// The folder of the files of the catalogue.
    pub(crate) root: PathBuf,
    pub(crate) catalogue: Catalogue,
    /// Notes on absent or omitted parts of a usable data set.
    pub(crate) notes: Vec<String>,
}

impl Annotations {
    /// The files of all pictures.
    pub(in crate::data) fn list(&self) -> PictureList<'_> {
        PictureList { root: &self.root, files: &self.catalogue.files }
    }
}

/// The first of the sub-folders `inner` that exists, or the folder itself.
pub(in crate::data) fn inner_folder(folder: &Path, inner: &[&str]) -> PathBuf {
    let existing = inner.iter().map(|name| folder.join(name)).find(|path| path.is_dir());
    existing.unwrap_or_else(|| folder.into())
}

/// The first of the sub-folders `inner`, or the folder itself, that holds the file or folder `marker`.
///
/// # Errors
/// If none does.
pub(in crate::data) fn root(folder: &Path, inner: &[&str], marker: &str) -> Result<PathBuf> {
    let candidates = inner.iter().map(|name| folder.join(name)).chain([folder.to_path_buf()]);
    let mut holders = candidates.filter(|candidate| candidate.join(marker).exists());
    holders.next().ok_or_else(|| DataError::Missing { folder: folder.into(), missing: vec![marker.into()] })
}

/// The content of a text file, and the name that messages use for it.
pub(in crate::data) fn text(path: &Path) -> Result<(String, String)> {
    if !path.is_file() {
        let folder = path.parent().unwrap_or(path).into();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(DataError::Missing { folder, missing: vec![name] });
    }
    Ok((String::from_utf8_lossy(&content(path)?).into_owned(), path.display().to_string()))
}
