//! From a folder to the catalogue of its pictures: which files say what, and where they may lie.

mod birds;
mod chests;
mod faces;
mod folders;
mod shoes;

#[cfg(test)]
pub(in crate::data) use birds::tests::birds_of_two_species;

use std::path::{Path, PathBuf};

use simile_core::data::catalogue::kept;
use simile_core::data::{Catalogue, Part};

use super::file::content;
use super::settings::SplitSection;
use super::table::{self, Table};
use super::{DataError, Result};
use crate::config::data::{DataSection, DatasetName};

/// Seed of the pictures that are held out of a table without a split.
const HOLD_OUT_SEED: u64 = 0;

/// What is known of the pictures of a data set.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// Where the files of the catalogue lie.
    pub(crate) root: PathBuf,
    pub(crate) catalogue: Catalogue,
    /// What is absent or was left out although the data set can be used.
    pub(crate) notes: Vec<String>,
}

/// Reads the annotations of a data set of picture files in a folder; `None` if the data set has none.
///
/// # Errors
/// Names the missing file, or the file and line of what is not understood.
pub(crate) fn gather(section: &DataSection, folder: &Path) -> Result<Option<Gathered>> {
    if !folder.is_dir() {
        return Err(DataError::NotAFolder(folder.into()));
    }
    let split = section.split.clone().unwrap_or_default();
    let faces = section.faces.clone().unwrap_or_default();
    match section.dataset {
        DatasetName::Table => {
            let Some(table) = &section.table else { return Ok(None) };
            let Table { catalogue, has_split, notes } = table::catalogue(table, folder)?;
            let catalogue = match section.test {
                Some(count) if !has_split => {
                    catalogue.hold_out(Part::Train, Part::Test, count, HOLD_OUT_SEED)?
                }
                _ => catalogue,
            };
            Ok(Some(Gathered { root: folder.into(), catalogue, notes }))
        }
        DatasetName::Folders
        | DatasetName::Imagenet100
        | DatasetName::TinyImagenet
        | DatasetName::Caltech101
        | DatasetName::Caltech256 => {
            folders::gather(section.dataset, section.folders.as_ref(), section.split.as_ref(), folder)
                .map(Some)
        }
        DatasetName::UtZappos50k => shoes::gather(&split, folder).map(Some),
        DatasetName::Cub200 => birds::cub(folder).map(Some),
        DatasetName::Waterbirds => birds::waterbirds(folder).map(Some),
        DatasetName::Utkface => faces::utkface(&faces, &split, folder).map(Some),
        DatasetName::Celeba => faces::celeba(&faces, folder).map(Some),
        DatasetName::Chexpert => {
            chests::gather(&section.chexpert.clone().unwrap_or_default(), folder).map(Some)
        }
        DatasetName::Digits
        | DatasetName::ColourMnist
        | DatasetName::Mnist
        | DatasetName::BiasedMnist
        | DatasetName::Cifar10
        | DatasetName::Cifar100
        | DatasetName::Stl10
        | DatasetName::Imagenet32 => Ok(None),
    }
}

/// The first of the sub-folders `inner`, or the folder itself, that holds the file or folder `marker`.
///
/// # Errors
/// If none does.
fn root(folder: &Path, inner: &[&str], marker: &str) -> Result<PathBuf> {
    let candidates = inner.iter().map(|name| folder.join(name)).chain([folder.to_path_buf()]);
    let mut found = candidates.filter(|candidate| candidate.join(marker).exists());
    found.next().ok_or_else(|| DataError::Missing { folder: folder.into(), missing: vec![marker.into()] })
}

/// A text file and the name that messages use for it.
fn text(path: &Path) -> Result<(String, String)> {
    if !path.is_file() {
        let folder = path.parent().unwrap_or(path).into();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(DataError::Missing { folder, missing: vec![name] });
    }
    Ok((String::from_utf8_lossy(&content(path)?).into_owned(), path.display().to_string()))
}

/// Training pictures held out as `[data.split]` says.
fn split(catalogue: Catalogue, section: &SplitSection) -> Result<Catalogue> {
    Ok(match section.per_class {
        Some(count) => catalogue.keep_per_class(count, section.seed)?,
        None => {
            let train = catalogue.of(Part::Train).len();
            catalogue.hold_out(Part::Train, Part::Test, train - kept(train, section.test), section.seed)?
        }
    })
}
