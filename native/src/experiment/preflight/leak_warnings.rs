//! Warnings about attributes whose leak cannot be measured, or looks smaller than it is, and about classes that no training row has.

use simile_core::data::Dataset;

use crate::config::Recipe;
use crate::config::probe::ProbeSection;
use crate::data::EvaluationSplit;
use crate::experiment::evaluate::probe::measurable::{Obstacle, all_unseen, obstacle, unseen, unseen_values};
use crate::experiment::prepare::splits::Evaluated;

/// The words of a command for its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WarningTerms<'a> {
    /// The rows of the data, such as `images`.
    pub(crate) things: &'a str,
    /// The split that probes are measured on.
    pub(crate) evaluation_split: EvaluationSplit,
    /// The key or option that names the attribute whose leak is measured; none where the user chooses no attribute.
    pub(crate) key: Option<&'a str>,
}

impl WarningTerms<'_> {
    /// One of the rows.
    fn thing(&self) -> &str {
        self.things.trim_end_matches('s')
    }
}

/// The warnings about the probed attributes of a recipe.
pub(super) fn probe_warnings(recipe: &Recipe, train: &Dataset, evaluated: &Evaluated) -> Vec<String> {
    if train.conditions.is_empty() {
        let names = std::iter::once(&recipe.probe.condition).chain(&recipe.probe.also);
        let named: Vec<String> =
            names.filter(|name| !name.is_empty()).map(|name| format!("`{name}`")).collect();
        let warning = || {
            format!(
                "the data have no attributes, so the leak of {} is not measured; leave out probe.condition and \
                 probe.also",
                named.join(", ")
            )
        };
        return (!named.is_empty()).then(warning).into_iter().collect();
    }
    let terms =
        WarningTerms { things: "images", evaluation_split: evaluated.split, key: Some("probe.condition") };
    leak_warnings(&recipe.probe, [train, &evaluated.dataset], terms)
}

/// The warnings about probed attributes whose leak cannot be measured, or looks smaller than it is.
pub(crate) fn leak_warnings(
    probe: &ProbeSection,
    [train, test]: [&Dataset; 2],
    terms: WarningTerms<'_>,
) -> Vec<String> {
    let WarningTerms { things, evaluation_split, key } = terms;
    // A further attribute has another key, or stands there because a table has it.
    let remedy = |name: &String| {
        let key = key.filter(|_| *name == probe.condition);
        key.map(|key| format!(", name another with {key}")).unwrap_or_default()
    };
    let warning = |name: &String| {
        let reason = match obstacle(name, train, test) {
            Some(Obstacle::OneTrainingValue(value)) => {
                format!("`{name}` is {value} in all {} training {things}", train.len())
            }
            Some(Obstacle::Unseen(such)) => none_seen(&format!("`{name}`"), such, terms),
            Some(Obstacle::OneEvaluatedValue(value)) => {
                format!("`{name}` is {value} in all {} {evaluation_split} {things}", test.len())
            }
            None => {
                let unseen = unseen_values(name, train, test);
                let some = some_unseen(&format!("value of `{name}`"), &unseen, test, terms)?;
                return Some(format!("{some}, so the leak looks smaller than it is"));
            }
        };
        Some(format!("{reason}; its leak cannot be measured{}", remedy(name)))
    };
    std::iter::once(&probe.condition).chain(&probe.also).filter_map(warning).collect()
}

/// The warning about test rows of classes that no training row has.
pub(crate) fn class_warning([train, test]: [&Dataset; 2], terms: WarningTerms<'_>) -> Option<String> {
    let unseen = unseen((&train.labels, &train.classes), (&test.labels, &test.classes));
    match all_unseen(&unseen, test.len()) {
        Some(such) => {
            let reason = none_seen("class", such, terms);
            Some(format!("{reason}; no guess of the class can be right, divide the rows in another way"))
        }
        None => Some(format!(
            "{}, so the accuracy is below that of the others",
            some_unseen("class", &unseen, test, terms)?
        )),
    }
}

/// The reason why no guess on test rows can be right: no training row has the class, or the attribute, of any of them.
fn none_seen(what: &str, such: &str, terms: WarningTerms<'_>) -> String {
    let (thing, evaluation_split) = (terms.thing(), terms.evaluation_split);
    format!("no training {thing} has the {what} of any {evaluation_split} {thing}, such as {such}")
}

