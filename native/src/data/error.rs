//! The reason why a data set could not be read or shown.

use std::path::PathBuf;

use simile_core::data::DatasetError;

use crate::units;
use crate::words::number_of;

/// The reason why a data set could not be read or shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataError {
    #[error("{} is not a folder; name the folder that holds the data set with --data", .0.display())]
    NotAFolder(PathBuf),
    #[error("{} lacks {}; put them there, or name another folder with --data", folder.display(), missing.join(", "))]
    Missing { folder: PathBuf, missing: Vec<String> },
    #[error(
        "{} lacks {}, a part of the training images; put them there, or train on no more images than there are with \
         data.train",
        folder.display(),
        missing.join(", ")
    )]
    Incomplete { folder: PathBuf, missing: Vec<String> },
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
    #[error(
        "{} holds more than {limit} bytes, the most that is unpacked; unpack it, and name the unpacked file in [data.features]",
        path.display()
    )]
    LargeFeatures { path: PathBuf, limit: u64 },
    #[error(
        "{} needs {} of memory while it is read, and {} are free; {remedy}",
        path.display(),
        units::bytes(u128::from(*bytes)),
        units::bytes(u128::from(*free))
    )]
    Memory { path: PathBuf, bytes: u64, free: u64, remedy: &'static str },
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error("cannot read the picture {}: {source}", path.display())]
    Image { path: PathBuf, source: image::ImageError },
    #[error("cannot read the picture {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error(
        "cannot read the picture {}: {reason}{}; repair it, or leave such out with data.broken=skip",
        path.display(),
        match others { 0 => String::new(), n => format!(", and {}", number_of(*n, "other", "others")) }
    )]
    Broken { path: PathBuf, reason: String, others: usize },
    #[error(
        "{pictures} pictures take {} when decoded, more than the {} that are kept in memory; set SIMILE_CACHE to a folder \
         with so much room, or take fewer with data.train, or a smaller data.side",
        units::bytes(u128::from(*bytes)),
        units::bytes(u128::from(*most))
    )]
    NeedsCache { pictures: usize, bytes: u64, most: u64 },
    #[error(
        "{pictures} pictures take {} when decoded, and {} has {} free; free some, set SIMILE_CACHE to another folder, \
         or take fewer with data.train",
        units::bytes(u128::from(*bytes)),
        folder.display(),
        units::bytes(u128::from(*free))
    )]
    Disk { pictures: usize, bytes: u64, folder: PathBuf, free: u64 },
    #[error("cannot keep the decoded pictures in {}: {source}", path.display())]
    Cache { path: PathBuf, source: std::io::Error },
    /// Decoding ended early on request.
    #[error("stopped while pictures are decoded")]
    Stopped,
    #[error("{}: {reason}", path.display())]
    Table { path: PathBuf, reason: String },
    #[error("cannot make the picture: {0}")]
    Picture(#[from] image::ImageError),
}

pub(crate) type Result<T, E = DataError> = std::result::Result<T, E>;
