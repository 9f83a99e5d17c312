//! Biased-MNIST, built from the four official MNIST files: digits whose colour agrees with the class, in the fraction
//! `correlation` of the training images.

use std::path::Path;

use simile_core::data::Dataset;
use simile_core::data::synthetic::biased_mnist::{UNBIASED, biased_mnist};

use crate::data::arrays::mnist;
use crate::data::error::Result;
use crate::data::report::FileReport;
use crate::data::settings::{Options, Refused};
use crate::data::source::{About, ArrayFiles, Arrays, Finish, Kind, Shape, Source};

/// The weakest published correlation.
const WEAKEST: f64 = 0.9;

pub(super) struct BiasedMnist;

static ABOUT: About = About { name: "biased-mnist", variables: "bias", ..mnist::ABOUT };

impl Source for BiasedMnist {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Arrays(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: mnist::SIDE, channels: 3 }
    }

    fn keys(&self) -> &'static [&'static str] {
        &["correlation"]
    }

    fn defaults(&self) -> Options<'static> {
        Options { correlation: Some(WEAKEST), ..Options::default() }
    }

    fn check(&self, options: &Options<'_>) -> Result<(), Refused> {
        match options.correlation {
            None => Err(Refused::new("dataset", "`biased-mnist` needs `data.correlation`, from 0 to 1")),
            Some(correlation) if !(0.0..=1.0).contains(&correlation) => {
                Err(Refused::new("correlation", "`data.correlation` must be from 0 to 1"))
            }
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

    fn finish(&self, split: Dataset, options: &Options<'_>, finish: Finish) -> Result<Dataset> {
        let correlation = options.correlation.filter(|_| finish.is_train).unwrap_or(UNBIASED);
        Ok(biased_mnist(&split, correlation, finish.seed)?)
    }
}
