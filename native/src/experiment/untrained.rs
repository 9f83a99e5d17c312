//! What the numbers of a run are to be held against: the same probes on the encoder before its first step, and what is
//! named without any encoder.

use anyhow::Result;
use simile_core::algorithm::Networks;
use simile_core::nn::head::HeadConfig;
use simile_core::train::{Purpose, stream};

use super::record::{ArmResult, TOP1, Untrained};
use super::session::Session;
use super::splits::Splits;
use crate::cli::Probe;
use crate::console::line;
use crate::exit::usage;
use crate::metrics::format::Reading;
use crate::metrics::probe::{Measured, Represented, base_rates, measure};

impl Session {
    /// Measures what the arms are held against, unless that was done. Every arm begins with the same encoder, whose
    /// weights follow from the seed, so that one row stands for all and a run that goes on finds the same.
    pub(super) fn hold_against(&mut self) -> Result<()> {
        if self.standing.untrained.is_some() {
            return Ok(());
        }
        let Splits { train, test, .. } = &self.splits;
        let networks = Networks {
            encoder: self.recipe.encoder.config.clone(),
            head: HeadConfig::default(),
            weights: self.weights.clone(),
        };
        let name = match &self.weights {
            None => "Untrained network",
            Some(_) => "Network as it was loaded",
        };
        line(format_args!("{}: probing", name.to_lowercase()));
        let mut rng = stream(self.recipe.train.seed, Purpose::Initialisation, 0);
        let encoder = networks.init(&self.team.first.device, &mut rng).map_err(usage)?.encoder;
        let normalisation = self.recipe.normalisation().map_err(usage)?;
        let [of_train, of_test] =
            [self.prepared(train, &normalisation)?, self.prepared(test, &normalisation)?];
        let [of_train, of_test] = [of_train.features(&encoder)?, of_test.features(&encoder)?];
        let Measured { metrics, probes, .. } = measure(
            &self.recipe.probe,
            Probe::Linear,
            Represented { features: &of_train, dataset: train },
            Represented { features: &of_test, dataset: test },
        )?;
        self.standing.base_rates = base_rates(&self.recipe.probe, train, test)?;
        self.standing.untrained = Some(Untrained { name: name.into(), metrics, probes });
        Ok(())
    }
}

/// That training has taken away what the class is read from, if it has.
pub(super) fn doubt(arm: &ArmResult, untrained: &Untrained, condition: &str) -> Option<String> {
    let (trained, before) = (arm.metric(TOP1)?, untrained.metrics.get(TOP1).copied()?);
    let reading = Reading::of(TOP1, condition);
    (before > trained).then(|| {
        format!(
            "{} is {} after training and {} before it: what was learned is of less use for the class than what the \
             network began with; look at the loss and the crops, try a lower optimizer.learning_rate, another \
             temperature or more train.iterations",
            reading.title,
            reading.number(Some(trained)),
            reading.number(Some(before)),
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::report::testing::arm;

    #[test]
    fn training_that_loses_what_was_there_is_said() {
        let top1 = |value: f64| BTreeMap::from([(TOP1.to_owned(), value)]);
        let before =
            |value: f64| Untrained { name: String::new(), metrics: top1(value), probes: BTreeMap::new() };
        let words = doubt(&arm("a", 0.778), &before(0.846), "age").unwrap();
        assert!(
            words.contains("77.80 after training and 84.60 before") && words.contains("try a lower"),
            "{words}"
        );
        assert_eq!(doubt(&arm("a", 0.9), &before(0.846), "age"), None);
    }
}
