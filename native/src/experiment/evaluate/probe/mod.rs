//! The evaluation of a representation: by probes and by its shape. Probes see features that were standardised with the training set's
//! mean and deviation. `docs/src/how-to/report.md` has the meaning of each metric.

mod classes;
mod fit;
mod guesses;
mod leak;
pub(crate) mod measurable;
mod nonlinear;
pub(crate) mod objective;
mod shape;
mod span;
pub(crate) mod watched;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use simile_core::data::Dataset;
use simile_core::eval::probe::ProbeTargets;
use simile_core::eval::standardise::{Standardise, Standardised};

use self::fit::TrainingRows;
use self::span::{ProbeRows, Span};
use self::watched::{Check, Watch, Watched, unchecked};
use crate::config::probe::{Probe, ProbeSection, Solver};
use crate::console::line;
use crate::experiment::features::Features;
use crate::metrics::{Hits, Metrics};
use crate::run_folder::record::ProbeFit;

pub(crate) use self::classes::{class_metrics, neighbours};
pub(crate) use self::leak::{check_names, same_names};

/// The results on the test images.
#[derive(Debug, Clone)]
pub(crate) struct ProbeResults {
    pub(crate) metrics: Metrics,
    /// The predicted class of each test image.
    pub(crate) guesses: Vec<usize>,
    /// The fits of the probes that have a penalty, by the name of their target: the class, the condition, and further attributes.
    pub(crate) probes: BTreeMap<String, ProbeFit>,
    /// For the class and each category: the test images that are classified correctly, by the metric that counts them.
    pub(crate) hits: Hits,
}

/// Features of a data set, with the labels and conditions of each row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelledFeatures<'a> {
    pub(crate) features: &'a Features,
    pub(crate) dataset: &'a Dataset,
}

/// One split as the probes see it.
struct ProbeSplit<'a> {
    /// The features as the encoder gives them.
    features: &'a Features,
    /// The same, standardised. The nonlinear probe reads these.
    standardised: Watched<Standardised<&'a Features>>,
    /// The same, in the span of the training images if that is small. Linear probes read these.
    rows: Watched<ProbeRows<Standardised<&'a Features>>>,
    dataset: &'a Dataset,
}

impl<'a> ProbeSplit<'a> {
    fn new(set: LabelledFeatures<'a>, scale: &Standardise, watch: &Watch) -> Result<Self> {
        let LabelledFeatures { features, dataset } = set;
        let standardised = scale.of(features)?;
        let rows = watch.over(ProbeRows::Original(standardised.clone()));
        Ok(Self { features, standardised: watch.over(standardised), rows, dataset })
    }

    /// The features as the encoder gives them, under the watch.
    fn original(&self) -> Watched<&'a Features> {
        self.rows.watch.over(self.features)
    }

    /// The images with the targets of a linear probe.
    fn training_rows(&'a self, targets: &'a ProbeTargets) -> TrainingRows<'a> {
        let (subjects, watch) = (self.dataset.subjects.as_deref(), &self.rows.watch);
        TrainingRows { rows: &self.rows, targets, subjects, watch }
    }
}

/// Fits the probes on `train` and measures them on `test`.
///
/// # Errors
/// If the condition is not known for the data set, or features are not finite.
pub(crate) fn measure(
    section: &ProbeSection,
    probe: Probe,
    train: LabelledFeatures<'_>,
    test: LabelledFeatures<'_>,
) -> Result<ProbeResults> {
    measure_while(section, probe, [train, test], unchecked)
}

