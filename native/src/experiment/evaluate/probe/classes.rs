//! Metrics of predicting the class from a representation.

use anyhow::Result;
use simile_core::data::{Condition, Dataset};
use simile_core::eval::choice::Answers;
use simile_core::eval::groups::Groups;
use simile_core::eval::knn::{KnnConfig, Unit};
use simile_core::eval::metrics::{ConfusionMatrix, predictions, top_k_accuracy};
use simile_core::eval::ranking::roc_auc;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::Rows as _;

use super::fit::linear;
use super::leak::right;
use super::{Hits, Measured, Metrics, Split};
use crate::config::probe::{Probe, ProbeSection, Solver};
use crate::metrics::names::TOP1;
use crate::run_folder::record::ProbeFit;

/// The name of the probe of the class among the probes.
const CLASS: &str = "class";

pub(super) fn measure(
    section: &ProbeSection,
    probe: Probe,
    train: &Split<'_>,
    test: &Split<'_>,
) -> Result<Measured> {
    let (scores, fit) = scores(section, probe, train, test)?;
    let guesses = predictions(&scores)?;
    Ok(Measured {
        metrics: judge(section, &scores, test.dataset)?,
        hits: Hits::from([(TOP1.to_owned(), right(&guesses, &test.dataset.labels))]),
        guesses,
        probes: fit.map(|fit| (CLASS.to_owned(), fit)).into_iter().collect(),
    })
}

/// Metrics of class scores `[n, classes]` for the images of a data set.
///
/// # Errors
/// If the shape is not that of the images and classes, or a score is not finite.
pub(crate) fn judge(section: &ProbeSection, scores: &Matrix, test: &Dataset) -> Result<Metrics> {
    let (labels, classes) = (&test.labels, scores.columns());
    let guesses = predictions(scores)?;
    let confusion = ConfusionMatrix::new(&guesses, labels, classes)?;
    let mut metrics = Metrics::from([
        (TOP1.to_owned(), top_k_accuracy(scores, labels, 1)?),
        ("class_mean".into(), confusion.mean_class_accuracy()),
        ("class_worst".into(), confusion.worst_class_accuracy()),
    ]);
    if classes > 5 {
        metrics.insert("top5".into(), top_k_accuracy(scores, labels, 5)?);
    }
    metrics.extend(roc_auc_of_two(scores, labels)?.map(|area| ("roc_auc".to_owned(), area)));
    if let Some(Condition::Categorical { values, names }) = test.conditions.get(&section.condition) {
        let groups = Groups::new(&guesses, labels, values, classes, names.len())?;
        metrics.insert("unbiased".into(), groups.unbiased_accuracy());
        metrics.insert("worst_group".into(), groups.worst().2);
    }
    for name in &section.also {
        if let Some(Condition::Categorical { values, names }) = test.conditions.get(name) {
            let groups = Groups::new(&guesses, labels, values, classes, names.len())?;
            metrics.insert(format!("{name}_worst_group"), groups.worst().2);
        }
    }
    Ok(metrics)
}

/// The area under the ROC curve of the second of two classes; `None` if there are more, or one of them does not occur.
pub(super) fn roc_auc_of_two(scores: &Matrix, labels: &[usize]) -> Result<Option<f64>> {
    let occurs = |class: usize| labels.contains(&class);
    if scores.columns() != 2 || !occurs(0) || !occurs(1) {
        return Ok(None);
    }
    let margins: Vec<f64> = scores.iter_rows().map(|row| row[1] - row[0]).collect();
    let positive: Vec<bool> = labels.iter().map(|&label| label == 1).collect();
    Ok(Some(roc_auc(&margins, &positive)?))
}

/// Scores of the test images, `[n, classes]`, and how the probe was fitted if it has a penalty.
fn scores(
    section: &ProbeSection,
    probe: Probe,
    train: &Split<'_>,
    test: &Split<'_>,
) -> Result<(Matrix, Option<ProbeFit>)> {
    let (labels, classes) = (&train.dataset.labels, train.dataset.classes.len());
    Ok(match probe {
        Probe::Linear if section.solver == Solver::Sgd => {
            (section.sgd.fit(&train.rows, labels, classes)?.scores(&test.rows)?, None)
        }
        Probe::Linear => {
            let answers = Answers::Classes { labels: labels.clone(), classes };
            let fitted = linear(section, &train.rows, &answers)?;
            (fitted.reader.scores(&test.rows)?, Some(fitted.fit))
        }
        Probe::Knn => {
            let usual = KnnConfig::default();
            let config = KnnConfig { k: usual.k.min(train.features.rows()), ..usual };
            let near = config.vote(&Unit(train.features), labels, classes, &Unit(test.features))?;
            (near.scores, None)
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn two_classes_have_an_area_and_three_have_none() {
        let scores = Matrix::from_fn(4, 2, |i, k| if k == 1 { [0.1, 0.9, 0.4, 0.8][i] } else { 0.5 });
        let area = |labels: &[usize]| roc_auc_of_two(&scores, labels).unwrap();
        assert_eq!(area(&[0, 1, 0, 1]), Some(1.0));
        assert_eq!(area(&[0, 1, 1, 0]), Some(0.75));
        assert_eq!(area(&[1, 1, 1, 1]), None);
        assert_eq!(roc_auc_of_two(&Matrix::zeros(2, 3), &[0, 1]).unwrap(), None);
    }
}
