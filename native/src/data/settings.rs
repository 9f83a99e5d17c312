//! The keys of `[data]` that belong to a family of data sets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use simile_core::data::sets::chexpert::Uncertain;

/// What to do with a picture that cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Broken {
    #[default]
    Refuse,
    Skip,
}

/// How a picture of another shape becomes a square.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fit {
    /// Its middle, resized.
    #[default]
    Middle,
    /// All of it, squeezed.
    Whole,
}

/// The part that a representation is judged by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum JudgedBy {
    #[default]
    Test,
    /// The official validation part, as in work that reports on it.
    Validation,
}

/// `[data.split]`: how pictures are held out where the authors of a data set publish no split.
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

/// `[data.folders]`: which folders are classes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FoldersSection {
    /// A text file in the data folder with a class a line, of which the first word counts; all folders if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<PathBuf>,
}

/// `[data.faces]`: what the class of UTKFace or CelebA is, and what it is biased by.
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
    /// How strongly the published sampling of UTKFace ties class and bias.
    pub(crate) correlation: f64,
    pub(crate) seed: u64,
}

impl Default for FacesSection {
    fn default() -> Self {
        Self { target: None, bias: None, sampling: Sampling::default(), correlation: 0.9, seed: 0 }
    }
}

/// Which of the faces are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sampling {
    /// As Hong and Yang (2021) publish it.
    #[default]
    Published,
    /// All of them, in the official parts, or those of `[data.split]` where there are none.
    All,
}

/// `[data.chexpert]`: which pathology is the class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ChexpertSection {
    pub(crate) target: String,
    /// What an uncertain label of it means: `drop`, `absent` or `present`.
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

/// `[data.attributes]`: a variable `attributes` of made binary attributes, for data sets that have none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AttributesSection {
    /// What they tell of: `class`, or a categorical variable of the data set.
    pub(crate) of: String,
    pub(crate) count: usize,
    /// Fraction of them that is wrong, 0 to 0.5.
    pub(crate) noise: f64,
    /// Seed of what each value's attributes are.
    pub(crate) seed: u64,
}

impl Default for AttributesSection {
    fn default() -> Self {
        Self { of: "class".into(), count: 32, noise: 0.1, seed: 0 }
    }
}
