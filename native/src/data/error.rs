//! The reason why a data set could not be read or shown.

use std::path::PathBuf;

use simile_core::data::DatasetError;

/// The reason why a data set could not be read or shown.
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
