//! Named presets: the views of the four works, and some of our own.

use super::{Augmentation, Blur, ColourJitter, Crop};
use crate::data::resize::Interpolation;
use crate::error::{Error, Result};

/// Every name that [`Augmentation::preset`] accepts, with a description.
pub const PRESETS: [(&str, &str); 14] = [
    ("none", "the image as it is"),
    ("crop", "crops of 0.3 to 1 of the image, no flip: digits keep their class"),
    ("cclk", "CCL-K: bicubic crops of 0.08 to 1, flip, jitter 0.4/0.4/0.4/0.1, grey"),
    ("cclk-colour-mnist", "CCL-K on ColorMNIST (`--no_color_distor`): bicubic crops of 0.08 to 1, flip"),
    ("contex", "ConTeX: crops of 0.2 to 1, flip, jitter 0.4/0.4/0.4/0.1, grey"),
    ("biased-mnist", "Hong and Yang on BiasedMNIST: rotation by up to 20 degrees, jitter 0.4/0.4/0.4/0.1"),
    (
        "difficulty-cifar",
        "difficulty-weighted: crops of 0.08 to 1, flip, jitter 0.4/0.4/0.4/0.1, grey, blur 3",
    ),
    ("difficulty-celeba", "difficulty-weighted: crops of 0.7 to 1, never taller than wide, flip"),
    ("difficulty-waterbirds", "difficulty-weighted: crops of 0.7 to 1, flip"),
    ("du", "Decoupled Uniformity: crops of 0.08 to 1, flip, jitter 0.8/0.8/0.8/0.2, grey"),
    ("du-without-colour", "the same without jitter and grey"),
    ("du-without-colour-and-crop", "the same with the flip alone"),
    ("du-chexpert", "Decoupled Uniformity on CheXpert: bicubic crops, rotation by up to 45 degrees, flip"),
    ("simclr-imagenet", "SimCLR: bicubic crops, flip, jitter 0.8/0.8/0.8/0.2, grey, blur 23"),
];

impl Augmentation {
    /// A named set of parameters, from [`PRESETS`].
    ///
    /// # Errors
    /// [`Error::Unknown`] for another name.
    pub fn preset(name: &str) -> Result<Self> {
        let none = Self::default();
        let flip = Self { flip: 0.5, ..none.clone() };
        let crop = Self { crop: Some(Crop::default()), ..flip.clone() };
        let bicubic = Self {
            crop: Some(Crop { interpolation: Interpolation::Bicubic, ..Crop::default() }),
            ..flip.clone()
        };
        let from =
            |scale: f64| Self { crop: Some(Crop { scale: [scale, 1.0], ..Crop::default() }), ..flip.clone() };
        let coloured =
            |base: &Self| Self { jitter: Some(ColourJitter::default()), grey: 0.2, ..base.clone() };
        let strong =
            ColourJitter { brightness: 0.8, contrast: 0.8, saturation: 0.8, hue: 0.2, probability: 0.8 };
        let strongly = |base: &Self| Self { jitter: Some(strong.clone()), grey: 0.2, ..base.clone() };
        Ok(match name {
            "none" => none,
            "crop" => Self { flip: 0.0, ..from(0.3) },
            "cclk" => coloured(&bicubic),
            "cclk-colour-mnist" => bicubic,
            "contex" => coloured(&from(0.2)),
            "biased-mnist" => Self { rotation: 20.0, jitter: Some(ColourJitter::default()), ..none },
            "difficulty-cifar" => Self { blur: Some(Blur::default()), ..coloured(&crop) },
            "difficulty-celeba" => {
                let crop = Crop { scale: [0.7, 1.0], ratio: [1.0, 4.0 / 3.0], ..Crop::default() };
                Self { crop: Some(crop), ..flip }
            }
            "difficulty-waterbirds" => from(0.7),
            "du" => strongly(&crop),
            "du-without-colour" => crop,
            "du-without-colour-and-crop" => flip,
            "du-chexpert" => Self { rotation: 45.0, ..bicubic },
            "simclr-imagenet" => {
                Self { blur: Some(Blur { kernel: 23, ..Blur::default() }), ..strongly(&bicubic) }
            }
            _ => {
                let known = PRESETS.iter().map(|(name, _)| String::from(*name)).collect();
                return Err(Error::Unknown { kind: "views", name: name.into(), known });
            }
        })
    }
}
