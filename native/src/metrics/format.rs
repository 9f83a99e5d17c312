//! Metrics for people: a title with its unit, and the significant digits. Files use the plain names.

use super::catalogue::{ATTRIBUTE, CLASS, PERCENT, Scale, plain};
use super::mean_std::{MeanStd, written};
use super::metric::{Measured, Metric, Predictor};
use super::names::CONDITION;

/// The presentation of a metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricFormat {
    /// With the unit: `Top-1 %`.
    pub(crate) title: String,
    scale: Scale,
}

impl MetricFormat {
    /// The presentation of a metric by its name in `result.json`; `condition` is the attribute whose leak was measured. A name that
    /// no metric has is its own title.
    pub(crate) fn of(name: &str, condition: &str) -> Self {
        Self::from_metric(Metric::of(name, condition))
    }

    /// The presentation of a metric.
    pub(crate) fn from_metric(metric: Metric<'_>) -> Self {
        let (title, scale) = match metric.measured {
            Measured::Class(metric) => (metric.title.to_owned(), metric.scale),
            Measured::Attribute(attribute, metric) => {
                let [before, after] = metric.title;
                (format!("{before}{attribute}{after}"), metric.scale)
            }
            Measured::Objective(name, split) => (format!("{}, {split}", name.replace('_', "-")), plain(3)),
            Measured::Unknown(name) => (name.to_owned(), plain(4)),
        };
        let by = match metric.by {
            Predictor::Linear => "",
            Predictor::Nonlinear => ", non-linear probe",
            Predictor::OwnClassifier => ", own classifier",
        };
        Self { title: title + by, scale }
    }

    /// True if a metric can have this name. Whether a run measures it depends on its data and its recipe.
    pub(crate) fn is_known(name: &str) -> bool {
        !matches!(Metric::of(name, CONDITION).measured, Measured::Unknown(_))
    }

    /// The names of metrics, those of further attributes, of non-linear probes, of classifiers and of objectives left out.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        CLASS.iter().map(|metric| metric.name).chain(ATTRIBUTE.iter().map(|metric| metric.name))
    }

    /// A value in the unit of the title.
    pub(crate) fn value(&self, value: f64) -> f64 {
        value * self.scale.factor
    }

    /// A value with its digits, or a dash where there is none.
    pub(crate) fn number(&self, value: Option<f64>) -> String {
        self.mean_std(value.map(|mean| MeanStd { mean, std: None }))
    }

    /// The mean of a metric with its deviation.
    pub(crate) fn mean_std(&self, mean_std: Option<MeanStd>) -> String {
        let in_unit = |mean_std: MeanStd| MeanStd {
            mean: self.value(mean_std.mean),
            std: mean_std.std.map(|std| self.value(std)),
        };
        written(mean_std.map(in_unit), self.scale.digits)
    }

    /// Digits after the point.
    pub(crate) fn digits(&self) -> usize {
        self.scale.digits
    }

    /// True if the unit of the title is percent.
    pub(crate) fn is_percent(&self) -> bool {
        self.scale == PERCENT
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::units::NOTHING;

    #[test]
    fn every_metric_has_a_title_with_its_unit() {
        for (name, title, shown) in [
            ("top1", "Top-1 %", "50.00"),
            ("class_mean", "Balanced accuracy %", "50.00"),
            ("condition_r2", "Leak of colour, R²", "0.500"),
            ("condition_mse", "MSE of colour", "0.5"),
            ("condition_top1_nonlinear", "Leak of colour %, non-linear probe", "50.00"),
            ("palette_worst_group", "Worst group by palette %", "50.00"),
            ("place_roc_auc", "Leak of place, ROC-AUC %", "50.00"),
            ("classifier_unbiased", "Mean of groups %, own classifier", "50.00"),
            ("nt_xent_test", "nt-xent, test", "0.500"),
            ("attribute_class_r2", "Leak of class, R²", "0.500"),
            ("something", "something", "0.5000"),
        ] {
            let format = MetricFormat::of(name, "colour");
            assert_eq!((format.title.as_str(), format.number(Some(0.5)).as_str()), (title, shown), "{name}");
            assert_eq!(MetricFormat::is_known(name), name != "something", "{name}");
        }
        assert_eq!(
            MetricFormat::of("top1", "").mean_std(Some(MeanStd { mean: 0.5, std: Some(0.01) })),
            "50.00 ± 1.00"
        );
        assert_eq!(MetricFormat::of("top1", "").number(None), NOTHING);
        assert!(MetricFormat::names().all(MetricFormat::is_known));
        assert_eq!(MetricFormat::of("condition_r2", "the attribute").title, "Leak of the attribute, R²");
    }

    #[test]
    fn the_book_explains_every_metric_by_its_title() {
        let page = |name: &str| {
            std::fs::read_to_string(format!("{}/../docs/src/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
        };
        let (report, words) = (page("how-to/report.md"), page("README.md"));
        for metric in &CLASS {
            let (name, title) = (metric.name, metric.title);
            let row = |line: &str| line.starts_with("| ") && line.contains(&format!("`{name}`"));
            let row = report.lines().find(|line| row(line)).unwrap_or_default();
            assert!(row.contains(title), "how-to/report.md: `{name}` is \"{title}\": {row}");
        }
        for (name, word) in [("class_mean", "balanced accuracy"), ("unbiased", "mean of groups")] {
            let row = words.lines().find(|line| line.contains(&format!("`{name}`"))).unwrap_or_default();
            assert!(row.starts_with(&format!("| {word} |")), "README.md: {row}");
        }
    }
}
