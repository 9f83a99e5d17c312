//! ColorMNIST, built from the four official MNIST files: digits on coloured backgrounds.

use std::path::Path;

use simile_core::data::Dataset;
use simile_core::data::synthetic::colour_mnist::colour_mnist;
use simile_core::data::synthetic::digits::SIDE;

use crate::data::arrays::mnist;
use crate::data::check_report::FileReport;
use crate::data::error::Result;
use crate::data::keys::of_dataset::ReadOptions;
use crate::data::source::{About, ArrayFiles, Arrays, Finish, Medium, Shape, Source};

pub(super) struct ColourMnist;

static ABOUT: About = About { name: "colour-mnist", attributes: "colour, palette", ..mnist::ABOUT };

impl Source for ColourMnist {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Arrays(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: SIDE, channels: 3 }
    }

    fn has_backgrounds(&self) -> bool {
        true
    }
}

impl ArrayFiles for ColourMnist {
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
        let side = if finish.own_size { split.images.height() } else { SIDE };
        Ok(colour_mnist(&split, options.colours, side, finish.seed)?)
    }
}
