//! Numbers that no key of a recipe accepts: TOML allows `nan`, `inf`, and counts too large for any run. JSON, in which a model has its
//! recipe, allows integers that are too large for TOML.

use toml::{Table, Value};

use super::fault::Fault;
use super::key_path::VARIANTS;
use super::recipe::Recipe;

/// An upper bound of iterations, images and widths.
const MOST: i64 = 1_000_000_000_000;
/// The keys whose integers are not counts.
const SEEDS: &str = "seed";

/// The fault of the first number of a recipe that is not finite, or is too large a count.
pub(super) fn fault(recipe: &Recipe) -> Option<Fault> {
    match Table::try_from(recipe) {
        Ok(table) => visit(&[], &Value::Table(table)),
        Err(error) => Some(Fault::new("", "", format!("it cannot be written as TOML: {error}"))),
    }
}

fn visit(path: &[String], value: &Value) -> Option<Fault> {
    let refuse = |reason: String| {
        let reason = format!("`{}` is {reason}", path.join("."));
        Some(Fault { path: path.to_vec(), reason })
    };
    let within = |name: Option<&str>, value: &Value| {
        let path: Vec<String> = path.iter().cloned().chain(name.map(str::to_owned)).collect();
        visit(&path, value)
    };
    match value {
        Value::Float(number) if !number.is_finite() => refuse(format!("{number}, expected a finite number")),
        Value::Integer(count)
            if !(-MOST..=MOST).contains(count) && path.last().is_none_or(|key| key != SEEDS) =>
        {
            refuse(format!("{count}, expected at most {MOST}"))
        }
        Value::Table(table) => table.iter().find_map(|(key, value)| within(Some(key), value)),
        Value::Array(values) => values.iter().find_map(|value| {
            let name = value.get("name").and_then(Value::as_str).filter(|_| *path == [VARIANTS]);
            within(name, value)
        }),
        _ => None,
    }
}
