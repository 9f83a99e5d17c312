//! Digits that core draws itself, on coloured backgrounds.

use simile_core::data::Dataset;
use simile_core::data::synthetic::digits::{SIDE, draw_digits};

use crate::data::error::Result;
use crate::data::keys::Refused;
use crate::data::keys::of_dataset::ReadOptions;
use crate::data::source::{About, Drawn, Medium, Shape, Source};

const CHANNELS: usize = 3;

pub(super) struct Digits;

static ABOUT: About = About {
    name: "digits",
    files: "none: drawn from strokes",
    classes: "10 digits; as many as `data.train` and `data.test` say",
    attributes: "colour, palette",
    ..About::NOTHING
};

impl Source for Digits {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Drawn(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: SIDE, channels: CHANNELS }
    }

    fn has_backgrounds(&self) -> bool {
        true
    }

    fn defaults(&self) -> ReadOptions {
        ReadOptions { train: Some(1000), test: Some(1000), ..ReadOptions::default() }
    }

    fn check(&self, options: &ReadOptions) -> Result<(), Refused> {
        let refuse = |reason: &str| Err(Refused::new("dataset", reason));
        match (options.train, options.test) {
            (None, _) => refuse("drawn digits need `data.train`, how many to draw"),
            (_, None) => refuse("drawn digits need `data.test`, how many to draw"),
            _ => Ok(()),
        }
    }
}

impl Drawn for Digits {
    fn draw(&self, count: usize, options: &ReadOptions, seed: u64) -> Result<Dataset> {
        Ok(draw_digits(count, options.colours, seed)?)
    }

    fn bytes(&self) -> usize {
        SIDE * SIDE * CHANNELS
    }
}
