//! Arguments about a user's own pictures.

use std::path::PathBuf;

use clap::Args;

use super::device::Device;

/// Write a recipe for a folder of your own pictures
#[derive(Debug, Args)]
#[command(
    long_about = "Write a recipe for a folder of your own pictures: a CSV file beside them with a row for each (file, label, \
and any attributes), or a folder for each class.

The recipe trains a plain variant and one for each attribute that is to be hidden or kept, with a kernel for the type of \
the attribute, and a network and a number of steps that fit this machine. Its comments say what each line is for.",
    after_help = "Examples:
  simile init scans --hide hospital            writes scans.toml
  simile init scans --hide hospital --keep age --out both.toml
  simile train scans --hide hospital           the same without a file"
)]
pub(crate) struct Init {
    /// The folder of the pictures
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) own: OwnPictures,
    /// The recipe to write [default: DIR.toml]
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) device: Device,
}

/// Options for a folder of the user's own pictures.
#[derive(Debug, Args)]
pub(crate) struct OwnPictures {
    /// Hide this attribute, a column of the CSV file (repeatable)
    #[arg(long, value_name = "COLUMN")]
    pub(crate) hide: Vec<String>,
    /// Use this attribute: pictures with similar values get similar vectors (repeatable)
    #[arg(long, value_name = "COLUMN")]
    pub(crate) keep: Vec<String>,
    /// The column of the class [default: label, class, target, ...]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// The CSV file in the folder, if there are several
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
}

impl OwnPictures {
    /// True if nothing is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.hide.is_empty() && self.keep.is_empty() && self.label.is_none() && self.csv.is_none()
    }
}
