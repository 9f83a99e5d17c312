//! The JSON schema of recipes.

use anyhow::Result;
use serde_json::{Map, Value, json};
use simile_core::loss;
use simile_core::nn::Architecture;

use super::key_path::{VARIANTS, join};
use super::keys::{Key, MEASURED, MEASURED_KEYS, SWITCH_OR_COUNT};
use super::load::Changes;
use super::meanings::{Meanings, sections};
use super::recipe::Recipe;
use super::shipped::SHIPPED;
use crate::data::sets;

/// A JSON schema of recipes, for editors: it knows names and types, and refuses unknown keys where a run does.
///
/// # Errors
/// If a key has no meaning, or a recipe that ships cannot be read.
pub(crate) fn schema(keys: &[Key]) -> Result<Value> {
    let meanings = &Meanings::read()?;
    let mut root = Map::new();
    for section in sections(keys.iter().map(|key| key.key.as_str())) {
        place(&mut root, section, json!({ "description": meanings.of(section)? }));
    }
    for key in keys.iter().filter(|key| ![VARIANTS, MEASURED].contains(&key.key.as_str())) {
        let mut described = Map::new();
        match key.kind {
            kind @ ("boolean" | "integer" | "number" | "string" | "array") => {
                described.insert("type".into(), kind.into());
            }
            SWITCH_OR_COUNT => drop(described.insert("type".into(), json!(["boolean", "integer"]))),
            _ => {}
        }
        described.insert("description".into(), key.meaning.clone().into());
        // No `enum`: the reader also takes former names.
        let examples = if key.names.is_empty() { key.examples.clone().into() } else { json!(key.names) };
        if examples != json!([]) {
            described.insert("examples".into(), examples);
        }
        let names: Option<Vec<&str>> = match key.key.as_str() {
            "objective.name" => Some(loss::names().collect()),
            "encoder.name" => Some(Architecture::ALL.iter().map(|network| network.name()).collect()),
            "data.dataset" => Some(sets::names().to_vec()),
            _ => None,
        };
        if let Some(names) = names {
            described.insert("enum".into(), json!(names));
        }
        place(&mut root, &key.key, Value::Object(described));
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
        let [of, batch] = MEASURED_KEYS.map(|key| meanings.of(key));
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
        close(schema, &join(section, key), recipes);
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
    if let Value::Object(outer) = properties.entry(section).or_insert_with(|| json!({})) {
        // A value that is a name in one recipe and a table in another.
        outer.remove("type");
        outer.remove("examples");
        if let Value::Object(inner) = outer.entry("properties").or_insert_with(|| json!({})) {
            place(inner, rest, schema);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::keys::keys;

    #[test]
    fn a_key_that_is_true_or_a_number_has_both_types() {
        let keys = keys().unwrap();
        let kind = |name: &str| keys.iter().find(|key| key.key == name).unwrap().kind;
        assert_eq!((kind("data.centre_crop"), kind("data.side")), (SWITCH_OR_COUNT, "integer"));
        let schema = schema(&keys).unwrap();
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
        without("", &schema(&keys().unwrap()).unwrap(), &mut undescribed);
        assert!(undescribed.is_empty(), "{undescribed:?}");
    }
}