/// The start of a warning if some test rows have a value that no training row has.
fn some_unseen(what: &str, unseen: &[&str], test: &Dataset, terms: WarningTerms<'_>) -> Option<String> {
    let first = unseen.first()?;
    let WarningTerms { things, evaluation_split, .. } = terms;
    Some(format!(
        "{} of {} {evaluation_split} {things} have a {what} that no training {} has, such as {first}; a probe cannot \
         name these",
        unseen.len(),
        test.len(),
        terms.thing()
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::Condition;
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;
    use simile_core::numeric::matrix::Matrix;
    use simile_core::numeric::rows::FeatureTable;

    use super::*;
    use crate::config::Changes;
    use crate::config::probe::Probe;
    use crate::experiment::evaluate::probe::{LabelledFeatures, base_rates, measure};
    use crate::experiment::features::Features;
    use crate::metrics::leak::is_leak;

    #[test]
    fn values_that_only_test_images_have_are_named() {
        let recipe = Recipe::load(
            "fair-digits",
            &Changes { set: &["probe.condition=hospital".to_owned()], ..Changes::default() },
        );
        let images = |of: fn(usize) -> usize, age: f64| {
            let names = ["south", "north", "new"].map(str::to_owned).to_vec();
            let hospital = Condition::Categorical { values: (0..60).map(of).collect(), names };
            let ages = Condition::Numeric(Matrix::from_fn(60, 1, |i, _| age * i as f64).into());
            let digits = draw_digits(60, Colours::Palette, 0).unwrap();
            digits.with_condition("hospital", hospital).unwrap().with_condition("age", ages).unwrap()
        };
        let mut recipe = recipe.unwrap();
        let train = images(|i| i % 2, 1.0);
        let of = |recipe: &Recipe, test: &Dataset| {
            let evaluated = Evaluated { dataset: test.clone(), split: EvaluationSplit::Validation };
            probe_warnings(recipe, &train, &evaluated).join("\n")
        };
        assert_eq!(of(&recipe, &images(|i| i % 2, 1.0)), "");
        let all = of(&recipe, &images(|_| 2, 1.0));
        assert!(
            all.contains("no training image has the `hospital` of any validation image, such as new"),
            "{all}"
        );
        assert!(all.contains("its leak cannot be measured"), "{all}");
        let some = of(&recipe, &images(|i| i % 3, 1.0));
        assert!(some.contains("20 of 60 validation images have a value of `hospital` that"), "{some}");
        let same = of(&recipe, &images(|_| 1, 1.0));
        assert!(same.contains("`hospital` is north in all 60 validation images; its leak cannot"), "{same}");
        assert!(same.ends_with("name another with probe.condition"), "{same}");
        recipe.probe.ask_for("age");
        let further = of(&recipe, &images(|_| 1, 1.0));
        assert!(further.ends_with("its leak cannot be measured"), "{further}");
        let constant = of(&recipe, &images(|i| i % 2, 0.0));
        assert!(constant.contains("`age` is 0 in all 60 validation images"), "{constant}");
    }

    /// A number that is the same in all test images had a warning, and the squared errors of two probes.
    #[test]
    fn a_leak_is_measured_exactly_where_no_warning_says_that_it_cannot_be() {
        let category = |of: fn(usize) -> usize| {
            let names = ["north", "south", "new"].map(str::to_owned).to_vec();
            Condition::Categorical { values: (0..60).map(of).collect(), names }
        };
        let number = |of: fn(usize) -> f64| Condition::Numeric(Matrix::from_fn(60, 1, |i, _| of(i)).into());
        let section = ProbeSection { condition: "place".into(), ..ProbeSection::default() };
        let terms = WarningTerms {
            things: "images",
            evaluation_split: EvaluationSplit::Test,
            key: Some("probe.condition"),
        };
        let set = |seed: u64, place: &Condition| {
            let digits = draw_digits(60, Colours::Palette, seed).unwrap();
            let features = (0..240).map(|at| ((at * at + seed) as f32 * 0.31).sin()).collect();
            let features = Features::Held(FeatureTable::new(60, 4, features).unwrap());
            (features, digits.with_condition("place", place.clone()).unwrap())
        };
        for (train, test, is_measurable) in [
            (category(|i| i % 2), category(|i| i % 3), true),
            (category(|_| 0), category(|i| i % 2), false),
            (category(|i| i % 2), category(|_| 1), false),
            (category(|i| i % 2), category(|_| 2), false),
            (number(|i| i as f64), number(|i| (i % 7) as f64), true),
            (number(|_| 0.1), number(|i| i as f64), false),
            (number(|i| i as f64), number(|_| 0.1), false),
        ] {
            let case = format!("{train:?} {test:?}");
            let (train, test) = (set(0, &train), set(1, &test));
            let warnings = leak_warnings(&section, [&train.1, &test.1], terms);
            let is_warned = warnings.iter().any(|warning| warning.contains("its leak cannot be measured"));
            assert_eq!(is_warned, !is_measurable, "{warnings:?}: {case}");
            let of = |(features, dataset)| LabelledFeatures { features, dataset };
            let measured =
                measure(&section, Probe::Linear, of((&train.0, &train.1)), of((&test.0, &test.1))).unwrap();
            let rates = base_rates(&section, &train.1, &test.1).unwrap();
            for metrics in [&measured.metrics, &rates] {
                assert_eq!(metrics.keys().any(|name| is_leak(name)), is_measurable, "{metrics:?}: {case}");
            }
            assert_eq!(measured.probes.contains_key("condition"), is_measurable, "{case}");
        }
    }

    #[test]
    fn classes_that_only_test_rows_have_are_named() {
        let of = |classes: &[usize]| {
            let digits = draw_digits(60, Colours::Palette, 0).unwrap();
            let labels = (0..60).map(|at| classes[at % classes.len()]).collect();
            Dataset { labels, ..digits }
        };
        let terms = WarningTerms {
            things: "vectors",
            evaluation_split: EvaluationSplit::Test,
            key: Some("--condition"),
        };
        let warning = |test: &[usize]| class_warning([&of(&[0, 1]), &of(test)], terms);
        assert_eq!(warning(&[1, 0]), None);
        let all = warning(&[7]).unwrap();
        assert!(all.starts_with("no training vector has the class of any test vector, such as 7;"), "{all}");
        let some = warning(&[0, 1, 7]).unwrap();
        assert!(some.starts_with("20 of 60 test vectors have a class that no training vector has"), "{some}");
    }
}
