//! The Pareto front of accuracy and leak: the points beside which none is as good in both and better in one.

use serde::Serialize;

use super::noise::Noise;
use super::outcome::{Criterion, Front, Outcome};
use crate::metrics::leak::{is_error, is_leak};
use crate::metrics::names::TOP1;

/// The metrics of a front.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FrontOf {
    pub(crate) accuracy: String,
    pub(crate) leak: String,
}

/// Marks the points of the front, and those that are tied with one, by the metric of the criterion and that of the leak. Where the
/// criterion is a leak, it is the one, and the accuracy is top-1. Returns both metrics, if there is a leak.
pub(crate) fn mark(
    outcomes: &mut [Outcome],
    criterion: Criterion<'_>,
    leak: Option<&str>,
    noise: Noise,
) -> Option<FrontOf> {
    let (leak, by, lowest) = match leak {
        _ if is_leak(criterion.by) => (criterion.by, TOP1, false),
        Some(leak) => (leak, criterion.by, criterion.lowest),
        None => return None,
    };
    let place = |outcome: &Outcome| -> Option<[f64; 2]> {
        let sound = outcome.diverged.is_empty().then_some(outcome)?;
        let (accuracy, amount) = (sound.amount(by)?.mean, sound.amount(leak)?.mean);
        let accuracy = if lowest { -accuracy } else { accuracy };
        Some([accuracy, if is_error(leak) { amount } else { -amount }])
    };
    let places: Vec<Option<[f64; 2]>> = outcomes.iter().map(place).collect();
    let beaten = |own: &[f64; 2]| {
        places.iter().flatten().any(|other| other != own && other[0] >= own[0] && other[1] >= own[1])
    };
    let on: Vec<bool> = places.iter().map(|own| own.as_ref().is_some_and(|own| !beaten(own))).collect();
    let tied = |outcome: &Outcome| {
        let front_points = outcomes.iter().zip(&on).filter(|(_, on)| **on);
        let mut same =
            front_points.map(|(other, _)| noise.tied(by, outcome, other) && noise.tied(leak, outcome, other));
        same.any(|same| same)
    };
    let marks: Vec<Option<Front>> = outcomes
        .iter()
        .enumerate()
        .map(|(at, outcome)| match (on[at], places[at]) {
            (true, _) => Some(Front::On),
            (false, Some(_)) if tied(outcome) => Some(Front::Tied),
            _ => None,
        })
        .collect();
    for (outcome, mark) in outcomes.iter_mut().zip(marks) {
        outcome.front = mark;
    }
    Some(FrontOf { accuracy: by.to_owned(), leak: leak.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::measured;
    use super::*;
    use crate::metrics::names::{CONDITION_ROC_AUC, CONDITION_TOP1, MSE, R2};

    fn marks(outcomes: &[Outcome]) -> Vec<Option<Front>> {
        outcomes.iter().map(|one| one.front).collect()
    }

    #[test]
    fn the_front_is_what_nothing_beats_and_ties_are_told() {
        let point =
            |at: usize, top1: f64, leak: f64| measured(at, &[(TOP1, &[top1]), (CONDITION_TOP1, &[leak])]);
        let mut outcomes =
            [point(0, 0.90, 0.80), point(1, 0.80, 0.40), point(2, 0.79, 0.42), point(3, 0.70, 0.60)];
        let criterion = Criterion { by: TOP1, lowest: false };
        let front = mark(&mut outcomes, criterion, Some(CONDITION_TOP1), Noise { held_out: Some(500) });
        assert_eq!(front, Some(FrontOf { accuracy: TOP1.into(), leak: CONDITION_TOP1.into() }));
        assert_eq!(marks(&outcomes), [Some(Front::On), Some(Front::On), Some(Front::Tied), None]);
        mark(
            &mut outcomes,
            Criterion { by: CONDITION_TOP1, lowest: true },
            Some(CONDITION_TOP1),
            Noise::default(),
        );
        assert_eq!(marks(&outcomes), [Some(Front::On), Some(Front::On), None, None]);
        let mut alone = [measured(0, &[(TOP1, &[0.5])])];
        assert_eq!(mark(&mut alone, criterion, None, Noise::default()), None);
        assert_eq!(alone[0].front, None, "without a leak there is no front");
    }

    /// The leak of another attribute is the same in both points.
    #[test]
    fn a_criterion_that_is_any_leak_stands_beside_the_accuracy() {
        let two = |by: &str, leaks: [f64; 2], lowest: bool| {
            let point = |at: usize, top1: f64| {
                measured(at, &[(TOP1, &[top1]), (CONDITION_TOP1, &[0.9]), (by, &[leaks[at]])])
            };
            let mut outcomes = [point(0, 0.9), point(1, 0.8)];
            let front = mark(&mut outcomes, Criterion { by, lowest }, Some(CONDITION_TOP1), Noise::default());
            assert_eq!(front, Some(FrontOf { accuracy: TOP1.into(), leak: by.into() }));
            marks(&outcomes)
        };
        let (both, first) = ([Some(Front::On); 2], [Some(Front::On), None]);
        for by in ["age_r2", CONDITION_ROC_AUC, "condition_top1_nonlinear"] {
            assert_eq!(two(by, [0.6, 0.5], true), both, "{by}");
            assert_eq!(two(by, [0.5, 0.5], true), first, "{by}");
        }
        assert_eq!(
            (two(MSE, [5.0, 6.0], false), two(MSE, [6.0, 5.0], false)),
            (both.to_vec(), first.to_vec())
        );
    }

    #[test]
    fn no_point_of_the_front_finds_less_than_nothing() {
        let point = |at: usize, top1: f64, r2: f64| measured(at, &[(TOP1, &[top1]), (R2, &[r2])]);
        let mut outcomes = [point(0, 0.5, -6.1), point(1, 0.66, -0.3), point(2, 0.7, 0.2)];
        mark(&mut outcomes, Criterion { by: R2, lowest: true }, Some(R2), Noise::default());
        assert_eq!(marks(&outcomes), [None, Some(Front::On), Some(Front::On)]);
    }
}
