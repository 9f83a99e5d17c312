//! Errors of objectives and estimators. Each message tells the reader which input to change.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Result of this crate's objectives and estimators.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Number of known names in the message about an unknown name.
const NEAREST: usize = 8;

/// An input or a parameter that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The objective needs an input that the batch does not hold.
    #[error("`{objective}` needs the input `{input}`")]
    MissingInput {
        /// Name of the objective.
        objective: String,
        /// Name of the missing input.
        input: String,
    },
    /// An input that the batch holds in another form than the objective needs beside the others, such as a tensor in place of a matrix on
    /// the host.
    #[error("`{input}` was added by `Batch::{given}`; `{objective}` needs it by `Batch::{expected}` here")]
    InputForm {
        /// Name of the objective.
        objective: String,
        /// Name of the input.
        input: String,
        /// The method of [`Batch`](crate::loss::batch::Batch) that added it.
        given: &'static str,
        /// The method that adds it as the objective needs it.
        expected: &'static str,
    },
    /// An input with the wrong shape, length or range of values.
    #[error("`{input}` has {found}, expected {expected}")]
    Shape {
        /// Name of the input.
        input: String,
        /// The expected shape, length or range.
        expected: String,
        /// The given one.
        found: String,
    },
    /// A value that is not a finite number.
    #[error("`{input}` has a value that is not finite in row {row}; remove or repair that sample")]
    NotFinite {
        /// Name of the input.
        input: String,
        /// The first row that holds such a value.
        row: usize,
    },
    /// A finite value that is too large to compute with.
    #[error("`{input}` has the value {} in row {row}, which is too large to compute with; divide `{input}` by a constant", shown(*.value))]
    TooLarge {
        /// Name of the input.
        input: String,
        /// The first row that holds such a value.
        row: usize,
        /// The value.
        value: f64,
    },
    /// A parameter outside its range.
    #[error("`{name}` is {value}, {reason}")]
    Parameter {
        /// Name of the parameter as the user writes it.
        name: String,
        /// The value given.
        value: String,
        /// Its range, or the value to use instead.
        reason: String,
    },
    /// A name that is not known.
    #[error("unknown {kind} `{name}`{}", hint(.known))]
    Unknown {
        /// Kind of the name: objective, kernel, parameter, ...
        kind: &'static str,
        /// The name given.
        name: String,
        /// The nearest names that would have been accepted, and at the end how many others there are, in words.
        known: Vec<String>,
    },
    /// A batch that is too small, too uniform, or otherwise outside an estimator's domain.
    #[error("{reason}; {remedy}")]
    Degenerate {
        /// The missing or undefined quantity.
        reason: String,
        /// The suggested remedy.
        remedy: String,
    },
    /// The processes that share a step have lost each other.
    #[error("the processes of this step cannot continue together: {reason}")]
    Peers {
        /// The event that parted them.
        reason: String,
    },
    /// Another process failed in this step, so no process takes it; that process reports the reason.
    #[error("another process of this step failed")]
    PeerFailed,
    /// Rows were not read any more, because somebody requested a stop.
    #[error("the computation was stopped")]
    Stopped,
}

impl Error {
    /// A name that is not known, with the known names that are nearest to it.
    pub fn unknown<'a>(kind: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let mut known: Vec<&str> = known.collect();
        let lower = name.to_lowercase();
        let rank = |candidate: &str| {
            let candidate = candidate.to_lowercase();
            (!candidate.contains(&lower), strsim::damerau_levenshtein(&lower, &candidate))
        };
        known.sort_by_cached_key(|candidate| rank(candidate));
        let others = known.len().saturating_sub(NEAREST);
        let mut nearest: Vec<String> = known.into_iter().take(NEAREST).map(Into::into).collect();
        nearest.extend((others > 0).then(|| format!("and {others} others")));
        Self::Unknown { kind, name: name.into(), known: nearest }
    }

    /// The error of an objective that delegates to another: an input that is missing, or has another form, is reported under its own
    /// name.
    pub(crate) fn for_objective(self, name: &str) -> Self {
        match self {
            Self::MissingInput { input, .. } => Self::MissingInput { objective: name.into(), input },
            Self::InputForm { input, given, expected, .. } => {
                Self::InputForm { objective: name.into(), input, given, expected }
            }
            other => other,
        }
    }

    /// A parameter outside its range.
    pub fn parameter(name: &str, value: impl ToString, reason: &str) -> Self {
        Self::Parameter { name: name.into(), value: shortened(value.to_string()), reason: reason.into() }
    }

    /// An input with the wrong shape, length or range of values.
    pub fn shape(input: &str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Shape { input: input.into(), expected: expected.into(), found: found.into() }
    }
}

