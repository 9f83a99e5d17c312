//! Warnings about settings that are valid but make the results of a run meaningless. They are derived from the first
//! batch and reported before the run begins, each with its value and a remedy.

use std::collections::BTreeSet;

use anyhow::Result;
use simile_core::algorithm::Onset;
use simile_core::data::{Condition, Dataset};
use simile_core::kernel::{Kernel, Remedy, Undecided};
use simile_core::loss::Conditioning;
use simile_core::numeric::matrix::Matrix;
use simile_core::train::{Purpose, stream};

use crate::config::Recipe;
use crate::config::objective::ObjectiveSection;
use crate::config::probe::ProbeSection;
use crate::config::variant::RecipeVariant;
use crate::console::line;
use crate::data::{Classes, EvaluationSplit, tie_to_class};
use crate::exit::usage;
use crate::experiment::evaluate::probe::unseen;
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::order::Order;
use crate::run_folder::record::Warnings;

/// Views drawn for the check that two views of an image differ.
const DRAWN: usize = 1024;
/// An attribute that is tied to the class by at least this much all but tells it.
const TIED: f64 = 0.9;

/// The warnings of a variant.
///
/// # Errors
/// If its first batch cannot be built.
pub(crate) fn variant_warnings(
    variant: &RecipeVariant,
    recipe: &Recipe,
    context: &Context,
    train: &Dataset,
) -> Result<Vec<String>> {
    let mut warnings: Vec<String> = Vec::new();
    warnings.extend(views_alike(variant, recipe, train)?);
    warnings.extend(never_begun(variant, recipe));
    let section = &variant.objective;
    let one_value = |name: &str| {
        one_value(name, train).map(|value| format!("{value} in all {} training images", train.len()))
    };
    let bias = section.bias.as_ref().and_then(|name| one_value(name));
    warnings.extend(
        bias.map(|value| {
            format!("{value}; there is no bias to learn from, name another with objective.bias")
        }),
    );
    let name = section.variable();
    let condition = weighs(section).then(|| train.conditions.get(&name)).flatten();
    match (condition, one_value(&name)) {
        (None, _) => {}
        (Some(_), Some(value)) => warnings.push(format!(
            "{value}; there is nothing to condition on, name another attribute with objective.condition"
        )),
        (Some(condition), None) => {
            let sampling = recipe.train.sampling(train.len());
            let mut batch = Order::of(section, context, sampling)?.batch(0);
            batch.truncate(Kernel::MOST_COMPARED);
            let z = condition.select(&batch).to_matrix();
            warnings.extend(kernel(section).and_then(|kernel| undecided(&kernel, &name, &z)));
            if !section.keeps_condition() {
                warnings.extend(tied(&name, condition, train));
            }
        }
    }
    Ok(warnings)
}

/// The warnings about parts of a method that the run ends before. A smoke test has none: it takes so few steps that nothing begins.
fn never_begun(variant: &RecipeVariant, recipe: &Recipe) -> impl Iterator<Item = String> + use<> {
    let iterations = recipe.train.iterations;
    let onsets = recipe.smoke.is_none().then(|| variant.algorithm.onsets()).into_iter().flatten();
    onsets.filter(move |onset| onset.steps >= iterations as u64).map(move |Onset { key, steps, before }| {
        format!("{before} in its {iterations} iterations, because {key} is {steps}; set it lower")
    })
}

/// Replaces the warnings that depend on the length of a run, which `recipe` makes longer than `before` did.
pub(crate) fn renew_for_length(warnings: &mut Warnings, before: &Recipe, recipe: &Recipe) {
    for variant in recipe.variants() {
        let outdated: Vec<String> = never_begun(&variant, before).collect();
        let variant_warnings = warnings.entry(variant.name.clone()).or_default();
        variant_warnings.retain(|warning| !outdated.contains(warning));
        variant_warnings.extend(never_begun(&variant, recipe));
    }
}

