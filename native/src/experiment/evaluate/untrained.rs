//! The references for the numbers of a run: the same probes on the encoder before its first step, and predictions
//! without any encoder.

use anyhow::Result;
use simile_core::algorithm::ModelConfig;
use simile_core::eval::mcnemar::p_value;
use simile_core::train::{Purpose, stream};

use super::probed;
use crate::console::line;
use crate::exit::usage;
use crate::experiment::evaluate::probe::{ProbeResults, base_rates};
use crate::experiment::session::Session;
use crate::metrics::format::MetricFormat;
use crate::metrics::names::TOP1;
use crate::metrics::two_sample::p_in_words;
use crate::metrics::{Hits, Metrics};
use crate::run_folder::hits::StoredHits;
use crate::run_folder::record::Untrained;

/// A difference with a greater p of McNemar's test may be chance, and is no reason to warn.
const MOST_CHANCE: f64 = 0.05;

/// The same probes on the encoder before its first step, measured once: every variant begins with the same encoder, whose
/// weights follow from the seed. A network that a method draws after another one begins with others. If all variants evaluate such a
/// second network, its first weights are measured.
///
/// # Errors
/// If features are not finite; [`Interrupted`](crate::exit::Interrupted) if the user requests it.
pub(crate) fn probe_once(session: &mut Session) -> Result<Untrained> {
    if let Some(untrained) = &session.store.state.untrained {
        return Ok(untrained.clone());
    }
    let network = ModelConfig {
        encoder: session.recipe.encoder.config.clone(),
        head: session.recipe.head.of(None),
        weights: session.weights.clone(),
    };
    let variants = session.recipe.variants();
    let seconds = variants.iter().map(|variant| variant.algorithm.second_network_evaluated());
    let second = seconds.collect::<Option<Vec<&str>>>().and_then(|names| names.first().copied());
    let name = match (&session.weights, second) {
        (None, Some(second)) => format!("Untrained {second}"),
        (None, None) => "Untrained network".to_owned(),
        (Some(_), _) => "Network as it was loaded".to_owned(),
    };
    line(format_args!("{}: probing", name.to_lowercase()));
    let mut rng = stream(session.recipe.train.seed, Purpose::Initialisation, 0);
    let device = &session.devices.first.device;
    if second.is_some() {
        network.init(device, &mut rng).map_err(usage)?;
    }
    let encoder = network.init(device, &mut rng).map_err(usage)?.encoder;
    let (ProbeResults { metrics, probes, hits, .. }, _) = probed(session, &encoder)?;
    let untrained = Untrained { name, metrics, probes };
    let (train, evaluated) = (&session.splits.train, &session.splits.evaluated.dataset);
    session.store.state.base_rates = base_rates(&session.recipe.probe, train, evaluated)?;
    session.store.state.untrained_hits = StoredHits::of(&hits);
    session.store.state.untrained = Some(untrained.clone());
    Ok(untrained)
}

/// A warning if the network has a lower accuracy of the class after training than before, by more than chance may give on these test
/// images, or on their subjects. The numbers are those before training, and those after it.
pub(crate) fn was_better(
    [before, trained]: [(&Metrics, &Hits); 2],
    subjects: Option<&[usize]>,
) -> Option<String> {
    let top1 = |(metrics, _): (&Metrics, &Hits)| metrics.get(TOP1).copied();
    let p = p_value(trained.1.get(TOP1)?, before.1.get(TOP1)?, subjects);
    let (before, trained) = (top1(before)?, top1(trained)?);
    let format = MetricFormat::of(TOP1, "");
    (before > trained && p < MOST_CHANCE).then(|| {
        format!(
            "{} is {} after training and {} before it ({}): training made the vectors worse for the class than those \
             of the first weights; look at the loss and the crops, try a lower optimizer.learning_rate, another \
             temperature or more train.iterations",
            format.title,
            format.number(Some(trained)),
            format.number(Some(before)),
            p_in_words(p),
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The metrics and hits of a network that names this many of the images, the first ones, correctly.
    fn naming(right: usize, images: usize) -> (Metrics, Hits) {
        let hits = (0..images).map(|at| at < right).collect();
        let top1 = right as f64 / images as f64;
        (Metrics::from([(TOP1.to_owned(), top1)]), Hits::from([(TOP1.to_owned(), hits)]))
    }

    fn said(of: [usize; 2], images: usize, subjects: Option<&[usize]>) -> Option<String> {
        let [before, trained] = of.map(|right| naming(right, images));
        was_better([(&before.0, &before.1), (&trained.0, &trained.1)], subjects)
    }

    #[test]
    fn training_that_loses_what_was_there_is_said() {
        let words = said([423, 389], 500, None).unwrap();
        assert!(
            words.contains("77.80 after training and 84.60 before it (p < 0.001)")
                && words.contains("try a lower"),
            "{words}"
        );
        assert_eq!(said([423, 450], 500, None), None);
    }

    #[test]
    fn a_loss_that_may_be_chance_is_not_said() {
        assert_eq!(said([7, 6], 8, None), None);
        assert_eq!(said([14, 13], 20, None), None);
        // All that was lost is of one subject.
        let subjects: Vec<usize> = (0..20).map(|at| if (6..16).contains(&at) { 0 } else { at }).collect();
        assert!(said([16, 6], 20, None).is_some());
        assert_eq!(said([16, 6], 20, Some(&subjects)), None);
        let (metrics, hits) = naming(400, 500);
        let (worse, _) = naming(300, 500);
        // A run that an earlier version began has no hits to compare.
        assert_eq!(was_better([(&metrics, &Hits::new()), (&worse, &hits)], None), None);
    }
}
