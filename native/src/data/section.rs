//! `[data]`: the data set, the number of images, and their preprocessing.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use simile_core::data::synthetic::colour_mnist::Colours;

use super::name::DatasetName;
use super::sets;
use super::settings::{
    AttributesSection, Broken, ChexpertSection, FacesSection, FeaturesSection, Fit, FoldersSection, JudgedBy,
    Normalise, Options, Refused, SplitSection, TableSection,
};

/// `[data]`: the data set, the number of images, and their colours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataSection {
    pub(crate) dataset: DatasetName,
    /// The colours of the grounds.
    #[serde(default)]
    pub(crate) colours: Colours,
    /// Number of training images; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) train: Option<usize>,
    /// Number of test images; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) test: Option<usize>,
    /// Number of training images to hold out; above 0 the probes are measured on them instead of the test images, for
    /// choosing settings.
    #[serde(default)]
    pub(crate) validation: usize,
    /// Fraction of a class that has the colour of its class, for `biased-mnist`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) correlation: Option<f64>,
    /// The normalisation of pixels for the encoder; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) normalise: Option<Normalise>,
    /// The handling of a picture that cannot be read: `refuse` or `skip`.
    #[serde(default)]
    pub(crate) broken: Broken,
    /// The conversion of a picture to a square: its `middle`, or the `whole` of it, squeezed.
    #[serde(default)]
    pub(crate) fit: Fit,
    /// Side of the stored square pictures, where views are resized; that of the encoder's input if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) side: Option<usize>,
    /// True if evaluation uses the centre of pictures of `side`, as large as the encoder's input; false if it resizes
    /// the whole picture.
    #[serde(default)]
    pub(crate) centre_crop: bool,
    /// The split for evaluation: `test` or the official `validation` part.
    #[serde(default)]
    pub(crate) judged_by: JudgedBy,
    /// The columns of a `table`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<TableSection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folders: Option<FoldersSection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) split: Option<SplitSection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) faces: Option<FacesSection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) chexpert: Option<ChexpertSection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) features: Option<FeaturesSection>,
    /// A derived variable `attributes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attributes: Option<AttributesSection>,
    /// A variable computed by another network, `[data.prior]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prior: Option<PriorSection>,
}

/// `[data.prior]`: the representation of each image by another network, as a variable to condition on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriorSection {
    /// The path of a model or a run.
    pub(crate) model: PathBuf,
    /// The name of the variable.
    #[serde(default = "default_prior")]
    pub(crate) name: String,
}

fn default_prior() -> String {
    "prior".into()
}

impl PriorSection {
    /// The prior of a model under the default name.
    pub(crate) fn of(model: PathBuf) -> Self {
        Self { model, name: default_prior() }
    }
}

/// Keys of every data set of picture files.
const OF_PICTURES: [&str; 6] = ["features", "broken", "fit", "side", "centre_crop", "judged_by"];

impl DataSection {
    /// The section with all images of a data set, or as many as in its defaults.
    pub(crate) fn of(dataset: DatasetName) -> Self {
        let defaults = dataset.defaults();
        Self {
            dataset,
            colours: defaults.colours,
            train: defaults.train,
            test: defaults.test,
            validation: 0,
            correlation: defaults.correlation,
            normalise: None,
            broken: Broken::default(),
            fit: Fit::default(),
            side: None,
            centre_crop: false,
            judged_by: JudgedBy::default(),
            table: defaults.table.cloned(),
            folders: defaults.folders.cloned(),
            split: defaults.split.cloned(),
            faces: defaults.faces.cloned(),
            chexpert: defaults.chexpert.cloned(),
            features: None,
            attributes: None,
            prior: None,
        }
    }

    /// The settings for reading the data set.
    pub(crate) fn options(&self) -> Options<'_> {
        Options {
            train: self.train,
            test: self.test,
            colours: self.colours,
            correlation: self.correlation,
            table: self.table.as_ref(),
            folders: self.folders.as_ref(),
            split: self.split.as_ref(),
            faces: self.faces.as_ref(),
            chexpert: self.chexpert.as_ref(),
        }
    }

    /// The split on which probes are measured, in a word.
    pub(crate) fn judged(&self) -> &'static str {
        match (self.validation, self.judged_by) {
            (0, JudgedBy::Test) => "test",
            (0, JudgedBy::Validation) => "validation",
            _ => "held-out training",
        }
    }

    /// The side to which images are resized before the centre crop, if there is one.
    pub(crate) fn resize(&self) -> Option<usize> {
        self.side.filter(|_| self.centre_crop)
    }

    /// Checks the rules that concern several keys.
    ///
    /// # Errors
    /// Names the refused key.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        let refuse = |key, reason: &str| Err(Refused::new(key, reason));
        self.check_keys()?;
        self.dataset.check(&self.options())?;
        self.check_ranges()?;
        match (self.train, self.test) {
            (Some(0), _) => refuse("train", "`data.train` is 0, expected at least 1"),
            (_, Some(0)) => refuse("test", "`data.test` is 0, expected at least 1"),
            (Some(train), _) if self.validation >= train => {
                refuse("validation", "`data.validation` leaves no image to train on")
            }
            _ => Ok(()),
        }
    }

    /// Refuses keys that do not apply to this data set.
    fn check_keys(&self) -> Result<(), Refused> {
        let given = [
            ("correlation", self.correlation.is_some()),
            ("table", self.table.is_some()),
            ("folders", self.folders.is_some()),
            ("split", self.split.is_some()),
            ("faces", self.faces.is_some()),
            ("chexpert", self.chexpert.is_some()),
            ("features", self.features.is_some()),
            ("broken", self.broken != Broken::default()),
            ("fit", self.fit != Fit::default()),
            ("side", self.side.is_some()),
            ("centre_crop", self.centre_crop),
            ("judged_by", self.judged_by != JudgedBy::default()),
        ];
        let takes = |key: &str| {
            self.dataset.keys().contains(&key) || (OF_PICTURES.contains(&key) && self.dataset.has_pictures())
        };
        let Some((key, _)) = given.iter().find(|(key, given)| *given && !takes(key)) else { return Ok(()) };
        let owners: Vec<&str> =
            sets::ALL.iter().filter(|set| set.keys().contains(key)).map(|set| set.about().name).collect();
        let reason = match (*key, owners.as_slice()) {
            ("correlation", [owner]) => format!("`data.{key}` belongs to `{owner}`"),
            (_, [owner]) => format!("[data.{key}] belongs to `dataset = \"{owner}\"`"),
            _ => format!("`data.{key}` says nothing about this data set; leave it out"),
        };
        Err(Refused::new(key, reason))
    }

    fn check_ranges(&self) -> Result<(), Refused> {
        if self.side.is_some_and(|side| !(1..=4096).contains(&side)) {
            return Err(Refused::new("side", "`data.side` must be from 1 to 4096"));
        }
        let within = |fraction: f64| fraction > 0.0 && fraction < 1.0;
        if self.split.as_ref().is_some_and(|split| !within(split.test)) {
            return Err(Refused::new("split", "`data.split.test` must lie between 0 and 1"));
        }
        if self.faces.as_ref().is_some_and(|faces| !(0.0..=1.0).contains(&faces.correlation)) {
            return Err(Refused::new("faces", "`data.faces.correlation` must be from 0 to 1"));
        }
        if self.attributes.as_ref().is_some_and(|made| made.count == 0 || !(0.0..=0.5).contains(&made.noise))
        {
            let reason = "`data.attributes` needs a `count` of at least 1 and a `noise` from 0 to 0.5";
            return Err(Refused::new("attributes", reason));
        }
        Ok(())
    }
}
