//! CheXpert, in its small or its full version: radiographs with uncertain labels.

use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::chexpert::catalogue;

use crate::data::error::Result;
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::settings::Options;
use crate::data::source::{About, Kind, PictureFiles, Source};

pub(super) struct Chexpert;

static ABOUT: About = About {
    name: "chexpert",
    files: "CheXpert-v1.0-small as it unpacks: train.csv, valid.csv and the pictures that they name",
    variables: "atelectasis, cardiomegaly, consolidation, edema, pleural-effusion, pathologies",
    home: "https://stanfordmlgroup.github.io/competitions/chexpert/",
    licence: "Stanford's research use agreement",
    get: "register on the authors' page",
    needed: &["train.csv", "valid.csv"],
    ..About::NOTHING
};

impl Source for Chexpert {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }

    fn keys(&self) -> &'static [&'static str] {
        &["chexpert"]
    }
}

impl PictureFiles for Chexpert {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let section = options.chexpert.cloned().unwrap_or_default();
        let inner = ["CheXpert-v1.0-small", "CheXpert-v1.0", "chexpert", "chexpert/CheXpert-v1.0-small"];
        let root = root(folder, &inner, "train.csv")?;
        let (train, valid) = (text(&root.join("train.csv"))?, text(&root.join("valid.csv"))?);
        let texts = (Text::new(&train.0, &train.1), Text::new(&valid.0, &valid.1));
        let catalogue = catalogue(&texts.0, &texts.1, &section.target, section.uncertain)?;
        Ok(Annotations { root, catalogue, notes: Vec::new() })
    }
}
