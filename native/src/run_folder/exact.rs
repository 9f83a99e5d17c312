//! JSON documents with an exact round trip of floats. The JSON reader is sometimes off by one unit in the last place,
//! so a run's state writes each float as text after a mark, with the digits that Rust reads back exactly.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

/// The first character of the text of a float, and the escape of a text that begins with it.
const MARK: char = '\u{1}';

/// A document as text.
///
/// # Errors
/// If it cannot be represented in JSON.
pub(crate) fn to_text(document: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&each(serde_json::to_value(document)?, &marked))
}

/// Parses a document written by [`to_text`].
///
/// # Errors
/// If it is not such a document.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    serde_json::from_value(each(serde_json::from_slice(bytes)?, &unmarked))
}

/// Applies `change` to every number and text in a value.
fn each(value: Value, change: &impl Fn(Value) -> Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(|value| each(value, change)).collect(),
        Value::Object(entries) => {
            Value::Object(entries.into_iter().map(|(key, value)| (key, each(value, change))).collect())
        }
        other => change(other),
    }
}

fn marked(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            Value::String(format!("{MARK}{}", number.as_f64().unwrap_or(f64::NAN)))
        }
        Value::String(text) if text.starts_with(MARK) => Value::String(format!("{MARK}{text}")),
        other => other,
    }
}

fn unmarked(value: Value) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix(MARK) {
            Some(rest) if rest.starts_with(MARK) => Value::String(rest.to_owned()),
            Some(digits) => digits.parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number),
            None => Value::String(text),
        },
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Document {
        one: f64,
        many: BTreeMap<String, f64>,
        count: u64,
        name: String,
    }

    #[test]
    fn every_float_comes_back() {
        let mut bits = 1_u64;
        let mut draw = || {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            (bits >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut is_inexact = false;
        for count in 0..2000 {
            let many = BTreeMap::from([("a".to_owned(), draw()), ("b".to_owned(), draw() * 1e-300)]);
            let name = if count % 2 == 0 { format!("{MARK}0.5") } else { "0.5".into() };
            let document = Document { one: draw(), many, count, name };
            assert_eq!(from_bytes::<Document>(to_text(&document).unwrap().as_bytes()).unwrap(), document);
            let plain = serde_json::to_string(&document).unwrap();
            is_inexact |= serde_json::from_str::<Document>(&plain).unwrap() != document;
        }
        assert!(is_inexact, "plain JSON would do");
        assert!(from_bytes::<f64>(format!("\"{MARK}x\"").as_bytes()).is_err());
    }
}
