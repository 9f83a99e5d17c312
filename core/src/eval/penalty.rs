//! Choice of a probe's ridge penalty among several, on training samples that are held out for it.
//!
//! ```text
//! λ = argmin over the penalties of 1/h Σ_i e_i(λ),   i over the h samples held out
//! ```
//!
//! `e_i` is the error of a [`probe`](super::probe) that is fitted to the samples that are not held out. Among equally good penalties the
//! strongest is taken: on standardised features a weak penalty magnifies directions in which the training samples hardly differ, and a
//! fit in these directions does not generalise.
//!
//! [`ChosenProbeConfig::fit`] does all of it, as `simile evaluate` does: it splits, chooses, and fits a probe to all samples.
//!
//! Released code does not choose: CCL-K fixes 1e-6 or 1e-5, on features that are not standardised.

use super::blocks::check_any;
use super::linear_probe::LinearProbeConfig;
use super::probe::{FittedProbe, PenaltyPath, ProbeTargets};
use crate::error::{Error, Result, within};
use crate::numeric::rows::{FeatureTable, Rows};
use crate::numeric::split::split_validation;

/// The penalties among which `simile evaluate` chooses: one that uses every direction, the usual one, and one that ignores directions of
/// little variance.
pub const PENALTIES: [f64; 3] = [1e-6, 1e-3, 1e-1];

/// A chosen penalty.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// λ.
    pub penalty: f64,
    /// The error of each held-out sample, at that λ.
    pub errors: Vec<f64>,
    /// The probe with these errors, which is fitted to the other samples.
    pub probe: FittedProbe,
}

impl Choice {
    /// Chooses among `penalties` by the errors on `validation`, with probes that are fitted to `fitted`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no penalty; as [`FittedProbe::fit`] and [`FittedProbe::errors`].
    pub fn among(
        penalties: &[f64],
        config: &LinearProbeConfig,
        fitted: (&dyn Rows, &ProbeTargets),
        validation: (&dyn Rows, &ProbeTargets),
    ) -> Result<Self> {
        let mut penalties = penalties.to_vec();
        // The strongest first: it is the quickest to fit, and the next fit starts from it.
        penalties.sort_by(|a, b| b.total_cmp(a));
        let mut path = PenaltyPath::of(config, fitted.0, fitted.1, None)?;
        let mut best: Option<Self> = None;
        for penalty in penalties {
            let probe = path.fit(penalty)?;
            let errors = probe.errors(validation.0, validation.1)?;
            if best.as_ref().is_none_or(|best| mean(&errors) < mean(&best.errors)) {
                best = Some(Self { penalty, errors, probe });
            }
        }
        best.ok_or_else(no_penalty)
    }

    /// True if the errors are less than those of another probe of the same samples by more than the standard error
    /// of their mean difference, so that chance alone does not favour the probe with more weights.
    pub fn is_clearly_better_than(&self, other: &Self) -> bool {
        let differences: Vec<f64> = other.errors.iter().zip(&self.errors).map(|(a, b)| a - b).collect();
        let (count, centre) = (differences.len() as f64, mean(&differences));
        let variance = differences.iter().map(|d| (d - centre).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        centre > 0.0 && centre > (variance / count).sqrt()
    }
}

fn no_penalty() -> Error {
    Error::parameter("penalties", "empty", "expected at least one")
}

/// Settings of a linear probe, of classes or of values, whose penalty is chosen on the samples to which it is fitted. The default is the
/// linear probe of `simile evaluate --vectors`, and of runs whose recipe has no `probe.ridge`, no `probe.steps` and no `probe.solver`.
///
/// 1. Of at most [`chosen_on`](Self::chosen_on) samples, drawn at random, a fifth is held out: [`split_validation`].
/// 2. λ is the penalty with the least mean error on these, as in the [module](self), by probes that are fitted to the other four fifths:
///    [`Choice::among`].
/// 3. A probe with this λ is fitted to all samples: [`FittedProbe::fit`]. It starts from the best probe of step 2, so that the fit takes
///    fewer passes.
///
/// A single penalty is taken without a choice. If no sample can be held out, because there are fewer than five or all are of one subject,
/// the strongest penalty is taken. J, which each probe minimises, is that of [`linear_probe`](super::linear_probe).
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenProbeConfig {
    /// The candidates for λ, each 0 or more; above 0 for values if a feature is constant or a combination of others. Default:
    /// [`PENALTIES`], `[1e-6, 1e-3, 1e-1]`.
    pub penalties: Vec<f64>,
    /// Most samples on which the penalty is chosen, those that are held out among them. Default: `25_000`.
    pub chosen_on: usize,
    /// Seed of the draw of step 1. Default: `0`, so that all encoders are compared by the same samples.
    pub seed: u64,
    /// Settings of the classifier; `regularisation` is not read. Default: those of [`LinearProbeConfig`].
    pub linear: LinearProbeConfig,
}

impl Default for ChosenProbeConfig {
    fn default() -> Self {
        let penalties = PENALTIES.to_vec();
        Self { penalties, chosen_on: 25_000, seed: 0, linear: LinearProbeConfig::default() }
    }
}

/// A probe with the penalty that was chosen for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenProbe {
    /// Fitted to all samples.
    pub probe: FittedProbe,
    /// λ.
    pub penalty: f64,
    /// Number of samples that were held out to choose the penalty; 0 if there was no choice.
    pub held_out: usize,
}

