//! Metrics of predicting the condition from a representation.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use simile_core::data::{Condition, Dataset};
use simile_core::eval::metrics::predictions;
use simile_core::eval::probe::ProbeTargets;
use simile_core::eval::regression::{RegressionReport, variance};
use simile_core::numeric::matrix::Matrix;

use super::ProbeSplit;
use super::fit::{linear, targets};
use super::guesses::{right, roc_auc_of_two};
use super::measurable::obstacle;
use super::nonlinear::NonlinearProbe;
use crate::config::probe::ProbeSection;
use crate::exit::usage;
use crate::metrics::metric::{Predictor, prefix_of, with_prefix};
use crate::metrics::names::{CONDITION, CONDITION_ROC_AUC, CONDITION_TOP1, MSE, R2};
use crate::metrics::{Hits, Metrics};
use crate::run_folder::record::ProbeFit;

/// The results of the probes of every predicted attribute.
#[derive(Default)]
pub(super) struct Leaks {
    pub(super) metrics: Metrics,
    /// The fit of each probe.
    pub(super) fits: BTreeMap<String, ProbeFit>,
    /// For each category: true for each test image whose value the linear probe predicts.
    pub(super) hits: Hits,
}

pub(super) fn measure(
    section: &ProbeSection,
    train: &ProbeSplit<'_>,
    test: &ProbeSplit<'_>,
) -> Result<Leaks> {
    let Leaks { mut metrics, mut fits, mut hits } = Leaks::default();
    for Predicted { prefix, attribute } in attributes(section, train.dataset)? {
        let Some((targets, truth)) = measurable(attribute, train.dataset, test.dataset)? else { continue };
        let known = train.training_rows(&targets);
        let linear_probe = linear(section, &known)?;
        let scores = linear_probe.probe.scores(&test.rows)?;
        let linear_metrics = attribute_metrics(&scores, &truth)?;
        if let Condition::Categorical { values, .. } = &truth {
            hits.insert(with_prefix(CONDITION_TOP1, &prefix), right(&predictions(&scores)?, values));
        }
        let nonlinear_probe = NonlinearProbe::fit(section, &known, &train.standardised, &linear_probe)?;
        let nonlinear_metrics = match &nonlinear_probe {
            Some(nonlinear_probe) => attribute_metrics(&nonlinear_probe.scores(&test.standardised)?, &truth)?,
            None => linear_metrics.clone(),
        };
        metrics.extend(with_nonlinear(linear_metrics, nonlinear_metrics, &prefix));
        let fit =
            nonlinear_probe.map_or_else(|| linear_probe.fit.clone(), |nonlinear_probe| nonlinear_probe.fit);
        fits.insert(Predictor::Nonlinear.named(&prefix), fit);
        fits.insert(prefix, linear_probe.fit);
    }
    Ok(Leaks { metrics, fits, hits })
}

/// The same metrics for a constant prediction: the mean of a number, the most frequent value.
///
/// # Errors
/// If an attribute is missing; as [`check_names`].
pub(super) fn base_rates(section: &ProbeSection, train: &Dataset, test: &Dataset) -> Result<Metrics> {
    let mut metrics = Metrics::new();
    for Predicted { prefix, attribute } in attributes(section, train)? {
        let Some((train_targets, truth)) = measurable(attribute, train, test)? else { continue };
        let rates = match (&train_targets, &truth) {
            (ProbeTargets::Classes { labels, classes }, _) => {
                attribute_metrics(&most_frequent(labels, *classes, test.len()), &truth)?
            }
            (_, Condition::Numeric(values)) => mean_prediction_metrics(values),
            _ => continue,
        };
        metrics.extend(with_nonlinear(rates.clone(), rates, &prefix));
    }
    Ok(metrics)
}

/// Constant scores: the shares of the classes among `labels`, for every image.
pub(super) fn most_frequent(labels: &[usize], classes: usize, images: usize) -> Matrix {
    let mut counts = vec![0.0; classes];
    for &label in labels {
        if let Some(count) = counts.get_mut(label) {
            *count += 1.0;
        }
    }
    Matrix::from_fn(images, classes, |_, class| counts[class])
}

