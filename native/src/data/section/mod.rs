//! `[data]`: the data set, the number of images, and their preprocessing.

mod read;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use simile_core::data::Catalogue;
use simile_core::data::synthetic::colour_mnist::Colours;

use super::error::DataError;
use super::evaluation_split::EvaluationSplit;
use super::keys::Refused;
use super::keys::of_dataset::{DatasetOptions, ReadOptions};
use super::keys::values::{AttributesSection, Broken, CentreCrop, FeaturesSection, Fit, JudgedBy, Normalise};
use super::name::DatasetName;
use super::sets;
use super::source::Medium;

/// `[data]`: the data set, the number of images, and their colours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct DataSection {
    pub(crate) dataset: DatasetName,
    /// The colours of the backgrounds.
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
    /// The normalisation of pixels for the encoder; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) normalise: Option<Normalise>,
    /// The handling of a picture that cannot be read: `refuse` or `skip`.
    #[serde(default)]
    pub(crate) broken: Broken,
    /// The conversion of a picture to a square: its `middle`, the `whole` of it, squeezed, that with its `aspect` beside it, or with it
    /// in `crops` alone.
    #[serde(default)]
    pub(crate) fit: Fit,
    /// Side of the stored square pictures, where views are resized; that of the encoder's input if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) side: Option<usize>,
    /// The side of which evaluation uses the centre, as large as the encoder's input; if none, it resizes the whole picture.
    #[serde(default)]
    pub(crate) centre_crop: CentreCrop,
    /// The split for evaluation: `test` or the official `validation` split.
    #[serde(default)]
    pub(crate) judged_by: JudgedBy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) features: Option<FeaturesSection>,
    /// A derived attribute `attributes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attributes: Option<AttributesSection>,
    /// An attribute computed by another network, `[data.prior]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prior: Option<PriorSection>,
    /// The keys that belong to certain data sets, which are read beside the others.
    #[serde(flatten, skip_deserializing)]
    pub(crate) of_dataset: DatasetOptions,
}

/// `[data.prior]`: the representation of each image by another network, as an attribute to condition on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriorSection {
    /// The path of a model or a run.
    pub(crate) model: PathBuf,
    /// The name of the attribute.
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

impl DataSection {
    /// The section with all images of a data set, or as many as in its defaults.
    pub(crate) fn of(dataset: DatasetName) -> Self {
        let ReadOptions { train, test, colours, of_dataset } = dataset.defaults();
        Self {
            dataset,
            colours,
            train,
            test,
            validation: 0,
            normalise: None,
            broken: Broken::default(),
            fit: Fit::default(),
            side: None,
            centre_crop: CentreCrop::default(),
            judged_by: JudgedBy::default(),
            features: None,
            attributes: None,
            prior: None,
            of_dataset,
        }
    }

    /// The settings for reading the data set.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            train: self.train,
            test: self.test,
            colours: self.colours,
            of_dataset: self.of_dataset.clone(),
        }
    }

    /// The pictures of the data set in a folder, of which none is opened; empty for data sets without picture files.
    ///
    /// # Errors
    /// If the annotations are missing or cannot be read.
    pub(crate) fn catalogue(&self, folder: &Path) -> Result<Catalogue, DataError> {
        match self.dataset.medium() {
            Medium::Pictures(set) => Ok(set.annotations(&self.options(), folder)?.catalogue),
            Medium::Drawn(_) | Medium::Arrays(_) => Ok(Catalogue::default()),
        }
    }

    /// The split on which probes are measured.
    pub(crate) fn evaluation_split(&self) -> EvaluationSplit {
        match (self.validation, self.judged_by) {
            (0, JudgedBy::Test) => EvaluationSplit::Test,
            (0, JudgedBy::Validation) => EvaluationSplit::Validation,
            _ => EvaluationSplit::HeldOut,
        }
    }

    /// The side to which evaluation resizes images before the centre crop, if there is one.
    pub(crate) fn resize(&self) -> Option<usize> {
        match self.centre_crop {
            CentreCrop::OfStored(true) => self.side,
            CentreCrop::OfStored(false) => None,
            CentreCrop::Of(side) => Some(side),
        }
    }

    /// Checks the rules that concern several keys.
    ///
    /// # Errors
    /// Names the refused key.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        let refuse = |key, reason: &str| Err(Refused::new(key, reason));
        self.check_keys()?;
        self.of_dataset.check()?;
        self.dataset.check(&self.options())?;
        self.check_ranges()?;
        match (self.train, self.test) {
            (Some(0), _) => refuse("train", "`data.train` is 0, expected at least 1"),
            (_, Some(0)) => refuse("test", "`data.test` is 0, expected at least 1"),
            (Some(train), _) if self.validation >= train => {
                let held_out = self.validation;
                let reason = format!(
                    "`data.validation` is {held_out}, of {train} training images in `data.train`: none is left to train on; lower it"
                );
                refuse("validation", &reason)
            }
            _ => Ok(()),
        }
    }

    /// Refuses keys that are read and then ignored, or that make no sense together, for recipes that a user gives: that of a run may
    /// have them, since former programs took them.
    ///
    /// # Errors
    /// Names the refused key.
    pub(crate) fn check_use(&self) -> Result<(), Refused> {
        if self.colours != Colours::default() && !self.dataset.has_backgrounds() {
            return Err(without_effect("colours"));
        }
        self.of_dataset.check_use()?;
        self.dataset.check_use(&self.options())
    }

    /// Refuses keys that do not apply to this data set.
    fn check_keys(&self) -> Result<(), Refused> {
        let are_set = [
            ("features", self.features.is_some()),
            ("broken", self.broken != Broken::default()),
            ("fit", self.fit != Fit::default()),
            ("side", self.side.is_some()),
            ("centre_crop", self.centre_crop != CentreCrop::default()),
            ("judged_by", self.judged_by != JudgedBy::default()),
        ];
        if let Some(&(key, _)) = are_set.iter().find(|(_, is_set)| *is_set && !self.dataset.has_pictures()) {
            return Err(without_effect(key));
        }
        let takes = |key: &str| self.dataset.options().iter().any(|option| option.key == key);
        match self.of_dataset.keys().find(|key| !takes(key)) {
            Some(key) => {
                let (owners, dataset) = (sets::owners(key), self.dataset.name());
                let reason = format!(
                    "`data.{key}` is a key of {owners}, and the data set is `{dataset}`; leave it out"
                );
                Err(Refused::new(key, reason))
            }
            None => Ok(()),
        }
    }

    fn check_ranges(&self) -> Result<(), Refused> {
        if self.side.is_some_and(|side| !(1..=4096).contains(&side)) {
            return Err(Refused::new("side", "`data.side` must be from 1 to 4096"));
        }
        if self
            .attributes
            .as_ref()
            .is_some_and(|attributes| attributes.count == 0 || !(0.0..=0.5).contains(&attributes.noise))
        {
            let reason = "`data.attributes` needs a `count` of at least 1 and a `noise` from 0 to 0.5";
            return Err(Refused::new("attributes", reason));
        }
        Ok(())
    }
}

fn without_effect(key: &'static str) -> Refused {
    Refused::new(key, format!("`data.{key}` has no effect on this data set; leave it out"))
}
