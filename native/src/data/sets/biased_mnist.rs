//! Biased-MNIST, built from the four official MNIST files: digits whose colour agrees with the class, in the fraction
//! `correlation` of the training images.

use std::path::Path;

use serde::{Deserialize, Serialize};
use simile_core::data::Dataset;
use simile_core::data::synthetic::biased_mnist::{UNBIASED, biased_mnist};

use crate::data::arrays::mnist;
use crate::data::check_report::FileReport;
use crate::data::error::Result;
use crate::data::keys::Refused;
use crate::data::keys::of_dataset::{DatasetOption, OptionType, ReadOptions};
use crate::data::source::{About, ArrayFiles, Arrays, Finish, Medium, Shape, Source};

/// `data.correlation`: the fraction of a class that has the colour of its class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Correlation(f64);

/// The weakest published correlation.
const WEAKEST: Correlation = Correlation(0.9);

impl DatasetOption for Correlation {
    const KEY: &'static str = "correlation";
    const MEANINGS: &'static [(&'static str, &'static str)] = &[(
        "",
        "Share of the training images of `biased-mnist` that have the colour of their class, 0 to 1; has to be given for it.",
    )];

    fn check(&self) -> Result<(), String> {
        let within = (0.0..=1.0).contains(&self.0);
        if within { Ok(()) } else { Err("`data.correlation` must be from 0 to 1".into()) }
    }
}

pub(super) struct BiasedMnist;

static ABOUT: About = About { name: "biased-mnist", attributes: "bias", ..mnist::ABOUT };

impl Source for BiasedMnist {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Arrays(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: mnist::SIDE, channels: 3 }
    }

    fn options(&self) -> &'static [OptionType] {
        const { &[OptionType::of::<Correlation>()] }
    }

    fn defaults(&self) -> ReadOptions {
        ReadOptions::with(WEAKEST)
    }

    fn check(&self, options: &ReadOptions) -> Result<(), Refused> {
        match options.get::<Correlation>() {
            None => Err(Refused::new("dataset", "`biased-mnist` needs `data.correlation`, from 0 to 1")),
            Some(_) => Ok(()),
        }
    }
}

impl ArrayFiles for BiasedMnist {
    fn find(&self, folder: &Path) -> Result<()> {
        mnist::find(folder)
    }

    fn read(&self, folder: &Path) -> Result<Arrays> {
        mnist::read(folder)
    }

    fn check(&self, folder: &Path) -> Result<Vec<FileReport>> {
        mnist::check(folder)
    }

    fn finish(&self, split: Dataset, options: &ReadOptions, finish: Finish) -> Result<Dataset> {
        let correlation = options.get::<Correlation>().filter(|_| finish.is_train);
        let correlation = correlation.map_or(UNBIASED, |Correlation(fraction)| *fraction);
        Ok(biased_mnist(&split, correlation, finish.seed)?)
    }
}
