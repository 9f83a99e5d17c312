//! A validator for the part of JSON Schema that our schemas use: a validator crate would change the features that Burn
//! is built with.

use std::slice;

use serde_json::{Map, Value};

/// The parts of `value` that a schema does not allow, each with its place; empty if `value` is valid.
///
/// # Panics
/// If the schema uses an unsupported keyword, so that no constraint is ignored.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut violations = Vec::new();
    check(schema, schema, value, "$", &mut violations);
    violations
}

const UNDERSTOOD: [&str; 15] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "examples",
    "type",
    "enum",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "minItems",
    "minimum",
    "maximum",
];

fn check(root: &Value, schema: &Value, value: &Value, place: &str, violations: &mut Vec<String>) {
    let words = match schema {
        Value::Bool(true) => return,
        Value::Bool(false) => return violations.push(format!("{place} may not be there")),
        schema => schema.as_object().unwrap(),
    };
    let unknown = words.keys().find(|word| !UNDERSTOOD.contains(&word.as_str()));
    assert_eq!(unknown, None, "the schema uses a word that is not read");
    if let Some(target) = words.get("$ref") {
        let pointer = target.as_str().unwrap().strip_prefix('#').unwrap();
        check(root, root.pointer(pointer).unwrap(), value, place, violations);
    }
    if let Some(named) = words.get("type") {
        let types = named.as_array().map_or(slice::from_ref(named), Vec::as_slice);
        if !types.iter().any(|name| is(name.as_str().unwrap(), value)) {
            return violations.push(format!("{place} is {value}, expected {named}"));
        }
    }
    if let Some(allowed) = words.get("enum")
        && !allowed.as_array().unwrap().contains(value)
    {
        violations.push(format!("{place} is {value}, expected one of {allowed}"));
    }
    let bound = |word: &str| words.get(word).and_then(Value::as_f64);
    if let Some(number) = value.as_f64()
        && (bound("minimum").is_some_and(|least| number < least)
            || bound("maximum").is_some_and(|most| number > most))
    {
        violations.push(format!("{place} is {number}, out of its range"));
    }
    match value {
        Value::Object(object) => members(root, words, object, place, violations),
        Value::Array(items) => {
            if bound("minItems").is_some_and(|least| (items.len() as f64) < least) {
                violations.push(format!("{place} has too few items"));
            }
            for (at, item) in items.iter().enumerate() {
                check(
                    root,
                    words.get("items").unwrap_or(&Value::Bool(true)),
                    item,
                    &format!("{place}[{at}]"),
                    violations,
                );
            }
        }
        _ => {}
    }
}

fn members(
    root: &Value,
    words: &Map<String, Value>,
    object: &Map<String, Value>,
    place: &str,
    violations: &mut Vec<String>,
) {
    for name in words.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !object.contains_key(name.as_str().unwrap()) {
            violations.push(format!("{place} lacks {name}"));
        }
    }
    let open = Value::Bool(true);
    for (name, member) in object {
        let named = words.get("properties").and_then(|properties| properties.get(name));
        let schema = named.or(words.get("additionalProperties")).unwrap_or(&open);
        check(root, schema, member, &format!("{place}.{name}"), violations);
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => unreachable!("the schema names a type that is not read: {other}"),
    }
}
