//! The keys of recipes with their meanings: those of the shipped recipes, with every default filled in, the parameters of objectives,
//! and what the reader knows beside these.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};
use simile_core::algorithm::AlgorithmConfig;
use simile_core::kernel::KERNELS;
use simile_core::loss;
use simile_core::loss::spec::Kind;

use super::key_path::{VARIANTS, join};
use super::load::Changes;
use super::meanings::Meanings;
use super::objective::ObjectiveSection;
use super::recipe::Recipe;
use super::shipped::SHIPPED;

/// The objectives that are evaluated on the frozen network.
pub(super) const MEASURED: &str = "probe.objectives";
/// The keys of an entry beside those of `[objective]`.
pub(super) const MEASURED_KEYS: [&str; 2] = ["probe.objectives.of", "probe.objectives.batch"];
/// The type of a key with values of several types.
const ANY: &str = "any";
/// The type of a key that is true, false or an integer.
pub(super) const SWITCH_OR_COUNT: &str = "boolean or integer";

/// A key of recipes.
#[derive(Serialize)]
pub(crate) struct Key {
    /// The dotted key, as `--set` takes it; `objective` also stands in each `[[variant]]`.
    pub(crate) key: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// Its values, if it takes some names alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) names: Vec<String>,
    /// Its values in the recipes that ship, defaults included; none where no recipe sets it and it has no default.
    pub(crate) examples: Vec<Value>,
    /// Its meaning, in a sentence.
    pub(crate) meaning: String,
}

/// Every key, sorted.
///
/// # Errors
/// If a recipe that ships cannot be read, or a key has no meaning.
pub(crate) fn keys() -> Result<Vec<Key>> {
    let first = SHIPPED.first().map(|first| Recipe::load(first.name, &Changes::default())).transpose()?;
    let examples_by_key = examples_by_key(first.as_ref())?;
    let meanings = Meanings::read()?;
    meanings.check(examples_by_key.keys().map(String::as_str).chain(MEASURED_KEYS))?;
    let parameter = |key: &str| {
        let name = key.strip_prefix("objective.")?;
        loss::specs().find_map(|spec| spec.parameter(name))
    };
    let kind = |key: &str, examples: &[Value]| match key {
        VARIANTS | MEASURED => "array of tables",
        _ if !examples.is_empty() => type_of_values(examples),
        _ => {
            let by_objective = parameter(key).and_then(|parameter| type_of_parameter(parameter.kind));
            let by_reader = || first.as_ref().and_then(|first| first.type_of_key(key));
            by_objective.or_else(by_reader).unwrap_or(ANY)
        }
    };
    let key = |(key, examples): (String, Vec<Value>)| {
        Ok(Key {
            kind: kind(&key, &examples),
            names: first.as_ref().map(|first| first.names_of_key(&key)).unwrap_or_default(),
            meaning: meanings.of(&key)?,
            key,
            examples,
        })
    };
    examples_by_key.into_iter().map(key).collect()
}

/// Every key with its values in the recipes that ship, and its defaults.
fn examples_by_key(first: Option<&Recipe>) -> Result<BTreeMap<String, Vec<Value>>> {
    let mut examples_by_key: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for shipped in SHIPPED {
        let recipe = Recipe::load(shipped.name, &Changes::default())?;
        let Value::Object(mut whole) = serde_json::to_value(&recipe)? else { continue };
        let variants = whole.remove(VARIANTS);
        flatten("", &Value::Object(whole), &mut examples_by_key);
        for variant in variants.iter().filter_map(Value::as_array).flatten() {
            flatten("", variant, &mut examples_by_key);
        }
    }
    examples_by_key.entry(VARIANTS.into()).or_default();
    if let Some(first) = first {
        add_known(first, "", &mut examples_by_key);
        for name in first.names_of_key("method.name") {
            // Those with a setting that has no default, such as a number of steps, are left out.
            let Ok(method) = serde_json::from_value::<AlgorithmConfig>(json!({ "name": name })) else {
                continue;
            };
            flatten("method", &serde_json::to_value(method)?, &mut examples_by_key);
        }
    }
    for key in ObjectiveSection::OWN_KEYS {
        examples_by_key.entry(format!("objective.{key}")).or_default();
    }
    for setting in KERNELS.iter().flat_map(|kernel| kernel.settings) {
        examples_by_key.entry(format!("objective.kernel.{setting}")).or_default();
    }
    for spec in loss::specs() {
        for parameter in spec.parameters {
            let values = examples_by_key.entry(format!("objective.{}", parameter.name)).or_default();
            add(values, parameter.default.to_value());
        }
    }
    Ok(examples_by_key)
}

