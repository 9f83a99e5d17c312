//! `[augment]`: the augmentation of views, from one of core's presets and the keys that differ from it.

use serde::Deserialize as _;
use serde::de::{Deserializer, Error as _};
use simile_core::augment::{Augmentation, Normalisation, PRESETS};
use toml::{Table, Value};

use super::explain::suggestion;
use super::reader_error::{ReaderError, Unknown};
use crate::data::keys::values::Normalise;
use crate::data::sets;
use crate::data::source::Constants;
use crate::words::number_of;

/// Reads the section; `preset = "NAME"` stands for the keys of that preset, which other keys then replace.
///
/// # Errors
/// An unknown preset or key, or a value of the wrong type.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Augmentation, D::Error> {
    let mut own = Table::deserialize(deserializer)?;
    let mut table = match own.remove("preset") {
        None => Table::new(),
        Some(Value::String(name)) => {
            let preset = Augmentation::preset(&name).map_err(|_| {
                let unknown = Unknown::new(&name, PRESETS.map(|(name, _)| name));
                D::Error::custom(ReaderError::UnknownPreset(unknown))
            })?;
            Table::try_from(preset).map_err(D::Error::custom)?
        }
        Some(other) => return Err(D::Error::custom(ReaderError::no_preset_name(other))),
    };
    table.extend(own);
    table.try_into().map_err(|error: toml::de::Error| D::Error::custom(error.message()))
}

/// The constants of `data.normalise` for images with `channels` channels.
///
/// # Errors
/// The name is unknown, or there is not one constant a channel.
pub(crate) fn normalisation(written: Option<&Normalise>, channels: usize) -> Result<Normalisation, String> {
    let constants = match written {
        None => Normalisation::identity(channels),
        Some(Normalise::Own(own)) => own.clone(),
        Some(Normalise::Named(name)) => {
            let named = sets::constants();
            let Some(Constants { mean, std, .. }) = named.iter().find(|constants| constants.name == name)
            else {
                let hint = suggestion(name, named.iter().map(|constants| constants.name));
                return Err(format!("no normalisation is named `{name}`{hint}"));
            };
            Normalisation { mean: mean.to_vec(), std: std.to_vec() }
        }
    };
    let [means, deviations] = [constants.mean.len(), constants.std.len()];
    if [means, deviations] != [channels; 2] {
        return Err(format!(
            "`data.normalise` has {} and {}, and `encoder.channels` is {channels}; write `mean` and `std` with one number for \
             every channel",
            number_of(means, "mean", "means"),
            number_of(deviations, "standard deviation", "standard deviations")
        ));
    }
    match constants.std.iter().find(|&&std| !(std > 0.0 && std.is_finite())) {
        Some(std) => Err(format!("`data.normalise` has a deviation of {std}, expected above 0")),
        None => Ok(constants),
    }
}
