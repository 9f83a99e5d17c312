//! Evaluation of a representation: probes, metrics, agreement of clusters and projections, on the host.
//!
//! Probes, principal components and the effective rank take features as [`Rows`](crate::numeric::rows::Rows): in `f32` as the encoder
//! gives them, in `f64`, or in a file; they read them in blocks and give results in `f64`. The rest takes a [`Matrix`]. Nothing here
//! depends on the device of the encoder, and the code runs in a page.
//!
//! A linear probe, the nearest neighbours, and the leak of a number on embeddings, such as those of [`embed`](crate::train::embed):
//!
//! ```
//! # fn main() -> simile_core::error::Result<()> {
//! use simile_core::eval::knn::KnnConfig;
//! use simile_core::eval::linear_probe::{LinearProbeConfig, Target};
//! use simile_core::eval::metrics::ConfusionMatrix;
//! use simile_core::eval::penalty::ChosenProbeConfig;
//! use simile_core::eval::probe::ProbeTargets;
//! use simile_core::eval::regression::RegressionReport;
//! use simile_core::eval::standardise::Standardise;
//! use simile_core::eval::unit::Unit;
//! use simile_core::numeric::matrix::Matrix;
//! use simile_core::numeric::rows::FeatureTable;
//!
//! // Samples of two classes in turn, which the first feature tells apart.
//! let drawn = |count: usize, salt: f32| {
//!     let row = |i: usize| [if i % 2 == 0 { -1.0 } else { 1.0 }, (i as f32 + salt).sin()];
//!     FeatureTable::new(count, 2, (0..count).flat_map(row).collect())
//! };
//! let (train, test) = (drawn(60, 0.0)?, drawn(20, 0.5)?);
//! let labels = |count: usize| (0..count).map(|i| i % 2).collect::<Vec<usize>>();
//! let (train_labels, test_labels) = (labels(60), labels(20));
//!
//! let scale = Standardise::fit(&train)?;
//! let target = Target::Classes { labels: &train_labels, classes: 2 };
//! let probe = LinearProbeConfig::default().fit(&scale.of(&train)?, target)?;
//! let predictions = probe.predictions(&scale.of(&test)?)?;
//! assert_eq!(ConfusionMatrix::new(&predictions, &test_labels, 2)?.accuracy(), 1.0);
//!
//! // Rows of length 1, so that the nearest are those of the largest cosine.
//! let knn = KnnConfig { k: 5, ..KnnConfig::default() };
//! let votes = knn.vote(&Unit(&train), &train_labels, 2, &Unit(&test))?;
//! assert_eq!(votes.predictions()?, test_labels);
//!
//! // The leak of an age that the features determine in part. R² on the test rows is 1 if a linear map predicts the age exactly, and 0 if
//! // it does no better than their mean.
//! let ages = |count: usize| {
//!     Matrix::from_fn(count, 1, |i, _| 40.0 + 10.0 * (i % 2) as f64 + 5.0 * (i as f64).cos())
//! };
//! let leak = ChosenProbeConfig::default().fit(&scale.of(&train)?, &ProbeTargets::Values(ages(60)), None)?;
//! let predicted = leak.probe.scores(&scale.of(&test)?)?;
//! let r2 = RegressionReport::of(&predicted, &ages(20))?.r2.unwrap_or(0.0);
//! assert_eq!(format!("{r2:.3}"), "0.646");
//! # Ok(())
//! # }
//! ```
//!
//! `simile evaluate --vectors` prints 0.646 for these embeddings too: its linear probes are those of the default
//! [`ChosenProbeConfig`](penalty::ChosenProbeConfig). The command projects embeddings that have at least twice as many columns as there are
//! training rows onto the span of these rows first, which changes nothing but the rounding.
//!
//! | module | question |
//! |---|---|
//! | [`standardise`] | put every feature on the same scale, fitted on the training set only |
//! | [`linear_probe`], [`sgd_probe`] | how well can a linear classifier predict the label? |
//! | [`ridge`], [`regression`] | how much of a numeric condition leaks? |
//! | [`probe`] | how large is the error of a linear probe, of classes or of numbers, on each sample? |
//! | [`penalty`] | which penalty is best? (with the linear probe of `simile evaluate`) |
//! | [`random_features`] | how much leaks to a non-linear probe? (`simile evaluate` fits one to the given features beside these; core has no function for its number) |
//! | [`knn`], [`unit`](mod@unit) | how well do the nearest neighbours predict the label? |
//! | [`metrics`], [`group_accuracy`], [`ranking`] | accuracy: top-k, per class, per group; ROC-AUC |
//! | [`geometry`] | alignment, uniformity, effective rank, silhouette |
//! | [`projection`], [`tsne`] | principal components and neighbourhoods for a map |
//! | [`mcnemar`] | do two classifiers differ on the same samples? |
//! | [`permutation`] | does the difference between runs exceed the variation between seeds? |
//! | [`cluster`] | k-means, clusters of binary attributes |

mod blocks;
pub mod cluster;
mod dense;
pub mod geometry;
pub mod group_accuracy;
pub mod knn;
mod lbfgs;
pub mod linear_probe;
pub mod mcnemar;
pub mod metrics;
mod moments;
pub mod penalty;
pub mod permutation;
pub mod probe;
mod probe_objective;
pub mod projection;
pub mod random_features;
pub mod ranking;
pub mod regression;
pub mod ridge;
mod sgd_batch;
pub mod sgd_probe;
pub mod standardise;
mod triangle;
pub mod tsne;
pub mod unit;

use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;

/// Checks that `labels` has `rows` entries below `classes`.
fn check_labels(name: &str, labels: &[usize], rows: usize, classes: usize) -> Result<()> {
    if labels.len() != rows {
        return Err(Error::shape(name, format!("{rows} entries"), format!("{} entries", labels.len())));
    }
    match labels.iter().position(|&label| label >= classes) {
        None => Ok(()),
        Some(row) => Err(Error::shape(
            name,
            format!("values below {classes}, the number of classes"),
            format!("{} in row {row}", labels[row]),
        )),
    }
}

/// Largest number of entries of a table of counts or scores, 2 GiB: more than 16,000 classes against each other.
const LARGEST_TABLE: usize = 1 << 28;

/// Checks that a table of `count` by `others` entries can be held, before it is allocated.
pub(crate) fn check_table(name: &str, count: usize, others: usize) -> Result<()> {
    match count.checked_mul(others.max(1)) {
        Some(entries) if entries <= LARGEST_TABLE => Ok(()),
        _ => {
            let most = LARGEST_TABLE / others.max(1);
            Err(Error::parameter(
                name,
                count,
                &format!("expected at most {most}, beyond which a table is too large"),
            ))
        }
    }
}

/// Checks that a matrix has rows and only finite values.
fn check_matrix(name: &str, matrix: &Matrix) -> Result<()> {
    if matrix.rows() == 0 {
        return Err(Error::shape(name, "at least one row", "none"));
    }
    match matrix.first_not_finite() {
        None => Ok(()),
        Some(row) => Err(Error::NotFinite { input: name.into(), row }),
    }
}

/// Checks that a matrix has `rows` rows and `columns` columns.
fn check_size(name: &str, matrix: &Matrix, rows: usize, columns: usize) -> Result<()> {
    if matrix.rows() == rows && matrix.columns() == columns {
        Ok(())
    } else {
        let shape = format!("{}x{}", matrix.rows(), matrix.columns());
        Err(Error::shape(name, format!("{rows}x{columns} values"), shape))
    }
}
