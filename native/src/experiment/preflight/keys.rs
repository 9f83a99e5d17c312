//! Checks of keys of a recipe against its images, and the place of a variant's error among its keys.

use anyhow::{Error, Result};
use simile_core::data::{Condition, Dataset};

use crate::config::probe::ProbeSection;
use crate::config::variant::RecipeVariant;
use crate::config::{Recipe, VARIANTS};
use crate::exit::{Subject, Usage, usage};
use crate::experiment::prepare::splits::Evaluated;

/// Checks that the probed attributes exist, unless the data set has none at all.
pub(super) fn check_attributes(recipe: &Recipe, train: &Dataset) -> Result<()> {
    let known: Vec<&str> = train.conditions.keys().map(String::as_str).collect();
    let also = recipe.probe.also.iter().map(|name| (name, "also"));
    let mut names = std::iter::once((&recipe.probe.condition, "condition")).chain(also);
    match names.find(|(name, _)| !known.is_empty() && !known.contains(&name.as_str())) {
        None => Ok(()),
        Some((name, key)) => Err(usage(format_args!(
            "{}the data set has no attribute `{name}` to probe; name one with `probe.condition`: {}",
            recipe.origin.of(&["probe", key]),
            known.join(", ")
        ))),
    }
}

/// Checks that there are evaluation images to compare with each other, as figures do.
pub(super) fn check_evaluated(recipe: &Recipe, Evaluated { dataset, split }: &Evaluated) -> Result<()> {
    if dataset.len() > 1 {
        return Ok(());
    }
    let key = split.key();
    Err(usage(format_args!(
        "{}a run needs at least 2 {split} images, and has {}: raise `data.{key}`, or add pictures",
        recipe.origin.of(&["data", key]),
        dataset.len()
    )))
}

/// Checks that a probe of a number, which is a regression, has a penalty.
pub(super) fn check_ridge(recipe: &Recipe, train: &Dataset) -> Result<()> {
    let ProbeSection { ridge, condition, also, .. } = &recipe.probe;
    let is_number = |name: &&String| matches!(train.conditions.get(*name), Some(Condition::Numeric(_)));
    let number = std::iter::once(condition).chain(also).find(is_number);
    match number.filter(|_| ridge.all().contains(&0.0)) {
        None => Ok(()),
        Some(name) => Err(usage(format_args!(
            "{}`probe.ridge` has a penalty of 0, and `{name}` is a number: the weights of its probe, a regression, are not determined \
             where a feature is constant or a combination of others; write a penalty above 0, such as 1e-6",
            recipe.origin.of(&["probe", "ridge"]),
        ))),
    }
}

/// The path of an error of a variant in the text of its recipe: that of the key of its objective or method which is wrong, or that of the
/// variant.
pub(super) fn place_of<'a>(recipe: &Recipe, variant: &'a RecipeVariant, error: &'a Error) -> Vec<&'a str> {
    let written = recipe.written_variants.iter().find(|written| written.name == variant.name);
    let own = |has_own: bool| if has_own { vec![VARIANTS, variant.name.as_str()] } else { vec![] };
    let of_variant = own(written.is_some());
    match error.downcast_ref::<Usage>().and_then(|usage| usage.subject.as_ref()) {
        Some(Subject::ObjectiveKey(key)) => [of_variant, vec!["objective", *key]].concat(),
        // A variant without a method has that of the recipe.
        Some(Subject::MethodKey(key)) => {
            let of_method = own(written.is_some_and(|written| written.algorithm.is_some()));
            of_method.into_iter().chain(key.split('.')).collect()
        }
        _ if of_variant.is_empty() => vec!["objective"],
        _ => of_variant,
    }
}
