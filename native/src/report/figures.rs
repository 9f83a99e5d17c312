//! What a report draws beside its curves. A run computes these once, while data and encoder are at hand, and
//! keeps them as `figures.json`, so that `simile report` needs neither.

use serde::{Deserialize, Serialize};

/// The pictures of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) samples: Vec<Sheet>,
    pub(crate) kernels: Vec<KernelFigure>,
    pub(crate) maps: Vec<MapFigure>,
}

/// A row of images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sheet {
    pub(crate) caption: String,
    /// PNG as a data URI.
    pub(crate) picture: String,
}

/// The Gram matrix of a sorted batch's conditioning variable beside the weights made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KernelFigure {
    /// Name of the arm.
    pub(crate) arm: String,
    /// Kernel and ridge in words.
    pub(crate) caption: String,
    /// How the batch was sorted.
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

/// The first two principal components of test embeddings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MapFigure {
    /// Name of the arm.
    pub(crate) arm: String,
    pub(crate) points: Vec<[f64; 2]>,
    /// Share of the variance that each component has.
    pub(crate) explained: [f64; 2],
    /// Index of the class of each point.
    pub(crate) classes: Vec<usize>,
    /// Colour of each point's condition, where it has one.
    pub(crate) colours: Option<Vec<[u8; 3]>>,
}
