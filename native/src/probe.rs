//! How a representation is judged: the class by a linear classifier, the condition by ridge regression, both on
//! frozen features that were standardised with the training set's mean and deviation.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use simile_core::dataset::{Condition, Dataset};
use simile_core::evaluate::knn::{KnnConfig, unit_rows};
use simile_core::evaluate::linear_probe::{LinearProbeConfig, Target};
use simile_core::evaluate::metrics::{predictions, top_k_accuracy};
use simile_core::evaluate::ridge::Ridge;
use simile_core::evaluate::standardise::Standardise;
use simile_core::matrix::Matrix;

use crate::cli::Probe;
use crate::recipe::sections::ProbeSection;
use crate::run::record::{MSE, R2, TOP1};

/// Features of a data set, with what is known of each row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Represented<'a> {
    pub(crate) features: &'a Matrix,
    pub(crate) dataset: &'a Dataset,
}

/// Fits on `train`, measures on `test`.
///
/// # Errors
/// If the condition is not known for the data set, or features are not finite.
pub(crate) fn measure(
    section: &ProbeSection,
    probe: Probe,
    train: Represented<'_>,
    test: Represented<'_>,
) -> Result<BTreeMap<String, f64>> {
    let scale = Standardise::fit(train.features).context("probing the representation")?;
    let (train_rows, test_rows) = (scale.apply(train.features)?, scale.apply(test.features)?);
    let mut metrics = BTreeMap::new();

    let (labels, classes) = (&train.dataset.labels, train.dataset.classes.len());
    let classifier =
        LinearProbeConfig { regularisation: section.ridge, steps: section.steps, ..Default::default() };
    let scores = match probe {
        Probe::Linear => {
            classifier.fit(&train_rows, Target::Classes { labels, classes })?.scores(&test_rows)?
        }
        Probe::Knn => {
            let usual = KnnConfig::default();
            let config = KnnConfig { k: usual.k.min(train.features.rows()), ..usual };
            config.vote(&unit_rows(train.features), labels, classes, &unit_rows(test.features))?.scores
        }
    };
    metrics.insert(TOP1.into(), top_k_accuracy(&scores, &test.dataset.labels, 1)?);

    let condition = |set: &Dataset| {
        let known: Vec<&str> = set.conditions.keys().map(String::as_str).collect();
        set.conditions.get(&section.condition).cloned().with_context(|| {
            format!(
                "the data set has no variable `{}` to probe; known: {}",
                section.condition,
                known.join(", ")
            )
        })
    };
    match (condition(train.dataset)?, condition(test.dataset)?) {
        (Condition::Numeric(train_values), Condition::Numeric(test_values)) => {
            let report =
                Ridge::fit(&train_rows, &train_values, section.ridge)?.evaluate(&test_rows, &test_values)?;
            metrics.insert(MSE.into(), report.mse);
            metrics.extend(report.r2.map(|r2| (R2.to_owned(), r2)));
        }
        (Condition::Categorical { values, names }, Condition::Categorical { values: truth, .. }) => {
            let target = Target::Classes { labels: &values, classes: names.len() };
            let guessed = predictions(&classifier.fit(&train_rows, target)?.scores(&test_rows)?)?;
            let right = guessed.iter().zip(&truth).filter(|(guess, truth)| guess == truth).count();
            metrics.insert(CONDITION_TOP1.into(), right as f64 / truth.len().max(1) as f64);
        }
        _ => anyhow::bail!("`{}` is numeric in one split and categorical in the other", section.condition),
    }
    Ok(metrics)
}

/// Fraction of test images whose condition a linear classifier names, where the condition is categorical.
pub(crate) const CONDITION_TOP1: &str = "condition_top1";
