//! Choice of a probe's ridge penalty among several, on training samples that are held out for it.
//!
//! ```text
//! λ = argmin over the penalties of 1/h Σ_i e_i(λ),   i over the h samples held out
//! e_i = |W x_i + b - t_i|² / m for values, 1 for a wrong class and 0 for the right one
//! ```
//!
//! `W, b` minimise the objective of [`linear_probe`](super::linear_probe) on the samples that are not held out.
//! Among equally good penalties the strongest is taken: on standardised features a weak penalty magnifies
//! directions in which the training samples hardly differ, and a fit in these directions does not generalise.
//!
//! Released code does not choose: CCL-K fixes 1e-6 or 1e-5, on features that are not standardised.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::linear_probe::{LinearProbe, LinearProbeConfig, ProbePath, Target};
use super::ridge::{NormalEquations, Ridge};
use super::{check_labels, check_size, metrics};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::Rows;
use crate::numeric::split::{select, split_subjects};

/// One in this many samples is held out.
const SHARE: usize = 5;

/// The targets of a probe, one entry a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum Answers {
    /// Integer labels.
    Classes {
        /// Below `classes`.
        labels: Vec<usize>,
        /// Number of classes, including those that do not occur.
        classes: usize,
    },
    /// Numbers, `[n, m]`.
    Values(Matrix),
}

impl Answers {
    /// The targets of the samples `indices`, in that order.
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        match self {
            Self::Values(values) => Self::Values(values.select(indices)),
            Self::Classes { labels, classes } => {
                let labels = indices.iter().filter_map(|&i| labels.get(i).copied()).collect();
                Self::Classes { labels, classes: *classes }
            }
        }
    }
}

/// A fitted probe.
#[derive(Debug, Clone, PartialEq)]
pub enum Reader {
    /// A classifier.
    Classes(LinearProbe),
    /// A regression of numbers.
    Values(Ridge),
}

impl Reader {
    /// Fits a probe with the penalty λ of `config`, starting from another probe if given: the minimiser is the
    /// same.
    ///
    /// # Errors
    /// As [`LinearProbeConfig::fit`] and [`Ridge::fit`].
    pub fn fit(
        config: &LinearProbeConfig,
        rows: &dyn Rows,
        answers: &Answers,
        from: Option<&Self>,
    ) -> Result<Self> {
        Fits::of(config, rows, answers, from)?.fit(config.regularisation)
    }

    /// Class scores, or predicted values, of every row: `[n, m]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of features differs.
    pub fn scores(&self, rows: &dyn Rows) -> Result<Matrix> {
        match self {
            Self::Classes(probe) => probe.scores(rows),
            Self::Values(ridge) => ridge.predictions(rows),
        }
    }

    /// The error of every row, `e_i` of the [module](self).
    ///
    /// # Errors
    /// [`Error::Shape`] if the targets do not match the rows or the kind of the probe.
    pub fn errors(&self, rows: &dyn Rows, answers: &Answers) -> Result<Vec<f64>> {
        let scores = self.scores(rows)?;
        match answers {
            Answers::Values(values) => {
                check_size("answers", values, scores.rows(), scores.columns())?;
                let squared = |(a, b): (&[f64], &[f64])| {
                    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                    sum / a.len().max(1) as f64
                };
                Ok(scores.iter_rows().zip(values.iter_rows()).map(squared).collect())
            }
            Answers::Classes { labels, .. } => {
                check_labels("answers", labels, scores.rows(), scores.columns())?;
                let named = metrics::predictions(&scores)?;
                Ok(named.iter().zip(labels).map(|(a, b)| f64::from(u8::from(a != b))).collect())
            }
        }
    }
}

/// Fits probes to the same rows with one penalty after another, and computes everything that does not depend on the penalty once.
enum Fits<'a> {
    Classes(ProbePath<'a>),
    Values(NormalEquations),
}

impl<'a> Fits<'a> {
    fn of(
        config: &LinearProbeConfig,
        rows: &'a dyn Rows,
        answers: &'a Answers,
        from: Option<&Reader>,
    ) -> Result<Self> {
        Ok(match (answers, from) {
            (Answers::Values(values), _) => Self::Values(NormalEquations::of(rows, values)?),
            (Answers::Classes { labels, classes }, from) => {
                let path = config.path(rows, Target::Classes { labels, classes: *classes })?;
                Self::Classes(match from {
                    Some(Reader::Classes(from)) => path.starting_at(&from.weight, &from.bias)?,
                    _ => path,
                })
            }
        })
    }