/// Prints the warnings that depend on the length of a run.
pub(crate) fn print_never_begun(recipe: &Recipe) {
    for variant in recipe.variants() {
        never_begun(&variant, recipe)
            .for_each(|warning| line(format_args!("warning: {}: {warning}", variant.name)));
    }
}

/// The warning that an attribute which is to be hidden all but tells the class.
fn tied(name: &str, condition: &Condition, train: &Dataset) -> Option<String> {
    let classes = Classes { labels: &train.labels, count: train.classes.len() };
    let tie = tie_to_class(condition, classes).filter(|tie| *tie >= TIED)?;
    Some(format!(
        "`{name}` all but tells the class (their tie is {tie:.2} of 1), so an embedding that hides it can hardly know the class; \
         `simile data check` shows the pictures of each class and value"
    ))
}

/// The words of a command for its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    /// The rows of the data, such as `images`.
    pub(crate) things: &'a str,
    /// The split that probes are measured on.
    pub(crate) evaluation_split: EvaluationSplit,
    /// The key or option that names the attribute whose leak is measured; none where the user chooses no attribute.
    pub(crate) key: Option<&'a str>,
}

impl Words<'_> {
    /// One of the rows.
    fn thing(&self) -> &str {
        self.things.trim_end_matches('s')
    }
}

/// The warnings about the probed attributes of a recipe. `evaluation_split` is that of the test images.
pub(super) fn probe_warnings(
    recipe: &Recipe,
    train: &Dataset,
    (test, evaluation_split): (&Dataset, EvaluationSplit),
) -> Vec<String> {
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
    let words = Words { things: "images", evaluation_split, key: Some("probe.condition") };
    leak_warnings(&recipe.probe, [train, test], words)
}

/// The warnings about probed attributes whose leak cannot be measured, or looks smaller than it is.
pub(crate) fn leak_warnings(
    probe: &ProbeSection,
    [train, test]: [&Dataset; 2],
    words: Words<'_>,
) -> Vec<String> {
    let Words { things, key, .. } = words;
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
            .or_else(|| all_unseen(&what, &unseen, test, words))
            .or_else(|| one_of_test(name, test, words))
            .map(|reason| format!("{reason}; its leak cannot be measured{}", remedy(name)));
        let some = || some_unseen(&what, &unseen, test, words);
        reason.or_else(|| Some(format!("{}, so the leak looks smaller than it is", some()?)))
    };
    std::iter::once(&probe.condition).chain(&probe.also).filter_map(warning).collect()
}

/// The warning about test rows of classes that no training row has.
pub(crate) fn class_warning([train, test]: [&Dataset; 2], words: Words<'_>) -> Option<String> {
    let known: BTreeSet<&String> =
        train.labels.iter().filter_map(|label| train.classes.get(*label)).collect();
    let test_classes = test.labels.iter().filter_map(|label| test.classes.get(*label));
    let unseen: Vec<&str> = test_classes.filter(|class| !known.contains(class)).map(String::as_str).collect();
    match all_unseen("class", &unseen, test, words) {
        Some(reason) => {
            Some(format!("{reason}; no guess of the class can be right, divide the rows in another way"))
        }
        None => Some(format!(
            "{}, so the accuracy is below that of the others",
            some_unseen("class", &unseen, test, words)?
        )),
    }
}

/// The reason why the test rows measure no leak of an attribute: it is the same in all.
fn one_of_test(name: &str, test: &Dataset, words: Words<'_>) -> Option<String> {
    let Words { things, evaluation_split, .. } = words;
    Some(format!("{} in all {} {evaluation_split} {things}", one_value(name, test)?, test.len()))
}

/// The reason why a probe that was fitted to training rows cannot be judged on test rows: all of these are unseen. `what` is the
/// class, or an attribute.
fn all_unseen(what: &str, unseen: &[&str], test: &Dataset, words: Words<'_>) -> Option<String> {
    let first = unseen.first().filter(|_| unseen.len() == test.len())?;
    let (thing, evaluation_split) = (words.thing(), words.evaluation_split);
    Some(format!("no training {thing} has the {what} of any {evaluation_split} {thing}, such as {first}"))
}

