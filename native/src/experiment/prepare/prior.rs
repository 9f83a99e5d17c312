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
use crate::run_folder::model;

/// The splits with the variable of the prior, if a recipe has one.
///
/// # Errors
/// If the model cannot be read, or takes images of other channels.
pub(crate) fn add(splits: Splits, section: Option<&PriorSection>, device: &Device) -> Result<Splits> {
    let Some(section) = section else { return Ok(splits) };
    let checkpoint = model::load(&section.model, device).context("reading `data.prior.model`")?;
    model::taken(&section.model, &checkpoint.metadata).iter().for_each(line);
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
