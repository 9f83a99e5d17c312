//! `[selection]`: the choice of the encoder of a run. Training images are held out, or the data set has a validation
//! split; the encoder is evaluated on them during training, and the best one is then evaluated on the test images.
//! Without the section it is the last encoder.

use serde::{Deserialize, Serialize};

use super::explain::suggestion;
use super::fault::Fault;
use super::probe::Probe;
use crate::metrics::catalogue::choosable;
use crate::metrics::names::TOP1;

/// The predictor of the class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Readout {
    /// The probe of the final evaluation.
    #[default]
    Linear,
    /// The nearest neighbours.
    Knn,
    /// The class scores of the network itself.
    Classifier,
}

impl Readout {
    /// The probe that is fitted to the features; none for the scores of the network itself.
    pub(crate) fn probe(self) -> Option<Probe> {
        match self {
            Self::Linear => Some(Probe::Linear),
            Self::Knn => Some(Probe::Knn),
            Self::Classifier => None,
        }
    }
}

/// `[selection]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SelectionSection {
    /// Number of training images held out for the selection. They are never used for training.
    #[serde(default)]
    pub(crate) held_out: usize,
    /// True if the official validation split of the data set is used instead.
    #[serde(default)]
    pub(crate) official: bool,
    /// Iterations between two evaluations; those of an epoch if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) every: Option<usize>,
    /// The metric to maximise.
    #[serde(default = "default_metric")]
    pub(crate) metric: String,
    #[serde(default, rename = "probe")]
    pub(crate) readout: Readout,
    /// Evaluations without improvement after which training stops; absent for no early stopping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) patience: Option<usize>,
}

fn default_metric() -> String {
    TOP1.into()
}

/// The images by which the encoder is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelectionImages {
    /// So many training images.
    HeldOut(usize),
    /// The official validation split.
    Official,
}

impl SelectionImages {
    /// Number of training images to hold out.
    pub(crate) fn held_out(self) -> usize {
        match self {
            Self::HeldOut(count) => count,
            Self::Official => 0,
        }
    }
}

impl SelectionSection {
    /// The images to choose by; [`check`](Self::check) refuses other states of the two keys.
    pub(crate) fn images(&self) -> SelectionImages {
        match self.official {
            true => SelectionImages::Official,
            false => SelectionImages::HeldOut(self.held_out),
        }
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.official == (self.held_out > 0) {
            let reason = "set either `selection.held_out`, the number of training images to hold out for choosing the encoder, \
                          or `selection.official = true`, to choose it on the official validation split";
            return Err(Fault::new("selection", "held_out", reason));
        }
        let counts = [("every", self.every.unwrap_or(1)), ("patience", self.patience.unwrap_or(1))];
        if let Some((key, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(Fault::new("selection", key, format!("`selection.{key}` must be at least 1")));
        }
        let known = choosable();
        if known.contains(&self.metric.as_str()) {
            return Ok(());
        }
        let hint = suggestion(&self.metric, known);
        Err(Fault::new(
            "selection",
            "metric",
            format!("`selection.metric` is `{}`, by which no encoder can be chosen{hint}", self.metric),
        ))
    }

    /// In words, for a protocol.
    pub(crate) fn in_words(&self, images: usize) -> String {
        let readout = match self.readout {
            Readout::Linear => "of the same classifier",
            Readout::Knn => "of the nearest neighbours",
            Readout::Classifier => "of its own class scores",
        };
        let part = match self.images() {
            SelectionImages::HeldOut(_) => "held-out training images",
            SelectionImages::Official => "images of the validation split",
        };
        format!("{} {readout} on {images} {part}", self.metric)
    }
}
