//! Data sets in folders: finding the files, reading them, saying exactly what is missing or corrupt.
//!
//! `core` parses bytes; here they come from files. Both splits of a data set are read together.

mod archive;
mod cache;
mod cells;
mod check;
mod cifar;
mod features;
mod fetch;
mod file;
mod gather;
mod imagenet32;
mod mnist;
mod official;
mod picture;
mod pictures;
mod pictures_check;
mod presence;
mod preview;
pub(crate) mod settings;
mod stl10;
mod table;
mod walk;

use std::path::PathBuf;

use simile_core::data::DatasetError;

pub(crate) use cache::Cache;
pub(crate) use check::{Report, check};
pub(crate) use cifar::{CifarSplits, load_cifar};
pub(crate) use features::read_features;
pub(crate) use fetch::{Fetched, fetch};
pub(crate) use gather::{Gathered, gather};
pub(crate) use imagenet32::load_imagenet32;
pub(crate) use mnist::{Mnist, load_mnist};
pub(crate) use official::{ALL, Official, official};
pub(crate) use picture::read_picture;
pub(crate) use pictures::{Framing, Pictures, read_pictures};
pub(crate) use presence::lacking;
pub(crate) use preview::preview;
pub(crate) use stl10::load_stl10;
pub(crate) use table::TableSection;

/// What the tests with changed files reach besides.
#[cfg(test)]
pub(crate) mod parsers {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};

    use super::Result;
    use super::archive::{self, Limits};
    pub(crate) use super::file::content as gzip;
    pub(crate) use super::imagenet32::read as npz;
    pub(crate) use super::table::catalogue as table;

    pub(crate) fn unpack(path: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
        archive::unpack(path, folder, Limits::default())
    }

    pub(crate) fn members(path: &Path, names: &[&str]) -> Result<HashMap<String, Vec<u8>>> {
        archive::members(path, names, 1 << 30)
    }
}

/// Why a data set could not be read or shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataError {
    #[error("{} is not a folder; name the folder that holds the data set with --data", .0.display())]
    NotAFolder(PathBuf),
    #[error("{} lacks {}; get the official files and put them there", folder.display(), missing.join(", "))]
    Missing { folder: PathBuf, missing: Vec<String> },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is truncated or corrupt ({source}); get it again", path.display())]
    Gzip { path: PathBuf, source: std::io::Error },
    #[error("{} {reason}", path.display())]
    Archive { path: PathBuf, reason: String },
    #[error("cannot fetch {url}: {reason}")]
    Fetch { url: String, reason: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error(
        "{} is a pickle, which is a program and is not run; get the NumPy version (.npz) from where the data set is \
         published, or convert it with Python: d = pickle.load(open(F, 'rb')); numpy.savez(F, data=d['data'], \
         labels=d['labels'])",
        .0.display()
    )]
    Pickle(PathBuf),
    #[error("{} holds more than {limit} bytes; this is not the official file, get it again", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error("cannot read the picture {}: {source}", path.display())]
    Image { path: PathBuf, source: image::ImageError },
    #[error("cannot read the picture {}: {reason}", path.display())]
    LargePicture { path: PathBuf, reason: String },
    #[error(
        "cannot read the picture {}: {reason}{}; repair it, or leave such out with data.broken=skip",
        path.display(),
        match others { 0 => String::new(), 1 => ", and 1 other".into(), n => format!(", and {n} others") }
    )]
    Broken { path: PathBuf, reason: String, others: usize },
    #[error(
        "{pictures} pictures need {bytes} bytes of memory, which are not there; take fewer with data.train, or a smaller encoder.input_size"
    )]
    Memory { pictures: usize, bytes: usize },
    #[error("{}: {reason}", path.display())]
    Table { path: PathBuf, reason: String },
    #[error("cannot make the picture: {0}")]
    Picture(#[from] image::ImageError),
}

pub(crate) type Result<T, E = DataError> = std::result::Result<T, E>;
