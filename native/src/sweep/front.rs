//! The Pareto front of accuracy and leak: the points beside which none is as good in both and better in one.

use super::noise::Noise;
use super::outcome::{Aim, Front, Outcome};
use crate::metrics::names::{NAMED, R2, TOP1};

/// The leak, in the order of preference.
pub(crate) const LEAKS: [&str; 2] = [NAMED, R2];

/// The metric of the leak that the points have.
pub(crate) fn leak_of(outcomes: &[Outcome]) -> Option<&'static str> {
    LEAKS.into_iter().find(|leak| outcomes.iter().any(|outcome| outcome.mean(leak).is_some()))
}

/// Marks the points of the front, and those that are tied with one. Where the aim is a leak, the accuracy is top-1.
pub(crate) fn mark(outcomes: &mut [Outcome], aim: Aim<'_>, noise: Noise) {
    let Some(leak) = leak_of(outcomes) else { return };
    let (by, lowest) = if LEAKS.contains(&aim.by) { (TOP1, false) } else { (aim.by, aim.lowest) };
    let place = |outcome: &Outcome| -> Option<[f64; 2]> {
        let sound = outcome.diverged.is_empty().then_some(outcome)?;
        let accuracy = sound.mean(by)?;
        Some([if lowest { -accuracy } else { accuracy }, -sound.mean(leak)?])
    };
    let places: Vec<Option<[f64; 2]>> = outcomes.iter().map(place).collect();
    let beaten = |own: &[f64; 2]| {
        places.iter().flatten().any(|other| other != own && other[0] >= own[0] && other[1] >= own[1])
    };
    let on: Vec<bool> = places.iter().map(|own| own.as_ref().is_some_and(|own| !beaten(own))).collect();
    let tied = |outcome: &Outcome| {
        let of_front = outcomes.iter().zip(&on).filter(|(_, on)| **on);
        let mut same =
            of_front.map(|(other, _)| noise.tied(by, outcome, other) && noise.tied(leak, outcome, other));
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
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::measured;
    use super::*;

    #[test]
    fn the_front_is_what_nothing_beats_and_ties_are_told() {
        let point = |at: usize, top1: f64, leak: f64| measured(at, &[(TOP1, &[top1]), (NAMED, &[leak])]);
        let mut outcomes =
            [point(0, 0.90, 0.80), point(1, 0.80, 0.40), point(2, 0.79, 0.42), point(3, 0.70, 0.60)];
        let aim = Aim { by: TOP1, lowest: false };
        mark(&mut outcomes, aim, Noise { held_out: Some(500) });
        let marks = |outcomes: &[Outcome]| outcomes.iter().map(|one| one.front).collect::<Vec<_>>();
        assert_eq!(marks(&outcomes), [Some(Front::On), Some(Front::On), Some(Front::Tied), None]);
        mark(&mut outcomes, Aim { by: NAMED, lowest: true }, Noise::default());
        assert_eq!(marks(&outcomes), [Some(Front::On), Some(Front::On), None, None]);
        let mut alone = [measured(0, &[(TOP1, &[0.5])])];
        mark(&mut alone, aim, Noise::default());
        assert_eq!(alone[0].front, None, "without a leak there is no front");
    }
}