impl ChosenProbeConfig {
    /// Chooses a penalty and fits a probe of `targets` to `rows`, `[n, d]`, which should be standardised. If `subjects` has the number of
    /// the subject of each of the `n` samples, no subject is both fitted to and held out in the choice.
    ///
    /// The samples of steps 1 and 2 are copied in `f32`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no penalty, or one is negative or not finite; [`Error::Shape`] if `targets` or `subjects` do not
    /// have an entry for each row; as [`FittedProbe::fit`]. Errors of reading rows are passed on.
    pub fn fit(
        &self,
        rows: &dyn Rows,
        targets: &ProbeTargets,
        subjects: Option<&[usize]>,
    ) -> Result<ChosenProbe> {
        self.fit_watched(rows, targets, subjects, |copy| copy)
    }

    /// As [`fit`](Self::fit), but candidates are fitted to `watch(copy)`, where `copy` has the samples of step 2 to which they are fitted,
    /// without those held out. So a caller whose `rows` count their reads, or end a computation by an error, can wrap the copy in the
    /// same way.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and as the rows of `watch`.
    pub fn fit_watched<R: Rows>(
        &self,
        rows: &dyn Rows,
        targets: &ProbeTargets,
        subjects: Option<&[usize]>,
        watch: impl FnOnce(FeatureTable) -> R,
    ) -> Result<ChosenProbe> {
        self.check(rows, targets, subjects)?;
        let Self { penalties, linear, .. } = self;
        let split = match penalties.len() {
            1 => None,
            _ => split_validation(rows.rows(), subjects, self.chosen_on, self.seed),
        };
        let (penalty, from, held_out) = match split {
            // If no sample can be held out, the strongest penalty overfits least.
            None => (penalties.iter().copied().fold(0.0, f64::max), None, 0),
            Some((fitted, validation)) => {
                let fitted_rows = watch(FeatureTable::gather(rows, &fitted)?);
                let validation_rows = FeatureTable::gather(rows, &validation)?;
                let Choice { penalty, probe, .. } = Choice::among(
                    penalties,
                    linear,
                    (&fitted_rows, &targets.select(&fitted)),
                    (&validation_rows, &targets.select(&validation)),
                )?;
                (penalty, Some(probe), validation.len())
            }
        };
        let config = LinearProbeConfig { regularisation: penalty, ..linear.clone() };
        let probe = FittedProbe::fit(&config, rows, targets, from.as_ref())?;
        Ok(ChosenProbe { probe, penalty, held_out })
    }

