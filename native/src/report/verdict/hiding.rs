//! Whether a variant hides its attribute: by each probe, its leak beside that of the first variant.

use super::super::advice::{LeakOutcome, Unit};
use super::super::chance::{Chance, NOTICEABLE};
use super::{References, Variant, mean, mean_leak, values};
use crate::metrics::Metrics;
use crate::metrics::metric::{Predictor, name_for_attribute};
use crate::metrics::names::{CONDITION_ROC_AUC, CONDITION_TOP1, R2, TOP1};

/// The leaks by which a variant is judged, with their probes. The advice is on the first of them that did not fall.
const LEAKS: [(&str, Predictor, Unit); 6] = [
    (CONDITION_TOP1, Predictor::Linear, Unit::Images),
    (R2, Predictor::Linear, Unit::RSquared),
    (CONDITION_TOP1, Predictor::Nonlinear, Unit::Images),
    (R2, Predictor::Nonlinear, Unit::RSquared),
    (CONDITION_ROC_AUC, Predictor::Linear, Unit::Area),
    (CONDITION_ROC_AUC, Predictor::Nonlinear, Unit::Area),
];

/// The leak of the attribute of a variant by one probe, beside that of the first variant.
struct LeakChange {
    metric: String,
    unit: Unit,
    /// In the first variant.
    before: f64,
    after: f64,
    chance: Chance,
}

impl LeakChange {
    /// The outcome by this probe, unless the leak fell by enough to count.
    fn failure(&self) -> Option<LeakOutcome> {
        let least = self.chance.least_change(self.before, self.after);
        match self.after - self.before {
            rose if rose >= least => Some(LeakOutcome::Increased { by: rose, unit: self.unit }),
            rose if rose < 0.0 && -rose < least => {
                Some(LeakOutcome::FellTooLittle { least, unit: self.unit })
            }
            rose if -rose < least => Some(LeakOutcome::Unchanged),
            _ => None,
        }
    }
}

impl References<'_> {
    /// The variants that should hide an attribute and do not count as doing so beside the first one, each with the reason.
    pub(super) fn failed_to_hide<'v, 'r>(
        &self,
        variants: &'v [Variant<'r>],
    ) -> Vec<(&'v Variant<'r>, LeakOutcome)> {
        let Some((first, others)) = variants.split_first() else { return Vec::new() };
        let hiding = others.iter().filter(|variant| !variant.keeps);
        hiding.filter_map(|variant| Some((variant, self.hiding_failure(&first.metrics, variant)?))).collect()
    }

    /// The reason why a variant does not hide its attribute beside the first one, if there is one. Its leak fell if it did by every
    /// probe that still finds something. If none does, the attribute is hidden, or there was little to hide, or that cannot be told.
    fn hiding_failure(&self, plain: &[&Metrics], variant: &Variant<'_>) -> Option<LeakOutcome> {
        let changes = self.leak_changes(plain, variant);
        if changes.is_empty() {
            return None;
        }
        let nothing_before = changes.iter().all(|one| one.chance.is_little(one.before));
        if nothing_before && self.learnt_nothing(plain, &changes) {
            return Some(LeakOutcome::FirstLearntNothing);
        }
        let remaining: Vec<&LeakChange> =
            changes.iter().filter(|one| !one.chance.is_little(one.after)).collect();
        if !remaining.is_empty() {
            return remaining.into_iter().find_map(LeakChange::failure);
        }
        // Vectors that say nothing hide everything.
        if !nothing_before && self.is_without_class(&variant.metrics) {
            return Some(LeakOutcome::LostTheClass);
        }
        let is_doubtful = |one: &LeakChange| match one.chance.is_little(one.before) {
            true => {
                nothing_before && [one.before, one.after].iter().any(|leak| one.chance.is_doubtful(*leak))
            }
            // It passed for chance without a fall.
            false => one.chance.is_doubtful(one.after) && one.failure().is_some(),
        };
        match self.samples.filter(|_| changes.iter().any(is_doubtful)) {
            Some(on) => Some(LeakOutcome::Uncertain { on }),
            None => nothing_before.then_some(LeakOutcome::NothingToHide),
        }
    }

    /// The leak of the attribute of a variant by each probe that was measured in the variant and in the first one.
    fn leak_changes(&self, plain: &[&Metrics], variant: &Variant<'_>) -> Vec<LeakChange> {
        let of_metric = |(metric, by, unit): (&str, Predictor, Unit)| {
            let metric = by.named(&name_for_attribute(metric, &variant.attribute, self.condition));
            let (before, after) = (mean_leak(plain, &metric)?, mean_leak(&variant.metrics, &metric)?);
            let chance = self.chance(&metric);
            Some(LeakChange { metric, unit, before, after, chance })
        };
        LEAKS.into_iter().filter_map(of_metric).collect()
    }

    /// True if the first variant predicts the class no better than chance, although the untrained network reveals the attribute.
    fn learnt_nothing(&self, plain: &[&Metrics], changes: &[LeakChange]) -> bool {
        let reveals = |one: &LeakChange| {
            mean_leak(&self.untrained, &one.metric).is_some_and(|leak| !one.chance.is_little(leak))
        };
        self.is_without_class(plain) && changes.iter().any(reveals)
    }

    /// True if a variant predicts the class no better than chance.
    fn is_without_class(&self, runs: &[&Metrics]) -> bool {
        let accuracy = mean(&values(runs, TOP1)).zip(mean(&values(&self.base, TOP1)));
        accuracy.is_some_and(|(found, base)| found - base < NOTICEABLE)
    }
}
