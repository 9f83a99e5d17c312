//! The linear probe of a recipe, which core fits.

use anyhow::Result;
use simile_core::data::Condition;
use simile_core::error::Error;
use simile_core::eval::linear_probe::LinearProbeConfig;
use simile_core::eval::penalty::{ChosenProbe, ChosenProbeConfig};
use simile_core::eval::probe::{FittedProbe, ProbeTargets};
use simile_core::numeric::rows::Rows;

use super::watched::{Watch, Watched};
use crate::config::probe::ProbeSection;
use crate::run_folder::record::ProbeFit;

/// A probe with the record of its fit.
pub(super) struct Fitted {
    pub(super) probe: FittedProbe,
    pub(super) fit: ProbeFit,
}

/// The training images of a probe.
pub(super) struct TrainingRows<'a> {
    /// Standardised.
    pub(super) rows: &'a dyn Rows,
    pub(super) targets: &'a ProbeTargets,
    /// The number of the subject of each, of whom none is both fitted to and held out.
    pub(super) subjects: Option<&'a [usize]>,
    /// The watch of fits to some of them. `rows` are under it already.
    pub(super) watch: &'a Watch,
}

impl TrainingRows<'_> {
    /// Some of the rows, under the watch.
    pub(super) fn watched<R: Rows>(&self, rows: R) -> Watched<R> {
        self.watch.over(rows)
    }
}

/// Fits a linear probe with the penalty of a recipe, or the best of several.
///
/// # Errors
/// If the number of targets is not that of the rows, or the probe cannot be fitted.
pub(super) fn linear(section: &ProbeSection, known: &TrainingRows<'_>) -> Result<Fitted> {
    let &TrainingRows { rows, targets, subjects, .. } = known;
    let settings = ChosenProbeConfig {
        penalties: section.ridge.all().to_vec(),
        linear: config(section),
        ..ChosenProbeConfig::default()
    };
    let ChosenProbe { probe, penalty, held_out } =
        settings.fit_watched(rows, targets, subjects, |copy| known.watched(copy)).map_err(named_by_recipe)?;
    Ok(Fitted { probe, fit: ProbeFit { ridge: penalty, held_out, random_features: 0 } })
}

/// The error of a fit, which names the key of a recipe in the place of the parameter.
fn named_by_recipe(error: Error) -> Error {
    match error {
        Error::Degenerate { reason, remedy } => {
            Error::Degenerate { reason, remedy: remedy.replace("`regularisation`", "`probe.ridge`") }
        }
        other => other,
    }
}

/// The classifier of a recipe, without its penalty.
pub(super) fn config(section: &ProbeSection) -> LinearProbeConfig {
    LinearProbeConfig { steps: section.steps, ..Default::default() }
}

/// An attribute as the target of a probe.
pub(super) fn targets(condition: &Condition) -> ProbeTargets {
    match condition {
        Condition::Numeric(values) => ProbeTargets::Values((**values).clone()),
        Condition::Categorical { values, names } => {
            ProbeTargets::Classes { labels: values.clone(), classes: names.len() }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::RngExt as _;
    use simile_core::numeric::matrix::Matrix;
    use simile_core::train::{Purpose, stream};

    use super::*;
    use crate::config::penalty::Penalty;
    use crate::experiment::evaluate::probe::watched::unchecked;

    #[test]
    fn a_regression_without_a_penalty_names_the_key_of_the_recipe() {
        let rows = Matrix::from_fn(40, 2, |at, column| if column == 0 { at as f64 } else { 1.0 });
        let targets = ProbeTargets::Values(Matrix::from_fn(40, 1, |at, _| at as f64));
        let known =
            TrainingRows { rows: &rows, targets: &targets, subjects: None, watch: &Watch::new(unchecked) };
        for ridge in [Penalty::Given(0.0), Penalty::Best(vec![0.0, 1e-3])] {
            let section = ProbeSection { ridge, ..ProbeSection::default() };
            let text = linear(&section, &known).err().unwrap().to_string();
            assert!(text.contains("set `probe.ridge` above 0"), "{text}");
        }
    }

    #[test]
    fn features_that_tell_subjects_are_not_trusted() {
        // Three pictures of each subject, whose class has nothing to do with its features.
        let mut rng = stream(0, Purpose::Initialisation, 0);
        let of_subject = Matrix::from_fn(200, 60, |_, _| rng.random_range(-1.0..1.0));
        let classes: Vec<usize> = (0..200).map(|_| rng.random_range(0..2)).collect();
        let subjects: Vec<usize> = (0..600).map(|at| at / 3).collect();
        let rows =
            Matrix::from_fn(600, 60, |at, column| of_subject[(at / 3, column)] + rng.random_range(-0.1..0.1));
        let targets =
            ProbeTargets::Classes { labels: subjects.iter().map(|&at| classes[at]).collect(), classes: 2 };
        let ridge = |subjects| {
            let known =
                TrainingRows { rows: &rows, targets: &targets, subjects, watch: &Watch::new(unchecked) };
            linear(&ProbeSection::default(), &known).unwrap().fit.ridge
        };
        assert!(ridge(None) < ridge(Some(&subjects[..])), "{} {}", ridge(None), ridge(Some(&subjects[..])));
    }
}
