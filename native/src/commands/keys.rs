//! `simile keys` lists the keys of recipes with their meanings: those of the shipped recipes, with every default filled in, the
//! parameters of objectives, and what the reader knows beside these.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};
use simile_core::algorithm::AlgorithmConfig;
use simile_core::kernel::KERNELS;
use simile_core::loss;
use simile_core::loss::spec::Kind;
use simile_core::nn::Architecture;

use crate::cli::Keys;
use crate::config::meanings::{Meanings, sections};
use crate::config::objective::ObjectiveSection;
use crate::config::shipped::SHIPPED;
use crate::config::{Changes, Recipe, VARIANTS};
use crate::console::{Console, table};
use crate::data::sets;
use crate::exit::usage;

/// The objectives that are evaluated on the frozen network.
const MEASURED: &str = "probe.objectives";
/// The keys of an entry beside those of `[objective]`.
const OF_MEASURED: [&str; 2] = ["probe.objectives.of", "probe.objectives.batch"];
/// The type of a key whose values are of several.
const ANY: &str = "any";
/// That of one with a number in place of true.
const SWITCH_OR_COUNT: &str = "boolean or integer";
/// Most names for a key that are listed; data sets and objectives have more, and pages of their own.
const NAMED: usize = 16;
/// Most values of a key that are listed.
const SHOWN: usize = 4;

/// A key of recipes.
#[derive(Serialize)]
struct Key {
    /// The dotted key, as `--set` takes it; `objective` also stands in each `[[variant]]`.
    key: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// Its values, if it takes some names alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    /// Its values in the recipes that ship, defaults included; none where no recipe sets it and it has no default.
    examples: Vec<Value>,
    /// Its meaning, in a sentence.
    meaning: String,
}

pub(super) fn run(arguments: &Keys, console: Console) -> Result<()> {
    let keys = keys()?;
    if arguments.schema {
        let schema = schema(&keys, &Meanings::read()?)?;
        return console.answer(&schema, || format!("{schema:#}"));
    }
    let listed: Vec<&Key> = keys
        .iter()
        .filter(|key| arguments.section.as_ref().is_none_or(|section| is_of(&key.key, section)))
        .collect();
    if let (true, Some(section)) = (listed.is_empty(), &arguments.section) {
        return Err(usage(format_args!("no key begins with `{section}`; `simile keys` lists all")));
    }
    console.answer(&listed, || {
        // Two lines for each key, so that its meaning has room beside it.
        let mut rows = table(["Key\nType", "Meaning\nValues, or some in recipes"]);
        for key in &listed {
            let beside = format!("{}\n{}", key.meaning, values(key));
            rows.add_row([format!("{}\n{}", key.key, key.kind), beside.trim_end().to_owned()]);
        }
        format!(
            "{rows}\n`--set KEY=VALUE` changes one; `simile keys --schema` writes a JSON schema for editors."
        )
    })
}

/// The values of a key in words: all names that it takes, or some in recipes that ship; nothing of one that is true or false.
fn values(key: &Key) -> String {
    if (1..=NAMED).contains(&key.names.len()) {
        return format!("one of {}", key.names.join(", "));
    }
    if key.examples.iter().all(Value::is_boolean) {
        return String::new();
    }
    let mut examples: Vec<String> = key.examples.iter().take(SHOWN).map(Value::to_string).collect();
    if key.examples.len() > SHOWN {
        examples.push("...".into());
    }
    format!("such as {}", examples.join(", "))
}

fn is_of(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Every key, sorted.
fn keys() -> Result<Vec<Key>> {
    let first = SHIPPED.first().map(|first| Recipe::load(first.name, &Changes::default())).transpose()?;
    let examples_by_key = examples_by_key(first.as_ref())?;
    let meanings = Meanings::read()?;
    meanings.check(examples_by_key.keys().map(String::as_str).chain(OF_MEASURED))?;
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
        let key = if section.is_empty() { name } else { format!("{section}.{name}") };
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
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, examples_by_key);
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

/// A JSON schema of recipes, for editors: it knows names and types, and refuses unknown keys where a run does.
fn schema(keys: &[Key], meanings: &Meanings) -> Result<Value> {
    let mut root = Map::new();
    for section in sections(keys.iter().map(|key| key.key.as_str())) {
        place(&mut root, section, json!({ "description": meanings.of(section)? }));
    }
    for key in keys.iter().filter(|key| ![VARIANTS, MEASURED].contains(&key.key.as_str())) {
        let mut of_key = Map::new();
        match key.kind {
            kind @ ("boolean" | "integer" | "number" | "string" | "array") => {
                of_key.insert("type".into(), kind.into());
            }
            SWITCH_OR_COUNT => drop(of_key.insert("type".into(), json!(["boolean", "integer"]))),
            _ => {}
        }
        of_key.insert("description".into(), key.meaning.clone().into());
        // No `enum`: the reader also takes former names.
        let examples = if key.names.is_empty() { key.examples.clone().into() } else { json!(key.names) };
        if examples != json!([]) {
            of_key.insert("examples".into(), examples);
        }
        let names: Option<Vec<&str>> = match key.key.as_str() {
            "objective.name" => Some(loss::names().collect()),
            "encoder.name" => Some(Architecture::ALL.iter().map(|network| network.name()).collect()),
            "data.dataset" => Some(sets::names().to_vec()),
            _ => None,
        };
        if let Some(names) = names {
            of_key.insert("enum".into(), json!(names));
        }
        place(&mut root, &key.key, Value::Object(of_key));
    }
    let of_variant = |key: &str| root.get(key).cloned().unwrap_or_default();
    let variant = json!({
        "type": "object",
        "properties": {
            "name": of_variant("name"), "objective": of_variant("objective"), "method": of_variant("method"),
        }
    });
    let description = meanings.of(VARIANTS)?;
    root.insert(VARIANTS.into(), json!({ "type": "array", "description": description, "items": variant }));
    let measured = measured(root.get("objective"), meanings)?;
    place(&mut root, MEASURED, measured);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A recipe of Simile",
        "type": "object",
        "properties": root,
    });
    let recipes = SHIPPED.iter().map(|shipped| Recipe::load(shipped.name, &Changes::default()));
    close(&mut schema, "", &recipes.collect::<Result<Vec<Recipe>>>()?);
    Ok(schema)
}

