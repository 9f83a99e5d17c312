//! The keys of `[data]`, except the name of the data set.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use simile_core::augment::Normalisation;
use simile_core::data::sets::chexpert::Uncertain;
use simile_core::data::synthetic::colour_mnist::Colours;

/// The settings of `[data]` for reading a data set, the input of a [`Source`](super::source::Source).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    pub(crate) train: Option<usize>,
    pub(crate) test: Option<usize>,
    pub(crate) colours: Colours,
    pub(crate) correlation: Option<f64>,
    pub(crate) table: Option<&'a TableSection>,
    pub(crate) folders: Option<&'a FoldersSection>,
    pub(crate) split: Option<&'a SplitSection>,
    pub(crate) faces: Option<&'a FacesSection>,
    pub(crate) chexpert: Option<&'a ChexpertSection>,
}

/// A refused key of `[data]`.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) key: &'static str,
    pub(crate) reason: String,
}

impl Refused {
    pub(crate) fn new(key: &'static str, reason: impl Into<String>) -> Self {
        Self { key, reason: reason.into() }
    }
}

/// The handling of a picture that cannot be read, or of a row without a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Broken {
    #[default]
    Refuse,
    Skip,
}

impl Broken {
    /// True if the run is refused.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The conversion of a picture to a square.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fit {
    /// Its middle, resized.
    #[default]
    Middle,
    /// All of it, squeezed.
    Whole,
    /// All of it, squeezed, with its shape beside it: random crops are drawn in the shape of the picture, as torchvision
    /// draws them, and other views and evaluation see its middle.
    Aspect,
}

/// The part on which a representation is evaluated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum JudgedBy {
    #[default]
    Test,
    /// The official validation part, as in work that reports on it.
    Validation,
}

/// `[data.split]`: the split for data sets whose authors publish none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SplitSection {
    pub(crate) seed: u64,
    /// Fraction of the pictures to test on.
    pub(crate) test: f64,
    /// Training pictures of each class; all others are for testing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_class: Option<usize>,
}

impl Default for SplitSection {
    fn default() -> Self {
        Self { seed: 0, test: 0.3, per_class: None }
    }
}

/// `[data.folders]`: the folders that are classes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FoldersSection {
    /// A text file in the data folder whose lines begin with the name of a class; all folders if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<PathBuf>,
}

/// `[data.faces]`: the class and the bias of UTKFace or CelebA.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FacesSection {
    /// `gender` for UTKFace; one of CelebA's attributes, `blond-hair` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// `race` (the default) or `age` for UTKFace; one of CelebA's attributes, `male` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bias: Option<String>,
    pub(crate) sampling: Sampling,
    /// The correlation of class and bias in the published sampling of UTKFace.
    pub(crate) correlation: f64,
    pub(crate) seed: u64,
}

impl Default for FacesSection {
    fn default() -> Self {
        Self { target: None, bias: None, sampling: Sampling::default(), correlation: 0.9, seed: 0 }
    }
}

/// The selection of the faces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sampling {
    /// The sampling of Hong and Yang (2021).
    #[default]
    Published,
    /// All of them, in the official parts, or those of `[data.split]` where there are none.
    All,
}

/// `[data.chexpert]`: the pathology that is the class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ChexpertSection {
    pub(crate) target: String,
    /// The treatment of its uncertain labels: `drop`, `absent` or `present`.
    pub(crate) uncertain: Uncertain,
}

impl Default for ChexpertSection {
    fn default() -> Self {
        Self { target: "pleural-effusion".into(), uncertain: Uncertain::default() }
    }
}

/// `[data.features]`: features of another network as a variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeaturesSection {
    /// A `.npy` or `.safetensors` file in the data folder, one row a picture.
    pub(crate) file: PathBuf,
    /// A text file in the data folder with the path of the picture of each row.
    pub(crate) paths: PathBuf,
    /// Name of the variable.
    #[serde(default = "features_name")]
    pub(crate) name: String,
}

fn features_name() -> String {
    "features".into()
}

/// `[data.attributes]`: a variable `attributes` of synthetic binary attributes, for data sets that have none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AttributesSection {
    /// The variable that they encode: `class`, or a categorical variable of the data set.
    pub(crate) of: String,
    pub(crate) count: usize,
    /// Fraction of flipped attributes, 0 to 0.5.
    pub(crate) noise: f64,
    /// Seed of the attributes of each value.
    pub(crate) seed: u64,
}

impl Default for AttributesSection {
    fn default() -> Self {
        Self { of: "class".into(), count: 32, noise: 0.1, seed: 0 }
    }
}

/// `[data.table]`: the CSV file and the meaning of its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableSection {
    /// The CSV file in the data folder.
    pub(crate) csv: PathBuf,
    /// Column of the picture's path, relative to the data folder.
    #[serde(default = "file_column")]
    pub(crate) file: String,
    /// Column of the class.
    #[serde(default = "label_column")]
    pub(crate) label: String,
    /// Column with `train`, `validation` or `test`; without it `data.test` pictures are held out at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) split: Option<String>,
    /// Columns of each conditioning variable, by its name.
    #[serde(default)]
    pub(crate) conditions: BTreeMap<String, Vec<String>>,
    /// The conditions of one column whose numbers are names of categories, such as codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) categories: Vec<String>,
    /// The handling of rows with an empty cell in a column that is used.
    #[serde(default, skip_serializing_if = "Broken::is_default")]
    pub(crate) missing: Broken,
}

fn file_column() -> String {
    "file".into()
}

fn label_column() -> String {
    "label".into()
}

/// `data.normalise`: the published constants of a data set by name, or a mean and deviation for each channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`normalise` is a name, such as \"cifar-10\", or { mean = [...], std = [...] }"
)]
pub(crate) enum Normalise {
    /// A name of [`Normalisation::named`].
    Named(String),
    /// One value a channel each, of pixels from 0 to 1.
    Own(Normalisation),
}
