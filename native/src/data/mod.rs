//! Data sets in folders: finds the files, reads them, and reports exactly the missing or corrupt ones.
//!
//! `core` parses formats of bytes; this module reads them from files. A data set is a file in [`sets`] that implements
//! [`Source`](source::Source), with the parser of its annotations and the keys of recipes that belong to it, and a line in the
//! table there. Data sets that come as a few large files share `arrays`, those of picture files share `pictures`.

mod arrays;
mod check;
mod check_report;
mod error;
mod evaluation_split;
mod fetch;
mod files;
pub(crate) mod keys;
mod name;
mod pictures;
mod presence;
mod preview;
mod section;
pub(crate) mod sets;
pub(crate) mod source;
mod survey;

pub(crate) use check::check;
pub(crate) use check_report::CheckReport;
pub(crate) use error::DataError;
pub(crate) use evaluation_split::EvaluationSplit;
pub(crate) use fetch::{Fetched, fetch};
pub(crate) use files::csv_file;
pub(crate) use files::numbers::check_memory;
pub(crate) use files::walk::is_picture;
pub(crate) use name::DatasetName;
pub(crate) use pictures::annotations::Annotations;
pub(crate) use pictures::cache::Cache;
pub(crate) use pictures::decode::read_picture;
pub(crate) use pictures::features::read_features;
pub(crate) use pictures::list::PictureList;
pub(crate) use pictures::read::{Pictures, read_pictures};
pub(crate) use pictures::resize::ResizeSpec;
#[cfg(test)]
pub(crate) use pictures::space;
pub(crate) use presence::{MissingData, check_whole, unread};
pub(crate) use preview::preview;
pub(crate) use section::{DataSection, PriorSection};
pub(crate) use sets::table::{ReadTable, TableSection, in_several_splits, is_unusable, read_table};
pub(crate) use survey::{Classes, Survey, tie_to_class};

/// Further parsers for the tests with mutated files.
#[cfg(test)]
pub(crate) mod parsers {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};

    pub(crate) use super::error::Result;
    use super::files::archive::{self, Limits};
    pub(crate) use super::files::content as gzip;
    pub(crate) use super::sets::imagenet_32::read_batch as npz;
    pub(crate) use super::sets::table::read_table as table;

    pub(crate) fn unpack(path: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
        archive::unpack(path, folder, Limits::default())
    }

    pub(crate) fn members(path: &Path, names: &[&str]) -> Result<HashMap<String, Vec<u8>>> {
        archive::members(path, names, 1 << 30)
    }
}
