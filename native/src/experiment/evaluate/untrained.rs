//! The references for the numbers of a run: the same probes on the encoder before its first step, and predictions
//! without any encoder.

use anyhow::Result;
use simile_core::algorithm::{AlgorithmConfig, DifficultyEncoder, DifficultySettings, Networks};
use simile_core::train::{Purpose, stream};

use super::probed;
use crate::config::sections::RecipeVariant;
use crate::console::line;
use crate::exit::usage;
use crate::experiment::evaluate::probe::{Measured, Metrics, base_rates};
use crate::experiment::prepare::splits::Splits;
use crate::experiment::session::Session;
use crate::metrics::format::MetricFormat;
use crate::metrics::names::TOP1;
use crate::run_folder::record::Untrained;

/// The same probes on the encoder before its first step, measured once: every variant begins with the same encoder, whose
/// weights follow from the seed. The bias-amplifying network of the method `difficulty` alone begins with others, as released: it is
/// drawn after the debiased one. If all variants evaluate that, its first weights are measured.
///
/// # Errors
/// If features are not finite; [`Interrupted`](crate::exit::Interrupted) if the user requests it.
pub(crate) fn measured(session: &mut Session) -> Result<Untrained> {
    if let Some(untrained) = &session.state.untrained {
        return Ok(untrained.clone());
    }
    let Splits { train, test, .. } = &session.splits;
    let networks = Networks {
        encoder: session.recipe.encoder.config.clone(),
        head: session.recipe.head.of(None),
        weights: session.weights.clone(),
    };
    let is_second = session.recipe.variants().iter().all(is_of_second);
    let name = match &session.weights {
        None if is_second => "Untrained bias-amplifying network",
        None => "Untrained network",
        Some(_) => "Network as it was loaded",
    };
    line(format_args!("{}: probing", name.to_lowercase()));
    let mut rng = stream(session.recipe.train.seed, Purpose::Initialisation, 0);
    let device = &session.devices.first.device;
    if is_second {
        networks.init(device, &mut rng).map_err(usage)?;
    }
    let encoder = networks.init(device, &mut rng).map_err(usage)?.encoder;
    let (Measured { metrics, probes, .. }, _) = probed(session, &encoder)?;
    let untrained = Untrained { name: name.into(), metrics, probes };
    session.state.base_rates = base_rates(&session.recipe.probe, train, test)?;
    session.state.untrained = Some(untrained.clone());
    Ok(untrained)
}

/// True if a variant evaluates the second network that its method draws.
fn is_of_second(variant: &RecipeVariant) -> bool {
    matches!(
        variant.method(),
        AlgorithmConfig::Difficulty(DifficultySettings { evaluated: DifficultyEncoder::BiasAmplifying, .. })
    )
}

/// A warning if the untrained network has a higher accuracy of the class than the trained one.
pub(crate) fn was_better(untrained: &Untrained, metrics: &Metrics, condition: &str) -> Option<String> {
    let (trained, before) = (metrics.get(TOP1).copied()?, untrained.metrics.get(TOP1).copied()?);
    let format = MetricFormat::of(TOP1, condition);
    (before > trained).then(|| {
        format!(
            "{} is {} after training and {} before it: training made the vectors worse for the class than those of \
             the first weights; look at the loss and the crops, try a lower optimizer.learning_rate, another \
             temperature or more train.iterations",
            format.title,
            format.number(Some(trained)),
            format.number(Some(before)),
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn training_that_loses_what_was_there_is_said() {
        let top1 = |value: f64| BTreeMap::from([(TOP1.to_owned(), value)]);
        let before =
            |value: f64| Untrained { name: String::new(), metrics: top1(value), probes: BTreeMap::new() };
        let words = was_better(&before(0.846), &top1(0.778), "age").unwrap();
        assert!(
            words.contains("77.80 after training and 84.60 before") && words.contains("try a lower"),
            "{words}"
        );
        assert_eq!(was_better(&before(0.846), &top1(0.9), "age"), None);
    }
}
