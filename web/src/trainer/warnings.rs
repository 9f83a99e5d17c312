//! The reasons why a run is meaningless though its settings are valid.

use serde_json::{Map, Value};
use simile_core::kernel::{Kernel, Remedy, Undecided};
use simile_core::loss::ObjectiveConfig;
use simile_core::requests::{Request, Warning};

use super::image_split::ImageSplit;
use super::settings::{CONDITION, Settings};

/// The warnings about an objective on the images of the first step, by their indices.
pub(super) fn warnings(settings: &Settings, train: &ImageSplit, first: &[usize]) -> Vec<Warning> {
    let ObjectiveConfig { name, variant, parameters } = settings.objective.clone();
    let request = Request { objective: name, variant, params: Value::Object(parameters), inputs: Map::new() };
    let mut warnings = request.warnings();
    if settings.objective.needs_condition()
        && let Ok(objective) = settings.objective.build()
        && let Some(weights) = objective.conditioned_by_kernel()
    {
        let z = train.colours.select(first.get(..Kernel::MOST_COMPARED).unwrap_or(first));
        warnings.extend(weights.kernel().warning_of_first_batch(CONDITION, &z).map(with_remedy));
    }
    warnings
}

/// A warning with what helps, in the settings of a page.
fn with_remedy(Undecided { degeneracy, fact, remedy }: Undecided) -> Warning {
    let kernel = "`kernel: { name: \"rbf\", sigma: \"median\" }`, whose sigma is";
    let text = match remedy {
        Remedy::Wider(median) => format!("{fact}; take a wider one, such as {kernel} {median:.4} here"),
        Remedy::Narrower(median) => format!("{fact}; take a narrower one, such as {kernel} {median:.4} here"),
        Remedy::OtherCondition => {
            format!("{fact}; take images of several colours, or an objective without a condition")
        }
        Remedy::LikeImages => {
            format!(
                "{fact}; a wider kernel would make them all equally alike: take larger batches, in which some images have \
                 like colours, or an objective without a condition"
            )
        }
    };
    Warning { degeneracy: Some(degeneracy), text }
}
