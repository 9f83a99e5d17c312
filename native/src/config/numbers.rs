//! Numbers that no key of a recipe accepts: TOML allows `nan`, `inf`, and counts too large for any run.

use toml::{Table, Value};

use super::{Recipe, VARIANTS};

/// An upper bound of iterations, images and widths.
const MOST: i64 = 1_000_000_000_000;
/// The keys whose integers are not counts.
const SEEDS: &str = "seed";

/// A number that is refused.
pub(super) struct Refused {
    /// The path of its key, in which a variant is named by its name.
    pub(super) path: Vec<String>,
    pub(super) reason: String,
}

/// The first number of a recipe that is not finite, or is too large a count.
pub(super) fn refused(recipe: &Recipe) -> Option<Refused> {
    let table = Table::try_from(recipe).ok()?;
    visit(&[], &Value::Table(table))
}

fn visit(path: &[String], value: &Value) -> Option<Refused> {
    let refuse = |reason: String| {
        let reason = format!("`{}` is {reason}", path.join("."));
        Some(Refused { path: path.to_vec(), reason })
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
