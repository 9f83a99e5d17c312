//! A linear probe of classes or of numbers, with the error of each sample.
//!
//! ```text
//! e_i = |W x_i + b - t_i|² / m for values, 1 for a wrong class and 0 for the right one
//! ```
//!
//! `W, b` minimise the objective of [`linear_probe`](super::linear_probe) for classes, and that of [`ridge`](super::ridge) for values,
//! `m` numbers a sample. [`penalty`](super::penalty) chooses the penalty of both.

use simile_kernels::cpu::vectors::squared_distance;

use super::linear_probe::{LinearProbe, LinearProbeConfig, ProbePath, Target};
use super::ridge::{NormalEquations, Ridge};
use super::{check_labels, check_size, metrics};
use crate::error::Result;
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::Rows;

/// The targets of a probe, one entry a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeTargets {
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

impl ProbeTargets {
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

    pub(super) fn as_target(&self) -> Target<'_> {
        match self {
            Self::Classes { labels, classes } => Target::Classes { labels, classes: *classes },
            Self::Values(values) => Target::Values(values),
        }
    }
}

/// A fitted probe.
#[derive(Debug, Clone, PartialEq)]
pub enum FittedProbe {
    /// A classifier.
    Classes(LinearProbe),
    /// A regression of numbers.
    Values(Ridge),
}

impl FittedProbe {
    /// Fits a probe with the penalty λ of `config`, starting from another probe if given: the minimiser is the
    /// same.
    ///
    /// # Errors
    /// As [`LinearProbeConfig::fit`] and [`Ridge::fit`].
    pub fn fit(
        config: &LinearProbeConfig,
        rows: &dyn Rows,
        targets: &ProbeTargets,
        from: Option<&Self>,
    ) -> Result<Self> {
        PenaltyPath::of(config, rows, targets, from)?.fit(config.regularisation)
    }

    /// Class scores, or predicted values, of every row: `[n, m]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::error::Error::Shape) if the number of features differs.
    pub fn scores(&self, rows: &dyn Rows) -> Result<Matrix> {
        match self {
            Self::Classes(probe) => probe.scores(rows),
            Self::Values(ridge) => ridge.predictions(rows),
        }
    }

    /// The error of every row, `e_i` of the [module](self).
    ///
    /// # Errors
    /// [`Error::Shape`](crate::error::Error::Shape) if the targets do not match the rows or the kind of the probe.
    pub fn errors(&self, rows: &dyn Rows, targets: &ProbeTargets) -> Result<Vec<f64>> {
        let scores = self.scores(rows)?;
        match targets {
            ProbeTargets::Values(values) => {
                check_size("targets", values, scores.rows(), scores.columns())?;
                let mean = |(a, b): (&[f64], &[f64])| squared_distance(a, b) / a.len().max(1) as f64;
                Ok(scores.iter_rows().zip(values.iter_rows()).map(mean).collect())
            }
            ProbeTargets::Classes { labels, .. } => {
                check_labels("targets", labels, scores.rows(), scores.columns())?;
                let named = metrics::predictions(&scores)?;
                Ok(named.iter().zip(labels).map(|(a, b)| f64::from(u8::from(a != b))).collect())
            }
        }
    }
}

/// Fits probes to the same rows with one penalty after another: everything that does not depend on the penalty is computed once.
pub(super) enum PenaltyPath<'a> {
    Classes(ProbePath<'a>),
    Values(NormalEquations),
}

impl<'a> PenaltyPath<'a> {
    pub(super) fn of(
        config: &LinearProbeConfig,
        rows: &'a dyn Rows,
        targets: &'a ProbeTargets,
        from: Option<&FittedProbe>,
    ) -> Result<Self> {
        Ok(match (targets, from) {
            (ProbeTargets::Values(values), _) => Self::Values(NormalEquations::of(rows, values)?),
            (ProbeTargets::Classes { .. }, from) => {
                let path = config.path(rows, targets.as_target())?;
                Self::Classes(match from {
                    Some(FittedProbe::Classes(from)) => path.starting_at(&from.weight, &from.bias)?,
                    _ => path,
                })
            }
        })
    }

    pub(super) fn fit(&mut self, penalty: f64) -> Result<FittedProbe> {
        Ok(match self {
            Self::Classes(path) => FittedProbe::Classes(path.fit(penalty)?),
            Self::Values(equations) => FittedProbe::Values(equations.solve(penalty)?),
        })
    }
}

#[cfg(test)]
pub(super) mod testing {
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use crate::numeric::matrix::Matrix;

    fn normal(rng: &mut impl Rng) -> f64 {
        rng.sample(StandardNormal)
    }

    /// Few samples of many features, one of which equals the value plus noise.
    pub(in crate::eval) fn noisy(samples: usize) -> (Matrix, Matrix) {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let rows = Matrix::from_fn(samples, 60, |_, _| normal(&mut rng));
        let values = Matrix::from_fn(samples, 1, |i, _| rows[(i, 0)] + normal(&mut rng));
        (rows, values)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::testing::noisy;
    use super::*;
    use crate::error::Error;

    #[test]
    fn the_start_does_not_change_where_a_fit_ends() {
        let (rows, values) = noisy(200);
        let labels = values.data().iter().map(|&value| usize::from(value > 0.0)).collect();
        let targets = ProbeTargets::Classes { labels, classes: 2 };
        let config = |regularisation| LinearProbeConfig { regularisation, ..Default::default() };
        let strong = FittedProbe::fit(&config(1.0), &rows, &targets, None).unwrap();
        let scores = |from| {
            FittedProbe::fit(&config(1e-2), &rows, &targets, from)
                .unwrap()
                .scores(&rows)
                .unwrap()
                .data()
                .to_vec()
        };
        let (cold, warm) = (scores(None), scores(Some(&strong)));
        assert!(cold.iter().zip(&warm).all(|(a, b)| (a - b).abs() < 1e-4));
    }

    #[test]
    fn targets_of_another_length_are_refused() {
        let (rows, values) = noisy(30);
        let short = ProbeTargets::Values(values.select(&[0, 1]));
        let targets = ProbeTargets::Values(values);
        let probe = FittedProbe::fit(&LinearProbeConfig::default(), &rows, &targets, None).unwrap();
        assert!(matches!(probe.errors(&rows, &short), Err(Error::Shape { .. })));
    }
}