/// An attribute that probes predict.
struct Predicted<'a> {
    /// The first part of the names of its metrics.
    prefix: String,
    /// Its name in the data set.
    attribute: &'a str,
}

/// The attributes that a recipe probes; none if the images have none.
///
/// # Errors
/// As [`check_names`].
fn attributes<'a>(section: &'a ProbeSection, train: &Dataset) -> Result<Vec<Predicted<'a>>> {
    if train.conditions.is_empty() {
        return Ok(Vec::new());
    }
    check_names(section)?;
    Ok(named(section))
}

/// The attributes that a recipe probes, whatever the images have.
fn named(section: &ProbeSection) -> Vec<Predicted<'_>> {
    let condition = Predicted { prefix: CONDITION.into(), attribute: &section.condition };
    let also = section.also.iter().map(|name| Predicted { prefix: prefix_of(name), attribute: name });
    std::iter::once(condition).chain(also).collect()
}

/// Checks that the results on each attribute of a recipe have names of their own.
///
/// # Errors
/// A usage error names two attributes of which they would not.
pub(crate) fn check_names(section: &ProbeSection) -> Result<()> {
    match same_names(section) {
        None => Ok(()),
        Some([one, other]) => Err(usage(format_args!(
            "results on the attributes `{one}` and `{other}` would have the same names; rename one, or leave it out of probe.also"
        ))),
    }
}

/// Two attributes of a recipe whose results would have the same names: the fit of the non-linear probe of the first one and that of the
/// linear probe of the second one, which is in `probe.also`.
pub(crate) fn same_names(section: &ProbeSection) -> Option<[&str; 2]> {
    let all = named(section);
    all.iter().find_map(|one| {
        let nonlinear = Predictor::Nonlinear.named(&one.prefix);
        let other = all.iter().find(|other| other.prefix == nonlinear)?;
        Some([one.attribute, other.attribute])
    })
}

/// An attribute as the target of a probe, and its true values in the test images; `None` if its leak cannot be measured, of which a run
/// warns.
///
/// # Errors
/// As [`targets_and_truth`].
fn measurable(name: &str, train: &Dataset, test: &Dataset) -> Result<Option<(ProbeTargets, Condition)>> {
    let both = targets_and_truth(name, train, test)?;
    Ok(obstacle(name, train, test).is_none().then_some(both))
}

/// Metrics of scores, `[n, m]`, against an attribute's true values in the test images.
fn attribute_metrics(scores: &Matrix, truth: &Condition) -> Result<Metrics> {
    let mut metrics = Metrics::new();
    match truth {
        Condition::Numeric(values) => {
            let report = RegressionReport::of(scores, values)?;
            metrics.insert(MSE.into(), report.mse);
            metrics.extend(report.r2.map(|r2| (R2.to_owned(), r2)));
        }
        Condition::Categorical { values, .. } => {
            let right = right(&predictions(scores)?, values).into_iter().filter(|right| *right).count();
            metrics.insert(CONDITION_TOP1.into(), right as f64 / values.len().max(1) as f64);
            let area = roc_auc_of_two(scores, values)?;
            metrics.extend(area.map(|area| (CONDITION_ROC_AUC.to_owned(), area)));
        }
    }
    Ok(metrics)
}

/// The metrics of predicting the mean of the test images, which has R² = 0.
fn mean_prediction_metrics(values: &Matrix) -> Metrics {
    let mse = variance(values);
    let r2 = (mse > 0.0).then(|| (R2.to_owned(), 0.0));
    Metrics::from([(MSE.to_owned(), mse)]).into_iter().chain(r2).collect()
}

