//! A metric and its name in files of results. Names of metrics are put together and taken apart here alone.
//!
//! A metric of the class, or of the representation as a whole, has a name of [`names`](super::names). The name of a metric of an
//! attribute begins with the attribute, or with `condition` for the condition of the run (`age_r2`, `condition_r2`), that of an objective
//! on the frozen network with the objective (`nt_xent_test`). The end `_nonlinear` and the start `classifier_` tell the [`Predictor`].

use super::catalogue::{ATTRIBUTE, AttributeMetric, CLASS, ClassMetric, ending};
use super::names::{CLASS_PROBE, CONDITION};

/// The end of the name of a metric of the non-linear probe.
const NONLINEAR: &str = "_nonlinear";
/// The start of the name of a metric of a network's own classifier of the class.
const CLASSIFIER: &str = "classifier_";
/// The start of the names of metrics of an attribute whose own name others have.
const BEFORE_RESERVED: &str = "attribute_";
/// The images on which an objective is measured: the end of its metrics.
pub(crate) const OBJECTIVE_SPLITS: [&str; 2] = ["train", "test"];

/// The predictor of which a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Predictor {
    /// The linear probe, whose metrics have no mark in their names. Metrics of no predictor are among them.
    Linear,
    Nonlinear,
    /// The network's own classifier of the class.
    OwnClassifier,
}

impl Predictor {
    /// The name of its metric, or of the fit of its probe, from that of the linear probe.
    pub(crate) fn named(self, linear: &str) -> String {
        match self {
            Self::Linear => linear.to_owned(),
            Self::Nonlinear => format!("{linear}{NONLINEAR}"),
            Self::OwnClassifier => format!("{CLASSIFIER}{linear}"),
        }
    }

    /// The predictor of a name, and what [`named`](Self::named) made the name from.
    pub(crate) fn of(name: &str) -> (Self, &str) {
        match (name.strip_suffix(NONLINEAR), name.strip_prefix(CLASSIFIER)) {
            (Some(linear), _) => (Self::Nonlinear, linear),
            (None, Some(linear)) => (Self::OwnClassifier, linear),
            (None, None) => (Self::Linear, name),
        }
    }
}

/// The metric of the linear probe in the place of that of the non-linear one.
pub(crate) fn linear(metric: &str) -> &str {
    match Predictor::of(metric) {
        (Predictor::Nonlinear, linear) => linear,
        _ => metric,
    }
}

/// The name of the metric `other` of the attribute whose metric `of` is `metric`, by the linear probe; none if `metric` is another one.
/// `of` and `other` are names for the condition.
pub(super) fn beside(metric: &str, of: &'static str, other: &'static str) -> Option<String> {
    linear(metric).strip_suffix(ending(of)).map(|start| format!("{start}{}", ending(other)))
}

/// The start of the names of metrics of an attribute in `probe.also`, and the name of the fit of its probe: its own name, with `attribute_`
/// before it if names that begin so are already those of the condition, the class, a network's own classifier, or of another attribute
/// that was renamed in this way. (`evaluate::probe::check_names` refuses `age_nonlinear` beside `age`.)
pub(crate) fn prefix_of(attribute: &str) -> String {
    if is_reserved(attribute) { format!("{BEFORE_RESERVED}{attribute}") } else { attribute.to_owned() }
}

fn is_reserved(attribute: &str) -> bool {
    let name = attribute.trim_start_matches(BEFORE_RESERVED);
    [CONDITION, CLASS_PROBE].contains(&name) || format!("{name}_").starts_with(CLASSIFIER)
}

/// The attribute whose metrics begin with `prefix`, in a run with a condition.
fn attribute_of<'a>(prefix: &'a str, condition: &'a str) -> &'a str {
    if prefix == CONDITION {
        return condition;
    }
    prefix.strip_prefix(BEFORE_RESERVED).filter(|attribute| is_reserved(attribute)).unwrap_or(prefix)
}

/// The name that a metric of the condition has for the attribute whose metrics begin with `prefix`.
pub(crate) fn with_prefix(metric: &str, prefix: &str) -> String {
    metric.replacen(CONDITION, prefix, 1)
}

/// The name that a metric of the condition has for `attribute`, in a run whose condition is `probed`.
pub(crate) fn name_for_attribute(metric: &str, attribute: &str, probed: &str) -> String {
    if attribute == probed { metric.to_owned() } else { with_prefix(metric, &prefix_of(attribute)) }
}

/// The name of the loss of an objective on the images of a split, one of [`OBJECTIVE_SPLITS`].
pub(crate) fn name_for_objective(objective: &str, split: &str) -> String {
    format!("{}_{split}", objective.replace('-', "_"))
}

/// A metric by what it measures. Two runs may have other names for it: the condition of one may be a further attribute of the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Metric<'a> {
    pub(super) measured: Measured<'a>,
    pub(super) by: Predictor,
}

