//! `[data]`: which images, how many, and what is done to them before an encoder sees them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::nn::EncoderConfig;

use super::Fault;
use super::views::Normalise;
use crate::data::TableSection;
use crate::data::settings::{
    AttributesSection, Broken, ChexpertSection, FacesSection, FeaturesSection, Fit, FoldersSection, JudgedBy,
    SplitSection,
};

/// A data set by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DatasetName {
    /// Digits that core draws itself, on coloured grounds.
    Digits,
    /// ColorMNIST, built from the four official MNIST files.
    ColourMnist,
    /// Grey digits.
    Mnist,
    /// Digits whose colour agrees with the class, in the fraction `correlation` of the training images.
    BiasedMnist,
    #[serde(rename = "cifar-10")]
    Cifar10,
    #[serde(rename = "cifar-100")]
    Cifar100,
    #[serde(rename = "stl-10")]
    Stl10,
    /// ImageNet reduced to 32×32, in its NumPy version.
    #[serde(rename = "imagenet-32")]
    Imagenet32,
    /// A folder of pictures with a CSV file, `[data.table]`.
    Table,
    /// A folder for each class, `[data.folders]`.
    Folders,
    #[serde(rename = "imagenet-100")]
    Imagenet100,
    TinyImagenet,
    #[serde(rename = "caltech-101")]
    Caltech101,
    #[serde(rename = "caltech-256")]
    Caltech256,
    /// Shoes with 126 binary attributes.
    #[serde(rename = "ut-zappos50k")]
    UtZappos50k,
    /// Birds with 312 binary attributes.
    #[serde(rename = "cub-200-2011")]
    Cub200,
    Waterbirds,
    /// Faces whose names say age, gender and race, `[data.faces]`.
    Utkface,
    /// Faces with 40 attributes, `[data.faces]`.
    Celeba,
    /// Radiographs, `[data.chexpert]`.
    Chexpert,
}

/// `[data]`: which images, how many, in which colours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataSection {
    pub(crate) dataset: DatasetName,
    /// How the grounds are coloured.
    #[serde(default)]
    pub(crate) colours: Colours,
    /// How many training images; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) train: Option<usize>,
    /// How many test images; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) test: Option<usize>,
    /// How many training images to hold out; above 0 they are probed instead of the test images, to choose settings by.
    #[serde(default)]
    pub(crate) validation: usize,
    /// Fraction of a class that has the colour of its class, for `biased-mnist`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) correlation: Option<f64>,
    /// How pixels are normalised for the encoder; not at all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) normalise: Option<Normalise>,
    /// What happens to a picture that cannot be read: `refuse` or `skip`.
    #[serde(default)]
    pub(crate) broken: Broken,
    /// How a picture of another shape becomes a square: its `middle`, or the `whole` of it, squeezed.
    #[serde(default)]
    pub(crate) fit: Fit,
    /// Side of the squares that pictures are kept as, where views are resized; that of the encoder's input if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) side: Option<usize>,
    /// Whether the middle of pictures of `side` is judged, as large as the encoder's input, and not the whole, resized.
    #[serde(default)]
    pub(crate) centre_crop: bool,
    /// Whether pictures of the `test` or of the official `validation` part are judged by.
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
    /// A made variable `attributes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attributes: Option<AttributesSection>,
    /// A variable out of another network of ours, `[data.prior]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prior: Option<PriorSection>,
}

/// `[data.prior]`: the representation of each image by another network, as a variable to condition on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriorSection {
    /// A model or a run.
    pub(crate) model: PathBuf,
    /// What the variable is called.
    #[serde(default = "default_prior")]
    pub(crate) name: String,
}

fn default_prior() -> String {
    "prior".into()
}

impl PriorSection {
    /// That of a model under the usual name.
    pub(crate) fn of(model: PathBuf) -> Self {
        Self { model, name: default_prior() }
    }
}

impl DatasetName {
    /// As recipes write it.
    pub(crate) fn name(self) -> String {
        let written = serde_json::to_value(self).ok();
        written.as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned()
    }

    /// An encoder that takes the images in their own size.
    pub(crate) fn native(self) -> EncoderConfig {
        let (input_size, channels) = match self {
            Self::Mnist => (28, 1),
            Self::BiasedMnist => (28, 3),
            Self::Digits
            | Self::ColourMnist
            | Self::Cifar10
            | Self::Cifar100
            | Self::Imagenet32
            | Self::Table => (32, 3),
            Self::Stl10 => (96, 3),
            _ => (64, 3),
        };
        EncoderConfig { input_size, channels, ..EncoderConfig::default() }
    }

    /// Whether the data set is one of picture files, with a catalogue of them.
    pub(crate) fn has_pictures(self) -> bool {
        !matches!(
            self,
            Self::Digits
                | Self::ColourMnist
                | Self::Mnist
                | Self::BiasedMnist
                | Self::Cifar10
                | Self::Cifar100
                | Self::Stl10
                | Self::Imagenet32
        )
    }

