//! The message of a run that cannot go on, in the words of the page's settings: it has no recipe.

use simile_core::error::Error;
use simile_core::train::TrainError;
use wasm_bindgen::JsError;

/// The settings of a page that have another name in a recipe.
const NAMES: [(&str, &str); 2] =
    [("optimizer.learning_rate", "learningRate"), ("objective.name", "objective")];

/// The error of a run with an objective, for the page.
pub(super) fn refused(error: TrainError, objective: &str) -> JsError {
    JsError::new(&in_words(error, objective))
}

fn in_words(error: TrainError, objective: &str) -> String {
    match error {
        TrainError::Diverged { from, to } => format!(
            "the loss is not a finite number between steps {from} and {to}; lower `learningRate`, or raise `temperature` \
             if the objective has one"
        ),
        // Another method trains it.
        TrainError::Input(Error::Parameter { name, .. }) if name == "method.name" => {
            format!("`objective` is {objective}, which a Trainer cannot train; `simile train` trains it")
        }
        TrainError::Input(Error::Parameter { name, value, reason }) => {
            let own = NAMES.into_iter().find(|(recipe_name, _)| *recipe_name == name);
            Error::Parameter { name: own.map_or(name, |(_, own)| own.to_owned()), value, reason }.to_string()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::super::{settings::Settings, start};
    use super::*;
    use crate::device::Device;

    #[test]
    fn no_error_names_a_key_of_a_recipe() {
        let refusal = |objective: &str, learning_rate: f64| {
            let settings = json!({
                "objective": { "name": objective }, "seed": 1, "batch": 8, "iterations": 2,
                "learningRate": learning_rate, "images": 24, "testImages": 6,
            });
            let settings: Settings = serde_json::from_value(settings).unwrap();
            in_words(start(&settings, &Device::cpu().inner).unwrap_err(), objective)
        };
        let diverged = in_words(TrainError::Diverged { from: 3, to: 4 }, "decoupled-uniformity");
        for (text, own) in [
            (
                refusal("byol", 4e-3),
                "`objective` is byol, which a Trainer cannot train; `simile train` trains it",
            ),
            (refusal("max-margin", 4e-3), "`objective` is max-margin, but no method trains it"),
            (refusal("nt-xent", 0.0), "`learningRate` is 0, expected"),
            (
                diverged,
                "between steps 3 and 4; lower `learningRate`, or raise `temperature` if the objective has one",
            ),
        ] {
            assert!(text.contains(own), "{text}");
            assert!(!text.contains("method.name") && !text.contains("optimizer."), "{text}");
        }
    }
}