    fn fit(&mut self, penalty: f64) -> Result<Reader> {
        Ok(match self {
            Self::Classes(path) => Reader::Classes(path.fit(penalty)?),
            Self::Values(equations) => Reader::Values(equations.solve(penalty)?),
        })
    }
}

/// A chosen penalty.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// λ.
    pub penalty: f64,
    /// The error of each held-out sample, at that λ.
    pub errors: Vec<f64>,
    /// The probe with these errors, fitted to the other samples.
    pub reader: Reader,
}

impl Choice {
    /// Chooses among `penalties` by the errors on `judged`, with probes that are fitted to `fitted`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no penalty; as [`Reader::fit`] and [`Reader::errors`].
    pub fn among(
        penalties: &[f64],
        config: &LinearProbeConfig,
        fitted: (&dyn Rows, &Answers),
        judged: (&dyn Rows, &Answers),
    ) -> Result<Self> {
        let mut penalties = penalties.to_vec();
        // The strongest first: it is the quickest to fit, and the next fit starts from it.
        penalties.sort_by(|a, b| b.total_cmp(a));
        let mut fits = Fits::of(config, fitted.0, fitted.1, None)?;
        let mut best: Option<Self> = None;
        for penalty in penalties {
            let reader = fits.fit(penalty)?;
            let errors = reader.errors(judged.0, judged.1)?;
            if best.as_ref().is_none_or(|best| mean(&errors) < mean(&best.errors)) {
                best = Some(Self { penalty, errors, reader });
            }
        }
        best.ok_or_else(|| Error::parameter("penalties", "empty", "expected at least one"))
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

/// Splits the samples, or `most` of them, at random into those for fitting and a fifth for validation, each in
/// ascending order; `None` if there are too few to hold one out. The same seed gives the same split. If the number of the subject of each
/// sample is given, the two parts share no subject.
pub fn cut(
    samples: usize,
    subjects: Option<&[usize]>,
    most: usize,
    seed: u64,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut order: Vec<usize> = (0..samples).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order.truncate(most);
    let held_out = order.len() / SHARE;
    let (mut fitted, mut judged) = match subjects {
        None => {
            let judged = order.split_off(order.len() - held_out);
            (order, judged)
        }
        Some(subjects) => {
            let (fitted, judged) = split_subjects(&select(subjects, &order), held_out, seed)?;
            (select(&order, &fitted), select(&order, &judged))
        }
    };
    fitted.sort_unstable();
    judged.sort_unstable();
    (!judged.is_empty()).then_some((fitted, judged))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::{Rng, RngExt};
    use rand_distr::StandardNormal;

    use super::*;

    const PENALTIES: [f64; 3] = [1e-6, 1e-3, 1e-1];

    fn normal(rng: &mut impl Rng) -> f64 {
        rng.sample(StandardNormal)
    }

    /// Few samples of many features, one of which equals the value plus noise.
    fn noisy(samples: usize) -> (Matrix, Matrix) {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let rows = Matrix::from_fn(samples, 60, |_, _| normal(&mut rng));
        let values = Matrix::from_fn(samples, 1, |i, _| rows[(i, 0)] + normal(&mut rng));
        (rows, values)
    }

    fn choose(rows: &Matrix, answers: &Answers) -> Choice {
        let (fitted, judged) = cut(rows.rows(), None, usize::MAX, 0).unwrap();
        let part = |part: &[usize]| (rows.select(part), answers.select(part));
        let (fitted, judged) = (part(&fitted), part(&judged));
        let config = LinearProbeConfig::default();
        Choice::among(&PENALTIES, &config, (&fitted.0, &fitted.1), (&judged.0, &judged.1)).unwrap()
    }

    #[test]
    fn noise_asks_for_a_strong_penalty_and_an_exact_map_for_a_weak_one() {
        let (rows, values) = noisy(100);
        assert_eq!(choose(&rows, &Answers::Values(values.clone())).penalty, 1e-1);
        let labels: Vec<usize> = values.data().iter().map(|&value| usize::from(value > 0.0)).collect();
        assert!(choose(&rows, &Answers::Classes { labels, classes: 2 }).penalty > 1e-6);
        let exact = Matrix::from_fn(100, 1, |i, _| 3.0 * rows[(i, 1)] - rows[(i, 2)]);
        assert_eq!(choose(&rows, &Answers::Values(exact)).penalty, 1e-6);
    }

    #[test]
    fn the_start_does_not_change_where_a_fit_ends() {
        let (rows, values) = noisy(200);
        let labels = values.data().iter().map(|&value| usize::from(value > 0.0)).collect();
        let answers = Answers::Classes { labels, classes: 2 };
        let config = |regularisation| LinearProbeConfig { regularisation, ..Default::default() };
        let strong = Reader::fit(&config(1.0), &rows, &answers, None).unwrap();
        let scores = |from| {
            Reader::fit(&config(1e-2), &rows, &answers, from).unwrap().scores(&rows).unwrap().data().to_vec()
        };
        let (cold, warm) = (scores(None), scores(Some(&strong)));
        assert!(cold.iter().zip(&warm).all(|(a, b)| (a - b).abs() < 1e-4));
    }

    #[test]
    fn of_equal_penalties_the_strongest_is_taken() {
        // Every probe predicts both classes.
        let rows = Matrix::from_fn(40, 1, |i, _| if i % 2 == 0 { -1.0 } else { 1.0 });
        let labels = (0..40).map(|i| i % 2).collect();
        let choice = choose(&rows, &Answers::Classes { labels, classes: 2 });
        assert_eq!((choice.penalty, mean(&choice.errors)), (1e-1, 0.0));
    }

    #[test]
    fn better_by_chance_is_not_clearly_better() {
        let of = |errors: &[f64]| Choice {
            penalty: 0.0,
            errors: errors.to_vec(),
            reader: Reader::Values(Ridge { weight: Matrix::zeros(1, 1), bias: vec![0.0] }),
        };
        let (plain, luck) = (of(&[1.0, 1.0, 1.0, 1.0]), of(&[2.0, 0.0, 2.0, -0.1]));
        assert!(!luck.is_clearly_better_than(&plain) && !plain.is_clearly_better_than(&plain));
        assert!(of(&[0.5, 0.4, 0.5, 0.6]).is_clearly_better_than(&plain));
    }

    #[test]
    fn a_fifth_is_held_out_of_what_there_is() {
        let (fitted, judged) = cut(103, None, usize::MAX, 3).unwrap();
        assert_eq!((fitted.len(), judged.len()), (83, 20));
        let mut all = [fitted, judged].concat();
        all.sort_unstable();
        assert_eq!(all, (0..103).collect::<Vec<_>>());
        let (fitted, judged) = cut(1000, None, 50, 3).unwrap();
        assert_eq!((fitted.len(), judged.len()), (40, 10));
        assert_eq!(cut(4, None, 50, 3), None);
    }

    #[test]
    fn no_subject_is_on_both_sides() {
        let subjects: Vec<usize> = (0..1000).map(|i| i / 3).collect();
        let (fitted, judged) = cut(1000, Some(&subjects), 600, 3).unwrap();
        assert_eq!((fitted.len(), judged.len()), (480, 120));
        assert!(!judged.iter().any(|&at| fitted.iter().any(|&other| subjects[other] == subjects[at])));
        assert_eq!(cut(1000, Some(&[7; 1000]), 600, 3), None);
    }

    #[test]
    fn answers_of_another_length_are_refused() {
        let (rows, values) = noisy(30);
        let reader =
            Reader::fit(&LinearProbeConfig::default(), &rows, &Answers::Values(values.clone()), None)
                .unwrap();
        let short = Answers::Values(values.select(&[0, 1]));
        assert!(matches!(reader.errors(&rows, &short), Err(Error::Shape { .. })));
        let config = LinearProbeConfig::default();
        let all: (&dyn Rows, &Answers) = (&rows, &Answers::Values(values));
        assert!(matches!(Choice::among(&[], &config, all, all), Err(Error::Parameter { .. })));
    }
}