/// As [`measure`], for as long as a check before each block of features finds no error.
///
/// # Errors
/// As [`measure`], and as the check.
pub(crate) fn measure_while(
    section: &ProbeSection,
    probe: Probe,
    [train, test]: [LabelledFeatures<'_>; 2],
    check: Check,
) -> Result<ProbeResults> {
    let scale = Standardise::fit(train.features).context("probing the representation")?;
    let watch = Watch::new(check);
    let _periodic_line = watch.report(train.dataset.len());
    let (train, test) = (ProbeSplit::new(train, &scale, &watch)?, ProbeSplit::new(test, &scale, &watch)?);
    let shape = shape::measure(&test)?;
    let (train, test) = projected_onto_span(train, test)?;
    let ProbeResults { mut metrics, guesses, mut probes, mut hits } =
        classes::measure(section, probe, &train, &test)?;
    let leaks = leak::measure(section, &train, &test)?;
    metrics.extend(leaks.metrics.into_iter().chain(shape));
    probes.extend(leaks.fits);
    hits.extend(leaks.hits);
    Ok(ProbeResults { metrics: finite(metrics), guesses, probes, hits })
}

/// The same metrics of class and condition for a constant prediction: the class, or the value, that is most frequent
/// among the training images, and the mean of a number.
///
/// # Errors
/// If the condition is not known for the data set.
pub(crate) fn base_rates(section: &ProbeSection, train: &Dataset, test: &Dataset) -> Result<Metrics> {
    let guess = leak::most_frequent(&train.labels, train.classes.len(), test.len());
    let mut metrics = class_metrics(section, &guess, test)?;
    metrics.extend(leak::base_rates(section, train, test)?);
    Ok(finite(metrics))
}

/// The metrics with finite values. JSON cannot represent others, so a result file with one would not be readable.
fn finite(metrics: Metrics) -> Metrics {
    let is_finite = |(name, value): &(String, f64)| {
        if !value.is_finite() {
            line(format_args!(
                "`{name}` is {value} and is left out: the values it is computed from are too large or too small"
            ));
        }
        value.is_finite()
    };
    metrics.into_iter().filter(is_finite).collect()
}

/// As [`measure_while`], but of the class alone.
///
/// # Errors
/// If features are not finite, and as the check.
pub(crate) fn measure_classes_while(
    section: &ProbeSection,
    probe: Probe,
    [train, test]: [LabelledFeatures<'_>; 2],
    check: Check,
) -> Result<Metrics> {
    let scale = Standardise::fit(train.features).context("probing the representation")?;
    let watch = Watch::new(check);
    let split = |set| ProbeSplit::new(set, &scale, &watch);
    let (train, test) = projected_onto_span(split(train)?, split(test)?)?;
    Ok(finite(classes::measure(section, probe, &train, &test)?.metrics))
}

/// Lets linear probes read the features in the span of those of the training images, if that is small.
fn projected_onto_span<'a>(
    train: ProbeSplit<'a>,
    test: ProbeSplit<'a>,
) -> Result<(ProbeSplit<'a>, ProbeSplit<'a>)> {
    let span = Span::of(&train.rows)?;
    let in_memory = span.hold(train.standardised.rows.clone())?;
    let streamed = span.stream(test.standardised.rows.clone());
    let with = |split: ProbeSplit<'a>, rows| ProbeSplit { rows: split.rows.watch.over(rows), ..split };
    Ok((with(train, in_memory), with(test, streamed)))
}

/// The probe of the class, fitted to `train` images, in words.
pub(crate) fn in_words(section: &ProbeSection, probe: Probe, train: usize) -> String {
    let ProbeSection { steps, sgd, .. } = section;
    let ridge = section.ridge.in_words();
    match (probe, section.solver) {
        (Probe::Knn, _) => format!("the {} nearest neighbours by cosine, weighted", neighbours(train)),
        (Probe::Linear, Solver::Lbfgs) => {
            format!("a linear classifier on standardised features by L-BFGS, {steps} steps at most, {ridge}")
        }
        (Probe::Linear, Solver::Sgd) => format!(
            "a linear classifier on standardised features by SGD, {} epochs in batches of {}, rate {}, momentum {}, \
             decay {}",
            sgd.epochs, sgd.batch, sgd.learning_rate, sgd.momentum, sgd.weight_decay
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::RngExt as _;
    use simile_core::data::{Condition, Images};
    use simile_core::error::Error;
    use simile_core::numeric::matrix::Matrix;
    use simile_core::numeric::rows::{FeatureTable, Rows as _};
    use simile_core::train::{Purpose, stream};

    use super::*;
    use crate::config::penalty::Penalty;

    #[test]
    fn metrics_that_no_file_could_hold_are_left_out() {
        let metrics = [("top1", 0.5), ("condition_mse", f64::INFINITY), ("condition_r2", f64::NAN)];
        let finite_metrics = finite(metrics.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(finite_metrics, Metrics::from([("top1".to_owned(), 0.5)]));
    }

    /// It ended the run of all variants after its training, each time that the run was resumed.
    #[test]
    fn a_network_that_gives_zeros_alone_is_measured() {
        let set = |images: usize| {
            let pixels = Images::new(1, 1, 1, vec![0; images]).unwrap();
            let labels = (0..images).map(|i| usize::from(i % 3 == 0)).collect();
            let dataset = Dataset::new(pixels, labels, vec!["a".into(), "b".into()]).unwrap();
            (Features::Held(FeatureTable::new(images, 4, vec![0.0; 4 * images]).unwrap()), dataset)
        };
        let (train, test) = (set(30), set(12));
        let train = LabelledFeatures { features: &train.0, dataset: &train.1 };
        let test = LabelledFeatures { features: &test.0, dataset: &test.1 };
        let ProbeResults { metrics, .. } =
            measure(&ProbeSection::default(), Probe::Linear, train, test).unwrap();
        assert!((metrics["top1"] - 8.0 / 12.0).abs() < 1e-12, "that of the most frequent class: {metrics:?}");
        assert!(metrics.contains_key("uniformity") && !metrics.contains_key("effective_rank"));
    }

    /// A signal was not obeyed before the end of all probes, which takes hours on large data.
    #[test]
    fn probes_end_once_a_stop_is_requested() {
        for images in [12, 300] {
            let wave = |i: usize, j: usize| ((i * 7 + j * j) as f64 * 0.31).sin();
            let features = Matrix::from_fn(images, 40, wave);
            let features = FeatureTable::gather(&features, &(0..images).collect::<Vec<_>>()).unwrap();
            let pixels = Images::new(1, 1, 1, vec![0; images]).unwrap();
            let labels = (0..images).map(|i| i % 2).collect();
            let dataset = Dataset::new(pixels, labels, vec!["a".into(), "b".into()]).unwrap();
            let features = Features::Held(features);
            let set = LabelledFeatures { features: &features, dataset: &dataset };
            let section = ProbeSection::default();
            let stopped: Check = || Err(Error::Stopped);
            let error = measure_while(&section, Probe::Linear, [set, set], stopped).unwrap_err();
            assert_eq!(error.downcast_ref::<Error>(), Some(&Error::Stopped), "{images} images");
            // The penalty is chosen by rows that are held in memory.
            let targets = ProbeTargets::Classes { labels: dataset.labels.clone(), classes: 2 };
            let watch = &Watch::new(stopped);
            let known = TrainingRows { rows: &features, targets: &targets, subjects: None, watch };
            let error = fit::linear(&section, &known).err().unwrap();
            assert_eq!(error.downcast_ref::<Error>(), Some(&Error::Stopped), "{images} images");
        }
    }

    #[test]
    fn what_few_images_span_is_read_as_all_of_their_features_are() {
        let set = |images: usize, first: usize| {
            let wave = |i: usize, j: usize| ((i + first) as f64 * 1.7 + (j * j) as f64 * 0.31).sin();
            let features = Matrix::from_fn(images, 90, |i, j| wave(i, j) + 0.3 * wave(3 * i + 1, 7 * j));
            let pixels = Images::new(1, 1, 1, vec![0; images]).unwrap();
            let age = Matrix::from_fn(images, 1, |i, _| features[(i, 3)] + 0.2 * wave(5 * i, 2));
            let labels = (0..images).map(|i| usize::from(age[(i, 0)] > 0.0)).collect();
            let dataset = Dataset::new(pixels, labels, vec!["a".into(), "b".into()]).unwrap();
            let features = FeatureTable::gather(&features, &(0..images).collect::<Vec<_>>()).unwrap();
            (Features::Held(features), dataset.with_condition("age", Condition::Numeric(age.into())).unwrap())
        };
        let (train, test) = (set(40, 0), set(50, 1000));
        let scale = Standardise::fit(&train.0).unwrap();
        let split = |(features, dataset)| {
            ProbeSplit::new(LabelledFeatures { features, dataset }, &scale, &Watch::new(unchecked)).unwrap()
        };
        let both = || (split((&train.0, &train.1)), split((&test.0, &test.1)));
        let section =
            ProbeSection { condition: "age".into(), ridge: Penalty::Given(1e-2), ..ProbeSection::default() };
        let read = |(train, test): (ProbeSplit<'_>, ProbeSplit<'_>)| {
            let leak = leak::measure(&section, &train, &test).unwrap().metrics["condition_r2"];
            (leak, classes::measure(&section, Probe::Linear, &train, &test).unwrap().guesses)
        };
        let (whole, few) = (both(), both());
        let few = projected_onto_span(few.0, few.1).unwrap();
        assert_eq!((few.0.rows.columns(), few.1.rows.columns()), (40, 40));
        let (whole, few) = (read(whole), read(few));
        assert!((whole.0 - few.0).abs() < 1e-9, "{} {}", whole.0, few.0);
        assert_eq!(whole.1, few.1);
    }

    /// It read the projection, on a scale of its own, and found less: no leak at all in one case.
    #[test]
    fn the_nonlinear_probe_reads_the_same_of_few_images() {
        let mut rng = stream(7, Purpose::Initialisation, 0);
        let mut normal = || (0..12).map(|_| rng.random_range(-0.5_f64..0.5)).sum::<f64>();
        let mixed = Matrix::from_fn(3, 200, |_, _| normal());
        let mut set = |images: usize| {
            let hidden = Matrix::from_fn(images, 3, |_, _| normal());
            let of = |i: usize, j: usize| (0..3).map(|k| hidden[(i, k)] * mixed[(k, j)]).sum::<f64>();
            let features = Matrix::from_fn(images, 200, |i, j| of(i, j) + 0.3 * normal());
            let age = Matrix::from_fn(images, 1, |i, _| 2.0 * hidden[(i, 0)].abs());
            let pixels = Images::new(1, 1, 1, vec![0; images]).unwrap();
            let labels = (0..images).map(|i| i % 2).collect();
            let dataset = Dataset::new(pixels, labels, vec!["a".into(), "b".into()]).unwrap();
            let features = FeatureTable::gather(&features, &(0..images).collect::<Vec<_>>()).unwrap();
            (Features::Held(features), dataset.with_condition("age", Condition::Numeric(age.into())).unwrap())
        };
        let (train, test) = (set(100), set(300));
        let scale = Standardise::fit(&train.0).unwrap();
        let split = |(features, dataset)| {
            ProbeSplit::new(LabelledFeatures { features, dataset }, &scale, &Watch::new(unchecked)).unwrap()
        };
        let both = || (split((&train.0, &train.1)), split((&test.0, &test.1)));
        let section = ProbeSection { condition: "age".into(), ..ProbeSection::default() };
        let read = |(train, test): (ProbeSplit<'_>, ProbeSplit<'_>)| {
            let leaks = leak::measure(&section, &train, &test).unwrap();
            assert_eq!(leaks.fits["condition_nonlinear"].random_features, 512);
            (leaks.metrics["condition_r2"], leaks.metrics["condition_r2_nonlinear"])
        };
        let (whole, few) = (both(), both());
        let few = projected_onto_span(few.0, few.1).unwrap();
        assert_eq!((few.0.rows.columns(), few.0.standardised.columns()), (100, 200));
        let (whole, few) = (read(whole), read(few));
        assert!(whole.1 > whole.0 + 0.2, "{whole:?}");
        assert!((whole.1 - few.1).abs() < 1e-9, "{whole:?} {few:?}");
    }
}
