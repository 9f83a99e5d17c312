//! Arguments of `data`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::device::Device;

/// Look at data sets: which there are, whether files are sound, what they show
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  simile data list
  simile data fetch cifar-10 --data ./data
  simile data check colour-mnist --data ./data
  simile data preview digits --out digits.png
  simile data measure fair-digits")]
pub(crate) enum Data {
    /// List the data sets that recipes can name: their files, terms, and where their authors publish them
    List(DataList),
    /// Download a data set from its authors, check it and unpack it
    Fetch(DataFetch),
    /// Read a data set's files and say what is in them
    Check(DataCheck),
    /// Write a picture of a data set's first images
    Preview(DataPreview),
    /// Measure how many images per second a recipe's data give, without a network
    Measure(DataMeasure),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data list
  simile data list cub-200-2011                everything about one")]
pub(crate) struct DataList {
    /// Print everything about this data set
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data fetch mnist --data ./data
  simile data fetch cub-200-2011 --data ./data
  simile data fetch cifar-10 --data ./data --from https://mirror.example/files

An interrupted download resumes where it ended. Behind a proxy with certificates of its own, name
their file with SSL_CERT_FILE. Data sets whose authors ask for a registration cannot be fetched;
`simile data list` says where to get them.")]
pub(crate) struct DataFetch {
    /// The data set's name (`simile data list`)
    pub(crate) name: String,
    /// Folder to put it into
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Take the files from this address instead of the authors'; they must match the known checksums
    #[arg(long, value_name = "URL")]
    pub(crate) from: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data check scans                      a folder of your own pictures
  simile data check digits
  simile data check colour-mnist --data ./mnist --json

Says the type, the range and the missing values of every attribute, and how closely it is tied to
the class. Of your own pictures it says which are broken, blank or equal, and which attributes have
a leak that a run could not measure.")]
pub(crate) struct DataCheck {
    /// The data set's name (`simile data list`), a recipe's, or a folder of your own pictures
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    /// The column of the class of your own pictures [default: label, class, target, ...]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// The CSV file in the folder of your own pictures, if there are several
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data preview digits --out digits.png
  simile data preview colour-mnist --data ./mnist --out mnist.png --count 100")]
pub(crate) struct DataPreview {
    /// The data set's name (`simile data list`), or a recipe's
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    /// The picture to write
    #[arg(long, value_name = "FILE.png", default_value = "preview.png")]
    pub(crate) out: PathBuf,
    /// How many images to show
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) count: u32,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data measure fair-digits
  simile data measure imagenet-100 --data ./imagenet-100 --epochs 1 --json

Pictures are read as a run reads them: decoded in the first run, and taken from the cache in later ones. Then views
are made, batch after batch. A network that learns faster than this waits for its images.")]
pub(crate) struct DataMeasure {
    /// A TOML file, or the name of a recipe that ships (`simile recipes`); its first variant is taken
    pub(crate) recipe: String,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    #[command(flatten)]
    pub(crate) device: Device,
    /// Change a key of the recipe, such as `train.batch=1024` (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// How often every training image is seen
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub(crate) epochs: usize,
}

#[derive(Debug, Args)]
pub(crate) struct DataFolder {
    /// Folder of the data set's files
    #[arg(id = "data", long = "data", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl DataFolder {
    /// The folder, if one is given.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}
