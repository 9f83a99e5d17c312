//! The definition of a data set: its publication, its files, and how they become images.

use std::path::Path;

use serde::Serialize;
use simile_core::data::Dataset;
#[cfg(test)]
use simile_core::data::formats::lines::Text;

use super::check_report::FileReport;
use super::error::{DataError, Result};
use super::keys::Refused;
use super::keys::of_dataset::{DatasetOptions, OptionType, ReadOptions};
use super::pictures::annotations::Annotations;

/// A data set that recipes can name.
pub(crate) trait Source: Sync {
    /// Its authors, its address and its terms.
    fn about(&self) -> &About;

    /// The source of its images, with their reader.
    fn medium(&self) -> Medium<'_>;

    /// The default input images of an encoder.
    fn shape(&self) -> Shape {
        Shape { side: 64, channels: 3 }
    }

    /// Keys of `[data]` that belong to this data set, alone or with others.
    fn options(&self) -> &'static [OptionType] {
        &[]
    }

    /// True if its images have coloured backgrounds, whose colours `data.colours` chooses.
    fn has_backgrounds(&self) -> bool {
        false
    }

    /// The default settings.
    fn defaults(&self) -> ReadOptions {
        ReadOptions::default()
    }

    /// The keys with which it takes all of its pictures, so that each can be checked: by default a sampling, or the treatment of uncertain
    /// labels, may leave some out.
    fn whole(&self) -> DatasetOptions {
        self.defaults().of_dataset
    }

    /// Checks that the settings of a recipe are complete. Each of its own keys was checked before.
    ///
    /// # Errors
    /// Names the refused key.
    fn check(&self, _options: &ReadOptions) -> Result<(), Refused> {
        Ok(())
    }

    /// Checks that the settings of a recipe that a user gives are all used.
    ///
    /// # Errors
    /// Names the key that is ignored.
    fn check_use(&self, _options: &ReadOptions) -> Result<(), Refused> {
        Ok(())
    }
}

/// The source of the images of a data set.
#[derive(Clone, Copy)]
pub(crate) enum Medium<'a> {
    /// The images are generated.
    Drawn(&'a dyn Drawn),
    /// A few files hold the pixels of all images.
    Arrays(&'a dyn ArrayFiles),
    /// Each image is a picture file, with annotations.
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
    fn draw(&self, count: usize, options: &ReadOptions, seed: u64) -> Result<Dataset>;

    /// Bytes of an image.
    fn bytes(&self) -> usize;
}

/// A data set in a few files, all of which are read at once.
pub(crate) trait ArrayFiles: Sync {
    /// Checks that the required files are in a folder; none is opened.
    ///
    /// # Errors
    /// Names every file that is missing.
    fn find(&self, folder: &Path) -> Result<()>;

    /// The training files that are not in a usable folder, which then holds a part of the data set; none is opened.
    ///
    /// # Errors
    /// If `folder` is not a folder.
    fn absent(&self, _folder: &Path) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Reads both splits.
    ///
    /// # Errors
    /// Names every file that is missing, or the first that is unreadable or corrupt.
    fn read(&self, folder: &Path) -> Result<Arrays>;

    /// The state of each official file, if files can be checked one by one.
    ///
    /// # Errors
    /// If `folder` is not a folder.
    fn check(&self, _folder: &Path) -> Result<Vec<FileReport>> {
        Ok(Vec::new())
    }

    /// The final images of a split for a run. Held-out images are removed from the training images before.
    ///
    /// # Errors
    /// If the images or the options are not of this data set.
    fn finish(&self, split: Dataset, _options: &ReadOptions, _finish: Finish) -> Result<Dataset> {
        Ok(split)
    }
}

/// Both splits of a data set.
#[derive(Debug)]
pub(crate) struct Arrays {
    pub(crate) train: Dataset,
    pub(crate) test: Dataset,
    /// The training files that are not there, of a usable data set.
    pub(crate) absent: Vec<String>,
}

/// The options for the final images of a split.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finish {
    /// True for training images.
    pub(crate) is_train: bool,
    /// True if they keep the size of their files.
    pub(crate) own_size: bool,
    pub(crate) seed: u64,
}

/// A data set of picture files.
pub(crate) trait PictureFiles: Sync {
    /// Reads the annotations in an existing folder.
    ///
    /// # Errors
    /// Names the missing file, or the file and line that cannot be read.
    fn annotate(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations>;

    /// True if the settings take all pictures of the data set, as many as [`About::pictures`] says.
    fn is_whole(&self, _options: &ReadOptions) -> bool {
        true
    }

    /// True if `data.test` determines the training pictures: those that are not held out.
    fn holds_out(&self, _options: &ReadOptions) -> bool {
        false
    }

    /// The answers of the parsers of its annotations to the texts of a test with changed files. A case has any number of them;
    /// the others are empty.
    #[cfg(test)]
    fn parse_changed(&self, _texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
        Vec::new()
    }

    /// Reads the annotations in a folder.
    ///
    /// # Errors
    /// If `folder` is not a folder, or as [`annotate`](Self::annotate).
    fn annotations(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        if !folder.is_dir() {
            return Err(DataError::NotAFolder(folder.into()));
        }
        self.annotate(options, folder)
    }
}

/// The publication of a data set: its authors, its address, its terms, and its layout after unpacking.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct About {
    /// As recipes write it.
    pub(crate) name: &'static str,
    /// Files that the data set consists of, in words.
    pub(crate) files: &'static str,
    /// Its classes, and the pictures that it is tested on, in words.
    pub(crate) classes: &'static str,
    /// Attributes that it can be conditioned on.
    #[serde(rename = "variables")]
    pub(crate) attributes: &'static str,
    /// The authors' page; empty if there is nothing to download.
    pub(crate) home: &'static str,
    pub(crate) licence: &'static str,
    /// Instructions for getting the data where `fetch` cannot.
    pub(crate) get: &'static str,
    /// The files that `fetch` downloads.
    pub(crate) downloads: &'static [Download],
    /// Files whose presence marks a data set of pictures as present, below its own folder or the one above.
    #[serde(skip)]
    pub(crate) needed: &'static [&'static str],
    /// Number of pictures of all splits, if the authors state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pictures: Option<usize>,
    /// The published constants for `data.normalise`.
    #[serde(skip)]
    pub(crate) normalise: Option<Constants>,
}

/// Mean and standard deviation of each channel, of values from 0 to 1, under the name by which `data.normalise` takes them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constants {
    pub(crate) name: &'static str,
    pub(crate) mean: [f64; 3],
    pub(crate) std: [f64; 3],
}

impl About {
    /// An empty publication, for data without a download.
    pub(crate) const NOTHING: Self = Self {
        name: "",
        files: "",
        classes: "",
        attributes: "",
        home: "",
        licence: "",
        get: "",
        downloads: &[],
        needed: &[],
        pictures: None,
        normalise: None,
    };

    /// True if the data set is published, so that there are official files for comparison.
    pub(crate) fn is_published(&self) -> bool {
        !self.home.is_empty()
    }
}

/// A file to download.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Download {
    pub(crate) url: &'static str,
    /// MD5 as stated by the authors or by many libraries that read the data set. Without it the MD5 of the first
    /// download is stored beside the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) md5: Option<&'static str>,
    /// The folder below the data folder into which an archive is unpacked, or a file is put.
    pub(crate) folder: &'static str,
    /// True if it stays packed.
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
