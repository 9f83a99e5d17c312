//! Numbers that no key of a recipe accepts: TOML allows `nan`, `inf`, and counts too large for any run.

use toml::{Table, Value};

use super::{ARMS, Recipe};

/// An upper bound of iterations, images and widths.
const MOST: i64 = 1_000_000_000_000;
/// The keys whose integers are not counts.
const SEEDS: &str = "seed";

/// A number that is refused.
pub(super) struct Refused {
    /// The last part of the key.
    pub(super) key: String,
    pub(super) reason: String,
}

/// The first number of a recipe that is not finite, or is too large a count.
pub(super) fn refused(recipe: &Recipe) -> Option<Refused> {
    let table = Table::try_from(recipe).ok()?;
    visit("", "", &Value::Table(table))
}

fn visit(path: &str, key: &str, value: &Value) -> Option<Refused> {
    let refuse = |reason: String| Some(Refused { key: key.into(), reason: format!("`{path}` is {reason}") });
    match value {
        Value::Float(number) if !number.is_finite() => refuse(format!("{number}, expected a finite number")),
        Value::Integer(count) if !(-MOST..=MOST).contains(count) && key != SEEDS => {
            refuse(format!("{count}, expected at most {MOST}"))
        }
        Value::Table(table) => table.iter().find_map(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            visit(&path, key, value)
        }),
        Value::Array(values) => values.iter().find_map(|value| {
            let named = value.get("name").and_then(Value::as_str).filter(|_| path == ARMS);
            visit(&named.map_or_else(|| path.into(), |name| format!("{path}.{name}")), key, value)
        }),
        _ => None,
    }
}