/// The start of a warning if some test rows have a value that no training row has.
fn some_unseen(what: &str, unseen: &[&str], test: &Dataset, words: Words<'_>) -> Option<String> {
    let first = unseen.first()?;
    let Words { things, evaluation_split, .. } = words;
    Some(format!(
        "{} of {} {evaluation_split} {things} have a {what} that no training {} has, such as {first}; a probe cannot \
         name these",
        unseen.len(),
        test.len(),
        words.thing()
    ))
}

/// The warning that both views of an image are the same.
fn views_alike(variant: &RecipeVariant, recipe: &Recipe, train: &Dataset) -> Result<Option<String>> {
    if !variant.algorithm.sees_two_views(&variant.objective.name) {
        return Ok(None);
    }
    let (height, width) = (train.images.height(), train.images.width());
    let mut rng = stream(recipe.train.seed, Purpose::Augmentation, 0);
    let mut view = || recipe.augment.draw(DRAWN, height, width, &mut rng).map_err(usage);
    Ok((view()? == view()?).then(|| {
        "the two views of an image are equal, because nothing in [augment] changes them, so they agree for any \
         encoder; write for example augment.crop = { scale = [0.3, 1.0] }"
            .to_owned()
    }))
}

/// The value of a variable that has a single one, in words.
fn one_value(name: &str, images: &Dataset) -> Option<String> {
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

/// True if an objective compares the values of its condition.
fn weighs(section: &ObjectiveSection) -> bool {
    section.conditioning() == Conditioning::Given || section.groups_by_condition()
}

/// The warning about a kernel that decides nothing in the first batch, whose values of a condition are `z`, with its remedy in a
/// recipe.
fn undecided(kernel: &Kernel, name: &str, z: &Matrix) -> Option<String> {
    let Undecided { fact, remedy, .. } = kernel.warning_of_first_batch(name, z)?;
    let key = match kernel {
        Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::MedianRbf | Kernel::MedianLaplacian => {
            "kernel.sigma = \"median\""
        }
        _ => "kernel = { name = \"rbf\", sigma = \"median\" }",
    };
    let remedy = match remedy {
        Remedy::Wider(median) => format!("take a wider one, such as {key}, which is {median:.4} here"),
        Remedy::Narrower(median) => format!("take a narrower one, such as {key}, which is {median:.4} here"),
        Remedy::OtherCondition => "name another attribute with objective.condition".to_owned(),
    };
    Some(format!("{fact}; {remedy}"))
}

/// The kernel of the condition, where the objective has one whose bandwidth is not learned.
fn kernel(section: &ObjectiveSection) -> Option<Kernel> {
    if section.conditioning() != Conditioning::Given {
        return None;
    }
    let objective = section.config().ok()?.build().ok()?;
    objective.conditioned_by_kernel().map(|weights| weights.kernel().clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;

    use super::*;
    use crate::config::Changes;

    fn of(set: &[&str], change: impl FnOnce(Dataset) -> Dataset) -> Vec<String> {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        let variants = vec!["Fair-CCLK".to_owned()];
        let recipe =
            Recipe::load("fair-digits", &Changes { set: &set, variants: &variants, ..Changes::default() });
        let (recipe, train) = (recipe.unwrap(), change(draw_digits(300, Colours::Palette, 0).unwrap()));
        let variant = recipe.variants().remove(0);
        let context = Context::new(&variant.objective, &train, 0).unwrap();
        let warnings = variant_warnings(&variant, &recipe, &context, &train).unwrap();
        warnings.into_iter().chain(probe_warnings(&recipe, &train, (&train, EvaluationSplit::Test))).collect()
    }

    fn one_doubt(set: &[&str], words: &[&str]) {
        let warnings = of(set, |train| train);
        assert_eq!(warnings.len(), 1, "{set:?}: {warnings:?}");
        assert!(words.iter().all(|word| warnings[0].contains(word)), "{warnings:?}");
    }

    #[test]
    fn shipped_settings_are_not_doubted() {
        assert_eq!(of(&[], |train| train), [""; 0]);
        assert_eq!(of(&["variant.Fair-CCLK.objective.kernel={ name = \"cosine\" }"], |train| train), [""; 0]);
        assert_eq!(of(&["augment={ flip = 0.1 }"], |train| train), [""; 0]);
    }

    #[test]
    fn views_that_never_differ_are_named() {
        for same in ["augment={}", "augment={ flip = 1.0 }", "augment={ grey = 1.0 }"] {
            one_doubt(&[same], &["two views", "augment.crop"]);
        }
        let classes = ["variant.Fair-CCLK.objective={ name = \"cross-entropy\" }", "augment={}"];
        assert_eq!(of(&classes, |train| train), [""; 0], "class scores need no second view");
        let joint = [
            "variant.Fair-CCLK.objective={ name = \"contex\" }",
            "variant.Fair-CCLK.method={ name = \"with-classifier\" }",
            "augment={}",
        ];
        let warnings = of(&joint, |train| train);
        assert!(warnings.len() == 1 && warnings[0].contains("two views"), "{warnings:?}");
        let rebias = [
            "variant.Fair-CCLK.objective={ name = \"rebias-hsic\" }",
            "variant.Fair-CCLK.method={ name = \"rebias\" }",
            "augment={}",
        ];
        assert_eq!(of(&rebias, |train| train), [""; 0], "two networks see one view");
    }

    #[test]
    fn parts_of_a_method_that_begin_after_the_last_step_are_named() {
        let with = |method: &str| {
            let set = [
                "variant.Fair-CCLK.objective={ name = \"swav\" }",
                &format!("variant.Fair-CCLK.method={{ name = \"swav\", prototypes = 10, {method} }}"),
                "train.iterations=30",
            ];
            of(&set, |train| train)
        };
        assert_eq!(with("frozen_steps = 29, queue = 600, queue_from = 29"), [""; 0]);
        let warnings = with("frozen_steps = 30, queue = 600, queue_from = 40");
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(
            warnings[0].contains("prototypes are not trained") && warnings[0].contains("frozen_steps is 30")
        );
        assert!(warnings[1].contains("queue is not filled") && warnings[1].contains("queue_from is 40"));
    }

    #[test]
    fn a_longer_run_is_warned_of_what_its_own_length_ends_before() {
        let of_length = |iterations: usize| {
            let set = [
                "variant.Fair-CCLK.objective={ name = \"swav\" }".to_owned(),
                "variant.Fair-CCLK.method={ name = \"swav\", prototypes = 10, frozen_steps = 30, queue = 600, queue_from = 60 }"
                    .to_owned(),
                format!("train.iterations={iterations}"),
            ];
            let variants = ["Fair-CCLK".to_owned()];
            let changes = Changes { set: &set, variants: &variants, ..Changes::default() };
            Recipe::load("fair-digits", &changes).unwrap()
        };
        let (short, longer, long) = (of_length(20), of_length(40), of_length(80));
        let begun = never_begun(&short.variants()[0], &short);
        let of_variant = std::iter::once("of its kernel".to_owned()).chain(begun).collect::<Vec<_>>();
        assert_eq!(of_variant.len(), 3, "{of_variant:?}");
        let mut warnings = Warnings::from([("Fair-CCLK".to_owned(), of_variant)]);
        renew_for_length(&mut warnings, &short, &longer);
        let renewed = &warnings["Fair-CCLK"];
        assert_eq!(renewed.len(), 2, "{renewed:?}");
        assert_eq!(renewed[0], "of its kernel");
        assert!(renewed[1].contains("queue is not filled in its 40 iterations"), "{renewed:?}");
        renew_for_length(&mut warnings, &longer, &long);
        assert_eq!(warnings["Fair-CCLK"], ["of its kernel"]);
    }

    #[test]
    fn a_kernel_that_is_black_or_white_is_named_with_its_value_and_a_rule() {
        let kernel =
            |sigma: &str| format!("variant.Fair-CCLK.objective.kernel={{ name = \"rbf\", sigma = {sigma} }}");
        one_doubt(&[&kernel("0.5")], &["apart", "`colour`", "wider", "median"]);
        one_doubt(&[&kernel("3000")], &["alike", "`colour`", "narrower", "median"]);
        let exact = "variant.Fair-CCLK.objective.kernel={ name = \"exact-match\" }";
        one_doubt(&[exact], &["apart", "wider", "kernel = { name = \"rbf\", sigma = \"median\" }"]);
        assert_eq!(of(&[&kernel("\"median\"")], |train| train), [""; 0]);
    }

    #[test]
    fn an_attribute_that_is_the_class_is_named_where_it_is_to_be_hidden() {
        let same = |train: Dataset| {
            let (values, names) = (train.labels.clone(), train.classes.clone());
            train.with_condition("copy", Condition::Categorical { values, names }).unwrap()
        };
        let warnings = |objective: &str| {
            let set = format!(
                "variant.Fair-CCLK.objective={{ name = \"{objective}\", condition = \"copy\", kernel = {{ name = \"exact-match\" }} }}"
            );
            of(&[&set], same).join("\n")
        };
        let hidden = warnings("fair-cclk");
        assert!(hidden.contains("`copy` all but tells the class (their tie is 1.00 of 1)"), "{hidden}");
        assert_eq!(warnings("weaksup-cclk"), "");
    }

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
            probe_warnings(recipe, &train, (test, EvaluationSplit::Validation)).join("\n")
        };
        assert_eq!(of(&recipe, &images(|i| i % 2, 1.0)), "");
        let all = of(&recipe, &images(|_| 2, 1.0));
        assert!(
            all.contains("no training image has the `hospital` of any validation image, such as new"),
            "{all}"
        );
        assert!(all.contains("its leak cannot be measured"), "{all}");
        let some = of(&recipe, &images(|i| i % 3, 1.0));
        assert!(some.contains("20 of 60 validation images have a `hospital`"), "{some}");
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
        let words =
            Words { things: "vectors", evaluation_split: EvaluationSplit::Test, key: Some("--condition") };
        let warning = |test: &[usize]| class_warning([&of(&[0, 1]), &of(test)], words);
        assert_eq!(warning(&[1, 0]), None);
        let all = warning(&[7]).unwrap();
        assert!(all.starts_with("no training vector has the class of any test vector, such as 7;"), "{all}");
        let some = warning(&[0, 1, 7]).unwrap();
        assert!(some.starts_with("20 of 60 test vectors have a class that no training vector has"), "{some}");
    }

    #[test]
    fn a_variable_with_one_value_is_named_wherever_it_is_used() {
        let same = |train: Dataset| {
            let count = train.len();
            let one = Condition::Categorical {
                values: vec![1; count],
                names: vec!["south".into(), "north".into()],
            };
            let train = train.with_condition("hospital", one).unwrap();
            let age = Matrix::from_fn(count, 1, |_, _| 7.5);
            train.with_condition("age", Condition::Numeric(age.into())).unwrap()
        };
        let warnings = |set: &[&str]| of(set, same).join("\n");
        let of_objective = warnings(&["variant.Fair-CCLK.objective.condition=hospital"]);
        assert!(
            of_objective.contains("`hospital` is north in all 300")
                && of_objective.contains("objective.condition")
        );
        let of_bias = warnings(&["variant.Fair-CCLK.objective={ name = \"biascon\", bias = \"hospital\" }"]);
        assert!(of_bias.contains("objective.bias"), "{of_bias}");
        let of_probe = warnings(&["probe.condition=age", "probe.also=[\"hospital\"]"]);
        assert!(of_probe.contains("`age` is 7.5") && of_probe.contains("`hospital` is north"), "{of_probe}");
    }
}
