//! Warnings about attributes whose leak cannot be measured, or looks smaller than it is, and about classes that no training row has.

use std::collections::BTreeSet;

use simile_core::data::{Condition, Dataset};

use crate::config::Recipe;
use crate::config::probe::ProbeSection;
use crate::data::EvaluationSplit;
use crate::experiment::evaluate::probe::unseen;
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
    let WarningTerms { things, key, .. } = terms;
    // A further attribute has another key, or stands there because a table has it.
    let remedy = |name: &String| {
        let key = key.filter(|_| *name == probe.condition);
        key.map(|key| format!(", name another with {key}")).unwrap_or_default()
    };
    let warning = |name: &String| {
        let one =
            one_value(name, train).map(|value| format!("{value} in all {} training {things}", train.len()));
        let unseen = unseen(name, train, test);
        let what = format!("`{name}`");
        let reason = one
            .or_else(|| all_unseen(&what, &unseen, test, terms))
            .or_else(|| one_of_test(name, test, terms))
            .map(|reason| format!("{reason}; its leak cannot be measured{}", remedy(name)));
        let some = || some_unseen(&format!("value of {what}"), &unseen, test, terms);
        reason.or_else(|| Some(format!("{}, so the leak looks smaller than it is", some()?)))
    };
    std::iter::once(&probe.condition).chain(&probe.also).filter_map(warning).collect()
}

/// The warning about test rows of classes that no training row has.
pub(crate) fn class_warning([train, test]: [&Dataset; 2], terms: WarningTerms<'_>) -> Option<String> {
    let known: BTreeSet<&String> =
        train.labels.iter().filter_map(|label| train.classes.get(*label)).collect();
    let test_classes = test.labels.iter().filter_map(|label| test.classes.get(*label));
    let unseen: Vec<&str> = test_classes.filter(|class| !known.contains(class)).map(String::as_str).collect();
    match all_unseen("class", &unseen, test, terms) {
        Some(reason) => {
            Some(format!("{reason}; no guess of the class can be right, divide the rows in another way"))
        }
        None => Some(format!(
            "{}, so the accuracy is below that of the others",
            some_unseen("class", &unseen, test, terms)?
        )),
    }
}

/// The reason why the test rows measure no leak of an attribute: it is the same in all.
fn one_of_test(name: &str, test: &Dataset, terms: WarningTerms<'_>) -> Option<String> {
    let WarningTerms { things, evaluation_split, .. } = terms;
    Some(format!("{} in all {} {evaluation_split} {things}", one_value(name, test)?, test.len()))
}

/// The reason why a probe that was fitted to training rows cannot be judged on test rows: all of these are unseen. `what` is the
/// class, or an attribute.
fn all_unseen(what: &str, unseen: &[&str], test: &Dataset, terms: WarningTerms<'_>) -> Option<String> {
    let first = unseen.first().filter(|_| unseen.len() == test.len())?;
    let (thing, evaluation_split) = (terms.thing(), terms.evaluation_split);
    Some(format!("no training {thing} has the {what} of any {evaluation_split} {thing}, such as {first}"))
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

/// The value of a variable that has a single one, in words.
pub(super) fn one_value(name: &str, images: &Dataset) -> Option<String> {
    let value = match images.conditions.get(name)? {
        Condition::Categorical { values, names } => {
            let first = values.first()?;
            values
                .iter()
                .all(|value| value == first)
                .then(|| names.get(*first).cloned().unwrap_or_default())?
        }
        Condition::Numeric(values) => {
            let first = values.iter_rows().next()?;
            let written = || first.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
            values.iter_rows().all(|row| row == first).then(written)?
        }
    };
    Some(format!("`{name}` is {value}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;
    use simile_core::numeric::matrix::Matrix;

    use super::*;
    use crate::config::Changes;

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