/// Range of a divisor or factor in a loss. Within it, neither the number nor its reciprocal leaves `f32` when
/// multiplied by the numbers of a batch.
const MODERATE: (f64, f64) = (1e-12, 1e12);

/// The largest number that multiplies numbers of type `f32`; a larger one would be infinite there.
const LARGEST_SINGLE: f64 = 3.4e38;

/// Returns `value` if it is a finite number above zero.
///
/// # Errors
/// Names the parameter otherwise.
pub fn positive(name: &str, value: f64) -> Result<f64> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(Error::parameter(name, value, "expected a finite number above 0"))
    }
}

/// Returns `value`, a temperature, a bandwidth or the like, if it is a number from 1e-12 to 1e12. Beyond that its
/// quotients leave `f32`, or are no larger than the stand-in for log 0 ([`EMPTY`](crate::loss::pairwise::EMPTY)).
///
/// # Errors
/// Names the parameter otherwise.
pub fn bounded(name: &str, value: f64) -> Result<f64> {
    within(name, value, MODERATE.0, MODERATE.1)
}

/// Returns `value`, the factor of a part of a loss, if it is a number from 0 to 1e12.
///
/// # Errors
/// Names the parameter otherwise.
pub fn factor(name: &str, value: f64) -> Result<f64> {
    within(name, value, 0.0, MODERATE.1)
}

/// Returns `value`, a learning rate, a weight decay or another factor of numbers of type `f32`, if it is a number from 0 to 3.4e38.
///
/// # Errors
/// Names the parameter otherwise.
pub fn single(name: &str, value: f64) -> Result<f64> {
    within(name, value, 0.0, LARGEST_SINGLE)
}

/// Returns `value` if it is a finite number in `low..=high`; a `high` of [`f64::MAX`] is no limit.
///
/// # Errors
/// Names the parameter otherwise.
pub fn within(name: &str, value: f64, low: f64, high: f64) -> Result<f64> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    let range = match high {
        f64::MAX => format!("expected a finite number, {} or above", shown(low)),
        _ => format!("expected a number from {} to {}", shown(low), shown(high)),
    };
    Err(Error::parameter(name, value, &range))
}

/// Reads settings or inputs by name. The error names the one that cannot be read; `part` is what all of them are called.
///
/// # Errors
/// [`Error::Parameter`]: one is missing, unknown or of another type.
pub(crate) fn read_by_name<T: DeserializeOwned>(part: &str, value: &Value) -> Result<T> {
    let read = |value: &Value| T::deserialize(value).map_err(|error| error.to_string());
    read(value).map_err(|reason| {
        // The reader names those that are missing or unknown, but not one whose value it refuses; each is read alone to find that one.
        let is_named = |name: &str| {
            reason.starts_with("missing field") || reason.starts_with(&format!("unknown field `{name}`"))
        };
        let is_refused = |(name, value): &(&String, &Value)| {
            let alone = Value::Object(Map::from_iter([((*name).clone(), (*value).clone())]));
            !is_named(name) && read(&alone).is_err_and(|refusal| refusal == reason)
        };
        let refused = value.as_object().into_iter().flatten().find(is_refused);
        let name = refused.map_or(part, |(name, _)| name.as_str());
        Error::parameter(name, "not understood", &without_types(&reason))
    })
}

/// The words for a type that is read from keys with values, such as a section, an object or a dictionary.
pub const KEYS_WITH_VALUES: &str = "expected keys with values";

/// A message of a reader, with words in the place of names of types.
pub fn without_types(reason: &str) -> String {
    let words = [
        ("expected a map", KEYS_WITH_VALUES),
        ("expected a sequence", "expected an array"),
        ("expected f64", "expected a number"),
        ("expected usize", "expected an integer, 0 or more"),
        ("expected u64", "expected an integer, 0 or more"),
        ("expected u32", "expected an integer, 0 or more"),
        ("expected a boolean", "expected true or false"),
    ];
    let text =
        words.into_iter().fold(reason.to_owned(), |text, (type_name, word)| text.replace(type_name, word));
    // The name of the type follows.
    let kinds = ["expected struct ", "expected internally tagged enum ", "expected adjacently tagged enum "];
    kinds.into_iter().fold(text, |text, kind| match text.split_once(kind) {
        Some((before, named)) => {
            let rest = named.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_');
            // So does the number of its fields if a list of another length was read.
            let counted = rest.strip_prefix(" with ").and_then(|count| count.split_once(" element"));
            let rest = counted.map_or(rest, |(_, rest)| rest.strip_prefix('s').unwrap_or(rest));
            format!("{before}{KEYS_WITH_VALUES}{rest}")
        }
        None => text,
    })
}

