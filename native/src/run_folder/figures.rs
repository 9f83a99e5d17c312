//! The figures of a report beside its curves. A run computes them once, while data and encoder are loaded, and stores
//! them as `figures.json`, so that `simile report` needs neither.

use serde::{Deserialize, Serialize};

/// The pictures of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) samples: Vec<ContactSheet>,
    pub(crate) kernels: Vec<KernelFigure>,
    pub(crate) maps: Vec<MapFigure>,
    #[serde(default)]
    pub(crate) confusions: Vec<ConfusionFigure>,
    #[serde(default)]
    pub(crate) galleries: Vec<Gallery>,
    /// The images of the points of the maps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) thumbnails: Option<Thumbnails>,
}

/// Small images in one picture, row after row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Thumbnails {
    /// PNG or JPEG as a data URI.
    pub(crate) picture: String,
    /// Side of an image in pixels.
    pub(crate) side: usize,
    /// Images in a row.
    pub(crate) columns: usize,
    pub(crate) count: usize,
}

/// Images in rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContactSheet {
    pub(crate) caption: String,
    /// PNG as a data URI.
    pub(crate) picture: String,
}

/// The Gram matrix of a sorted batch's condition beside the weights computed from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KernelFigure {
    /// Name of the variant.
    #[serde(rename = "arm")]
    pub(crate) variant: String,
    /// Kernel and ridge in words.
    pub(crate) caption: String,
    /// The sort order of the batch.
    pub(crate) order: String,
    /// One pixel a sample in that order, where the condition is a colour: a data URI.
    pub(crate) strip: Option<String>,
    pub(crate) gram: HeatMap,
    pub(crate) weights: HeatMap,
}

/// A matrix as a picture; the ends of its scale leave the diagonal out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeatMap {
    /// PNG as a data URI.
    pub(crate) picture: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Embeddings of evaluation images in the plane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MapFigure {
    /// Name of the variant.
    #[serde(rename = "arm")]
    pub(crate) variant: String,
    /// Number of evaluation images of which the points are a random sample; absent in older runs, whose points are the first ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) drawn_from: Option<usize>,
    /// The points by the first two principal components.
    pub(crate) points: Vec<[f64; 2]>,
    /// Share of the variance that each component has.
    pub(crate) explained: [f64; 2],
    /// The points by t-SNE.
    #[serde(default)]
    pub(crate) neighbours: Vec<[f64; 2]>,
    /// Index of the class of each point.
    pub(crate) classes: Vec<usize>,
    /// Name of each class.
    #[serde(default)]
    pub(crate) names: Vec<String>,
    /// The class that the linear probe gives each point.
    #[serde(default)]
    pub(crate) guesses: Vec<usize>,
    /// The attributes of the points, the probed one first.
    #[serde(default)]
    pub(crate) attributes: Vec<Attribute>,
}

/// An attribute of the points of a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) values: Values,
}

/// The values of an attribute, point by point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Values {
    /// Places in a list of names.
    Categories { values: Vec<usize>, names: Vec<String> },
    /// Numbers, each with its colour on a scale from the least to the greatest.
    Numbers { values: Vec<f64>, colours: Vec<[u8; 3]> },
    /// Several numbers a point: a colour as it is, or the place along their first principal component.
    Colours(Vec<[u8; 3]>),
}

/// The confusion matrix of the linear probe over all evaluation images.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConfusionFigure {
    /// Name of the variant.
    #[serde(rename = "arm")]
    pub(crate) variant: String,
    pub(crate) names: Vec<String>,
    /// `counts[true class][guess]`
    pub(crate) counts: Vec<Vec<usize>>,
    /// Accuracy by class and value of a categorical condition, and the names of these values.
    #[serde(default)]
    pub(crate) groups: Option<GroupsFigure>,
}

/// Accuracy in the cells of class × attribute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupsFigure {
    /// Name of the attribute.
    #[serde(default)]
    pub(crate) attribute: String,
    pub(crate) names: Vec<String>,
    /// `accuracy[class][value]`, none where there is no image.
    pub(crate) accuracy: Vec<Vec<Option<f64>>>,
}

/// Evaluation images with their neighbours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Gallery {
    /// Name of the variant.
    #[serde(rename = "arm")]
    pub(crate) variant: String,
    pub(crate) rows: Vec<GalleryRow>,
}

/// One image and its neighbours in the representation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GalleryRow {
    pub(crate) anchor: ImageStrip,
    /// The nearest of all.
    pub(crate) nearest: ImageStrip,
    /// The nearest of another class.
    pub(crate) hardest: ImageStrip,
    /// The farthest of another class.
    pub(crate) easiest: ImageStrip,
}

/// Some images side by side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ImageStrip {
    /// PNG or JPEG as a data URI.
    pub(crate) picture: String,
    /// Class of each image by name.
    pub(crate) classes: Vec<String>,
    /// Cosine of each image and the anchor.
    pub(crate) cosines: Vec<f64>,
}
