//! The representation of the images by another network, as a conditioning variable.

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use simile_core::data::{Condition, Dataset};
use simile_core::numeric::rows::to_matrix;

use crate::console::line;
use crate::data::PriorSection;
use crate::exit::usage;
use crate::experiment::prepare::images::PreparedImages;
use crate::experiment::prepare::splits::Splits;
use crate::run_folder::digest::Digest;
use crate::run_folder::model::{self, Choice};
use crate::run_folder::state::absolute;

/// The splits with the variable of the prior, if a recipe has one.
///
/// # Errors
/// If the model cannot be read, or takes images of other channels.
pub(crate) fn add(splits: Splits, section: Option<&PriorSection>, device: &Device) -> Result<Splits> {
    let Some(section) = section else { return Ok(splits) };
    let reading = || absent(section).unwrap_or_else(|| "reading `data.prior.model`".into());
    let checkpoint = model::load(&section.model, device).with_context(reading)?;
    model::note_on_variant(&section.model, &checkpoint.metadata, Choice::File).iter().for_each(line);
    let (channels, given) = (checkpoint.metadata.encoder.channels, splits.train.images.channels());
    if channels != given {
        return Err(usage(format_args!(
            "`data.prior.model` takes images of {channels} channels, and these have {given}"
        )));
    }
    let normalisation = model::normalisation(&checkpoint);
    let sides = (checkpoint.metadata.input_size, checkpoint.metadata.resize);
    let with = |dataset: Dataset| -> Result<Dataset> {
        let images = PreparedImages::new(&dataset.images, sides, &normalisation, device);
        let features = images.features(&checkpoint.encoder)?;
        Ok(dataset.with_condition(&section.name, Condition::Numeric(to_matrix(&features)?))?)
    };
    line(format_args!(
        "`{}` is the representation by {}, {} features",
        section.name,
        section.model.display(),
        checkpoint.metadata.embedding_size
    ));
    Ok(Splits {
        train: with(splits.train)?,
        test: with(splits.test)?,
        validation: splits.validation.map(with).transpose()?,
    })
}

/// The message for the model of a prior that is not there; none if it is.
pub(crate) fn absent(section: &PriorSection) -> Option<String> {
    let path = &section.model;
    (!path.exists()).then(|| format!("`data.prior.model`, {}, is not there", absolute(path).display()))
}

/// The digest of the model of a prior.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn digest(section: &PriorSection) -> Result<Digest> {
    let bytes = model::read(&model::file(&section.model)).context("reading `data.prior.model`")?;
    Ok(Digest::of(&bytes))
}
