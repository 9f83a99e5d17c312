//! Numbers that come back from a file bit by bit. What reads JSON here takes the nearest float but one now and then, and
//! knows no infinity; so a run's state writes its floats as strings of the digits that Rust reads back exactly.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A document whose floats are strings.
///
/// # Errors
/// If the value has no JSON form.
pub(super) fn to_value(value: &impl Serialize) -> serde_json::Result<Value> {
    Ok(worded(serde_json::to_value(value)?))
}

fn worded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            Value::String(number.as_f64().unwrap_or(f64::NAN).to_string())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(worded).collect()),
        Value::Object(entries) => {
            Value::Object(entries.into_iter().map(|(key, value)| (key, worded(value))).collect())
        }
        other => other,
    }
}

/// A float that is a number or its digits.
#[derive(Clone, Copy)]
struct Exact(f64);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Exact;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Exact, E> {
                Ok(Exact(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Exact, E> {
                Ok(Exact(value as f64))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Exact, E> {
                Ok(Exact(value as f64))
            }

            fn visit_str<E: de::Error>(self, digits: &str) -> Result<Exact, E> {
                digits.parse().map(Exact).map_err(|_| E::invalid_value(de::Unexpected::Str(digits), &self))
            }
        }
        deserializer.deserialize_any(Digits)
    }
}

/// Reads a float.
///
/// # Errors
/// If it is neither a number nor the digits of one.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Exact::deserialize(deserializer).map(|Exact(value)| value)
}

/// Reads floats by name.
///
/// # Errors
/// As [`number`].
pub(super) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let found = BTreeMap::<String, Exact>::deserialize(deserializer)?;
    Ok(found.into_iter().map(|(name, Exact(value))| (name, value)).collect())
}

/// Reads floats by name, where there are any.
///
/// # Errors
/// As [`number`].
pub(super) fn perhaps<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, f64>>, D::Error> {
    let found = Option::<BTreeMap<String, Exact>>::deserialize(deserializer)?;
    Ok(found.map(|found| found.into_iter().map(|(name, Exact(value))| (name, value)).collect()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Document {
        #[serde(deserialize_with = "number")]
        one: f64,
        #[serde(deserialize_with = "numbers")]
        many: BTreeMap<String, f64>,
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
        for _ in 0..2000 {
            let many = BTreeMap::from([("a".to_owned(), draw()), ("b".to_owned(), draw() * 1e-300)]);
            let document = Document { one: draw(), many };
            let text = serde_json::to_string(&to_value(&document).unwrap()).unwrap();
            assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), document);
        }
        let plain: Document = serde_json::from_str(r#"{"one": 1, "many": {"a": -0.5}}"#).unwrap();
        assert_eq!((plain.one, plain.many["a"]), (1.0, -0.5));
        assert!(serde_json::from_str::<Document>(r#"{"one": "x", "many": {}}"#).is_err());
    }
}
