//! Metrics of predicting the class from a representation.

use anyhow::Result;
use simile_core::data::{Condition, Dataset};
use simile_core::eval::group_accuracy::GroupAccuracy;
use simile_core::eval::knn::KnnConfig;
use simile_core::eval::metrics::{ConfusionMatrix, predictions, top_k_accuracy};
use simile_core::eval::probe::ProbeTargets;
use simile_core::eval::unit::Unit;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::Rows as _;

use super::fit::linear;
use super::guesses::{right, roc_auc_of_two};
use super::{ProbeResults, ProbeSplit};
use crate::config::probe::{Probe, ProbeSection, Solver};
use crate::metrics::metric::{prefix_of, with_prefix};
use crate::metrics::names::{
    CLASS_MEAN, CLASS_PROBE, CLASS_WORST, ROC_AUC, TOP1, TOP5, UNBIASED, WORST_GROUP, WORST_GROUP_BY,
};
use crate::metrics::{Hits, Metrics};
use crate::run_folder::record::ProbeFit;

pub(super) fn measure(
    section: &ProbeSection,
    probe: Probe,
    train: &ProbeSplit<'_>,
    test: &ProbeSplit<'_>,
) -> Result<ProbeResults> {
    let (scores, fit) = scores(section, probe, train, test)?;
    let guesses = predictions(&scores)?;
    Ok(ProbeResults {
        metrics: class_metrics(section, &scores, test.dataset)?,
        hits: Hits::from([(TOP1.to_owned(), right(&guesses, &test.dataset.labels))]),
        guesses,
        probes: fit.map(|fit| (CLASS_PROBE.to_owned(), fit)).into_iter().collect(),
    })
}

/// Metrics of class scores `[n, classes]` for the images of a data set.
///
/// # Errors
/// If the shape is not that of the images and classes, or a score is not finite.
pub(crate) fn class_metrics(section: &ProbeSection, scores: &Matrix, test: &Dataset) -> Result<Metrics> {
    let (labels, classes) = (&test.labels, scores.columns());
    let guesses = predictions(scores)?;
    let confusion = ConfusionMatrix::new(&guesses, labels, classes)?;
    let mut metrics = Metrics::from([
        (TOP1.to_owned(), top_k_accuracy(scores, labels, 1)?),
        (CLASS_MEAN.into(), confusion.mean_class_accuracy()),
        (CLASS_WORST.into(), confusion.worst_class_accuracy()),
    ]);
    if classes > 5 {
        metrics.insert(TOP5.into(), top_k_accuracy(scores, labels, 5)?);
    }
    metrics.extend(roc_auc_of_two(scores, labels)?.map(|area| (ROC_AUC.to_owned(), area)));
    if let Some(Condition::Categorical { values, names }) = test.conditions.get(&section.condition) {
        let groups = GroupAccuracy::new(&guesses, labels, values, classes, names.len())?;
        metrics.insert(UNBIASED.into(), groups.unbiased_accuracy());
        metrics.insert(WORST_GROUP.into(), groups.worst().2);
    }
    for name in &section.also {
        if let Some(Condition::Categorical { values, names }) = test.conditions.get(name) {
            let groups = GroupAccuracy::new(&guesses, labels, values, classes, names.len())?;
            metrics.insert(with_prefix(WORST_GROUP_BY, &prefix_of(name)), groups.worst().2);
        }
    }
    Ok(metrics)
}

/// The number of neighbours that vote among so many training images.
pub(crate) fn neighbours(train: usize) -> usize {
    KnnConfig::default().k.min(train)
}

/// Scores of the test images, `[n, classes]`, and how the probe was fitted if it has a penalty.
fn scores(
    section: &ProbeSection,
    probe: Probe,
    train: &ProbeSplit<'_>,
    test: &ProbeSplit<'_>,
) -> Result<(Matrix, Option<ProbeFit>)> {
    let (labels, classes) = (&train.dataset.labels, train.dataset.classes.len());
    Ok(match probe {
        Probe::Linear if section.solver == Solver::Sgd => {
            (section.sgd.fit(&train.rows, labels, classes)?.scores(&test.rows)?, None)
        }
        Probe::Linear => {
            let targets = ProbeTargets::Classes { labels: labels.clone(), classes };
            let fitted = linear(section, &train.training_rows(&targets))?;
            (fitted.probe.scores(&test.rows)?, Some(fitted.fit))
        }
        Probe::Knn => {
            let config = KnnConfig { k: neighbours(train.features.rows()), ..KnnConfig::default() };
            let (known, asked) = (Unit(train.original()), Unit(test.original()));
            (shares(config.vote(&known, labels, classes, &asked)?.scores), None)
        }
    })
}

/// The votes of each row as shares. Their sum depends on how near the neighbours are, so that the votes of two rows cannot be compared.
fn shares(mut votes: Matrix) -> Matrix {
    for row in 0..votes.rows() {
        let sum: f64 = votes.row(row).iter().sum();
        votes.row_mut(row).iter_mut().for_each(|vote| *vote /= sum);
    }
    votes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The second row has the greater difference of votes, and the lesser share.
    #[test]
    fn rows_are_ranked_by_the_share_of_their_votes() {
        let votes = Matrix::new(2, 2, vec![0.1, 0.9, 8.0, 12.0]).unwrap();
        assert_eq!(roc_auc_of_two(&votes, &[1, 0]).unwrap(), Some(0.0));
        let shares = shares(votes);
        assert_eq!(shares.row(0), [0.1, 0.9]);
        assert_eq!(shares.row(1), [0.4, 0.6]);
        assert_eq!(roc_auc_of_two(&shares, &[1, 0]).unwrap(), Some(1.0));
    }
}
