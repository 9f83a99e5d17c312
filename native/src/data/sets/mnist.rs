//! MNIST: grey digits.

use std::path::Path;

use crate::data::arrays::mnist;
use crate::data::check_report::FileReport;
use crate::data::error::Result;
use crate::data::source::{About, ArrayFiles, Arrays, Medium, Shape, Source};

pub(super) struct Mnist;

static ABOUT: About = About { name: "mnist", ..mnist::ABOUT };

impl Source for Mnist {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Arrays(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: mnist::SIDE, channels: 1 }
    }
}

impl ArrayFiles for Mnist {
    fn find(&self, folder: &Path) -> Result<()> {
        mnist::find(folder)
    }

    fn read(&self, folder: &Path) -> Result<Arrays> {
        mnist::read(folder)
    }

    fn check(&self, folder: &Path) -> Result<Vec<FileReport>> {
        mnist::check(folder)
    }
}
