//! The pictures of a run's report, drawn while data and encoders are loaded.

pub(crate) mod batch_kernel;
mod colour;
mod gallery;
mod map;
pub(crate) mod picture;

use anyhow::Result;
use simile_core::augment::Augmentation;
use simile_core::data::resize::{Interpolation, resize};
use simile_core::data::{Condition, Dataset, Images};
use simile_core::eval::group_accuracy::GroupAccuracy;
use simile_core::eval::metrics::ConfusionMatrix;
use simile_core::train::{Purpose, stream};

use self::batch_kernel::{BATCH, BatchKernel};
use self::picture::{contact_sheet, small_sheet};
use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::experiment::features::Features;
use crate::experiment::session::Session;
use crate::run_folder::figures::{self, ConfusionFigure, ContactSheet, Figures, Thumbnails};

/// Images in a row of samples.
const SAMPLES: usize = 12;
/// Side of the image of a point of a map, in pixels.
const THUMBNAIL: usize = 24;
const THUMBNAILS_IN_A_ROW: usize = 25;

/// The figures of a run before its first variant is done: samples of its images.
///
/// # Errors
/// If a view cannot be made.
pub(crate) fn sample_figures(session: &Session) -> Result<Figures> {
    let Recipe { augment, train, .. } = &session.recipe;
    let samples = samples(&session.splits.train, augment, train.seed, &session.devices.first.device)?;
    let thumbnails = Some(thumbnails(&session.splits.evaluated.dataset)?);
    Ok(Figures { samples, thumbnails, ..Figures::default() })
}

/// The images of the points of maps.
///
/// # Errors
/// If one cannot be read.
fn thumbnails(test: &Dataset) -> Result<Thumbnails> {
    let shown = map::sample(test.len());
    let images =
        resize(&test.images.for_evaluation()?.read(&shown)?, THUMBNAIL, THUMBNAIL, Interpolation::Bilinear)?;
    let (columns, count) = (THUMBNAILS_IN_A_ROW, shown.len());
    Ok(Thumbnails { picture: small_sheet(&images, columns)?, side: THUMBNAIL, columns, count })
}

/// The first training images and two views of each, as in training.
///
/// # Errors
/// If a view cannot be made.
fn samples(
    train: &Dataset,
    augmentation: &Augmentation,
    seed: u64,
    device: &burn::tensor::Device,
) -> Result<Vec<ContactSheet>> {
    let count = SAMPLES.min(train.len());
    let first: Vec<usize> = (0..count).collect();
    let images = train.images.read(&first)?;
    let stretches = train.images.stretches(&first);
    let as_seen = train.images.select(&first).for_evaluation()?.in_memory()?;
    let shown = images.to_tensor(device);
    let mut rng = stream(seed, Purpose::Augmentation, 0);
    let mut sheets = vec![ContactSheet { caption: "image".into(), picture: contact_sheet(&as_seen, count)? }];
    for caption in ["view a", "view b"] {
        let view = augmentation.view_stretched(shown.clone(), stretches.as_deref(), &mut rng)?;
        let [_, channels, height, width] = view.dims();
        let bytes: Vec<u8> = view
            .permute([0, 2, 3, 1])
            .into_data()
            .iter::<f32>()
            .map(|value| (value * 255.0).round() as u8)
            .collect();
        let picture = contact_sheet(&Images::new(height, width, channels, bytes)?, count)?;
        sheets.push(ContactSheet { caption: caption.into(), picture });
    }
    Ok(sheets)
}

/// The data for the figures of a variant.
#[derive(Clone, Copy)]
pub(crate) struct Drawing<'a> {
    pub(crate) variant: &'a RecipeVariant,
    /// The attribute whose leak is measured.
    pub(crate) condition: &'a str,
    pub(crate) train: &'a Dataset,
    pub(crate) test: &'a Dataset,
    /// Of the test images.
    pub(crate) features: &'a Features,
    /// The class that the linear probe gives each test image.
    pub(crate) guesses: &'a [usize],
}

impl Drawing<'_> {
    /// Adds the figures of the variant.
    ///
    /// # Errors
    /// If one cannot be drawn.
    pub(crate) fn add_to(&self, figures: &mut Figures) -> Result<()> {
        let kernel = BatchKernel::of(self.variant, self.train, BATCH)?;
        figures.kernels.extend(kernel.map(|kernel| kernel.figure(&self.variant.name)).transpose()?);
        figures.maps.push(map::map(self)?);
        figures.confusions.push(self.confusion()?);
        figures.galleries.push(gallery::gallery(self)?);
        Ok(())
    }

    fn confusion(&self) -> Result<ConfusionFigure> {
        let Self { test, guesses, .. } = self;
        let classes = test.classes.len();
        let groups = match test.conditions.get(self.condition) {
            Some(Condition::Categorical { values, names }) => {
                let groups = GroupAccuracy::new(guesses, &test.labels, values, classes, names.len())?;
                Some(figures::GroupsFigure {
                    attribute: self.condition.into(),
                    names: names.clone(),
                    accuracy: groups.accuracy(),
                })
            }
            _ => None,
        };
        Ok(ConfusionFigure {
            variant: self.variant.name.clone(),
            names: test.classes.clone(),
            counts: ConfusionMatrix::new(guesses, &test.labels, classes)?.counts().to_vec(),
            groups,
        })
    }
}
