//! What a data set is: who publishes it, how its files are found, and how they become images.

use std::path::Path;

use serde::Serialize;
use simile_core::data::Dataset;

use super::error::{DataError, Result};
use super::pictures::annotations::Annotations;
use super::report::FileReport;
use super::settings::{Options, Refused};

/// A data set that recipes can name.
pub(crate) trait Source: Sync {
    /// Who publishes it, where, under which terms.
    fn about(&self) -> &'static About;

    /// Where its images come from, with what reads them.
    fn kind(&self) -> Kind<'_>;

    /// The images that an encoder takes where no recipe says which.
    fn shape(&self) -> Shape {
        Shape { side: 64, channels: 3 }
    }

    /// Keys of `[data]` that say something about this data set, beside those of every data set of its kind.
    fn keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// The settings where no recipe says any.
    fn defaults(&self) -> Options<'static> {
        Options::default()
    }

    /// Whether the settings of a recipe suffice and are in range.
    ///
    /// # Errors
    /// Names the key that is refused.
    fn check(&self, _options: &Options<'_>) -> Result<(), Refused> {
        Ok(())
    }
}

/// Where the images of a data set come from.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// They are drawn.
    Drawn(&'a dyn Drawn),
    /// A few files hold the pixels of all of them.
    Arrays(&'a dyn ArrayFiles),
    /// Each is a picture file, and annotations say what it shows.
    Pictures(&'a dyn PictureFiles),
}

/// Side and channels of square images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) side: usize,
    pub(crate) channels: usize,
}

/// A data set without files.
pub(crate) trait Drawn: Sync {
    /// Draws `count` images.
    ///
    /// # Errors
    /// If `count` is 0.
    fn draw(&self, count: usize, options: &Options<'_>, seed: u64) -> Result<Dataset>;

    /// Bytes of an image.
    fn bytes(&self) -> usize;
}

/// A data set in a few files, all of which are read at once.
pub(crate) trait ArrayFiles: Sync {
    /// Whether the needed files are in a folder; none is opened.
    ///
    /// # Errors
    /// Names every file that is missing.
    fn find(&self, folder: &Path) -> Result<()>;

    /// Reads both splits.
    ///
    /// # Errors
    /// Names every file that is missing, or the first that is unreadable or corrupt.
    fn read(&self, folder: &Path) -> Result<Arrays>;

    /// The state of each official file, where it can be told file by file.
    ///
    /// # Errors
    /// If the folder is none.
    fn check(&self, _folder: &Path) -> Result<Vec<FileReport>> {
        Ok(Vec::new())
    }

    /// Images of a split as runs take them. Images that are held out are taken from the training images before.
    ///
    /// # Errors
    /// If the images or the options are not of this data set.
    fn finish(&self, split: Dataset, _options: &Options<'_>, _finish: Finish) -> Result<Dataset> {
        Ok(split)
    }
}

/// Both splits of a data set.
#[derive(Debug)]
pub(crate) struct Arrays {
    pub(crate) train: Dataset,
    pub(crate) test: Dataset,
    /// What is absent although the data set can be used.
    pub(crate) notes: Vec<String>,
}

/// How the images of a split are finished.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finish {
    /// Whether they are trained on.
    pub(crate) is_train: bool,
    /// Whether they keep the size of their files.
    pub(crate) own_size: bool,
    pub(crate) seed: u64,
}

/// A data set of picture files.
pub(crate) trait PictureFiles: Sync {
    /// Reads the annotations in a folder that is there.
    ///
    /// # Errors
    /// Names the missing file, or the file and line of what is not understood.
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations>;

    /// Whether `data.test` says which pictures are trained on: those that are not held out.
    fn holds_out(&self) -> bool {
        false
    }

    /// Reads the annotations in a folder.
    ///
    /// # Errors
    /// If the folder is none, or as [`annotate`](Self::annotate).
    fn annotations(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        if !folder.is_dir() {
            return Err(DataError::NotAFolder(folder.into()));
        }
        self.annotate(options, folder)
    }
}

/// What is known of a data set before it is there: who publishes it, where, under which terms, and what it looks like once
/// it is unpacked.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct About {
    /// As recipes write it.
    pub(crate) name: &'static str,
    /// Files that the data set consists of, in words.
    pub(crate) files: &'static str,
    /// Variables that it can be conditioned on.
    pub(crate) variables: &'static str,
    /// The authors' page; empty where there is nothing to get.
    pub(crate) home: &'static str,
    pub(crate) licence: &'static str,
    /// What to do where `fetch` cannot.
    pub(crate) get: &'static str,
    /// What `fetch` downloads.
    pub(crate) downloads: &'static [Download],
    /// Files whose presence says that a data set of pictures is there, below its own folder or the one above.
    #[serde(skip)]
    pub(crate) needed: &'static [&'static str],
    /// Pictures of all parts, where the authors say how many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pictures: Option<usize>,
}

impl About {
    /// Nothing is known, as of what nobody has to get.
    pub(crate) const NOTHING: Self = Self {
        name: "",
        files: "",
        variables: "",
        home: "",
        licence: "",
        get: "",
        downloads: &[],
        needed: &[],
        pictures: None,
    };

    /// Whether somebody publishes it, so that there are official files to compare with.
    pub(crate) fn is_published(&self) -> bool {
        !self.home.is_empty()
    }
}

/// A file to download.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Download {
    pub(crate) url: &'static str,
    /// MD5 that the authors or many readers of the data set state; none is known otherwise, and that of the first
    /// download is kept beside the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) md5: Option<&'static str>,
    /// Where it goes below the data folder: the folder that an archive is unpacked into, or a file is put into.
    pub(crate) folder: &'static str,
    /// Whether it stays packed.
    pub(crate) packed: bool,
}

impl Download {
    pub(crate) const fn packed(url: &'static str, md5: &'static str, folder: &'static str) -> Self {
        Self { url, md5: Some(md5), folder, packed: true }
    }

    pub(crate) const fn unpacked(url: &'static str, md5: Option<&'static str>, folder: &'static str) -> Self {
        Self { url, md5, folder, packed: false }
    }

    /// The last part of the address.
    pub(crate) fn file(&self) -> &'static str {
        self.url.rsplit('/').next().unwrap_or(self.url)
    }
}
