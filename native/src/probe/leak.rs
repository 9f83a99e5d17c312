//! What of the condition can be read off a representation.

use anyhow::{Context as _, Result};
use simile_core::dataset::{Condition, Dataset, split_indices};
use simile_core::evaluate::linear_probe::Target;
use simile_core::evaluate::metrics::predictions;
use simile_core::evaluate::random_features::RandomFeatures;
use simile_core::evaluate::ridge::Ridge;
use simile_core::evaluate::standardise::Standardise;
use simile_core::matrix::Matrix;
use simile_core::train::{Purpose, stream};

use super::classes::roc_auc_of_two;
use super::{Metrics, Split, classifier};
use crate::recipe::sections::ProbeSection;
use crate::run::record::{MSE, R2};

/// How metrics of the condition begin.
const CONDITION: &str = "condition";
/// Random features of the probe that is not linear.
const LIFTED: usize = 512;
/// Training images that it is fitted on at most.
const FITTED: usize = 10_000;
/// The same for every run, so that runs are compared by the same probe.
const SEED: u64 = 0;
/// Ridge penalty on the random features, more of them than a linear probe has.
const RIDGE: f64 = 1e-3;

pub(super) fn measure(section: &ProbeSection, train: &Split<'_>, test: &Split<'_>) -> Result<Metrics> {
    if train.dataset.conditions.is_empty() {
        return Ok(Metrics::new());
    }
    let values = of_both(&section.condition, train, test)?;
    let mut metrics = read(section, section.ridge, (&train.rows, &test.rows), &values)?;
    for name in &section.also {
        let found = read(section, section.ridge, (&train.rows, &test.rows), &of_both(name, train, test)?)?;
        metrics.extend(found.into_iter().map(|(metric, value)| (metric.replacen(CONDITION, name, 1), value)));
    }
    let (_, kept) = split_indices(train.rows.rows(), FITTED.min(train.rows.rows()), SEED);
    let (rows, of_kept) = (train.rows.select(&kept), values.0.select(&kept));
    let lifted = lift(&rows, &test.rows)?;
    let found = read(section, RIDGE, (&lifted.0, &lifted.1), &(of_kept, values.1))?;
    let found = found.into_iter().filter(|(name, _)| name != MSE);
    metrics.extend(found.map(|(name, value)| (format!("{name}_nonlinear"), value)));
    Ok(metrics)
}

/// Both splits in random features, standardised again.
fn lift(train: &Matrix, test: &Matrix) -> Result<(Matrix, Matrix)> {
    let mut rng = stream(SEED, Purpose::Initialisation, 0);
    let features = RandomFeatures::draw(train.columns(), LIFTED, &mut rng);
    let (train, test) = (features.apply(train)?, features.apply(test)?);
    let scale = Standardise::fit(&train)?;
    Ok((scale.apply(&train)?, scale.apply(&test)?))
}

/// The condition of train and test read off the rows of train and test.
fn read(
    section: &ProbeSection,
    ridge: f64,
    (train, test): (&Matrix, &Matrix),
    values: &(Condition, Condition),
) -> Result<Metrics> {
    let mut metrics = Metrics::new();
    match values {
        (Condition::Numeric(fitted), Condition::Numeric(truth)) => {
            let report = Ridge::fit(train, fitted, ridge)?.evaluate(test, truth)?;
            metrics.insert(MSE.into(), report.mse);
            metrics.extend(report.r2.map(|r2| (R2.to_owned(), r2)));
        }
        (Condition::Categorical { values: fitted, names }, Condition::Categorical { values: truth, .. }) => {
            let target = Target::Classes { labels: fitted, classes: names.len() };
            let probe = classifier(&ProbeSection { ridge, ..section.clone() });
            let scores = probe.fit(train, target)?.scores(test)?;
            let guessed = predictions(&scores)?;
            let right = guessed.iter().zip(truth).filter(|(guess, truth)| guess == truth).count();
            metrics.insert("condition_top1".into(), right as f64 / truth.len().max(1) as f64);
            let area = roc_auc_of_two(&scores, truth)?;
            metrics.extend(area.map(|area| ("condition_roc_auc".to_owned(), area)));
        }
        _ => anyhow::bail!("a variable is numeric in one split and categorical in the other"),
    }
    Ok(metrics)
}

/// The values of a variable in train and test.
fn of_both(name: &str, train: &Split<'_>, test: &Split<'_>) -> Result<(Condition, Condition)> {
    Ok((condition(name, train.dataset)?, condition(name, test.dataset)?))
}

fn condition(name: &str, set: &Dataset) -> Result<Condition> {
    let known: Vec<&str> = set.conditions.keys().map(String::as_str).collect();
    set.conditions.get(name).cloned().with_context(|| {
        format!("the data set has no variable `{name}` to probe; known: {}", known.join(", "))
    })
}
