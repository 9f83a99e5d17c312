//! Checks of keys of a recipe against its images, and the place of a variant's error among its keys.

use anyhow::Result;
use simile_core::data::{Condition, Dataset};

use crate::config::probe::ProbeSection;
use crate::config::variant::RecipeVariant;
use crate::config::{Recipe, VARIANTS};
use crate::exit::usage;

/// Checks that the probed attributes exist, unless the data set has none at all.
pub(super) fn check_variables(recipe: &Recipe, train: &Dataset) -> Result<()> {
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

/// Checks that there are test images to compare with each other, as figures do.
pub(super) fn check_test_images(recipe: &Recipe, test: &Dataset) -> Result<()> {
    if test.len() > 1 {
        return Ok(());
    }
    let key = if recipe.data.validation > 0 { "validation" } else { "test" };
    Err(usage(format_args!(
        "{}a run needs at least 2 {} images, and has {}: raise `data.{key}`, or add pictures",
        recipe.origin.of(&["data", key]),
        recipe.data.evaluation_split(),
        test.len()
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

/// The path of an error of a variant in the text of its recipe: that of the key whose attribute the error names, or that of the variant.
pub(super) fn place_of<'a>(recipe: &Recipe, variant: &'a RecipeVariant, error: &str) -> Vec<&'a str> {
    let RecipeVariant { name, objective, .. } = variant;
    let path = if recipe.written_variants.is_empty() { vec![] } else { vec![VARIANTS, name.as_str()] };
    let keys = [("condition", &objective.condition), ("bias", &objective.bias)];
    let is_named = |value: &&String| error.contains(&format!("`{value}`"));
    let key = keys.into_iter().find(|(_, value)| value.as_ref().filter(is_named).is_some());
    let section = (key.is_some() || path.is_empty()).then_some("objective");
    path.into_iter().chain(section).chain(key.map(|(key, _)| key)).collect()
}
