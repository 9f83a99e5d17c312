//! The representation of the images by another network, as an attribute to condition on.

use std::path::Path;

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use simile_core::data::{Condition, Dataset};
use simile_core::numeric::rows::to_matrix;

use crate::config::shipped::Shipped;
use crate::console::line;
use crate::data::PriorSection;
use crate::exit::usage;
use crate::experiment::prepare::images::{ImageForm, PreparedImages};
use crate::experiment::prepare::splits::{Evaluated, Splits};
use crate::run_folder::digest::Digest;
use crate::run_folder::model::{self, ChosenBy};
use crate::run_folder::state::absolute;

/// The splits with the attribute of the prior, if a recipe has one.
///
/// # Errors
/// If the model cannot be read, or takes images of other channels.
pub(crate) fn add(splits: Splits, section: Option<&PriorSection>, device: &Device) -> Result<Splits> {
    let Some(section) = section else { return Ok(splits) };
    if let Some(absent) = absent(section) {
        anyhow::bail!(absent);
    }
    let checkpoint = model::load(&section.model, device).context("reading `data.prior.model`")?;
    model::note_on_variant(&section.model, &checkpoint.metadata, ChosenBy::File).iter().for_each(line);
    let (channels, image_channels) = (checkpoint.metadata.encoder.channels, splits.train.images.channels());
    if channels != image_channels {
        return Err(usage(format_args!(
            "`data.prior.model` takes images of {channels} channels, and these have {image_channels}"
        )));
    }
    let form = ImageForm::from(&checkpoint.metadata);
    let with = |dataset: Dataset| -> Result<Dataset> {
        let images = PreparedImages::new(&dataset.images, &form, device);
        let features = images.features(&checkpoint.encoder)?;
        Ok(dataset.with_condition(&section.name, Condition::Numeric(to_matrix(&features)?.into()))?)
    };
    line(format_args!(
        "`{}` is the representation by {}, {} features",
        section.name,
        section.model.display(),
        checkpoint.metadata.embedding_size
    ));
    let Splits { train, evaluated: Evaluated { dataset, split }, to_choose } = splits;
    Ok(Splits {
        train: with(train)?,
        evaluated: Evaluated { dataset: with(dataset)?, split },
        to_choose: to_choose.map(with).transpose()?,
    })
}

/// The message for the model of a prior that is not there, with the command that trains it if one is known; none if it is.
pub(crate) fn absent(section: &PriorSection) -> Option<String> {
    let path = &section.model;
    let remedy = || trained_by(path).map(|remedy| format!("; {remedy}")).unwrap_or_default();
    (!path.exists())
        .then(|| format!("`data.prior.model`, {}, is not there{}", absolute(path).display(), remedy()))
}

/// The command that trains the model of `runs/NAME`, if a recipe of this name ships.
pub(crate) fn trained_by(path: &Path) -> Option<String> {
    let is_of_runs = path.parent()?.file_name()? == "runs";
    let name = path.file_name()?.to_str().filter(|name| is_of_runs && Shipped::find(name).is_some())?;
    Some(format!("`simile train {name}` trains it"))
}

/// The digest of the model of a prior.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn digest(section: &PriorSection) -> Result<Digest> {
    let bytes = model::read(&model::file(&section.model)).context("reading `data.prior.model`")?;
    Ok(Digest::of(&bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::Images;

    use super::*;
    use crate::data::EvaluationSplit;
    use crate::exit::message_with_causes;

    #[test]
    fn the_command_that_trains_a_missing_prior_is_told() {
        let of = |path: &str| absent(&PriorSection::of(path.into())).unwrap();
        assert!(of("runs/vae-digits").ends_with("is not there; `simile train vae-digits` trains it"));
        assert!(of("runs/nobody").ends_with("nobody, is not there"));
        assert!(of("elsewhere/vae-digits").ends_with("is not there"));
    }

    /// The cause repeated it.
    #[test]
    fn a_missing_prior_is_said_once() {
        let set = || {
            let images = Images::new(1, 1, 1, vec![0; 2]).unwrap();
            Dataset::new(images, vec![0, 1], vec!["a".into(), "b".into()]).unwrap()
        };
        let evaluated = Evaluated { dataset: set(), split: EvaluationSplit::Test };
        let splits = Splits { train: set(), evaluated, to_choose: None };
        let section = PriorSection::of("runs/nobody".into());
        let error = add(splits, Some(&section), &Device::flex()).unwrap_err();
        assert_eq!(message_with_causes(&error), absent(&section).unwrap());
    }
}