/// The schema of `[[probe.objectives]]`, from that of `[objective]`.
fn measured(objective: Option<&Value>, meanings: &Meanings) -> Result<Value> {
    let mut item = objective.cloned().unwrap_or_else(|| json!({ "type": "object" }));
    if let Some(properties) = item.get_mut("properties").and_then(Value::as_object_mut) {
        let [of, batch] = OF_MEASURED.map(|key| meanings.of(key));
        properties
            .insert("of".into(), json!({ "enum": ["representation", "projection"], "description": of? }));
        properties.insert("batch".into(), json!({ "type": "integer", "description": batch? }));
    }
    Ok(json!({ "type": "array", "description": meanings.of(MEASURED)?, "items": item }))
}

/// Refuses further keys in a section and those below it, where the reader of one of the recipes does.
fn close(schema: &mut Value, section: &str, recipes: &[Recipe]) {
    let known = recipes.iter().find_map(|recipe| recipe.known_keys(section));
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for key in known.iter().flatten() {
        properties.entry(key).or_insert_with(|| json!({}));
    }
    for (key, schema) in properties.iter_mut() {
        let inner = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
        close(schema, &inner, recipes);
    }
    if let (Some(_), Value::Object(schema)) = (known, schema) {
        schema.insert("additionalProperties".into(), false.into());
    }
}

/// Puts the schema of a dotted key into the properties of its sections.
fn place(properties: &mut Map<String, Value>, key: &str, schema: Value) {
    let Some((section, rest)) = key.split_once('.') else {
        properties.entry(key).or_insert(schema);
        return;
    };
    let of_section = properties.entry(section).or_insert_with(|| json!({}));
    if let Value::Object(of_section) = of_section {
        // A value that is a name in one recipe and a table in another.
        of_section.remove("type");
        of_section.remove("examples");
        if let Value::Object(inner) = of_section.entry("properties").or_insert_with(|| json!({})) {
            place(inner, rest, schema);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::meanings::of_described;

    #[test]
    fn every_key_has_a_meaning_and_every_meaning_a_key() {
        // Says which have none.
        let keys = keys().unwrap();
        let names = || keys.iter().map(|key| key.key.as_str()).chain(OF_MEASURED);
        let known: BTreeSet<&str> = names().chain(sections(names())).collect();
        let meanings = Meanings::read().unwrap();
        let unknown: Vec<&str> = meanings.keys().filter(|key| !known.contains(key)).collect();
        assert!(unknown.is_empty(), "no key or section is called so: {unknown:?}");
        let twice: Vec<&str> = meanings.keys().filter(|key| of_described(key).is_some()).collect();
        assert!(twice.is_empty(), "methods and objectives describe their settings: {twice:?}");
    }

    #[test]
    fn a_key_that_is_true_or_a_number_has_both_types() {
        let keys = keys().unwrap();
        let kind = |name: &str| keys.iter().find(|key| key.key == name).unwrap().kind;
        assert_eq!((kind("data.centre_crop"), kind("data.side")), (SWITCH_OR_COUNT, "integer"));
        let schema = schema(&keys, &Meanings::read().unwrap()).unwrap();
        let types = &schema["properties"]["data"]["properties"]["centre_crop"]["type"];
        assert_eq!(*types, json!(["boolean", "integer"]));
    }

    #[test]
    fn an_editor_shows_what_every_key_of_the_schema_means() {
        fn without(path: &str, schema: &Value, undescribed: &mut Vec<String>) {
            for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{key}");
                if !inner["description"].is_string() {
                    undescribed.push(path.clone());
                }
                without(&path, inner, undescribed);
                without(&path, &inner["items"], undescribed);
            }
        }
        let mut undescribed = Vec::new();
        without("", &schema(&keys().unwrap(), &Meanings::read().unwrap()).unwrap(), &mut undescribed);
        assert!(undescribed.is_empty(), "{undescribed:?}");
    }
}