    /// Whether `[data.KEY]` says something about the data set.
    fn takes(self, key: &str) -> bool {
        let folders = matches!(
            self,
            Self::Folders | Self::Imagenet100 | Self::TinyImagenet | Self::Caltech101 | Self::Caltech256
        );
        match key {
            "folders" => folders,
            "split" => folders || matches!(self, Self::UtZappos50k | Self::Utkface),
            "faces" => matches!(self, Self::Utkface | Self::Celeba),
            "chexpert" => self == Self::Chexpert,
            _ => self.has_pictures(),
        }
    }
}

impl DataSection {
    /// All images of a data set, or a thousand where it is drawn; the weakest published correlation where there is one.
    pub(crate) fn of(dataset: DatasetName) -> Self {
        let count = (dataset == DatasetName::Digits).then_some(1000);
        Self {
            dataset,
            colours: Colours::default(),
            train: count,
            test: count,
            validation: 0,
            correlation: (dataset == DatasetName::BiasedMnist).then_some(0.9),
            normalise: None,
            broken: Broken::default(),
            fit: Fit::default(),
            side: None,
            centre_crop: false,
            judged_by: JudgedBy::default(),
            table: None,
            folders: None,
            split: None,
            faces: None,
            chexpert: None,
            features: None,
            attributes: None,
            prior: None,
        }
    }

    /// The images that probes are measured on, in a word.
    pub(crate) fn judged(&self) -> &'static str {
        match (self.validation, self.judged_by) {
            (0, JudgedBy::Test) => "test",
            (0, JudgedBy::Validation) => "validation",
            _ => "held-out training",
        }
    }

    /// What images are resized to before their middle is judged, if it is.
    pub(crate) fn resize(&self) -> Option<usize> {
        self.side.filter(|_| self.centre_crop)
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        let fault = |key, reason: &str| Err(Fault::new("data", key, reason));
        let drawn = self.dataset == DatasetName::Digits;
        match (&self.correlation, self.dataset) {
            (None, DatasetName::BiasedMnist) => {
                return fault("dataset", "`biased-mnist` needs `data.correlation`, from 0 to 1");
            }
            (Some(_), dataset) if dataset != DatasetName::BiasedMnist => {
                return fault("correlation", "`data.correlation` belongs to `biased-mnist`");
            }
            (Some(correlation), _) if !(0.0..=1.0).contains(correlation) => {
                return fault("correlation", "`data.correlation` must be from 0 to 1");
            }
            _ => {}
        }
        match (&self.table, self.dataset) {
            (None, DatasetName::Table) => {
                return fault(
                    "dataset",
                    "a `table` needs [data.table], which names its CSV file and columns",
                );
            }
            (Some(_), dataset) if dataset != DatasetName::Table => {
                return fault("table", "[data.table] belongs to `dataset = \"table\"`");
            }
            (Some(table), _) if table.split.is_none() && self.test.is_none() => {
                return fault(
                    "table",
                    "without `data.table.split`, `data.test` must say how many to hold out",
                );
            }
            _ => {}
        }
        self.check_family()?;
        match (self.train, self.test) {
            (Some(0), _) => fault("train", "`data.train` is 0, expected at least 1"),
            (_, Some(0)) => fault("test", "`data.test` is 0, expected at least 1"),
            (None, _) if drawn => fault("dataset", "drawn digits need `data.train`, how many to draw"),
            (_, None) if drawn => fault("dataset", "drawn digits need `data.test`, how many to draw"),
            (Some(train), _) if self.validation >= train => {
                fault("validation", "`data.validation` leaves no image to train on")
            }
            _ => Ok(()),
        }
    }
}

impl DataSection {
    /// Keys that belong to one family of data sets.
    fn check_family(&self) -> Result<(), Fault> {
        let given = [
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
        if let Some((key, _)) = given.iter().find(|(key, given)| *given && !self.dataset.takes(key)) {
            return Err(Fault::new(
                "data",
                key,
                format!("`data.{key}` says nothing about this data set; leave it out"),
            ));
        }
        if self.side.is_some_and(|side| !(1..=4096).contains(&side)) {
            return Err(Fault::new("data", "side", "`data.side` must be from 1 to 4096"));
        }
        let within = |fraction: f64| fraction > 0.0 && fraction < 1.0;
        if self.split.as_ref().is_some_and(|split| !within(split.test)) {
            return Err(Fault::new("data", "split", "`data.split.test` must lie between 0 and 1"));
        }
        if self.faces.as_ref().is_some_and(|faces| !(0.0..=1.0).contains(&faces.correlation)) {
            return Err(Fault::new("data", "faces", "`data.faces.correlation` must be from 0 to 1"));
        }
        if self.attributes.as_ref().is_some_and(|made| made.count == 0 || !(0.0..=0.5).contains(&made.noise))
        {
            let reason = "`data.attributes` needs a `count` of at least 1 and a `noise` from 0 to 0.5";
            return Err(Fault::new("data", "attributes", reason));
        }
        Ok(())
    }
}