/// A number as people write it: very large and very small ones with an exponent instead of hundreds of digits.
pub fn shown(value: f64) -> String {
    let size = value.abs();
    if value.is_finite() && value != 0.0 && !(1e-6..1e9).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Text of a value, with the digits of a number shortened.
fn shortened(value: String) -> String {
    match value.parse::<f64>() {
        Ok(number) if value.len() > LONGEST => shown(number),
        _ => value,
    }
}

/// Longest number that messages write in full, in characters: every `f64` of common size and every integer fits.
const LONGEST: usize = 22;

fn hint(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; known: {}", known.join(", ")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_fit_on_a_line() {
        for value in [-1.0, -f64::MAX, f64::NAN, f64::INFINITY] {
            let text = within("optimizer.weight_decay", value, 0.0, f64::MAX).unwrap_err().to_string();
            assert!(text.contains("0 or above") && text.len() < 90, "{text}");
        }
        let text = bounded("temperature", 1e-320).unwrap_err().to_string();
        assert_eq!(text, "`temperature` is 1e-320, expected a number from 1e-12 to 1e12");
        assert_eq!(
            factor("beta", 1e300).unwrap_err().to_string(),
            "`beta` is 1e300, expected a number from 0 to 1e12"
        );
        assert_eq!(
            single("optimizer.weight_decay", 1e99).unwrap_err().to_string(),
            "`optimizer.weight_decay` is 1e99, expected a number from 0 to 3.4e38"
        );
        assert_eq!(
            Error::parameter("samples", u64::MAX, "too many").to_string(),
            "`samples` is 18446744073709551615, too many"
        );
        assert_eq!(shown(0.05), "0.05");
    }

    #[derive(Default, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    #[allow(dead_code, reason = "they are read and refused")]
    struct Inner {
        name: String,
        sigma: f64,
    }

    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "they are read and refused")]
    struct Settings {
        rate: f64,
        count: usize,
        #[serde(default)]
        inner: Inner,
    }

    #[test]
    fn a_setting_of_another_type_is_named() {
        for (given, message) in [
            (
                r#"{"rate": "fast", "count": 1}"#,
                r#"`rate` is not understood, invalid type: string "fast", expected a number"#,
            ),
            (
                r#"{"rate": 1, "count": -1}"#,
                "`count` is not understood, invalid value: integer `-1`, expected an integer, 0 or more",
            ),
            (r#"{"inner": {"name": "a", "sgma": 1}}"#, "`inner` is not understood, unknown field `sgma`"),
            (
                r#"{"rate": 1, "inner": "a"}"#,
                r#"`inner` is not understood, invalid type: string "a", expected keys with values"#,
            ),
            (r#"{"rate": 1, "cuont": 1}"#, "`all` is not understood, unknown field `cuont`"),
            (r#"{"rate": 1}"#, "`all` is not understood, missing field `count`"),
            ("3", "`all` is not understood, invalid type: integer `3`"),
        ] {
            let given: Value = serde_json::from_str(given).unwrap();
            let error = read_by_name::<Settings>("all", &given).map(drop).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_message_holds_no_name_of_a_type() {
        for kind in [
            "struct Crop",
            "struct Crop with 1 element",
            "struct Crop with 5 elements",
            "internally tagged enum OptimizerConfig",
            "adjacently tagged enum X",
            "a map",
        ] {
            let text = without_types(&format!("invalid type: string \"x\", expected {kind} at line 1"));
            assert_eq!(text, "invalid type: string \"x\", expected keys with values at line 1");
        }
        let text = without_types("invalid type: string \"x\", expected a sequence");
        assert_eq!(text, "invalid type: string \"x\", expected an array");
    }

    #[test]
    fn an_unknown_name_has_its_nearest_first_in_either_case() {
        let known = ["nt-xent", "fair-cclk", "info-nce"];
        for name in ["InfoNCE", "info-nc"] {
            let text = Error::unknown("objective", name, known.into_iter()).to_string();
            assert!(text.starts_with(&format!("unknown objective `{name}`; known: info-nce, ")), "{text}");
        }
    }
}
