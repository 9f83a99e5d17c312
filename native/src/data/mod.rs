//! Data sets in folders: finding the files, reading them, saying exactly what is missing or corrupt.
//!
//! `core` parses bytes; here they come from files. Both splits of a data set are read together.

mod check;
mod cifar;
mod file;
mod mnist;
mod picture;
mod preview;
mod table;

use std::path::PathBuf;

use simile_core::dataset::DatasetError;

pub(crate) use check::{OFFICIAL, Report, check};
pub(crate) use cifar::{CifarSplits, load_cifar};
pub(crate) use mnist::{Mnist, load_mnist};
pub(crate) use picture::read_picture;
pub(crate) use preview::preview;
pub(crate) use table::{Table, TableSection, load_table};

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
    #[error("{} holds more than {limit} bytes; this is not the official file, get it again", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error("no files are known for the data set `{name}`; known: {}", known.join(", "))]
    Unknown { name: String, known: Vec<&'static str> },
    #[error("cannot read the picture {}: {source}", path.display())]
    Image { path: PathBuf, source: image::ImageError },
    #[error("cannot read the picture {}, or one beside it: its decoder failed", .0.display())]
    Decoder(PathBuf),
    #[error("{}: {reason}", path.display())]
    Table { path: PathBuf, reason: String },
    #[error("cannot make the picture: {0}")]
    Picture(#[from] image::ImageError),
}

pub(crate) type Result<T, E = DataError> = std::result::Result<T, E>;
