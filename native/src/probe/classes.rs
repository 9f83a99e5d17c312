//! What of the class can be read off a representation.

use anyhow::Result;
use simile_core::dataset::Condition;
use simile_core::evaluate::groups::Groups;
use simile_core::evaluate::knn::{KnnConfig, unit_rows};
use simile_core::evaluate::linear_probe::Target;
use simile_core::evaluate::metrics::{ConfusionMatrix, predictions, top_k_accuracy};
use simile_core::matrix::Matrix;

use super::{Metrics, Split, classifier};
use crate::cli::Probe;
use crate::recipe::sections::ProbeSection;
use crate::run::record::TOP1;

pub(super) fn measure(
    section: &ProbeSection,
    probe: Probe,
    train: &Split<'_>,
    test: &Split<'_>,
) -> Result<Metrics> {
    let scores = scores(section, probe, train, test)?;
    let (labels, classes) = (&test.dataset.labels, train.dataset.classes.len());
    let guesses = predictions(&scores)?;
    let confusion = ConfusionMatrix::new(&guesses, labels, classes)?;
    let mut metrics = Metrics::from([
        (TOP1.to_owned(), top_k_accuracy(&scores, labels, 1)?),
        ("class_mean".into(), confusion.mean_class_accuracy()),
        ("class_worst".into(), confusion.worst_class_accuracy()),
    ]);
    if classes > 5 {
        metrics.insert("top5".into(), top_k_accuracy(&scores, labels, 5)?);
    }
    if let Some(Condition::Categorical { values, names }) = test.dataset.conditions.get(&section.condition) {
        let groups = Groups::new(&guesses, labels, values, classes, names.len())?;
        metrics.insert("unbiased".into(), groups.unbiased_accuracy());
        metrics.insert("worst_group".into(), groups.worst().2);
    }
    Ok(metrics)
}

/// Scores of the test images, `[n, classes]`.
fn scores(section: &ProbeSection, probe: Probe, train: &Split<'_>, test: &Split<'_>) -> Result<Matrix> {
    let (labels, classes) = (&train.dataset.labels, train.dataset.classes.len());
    Ok(match probe {
        Probe::Linear => {
            classifier(section).fit(&train.rows, Target::Classes { labels, classes })?.scores(&test.rows)?
        }
        Probe::Knn => {
            let usual = KnnConfig::default();
            let config = KnnConfig { k: usual.k.min(train.features.rows()), ..usual };
            config.vote(&unit_rows(train.features), labels, classes, &unit_rows(test.features))?.scores
        }
    })
}