/// The quantity that a metric measures, by whichever predictor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Measured<'a> {
    /// Of the class, or of the representation as a whole.
    Class(&'static ClassMetric),
    Attribute(&'a str, &'static AttributeMetric),
    /// The loss of an objective, by the name that it has in metrics, on the images of a split.
    Objective(&'a str, &'static str),
    /// Nothing that this program measures, by the whole name.
    Unknown(&'a str),
}

impl<'a> Metric<'a> {
    /// The metric of a name in the results of a run with a condition.
    pub(crate) fn of(name: &'a str, condition: &'a str) -> Self {
        let (by, linear) = Predictor::of(name);
        match Measured::of(linear, condition) {
            Some(measured) => Self { measured, by },
            None => Self { measured: Measured::Unknown(name), by: Predictor::Linear },
        }
    }

    /// The attribute of which it is; none for a metric of the class, the representation or an objective.
    pub(crate) fn attribute(&self) -> Option<&'a str> {
        match self.measured {
            Measured::Attribute(attribute, _) => Some(attribute),
            _ => None,
        }
    }
}

impl<'a> Measured<'a> {
    fn of(name: &'a str, condition: &'a str) -> Option<Self> {
        let of_class = CLASS.iter().find(|metric| metric.name == name).map(Self::Class);
        let of_attribute = || {
            let prefix = |metric: &AttributeMetric| name.strip_suffix(metric.ending());
            let prefixed = ATTRIBUTE.iter().find_map(|metric| Some((prefix(metric)?, metric)));
            prefixed.map(|(prefix, metric)| Self::Attribute(attribute_of(prefix, condition), metric))
        };
        let of_objective = || {
            let objective = |split: &str| name.strip_suffix(split)?.strip_suffix('_');
            OBJECTIVE_SPLITS.into_iter().find_map(|split| Some(Self::Objective(objective(split)?, split)))
        };
        of_class.or_else(of_attribute).or_else(of_objective)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::names::WORST_GROUP_BY;
    use super::*;

    /// Attributes of a run: the condition, and others that a table may have, some of whose names are parts of those of metrics.
    const PROBED: &str = "side";
    const OTHERS: [&str; 13] = [
        "age",
        "condition",
        "class",
        "classifier",
        "classifier_age",
        "attribute",
        "attribute_condition",
        "attribute_class",
        "attribute_classifier_age",
        "attribute_attribute_class",
        "top1",
        "worst",
        "nt_xent",
    ];

    /// Every metric that a run with these attributes may measure, with its name.
    fn measurable() -> Vec<(String, Metric<'static>)> {
        let mut all = Vec::new();
        let mut add = |measured: Measured<'static>, name: &str, predictors: &[Predictor]| {
            let of = |by: &Predictor| (by.named(name), Metric { measured, by: *by });
            all.extend(predictors.iter().map(of));
        };
        for metric in &CLASS {
            add(Measured::Class(metric), metric.name, &[Predictor::Linear, Predictor::OwnClassifier]);
        }
        for attribute in std::iter::once(PROBED).chain(OTHERS) {
            for metric in &ATTRIBUTE {
                let name = name_for_attribute(metric.name, attribute, PROBED);
                let predictors = match metric.name {
                    WORST_GROUP_BY => [Predictor::Linear, Predictor::OwnClassifier],
                    _ => [Predictor::Linear, Predictor::Nonlinear],
                };
                add(Measured::Attribute(attribute, metric), &name, &predictors);
            }
        }
        for split in OBJECTIVE_SPLITS {
            let name = name_for_objective("nt-xent", split);
            add(Measured::Objective("nt_xent", split), &name, &[Predictor::Linear]);
        }
        all
    }

    #[test]
    fn every_metric_has_a_name_of_its_own_and_is_read_from_it() {
        let all = measurable();
        for (name, metric) in &all {
            assert_eq!(Metric::of(name, PROBED), *metric, "{name}");
        }
        let names: BTreeSet<&String> = all.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), all.len(), "{names:?}");
        let unknown = Metric { measured: Measured::Unknown("age_nonlinear"), by: Predictor::Linear };
        assert_eq!(Metric::of("age_nonlinear", PROBED), unknown);
    }

    /// The fit of the probe of `class` was in the place of that of the class, and metrics of `classifier` in that of the network's own.
    #[test]
    fn an_attribute_whose_name_others_have_is_renamed() {
        for (attribute, prefix) in [
            ("condition", "attribute_condition"),
            ("class", "attribute_class"),
            ("classifier", "attribute_classifier"),
            ("classifier_age", "attribute_classifier_age"),
            ("classifiers", "classifiers"),
            ("classes", "classes"),
            ("attribute_age", "attribute_age"),
            ("attribute_class", "attribute_attribute_class"),
        ] {
            assert_eq!(prefix_of(attribute), prefix);
        }
        assert_eq!(name_for_attribute("condition_r2", "class", "class"), "condition_r2");
    }

    #[test]
    fn a_metric_is_the_same_as_that_of_a_run_with_another_condition() {
        for attribute in ["age", "class"] {
            let name = name_for_attribute("condition_r2", attribute, "hospital");
            assert_eq!(Metric::of("condition_r2", attribute), Metric::of(&name, "hospital"));
        }
        assert_ne!(Metric::of("condition_r2", "age"), Metric::of("condition_r2", "hospital"));
        assert_ne!(Metric::of("condition_r2", "age"), Metric::of("condition_r2_nonlinear", "age"));
        assert_eq!(Metric::of("top1", "age"), Metric::of("top1", "hospital"));
    }
}