    /// Checks what selecting samples takes for granted, and the penalties.
    fn check(&self, rows: &dyn Rows, targets: &ProbeTargets, subjects: Option<&[usize]>) -> Result<()> {
        if self.penalties.is_empty() {
            return Err(no_penalty());
        }
        for &penalty in &self.penalties {
            within("penalties", penalty, 0.0, f64::MAX)?;
        }
        check_any("features", rows)?;
        targets.as_target().check(rows.rows())?;
        match subjects {
            Some(subjects) if subjects.len() != rows.rows() => {
                let [expected, found] = [rows.rows(), subjects.len()].map(|count| format!("{count} entries"));
                Err(Error::shape("subjects", expected, found))
            }
            _ => Ok(()),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::eval::probe::testing::noisy;
    use crate::eval::regression::RegressionReport;
    use crate::eval::ridge::Ridge;
    use crate::eval::standardise::Standardise;
    use crate::numeric::matrix::Matrix;
    use crate::numeric::rows::Buffer;

    fn choose(rows: &Matrix, targets: &ProbeTargets) -> Choice {
        let (fitted, validation) = split_validation(rows.rows(), None, usize::MAX, 0).unwrap();
        let part = |part: &[usize]| (rows.select(part), targets.select(part));
        let (fitted, validation) = (part(&fitted), part(&validation));
        let config = LinearProbeConfig::default();
        Choice::among(&PENALTIES, &config, (&fitted.0, &fitted.1), (&validation.0, &validation.1)).unwrap()
    }

    #[test]
    fn noise_asks_for_a_strong_penalty_and_an_exact_map_for_a_weak_one() {
        let (rows, values) = noisy(100);
        assert_eq!(choose(&rows, &ProbeTargets::Values(values.clone())).penalty, 1e-1);
        let labels: Vec<usize> = values.data().iter().map(|&value| usize::from(value > 0.0)).collect();
        assert!(choose(&rows, &ProbeTargets::Classes { labels, classes: 2 }).penalty > 1e-6);
        let exact = Matrix::from_fn(100, 1, |i, _| 3.0 * rows[(i, 1)] - rows[(i, 2)]);
        assert_eq!(choose(&rows, &ProbeTargets::Values(exact)).penalty, 1e-6);
    }

    #[test]
    fn of_equal_penalties_the_strongest_is_taken() {
        // Every probe predicts both classes.
        let rows = Matrix::from_fn(40, 1, |i, _| if i % 2 == 0 { -1.0 } else { 1.0 });
        let labels = (0..40).map(|i| i % 2).collect();
        let choice = choose(&rows, &ProbeTargets::Classes { labels, classes: 2 });
        assert_eq!((choice.penalty, mean(&choice.errors)), (1e-1, 0.0));
    }

    #[test]
    fn better_by_chance_is_not_clearly_better() {
        let of = |errors: &[f64]| Choice {
            penalty: 0.0,
            errors: errors.to_vec(),
            probe: FittedProbe::Values(Ridge { weight: Matrix::zeros(1, 1), bias: vec![0.0] }),
        };
        let (plain, luck) = (of(&[1.0, 1.0, 1.0, 1.0]), of(&[2.0, 0.0, 2.0, -0.1]));
        assert!(!luck.is_clearly_better_than(&plain) && !plain.is_clearly_better_than(&plain));
        assert!(of(&[0.5, 0.4, 0.5, 0.6]).is_clearly_better_than(&plain));
    }

    /// The expected numbers are those of `simile evaluate --vectors` from before this function, when the choice was a part of the command
    /// line.
    #[test]
    fn the_leak_is_the_one_that_the_command_line_measured() {
        let feature =
            |i: usize, j: usize| ((7 * i * i + 31 * j * j + 13 * i * j + 3 * i + 3) % 23) as f64 / 4.0;
        let age = |i: usize, _: usize| 3.0 * feature(i, 0) - feature(i, 2) + (5 * i * i % 17) as f64 / 4.0;
        for (samples, width, penalty, held_out, r2) in [
            (60, 4, 1e-3, 12, 0.9712487282754673),
            (60, 8, 1e-1, 12, 0.9582188273035317),
            (100, 20, 1e-6, 20, 0.944314318988635),
        ] {
            let (features, ages) =
                (Matrix::from_fn(samples + 40, width, feature), Matrix::from_fn(samples + 40, 1, age));
            let (train, test): (Vec<usize>, Vec<usize>) = (0..samples + 40).partition(|&i| i < samples);
            let [train_rows, test_rows] =
                [&train, &test].map(|part| FeatureTable::gather(&features, part).unwrap());
            let scale = Standardise::fit(&train_rows).unwrap();
            let targets = ProbeTargets::Values(ages.select(&train));
            let chosen =
                ChosenProbeConfig::default().fit(&scale.of(&train_rows).unwrap(), &targets, None).unwrap();
            let scores = chosen.probe.scores(&scale.of(&test_rows).unwrap()).unwrap();
            let report = RegressionReport::of(&scores, &ages.select(&test)).unwrap();
            assert_eq!((chosen.penalty, chosen.held_out), (penalty, held_out));
            assert!((report.r2.unwrap() - r2).abs() < 1e-9, "{report:?} and {r2}");
        }
    }

    /// Bit for bit, so that the start of the last fit is that of the choice.
    #[test]
    fn a_chosen_probe_is_that_of_the_three_steps() {
        let (rows, values) = noisy(200);
        let labels = values.data().iter().map(|&value| usize::from(value > 0.0)).collect();
        let targets = ProbeTargets::Classes { labels, classes: 2 };
        let config = ChosenProbeConfig { chosen_on: 100, seed: 3, ..ChosenProbeConfig::default() };
        let part = |some: &[usize]| (FeatureTable::gather(&rows, some).unwrap(), targets.select(some));
        let (fitted, validation) = split_validation(200, None, 100, 3).unwrap();
        let (fitted, validation) = (part(&fitted), part(&validation));
        let choice =
            Choice::among(&PENALTIES, &config.linear, (&fitted.0, &fitted.1), (&validation.0, &validation.1))
                .unwrap();
        let linear = LinearProbeConfig { regularisation: choice.penalty, ..config.linear.clone() };
        let probe = FittedProbe::fit(&linear, &rows, &targets, Some(&choice.probe)).unwrap();
        let chosen = config.fit(&rows, &targets, None).unwrap();
        assert_eq!(chosen, ChosenProbe { probe, penalty: choice.penalty, held_out: 20 });
    }

    #[test]
    fn without_a_choice_the_strongest_penalty_is_taken() {
        let (rows, values) = noisy(30);
        let targets = ProbeTargets::Values(values);
        let chosen = |penalties: &[f64], subjects: Option<&[usize]>| {
            let config = ChosenProbeConfig { penalties: penalties.to_vec(), ..ChosenProbeConfig::default() };
            let ChosenProbe { penalty, held_out, .. } = config.fit(&rows, &targets, subjects).unwrap();
            (penalty, held_out)
        };
        assert_eq!(chosen(&PENALTIES, None).1, 6);
        assert_eq!(chosen(&PENALTIES, Some(&[7; 30])), (1e-1, 0));
        assert_eq!(chosen(&[1e-5], None), (1e-5, 0));
    }

    /// Another number would change the penalty, and with it the measured leak, of every large run.
    #[test]
    fn a_penalty_is_chosen_on_25_000_samples_by_default() {
        let rows = Matrix::from_fn(30_000, 1, |i, _| (i % 7) as f64);
        let targets = ProbeTargets::Values(rows.clone());
        let chosen = ChosenProbeConfig::default().fit(&rows, &targets, None).unwrap();
        assert_eq!(chosen.held_out, 5_000);
    }

    #[test]
    fn a_choice_among_no_penalties_is_refused() {
        let (rows, values) = noisy(30);
        let all: (&dyn Rows, &ProbeTargets) = (&rows, &ProbeTargets::Values(values));
        let chosen = Choice::among(&[], &LinearProbeConfig::default(), all, all);
        assert!(matches!(chosen, Err(Error::Parameter { .. })));
    }

    /// Copied rows whose reading was stopped.
    struct Stopped(FeatureTable);

    impl Rows for Stopped {
        fn is_single(&self) -> bool {
            self.0.is_single()
        }

        fn rows(&self) -> usize {
            self.0.rows()
        }

        fn columns(&self) -> usize {
            self.0.columns()
        }

        fn read(&self, _: usize, _: Buffer<'_>) -> Result<()> {
            Err(Error::Stopped)
        }
    }

    #[test]
    fn a_watch_over_the_copied_rows_ends_the_choice() {
        let (rows, values) = noisy(50);
        let targets = ProbeTargets::Values(values);
        let config = ChosenProbeConfig::default();
        assert_eq!(config.fit_watched(&rows, &targets, None, Stopped), Err(Error::Stopped));
        let given = ChosenProbeConfig { penalties: vec![1e-3], ..config };
        assert!(given.fit_watched(&rows, &targets, None, Stopped).is_ok(), "nothing is copied");
    }

    /// Matrices of fewer rows were read beyond their end, and subjects were those of other samples.
    #[test]
    fn inputs_that_do_not_fit_the_rows_are_refused_by_name() {
        let (rows, values) = noisy(30);
        let refused = |penalties: &[f64], values: &Matrix, subjects: Option<&[usize]>| {
            let config = ChosenProbeConfig { penalties: penalties.to_vec(), ..ChosenProbeConfig::default() };
            config.fit(&rows, &ProbeTargets::Values(values.clone()), subjects).unwrap_err().to_string()
        };
        for (error, named) in [
            (refused(&PENALTIES, &values.select(&[0, 1]), None), "`targets` has 2x1"),
            (refused(&PENALTIES, &values, Some(&[1, 2])), "`subjects` has 2 entries, expected 30 entries"),
            (refused(&[1e-3, -1.0], &values, None), "`penalties` is -1"),
            (refused(&[f64::NAN], &values, None), "`penalties` is NaN"),
            (refused(&[], &values, None), "`penalties` is empty"),
        ] {
            assert!(error.contains(named), "{error}");
        }
    }
}
