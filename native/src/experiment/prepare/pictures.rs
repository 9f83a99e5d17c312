//! The splits of a data set of picture files.

use std::path::Path;

use anyhow::{Context as _, Result};
use simile_core::data::formats::features::Features;
use simile_core::data::{Condition, Dataset, Split};
use simile_core::nn::EncoderConfig;
use simile_core::numeric::split::split_indices;

use crate::console::line;
use crate::data::keys::values::{FeaturesSection, Fit, JudgedBy};
use crate::data::{
    Annotations, Cache, DataError, DataSection, PictureList, Pictures, ResizeSpec, read_features,
    read_pictures,
};
use crate::exit::{Interrupted, usage};
use crate::experiment::memory::available::available;

/// Seed of the pictures that `data.train` and `data.test` choose; lists are usually sorted by class, so that the first
/// ones would be of one class.
const CHOICE_SEED: u64 = 0;
/// Most unreadable pictures that are named.
const MOST_COMPLAINTS: usize = 5;

/// Reads the training and the test pictures in the input size of the encoder, and the validation split if it is
/// requested.
///
/// # Errors
/// If a split has no picture, a picture cannot be read and `broken` is `refuse`, or features are missing; [`Interrupted`] if the
/// user requests it.
pub(crate) fn read(
    section: &DataSection,
    annotations: &Annotations,
    folder: &Path,
    encoder: &EncoderConfig,
    validation: bool,
) -> Result<(Dataset, Dataset, Option<Dataset>)> {
    annotations.notes.iter().for_each(line);
    let features = match &section.features {
        Some(section) => {
            Some((section, read_features(section, folder, available())?.among(&annotations.catalogue.files)?))
        }
        None => None,
    };
    let resize = ResizeSpec {
        side: section.side.unwrap_or(encoder.input_size),
        channels: encoder.channels,
        fit: section.fit,
    };
    let judged_by = match section.judged_by {
        JudgedBy::Test => Split::Test,
        JudgedBy::Validation => Split::Validation,
    };
    let read_split = |split: Split, most: Option<usize>| -> Result<Dataset> {
        let indices = chosen(annotations.catalogue.of(split), most);
        if indices.is_empty() {
            let key = match split {
                Split::Validation if validation => "; hold out training pictures with selection.held_out",
                Split::Validation => "; judge by another with data.judged_by=test",
                Split::Test if !annotations.catalogue.of(Split::Validation).is_empty() => {
                    "; evaluate on the validation pictures with data.judged_by=validation"
                }
                Split::Test | Split::Train => "; add some",
            };
            return Err(usage(format_args!("the data set has no {} pictures{key}", name(split))));
        }
        one_split(section, annotations, &indices, resize, features.as_ref())
            .with_context(|| format!("reading the {} pictures", name(split)))
    };
    let validation = validation.then(|| read_split(Split::Validation, section.test)).transpose()?;
    Ok((read_split(Split::Train, section.train)?, read_split(judged_by, section.test)?, validation))
}

fn one_split(
    section: &DataSection,
    annotations: &Annotations,
    indices: &[usize],
    resize: ResizeSpec,
    features: Option<&(&FeaturesSection, Features)>,
) -> Result<Dataset> {
    let catalogue = annotations.catalogue.select(indices);
    let Pictures { images, places, broken } = read_pictures(
        PictureList { root: &annotations.root, files: &catalogue.files },
        resize,
        section.broken,
        Cache::for_user().as_ref(),
    )
    .map_err(|error| match error {
        DataError::Stopped => Interrupted::to_continue().into(),
        error => anyhow::Error::new(error),
    })?;
    for error in broken.iter().take(MOST_COMPLAINTS) {
        line(format_args!("left out: {error}"));
    }
    if broken.len() > MOST_COMPLAINTS {
        line(format_args!("left out: {} pictures in all", broken.len()));
    }
    if places.is_empty() {
        let first = broken.first().map(|error| format!(": {error}")).unwrap_or_default();
        anyhow::bail!("none of {} pictures can be read{first}", catalogue.len());
    }
    let catalogue = if broken.is_empty() { catalogue } else { catalogue.select(&places) };
    let features = match features {
        Some((section, features)) => features.of(&catalogue.files)?.map(|table| (&section.name, table)),
        None => None,
    };
    let images = if section.fit == Fit::Crops { images.evaluated_squeezed() } else { images };
    let dataset = catalogue.into_dataset(images)?;
    Ok(match features {
        Some((name, table)) => dataset.with_condition(name, Condition::Numeric(table.into()))?,
        None => dataset,
    })
}

/// At most `most` indices, drawn with a fixed seed, in their order.
fn chosen(indices: Vec<usize>, most: Option<usize>) -> Vec<usize> {
    match most {
        Some(most) if most < indices.len() => {
            let (_, places) = split_indices(indices.len(), most, CHOICE_SEED);
            places.into_iter().filter_map(|at| indices.get(at).copied()).collect()
        }
        _ => indices,
    }
}

fn name(split: Split) -> &'static str {
    match split {
        Split::Train => "training",
        Split::Validation => "validation",
        Split::Test => "test",
    }
}