/// Adds the keys of a section, and of those in it, that the reader knows and no recipe sets.
fn add_known(recipe: &Recipe, section: &str, examples_by_key: &mut BTreeMap<String, Vec<Value>>) {
    let known = recipe.known_keys(section).into_iter().chain(recipe.keys_by_name(section)).flatten();
    for name in known {
        let key = join(section, &name);
        add_known(recipe, &key, examples_by_key);
        let inner = format!("{key}.");
        let next = examples_by_key.range(inner.clone()..).next();
        if !next.is_some_and(|(next, _)| next.starts_with(&inner)) {
            examples_by_key.entry(key).or_default();
        }
    }
}

fn flatten(path: &str, value: &Value, examples_by_key: &mut BTreeMap<String, Vec<Value>>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                flatten(&join(path, key), value, examples_by_key);
            }
        }
        value => add(examples_by_key.entry(path.to_owned()).or_default(), value.clone()),
    }
}

fn add(values: &mut Vec<Value>, value: Value) {
    if !value.is_null() && !values.contains(&value) {
        values.push(value);
    }
}

/// The type of a parameter of an objective, if its values have one.
fn type_of_parameter(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Number(_) => "number",
        Kind::Integer { .. } => "integer",
        Kind::Flag => "boolean",
        Kind::Choice(_) => "string",
        Kind::Kernel => "table",
        Kind::Structured => return None,
    })
}

/// The type of some values.
fn type_of_values(values: &[Value]) -> &'static str {
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    match () {
        () if all(Value::is_boolean) => "boolean",
        () if all(|value| value.is_boolean() || value.is_u64()) && values.iter().any(Value::is_boolean) => {
            SWITCH_OR_COUNT
        }
        () if all(|value| value.is_u64() || value.is_i64()) => "integer",
        () if all(Value::is_number) => "number",
        () if all(Value::is_string) => "string",
        () if all(Value::is_array) => "array",
        () if all(Value::is_object) => "table",
        () => ANY,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::meanings::{described_meaning, sections};
    use crate::data::keys::of_dataset::OptionType;
    use crate::data::sets;

    #[test]
    fn every_key_has_a_meaning_and_every_meaning_a_key() {
        // Says which have none.
        let keys = keys().unwrap();
        let names = || keys.iter().map(|key| key.key.as_str()).chain(MEASURED_KEYS);
        let known: BTreeSet<&str> = names().chain(sections(names())).collect();
        let meanings = Meanings::read().unwrap();
        let of_option = |option: OptionType| {
            let name =
                move |path: &str| format!("data.{}.{path}", option.key).trim_end_matches('.').to_owned();
            option.meanings.iter().map(move |(path, _)| name(path))
        };
        let of_sets: Vec<String> = sets::options().flat_map(of_option).collect();
        let described = meanings.keys().chain(of_sets.iter().map(String::as_str));
        let unknown: Vec<&str> = described.filter(|key| !known.contains(key)).collect();
        assert!(unknown.is_empty(), "no key or section is called so: {unknown:?}");
        let twice: Vec<&str> = meanings.keys().filter(|key| described_meaning(key).is_some()).collect();
        assert!(twice.is_empty(), "data sets, methods and objectives describe their own keys: {twice:?}");
    }
}