/// The metrics of both probes of an attribute, under its names.
fn with_nonlinear(linear: Metrics, nonlinear: Metrics, prefix: &str) -> impl Iterator<Item = (String, f64)> {
    let nonlinear = nonlinear.into_iter().filter(|(name, _)| name != MSE);
    let nonlinear = nonlinear.map(|(name, value)| (Predictor::Nonlinear.named(&name), value));
    linear.into_iter().chain(nonlinear).map(move |(name, value)| (with_prefix(&name, prefix), value))
}

/// An attribute as the target of a probe, and its true values in the test images.
fn targets_and_truth(name: &str, train: &Dataset, test: &Dataset) -> Result<(ProbeTargets, Condition)> {
    match (condition(name, train)?, condition(name, test)?) {
        (Condition::Numeric(_), Condition::Categorical { .. })
        | (Condition::Categorical { .. }, Condition::Numeric(_)) => {
            anyhow::bail!("`{name}` is numeric in one split and categorical in the other")
        }
        (train, truth) => Ok((targets(&train), truth)),
    }
}

fn condition(name: &str, set: &Dataset) -> Result<Condition> {
    let known: Vec<&str> = set.conditions.keys().map(String::as_str).collect();
    set.conditions.get(name).cloned().with_context(|| {
        format!("the data set has no attribute `{name}` to probe; known: {}", known.join(", "))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::Images;
    use simile_core::numeric::rows::FeatureTable;

    use super::super::{LabelledFeatures, base_rates, class_metrics, measure};
    use super::*;
    use crate::config::penalty::Penalty;
    use crate::config::probe::Probe;
    use crate::exit::Usage;
    use crate::experiment::features::Features;

    /// Number of features, which are many for a probe of a few hundred images.
    const MANY: usize = 40;
    const FEW: usize = 6;

    /// Images with random features, from which `value` computes the condition.
    fn set(
        [images, width]: [usize; 2],
        seed: u64,
        value: impl Fn(&[f64], f64) -> f64,
    ) -> (Features, Dataset) {
        let mut state = seed;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // Nearly normal: a sum of twelve uniform numbers has variance 1.
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let features = Matrix::from_fn(images, width, |_, _| normal());
        let values = Matrix::from_fn(images, 1, |i, _| value(features.row(i), normal()));
        let labels = (0..images).map(|i| usize::from(i % 4 == 0)).collect();
        let pixels = Images::new(1, 1, 1, vec![0; images]).unwrap();
        let sign = |value: &f64| usize::from(*value > 0.0);
        let side = Condition::Categorical {
            values: values.data().iter().map(sign).collect(),
            names: vec!["low".into(), "high".into()],
        };
        let set = Dataset::new(pixels, labels, vec!["a".into(), "b".into()])
            .and_then(|set| set.with_condition("age", Condition::Numeric(values.into())))
            .and_then(|set| set.with_condition("side", side))
            .and_then(|set| {
                let one = Condition::Categorical { values: vec![0; images], names: vec!["north".into()] };
                set.with_condition("hospital", one)
            });
        let features = FeatureTable::gather(&features, &(0..images).collect::<Vec<_>>()).unwrap();
        (Features::Held(features), set.unwrap())
    }

    fn section(condition: &str) -> ProbeSection {
        ProbeSection { condition: condition.into(), ..ProbeSection::default() }
    }

    fn measure_drawn_sets(
        section: &ProbeSection,
        width: usize,
        value: impl Fn(&[f64], f64) -> f64,
    ) -> super::super::ProbeResults {
        let (train, test) = (set([400, width], 1, &value), set([1000, width], 2, &value));
        let of = |(features, dataset)| LabelledFeatures { features, dataset };
        measure(section, Probe::Linear, of((&train.0, &train.1)), of((&test.0, &test.1))).unwrap()
    }

    /// A value that is linear in the features, with some noise.
    fn linear_value(row: &[f64], noise: f64) -> f64 {
        row.iter().sum::<f64>() / (row.len() as f64).sqrt() + 0.5 * noise
    }

    #[test]
    fn of_a_few_hundred_images_the_nonlinear_probe_finds_what_the_linear_one_does() {
        for (condition, metric) in [("age", "condition_r2"), ("side", "condition_top1")] {
            let measured = measure_drawn_sets(&section(condition), MANY, linear_value);
            let (linear, nonlinear) =
                (measured.metrics[metric], measured.metrics[&format!("{metric}_nonlinear")]);
            assert!(linear > 0.7, "{condition}: {linear}");
            assert!(nonlinear > linear - 0.01, "{condition}: {nonlinear} of {linear}");
        }
    }

    #[test]
    fn what_is_not_linear_is_found_by_random_features_alone() {
        let measured =
            measure_drawn_sets(&section("age"), FEW, |row, noise| row[0] + 2.0 * row[0].abs() + 0.1 * noise);
        let of = |metric: &str| measured.metrics[metric];
        assert!(of("condition_r2_nonlinear") > of("condition_r2") + 0.1, "{:?}", measured.metrics);
        assert_eq!(measured.probes["condition_nonlinear"].random_features, 512);
        assert_eq!(measured.probes["condition"].random_features, 0);
    }

    #[test]
    fn every_probe_says_its_ridge() {
        let chosen = measure_drawn_sets(&section("age"), MANY, linear_value).probes;
        assert_eq!(chosen.keys().collect::<Vec<_>>(), ["class", "condition", "condition_nonlinear"]);
        // The class is noise: only a strong ridge keeps a probe from fitting it.
        assert_eq!((chosen["class"].ridge, chosen["class"].held_out), (0.1, 80));
        let given = ProbeSection { ridge: Penalty::Given(1e-5), ..section("age") };
        let given = measure_drawn_sets(&given, MANY, linear_value).probes;
        assert_eq!((given["class"].ridge, given["condition"].ridge), (1e-5, 1e-5));
        assert_eq!(given["condition"].held_out, 0);
    }

    #[test]
    fn base_rates_are_those_of_the_mean_and_the_most_frequent_value() {
        let ((_, train), (_, test)) = (set([400, MANY], 1, linear_value), set([1000, MANY], 2, linear_value));
        let rates = base_rates(&section("age"), &train, &test).unwrap();
        assert_eq!((rates["condition_r2"], rates["condition_r2_nonlinear"]), (0.0, 0.0));
        assert_eq!(rates["condition_mse"], variance(&test.conditions["age"].to_matrix()));
        assert_eq!(rates["top1"], 0.75, "three of four are of class a");
        let both = ProbeSection { also: vec!["side".into()], ..section("side") };
        let of_value = base_rates(&both, &train, &test).unwrap();
        let Condition::Categorical { values, .. } = &test.conditions["side"] else { unreachable!() };
        let high = values.iter().sum::<usize>() as f64 / 1000.0;
        let share = of_value["condition_top1"];
        assert!(share == high || (share - (1.0 - high)).abs() < 1e-12, "{share} of {high}");
        assert_eq!((of_value["condition_roc_auc"], of_value["side_top1"]), (0.5, share));
    }

    #[test]
    fn an_attribute_that_is_called_condition_leaves_the_metrics_of_the_condition_alone() {
        let called_condition = |(features, set): (Features, Dataset)| {
            let age = set.conditions["age"].clone();
            (features, set.with_condition("condition", age).unwrap())
        };
        let (train, test) = (set([400, MANY], 1, linear_value), set([1000, MANY], 2, linear_value));
        let (train, test) = (called_condition(train), called_condition(test));
        let both = ProbeSection { also: vec!["condition".into()], ..section("side") };
        let of = |(features, dataset)| LabelledFeatures { features, dataset };
        let measured =
            measure(&both, Probe::Linear, of((&train.0, &train.1)), of((&test.0, &test.1))).unwrap();
        let rates = base_rates(&both, &train.1, &test.1).unwrap();
        for metrics in [&measured.metrics, &rates] {
            assert!(metrics.contains_key("condition_top1") && !metrics.contains_key("condition_r2"));
            assert!(metrics.contains_key("attribute_condition_r2"), "{metrics:?}");
        }
        assert!(measured.probes.contains_key("attribute_condition"), "{:?}", measured.probes);
    }

    /// The fit of the probe of the attribute `class` replaced that of the class, and metrics of an attribute `classifier` those of the
    /// network's own classifier.
    #[test]
    fn attributes_that_are_called_class_and_classifier_leave_the_results_on_the_class_alone() {
        let called = |(features, set): (Features, Dataset)| {
            let [age, side] = ["age", "side"].map(|name| set.conditions[name].clone());
            let set = set.with_condition("class", age).and_then(|set| set.with_condition("classifier", side));
            (features, set.unwrap())
        };
        let (train, test) = (set([400, MANY], 1, linear_value), set([1000, MANY], 2, linear_value));
        let (train, test) = (called(train), called(test));
        let of = |(features, dataset)| LabelledFeatures { features, dataset };
        let measured_by = |section: &ProbeSection| {
            measure(section, Probe::Linear, of((&train.0, &train.1)), of((&test.0, &test.1))).unwrap()
        };
        let both = ProbeSection { also: vec!["class".into(), "classifier".into()], ..section("side") };
        let (measured, alone) = (measured_by(&both), measured_by(&section("side")));
        for (name, value) in &alone.metrics {
            assert_eq!(measured.metrics.get(name), Some(value), "{name}");
        }
        for (name, fit) in &alone.probes {
            assert_eq!(measured.probes.get(name), Some(fit), "{name}");
        }
        let guess = most_frequent(&train.1.labels, 2, test.1.len());
        for name in class_metrics(&both, &guess, &test.1).unwrap().keys() {
            let own = Predictor::OwnClassifier.named(name);
            assert!(!measured.metrics.contains_key(&own), "{own}: {:?}", measured.metrics);
        }
        for name in ["attribute_class_r2", "attribute_classifier_top1", "attribute_classifier_worst_group"] {
            assert!(measured.metrics.contains_key(name), "{name}: {:?}", measured.metrics);
        }
        assert!(measured.probes.contains_key("attribute_class_nonlinear"), "{:?}", measured.probes);
        assert!(measured.hits.contains_key("attribute_classifier_top1"));
    }

    #[test]
    fn attributes_whose_results_would_have_the_same_names_are_refused() {
        let (_, drawn) = set([40, FEW], 1, linear_value);
        let with = |names: [&str; 2]| {
            let also = names.map(String::from).to_vec();
            ProbeSection { also, ..section("side") }
        };
        for names in
            [["age", "age_nonlinear"], ["age", "condition_nonlinear"], ["class", "attribute_class_nonlinear"]]
        {
            let error = base_rates(&with(names), &drawn, &drawn).unwrap_err();
            let refusal = format!("`{}` would have the same names", names[1]);
            assert!(error.is::<Usage>() && error.to_string().contains(&refusal), "{error}");
        }
        for names in [["class", "attribute_class"], ["condition", "attribute_condition"]] {
            assert!(check_names(&with(names)).is_ok(), "{names:?}");
        }
        let twice = ProbeSection { also: vec!["age".into(), "age".into()], ..section("age") };
        assert!(base_rates(&twice, &drawn, &drawn).is_ok());
    }

    /// Only the condition had a non-linear probe and hits.
    #[test]
    fn a_further_attribute_is_measured_as_the_condition_is() {
        let curved = |row: &[f64], noise: f64| row[0].abs() - 0.7 + 0.1 * noise;
        let also = |condition: &str, other: &str| {
            let section = ProbeSection { also: vec![other.into()], ..section(condition) };
            measure_drawn_sets(&section, FEW, curved)
        };
        let (first, second) = (also("side", "age"), also("age", "side"));
        for (as_condition, as_further, of) in [(&first, &second, "side"), (&second, &first, "age")] {
            let measured = as_condition.metrics.iter().filter(|(name, _)| name.starts_with(CONDITION));
            for (name, value) in measured {
                let name = with_prefix(name, of);
                assert_eq!(as_further.metrics.get(&name), Some(value), "{name}: {:?}", as_further.metrics);
            }
            let fit = &as_further.probes[&format!("{of}_nonlinear")];
            assert_eq!(fit, &as_condition.probes["condition_nonlinear"]);
            assert_eq!(fit.random_features, 512);
        }
        assert!(second.metrics["side_top1_nonlinear"] > second.metrics["side_top1"] + 0.1);
        assert_eq!(second.hits.keys().collect::<Vec<_>>(), ["side_top1", "top1"]);
        assert_eq!(second.hits["side_top1"], first.hits[CONDITION_TOP1]);
        let ((_, train), (_, test)) = (set([400, FEW], 1, curved), set([1000, FEW], 2, curved));
        let both = ProbeSection { also: vec!["side".into()], ..section("age") };
        let rates = base_rates(&both, &train, &test).unwrap();
        assert_eq!(rates["side_top1_nonlinear"], rates["side_top1"]);
    }

    /// Each probe of it was right in all test images, or in none, and chance too.
    #[test]
    fn a_category_that_is_the_same_in_all_test_images_is_read_off_nothing() {
        let with = |(features, set): (Features, Dataset), varies: usize| {
            let rare = Condition::Categorical {
                values: (0..set.len()).map(|i| varies * usize::from(i % 13 == 0)).collect(),
                names: vec!["no".into(), "yes".into()],
            };
            (features, set.with_condition("rare", rare).unwrap())
        };
        let train = with(set([400, MANY], 1, linear_value), 1);
        let test = with(set([1000, MANY], 2, linear_value), 0);
        let of = |(features, dataset)| LabelledFeatures { features, dataset };
        let section = ProbeSection { also: vec!["side".into()], ..section("rare") };
        let measured =
            measure(&section, Probe::Linear, of((&train.0, &train.1)), of((&test.0, &test.1))).unwrap();
        let rates = base_rates(&section, &train.1, &test.1).unwrap();
        for metrics in [&measured.metrics, &rates] {
            assert!(metrics.keys().all(|name| !name.starts_with("condition")), "{metrics:?}");
            assert!(metrics.contains_key("side_top1"), "{metrics:?}");
        }
        assert!(!measured.probes.contains_key("condition") && !measured.hits.contains_key(CONDITION_TOP1));
    }

    #[test]
    fn one_value_is_read_off_nothing() {
        let measured = measure_drawn_sets(&section("hospital"), MANY, linear_value);
        assert!(measured.metrics.keys().all(|name| !name.starts_with("condition")));
        assert!(!measured.probes.contains_key("condition"));
    }

    #[test]
    fn what_is_the_same_in_all_training_images_is_read_off_nothing() {
        let with = |(features, set): (Features, Dataset), varies: usize| {
            let place = Condition::Categorical {
                values: (0..set.len()).map(|i| varies * (i % 2)).collect(),
                names: vec!["a".into(), "b".into()],
            };
            let year = Matrix::from_fn(set.len(), 1, |i, _| 7.0 + (varies * i) as f64);
            let set = set.with_condition("place", place).unwrap();
            (features, set.with_condition("year", Condition::Numeric(year.into())).unwrap())
        };
        let train = with(set([400, MANY], 1, linear_value), 0);
        let test = with(set([1000, MANY], 2, linear_value), 1);
        let of = |(features, dataset)| LabelledFeatures { features, dataset };
        for condition in ["place", "year"] {
            let section = section(condition);
            let measured =
                measure(&section, Probe::Linear, of((&train.0, &train.1)), of((&test.0, &test.1))).unwrap();
            let rates = base_rates(&section, &train.1, &test.1).unwrap();
            for metrics in [&measured.metrics, &rates] {
                assert!(metrics.keys().all(|name| !name.starts_with("condition")), "{metrics:?}");
            }
            assert!(!measured.probes.contains_key("condition"), "{condition}");
        }
    }
}
