//! What can go wrong in an objective or an estimator, said so that the reader knows which input to change.

/// Result of this crate's objectives and estimators.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How many known names an unknown one is answered with.
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
    /// Two inputs do not fit each other.
    #[error("`{input}` has {found}, expected {expected}")]
    Shape {
        /// Name of the input.
        input: String,
        /// What was expected.
        expected: String,
        /// What was found.
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
    /// A parameter outside its range.
    #[error("`{name}` is {value}, {reason}")]
    Parameter {
        /// Name of the parameter as the user writes it.
        name: String,
        /// The value given.
        value: String,
        /// Its range, or what to write instead.
        reason: String,
    },
    /// A name that is not known.
    #[error("unknown {kind} `{name}`{}", hint(.known))]
    Unknown {
        /// What was looked up: objective, kernel, parameter, ...
        kind: &'static str,
        /// The name given.
        name: String,
        /// Names that would have been accepted, nearest first.
        known: Vec<String>,
    },
    /// A batch on which the objective is not defined.
    #[error("anchor {anchor}: {reason}; {remedy}")]
    Anchor {
        /// Index of the anchor in the batch.
        anchor: usize,
        /// What is missing or undefined.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// A batch that is too small, too uniform, or otherwise outside an estimator's domain.
    #[error("{reason}; {remedy}")]
    Degenerate {
        /// What is missing or undefined.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
}

impl Error {
    /// A name that is not known, with the known names that are nearest to it.
    pub fn unknown<'a>(kind: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let mut known: Vec<&str> = known.collect();
        let distance = |candidate: &str| strsim::damerau_levenshtein(name, candidate);
        known.sort_by_cached_key(|candidate| (!candidate.contains(name), distance(candidate)));
        let nearest = known.into_iter().take(NEAREST).map(Into::into).collect();
        Self::Unknown { kind, name: name.into(), known: nearest }
    }

    /// A parameter outside its range.
    pub fn parameter(name: &str, value: impl ToString, reason: &str) -> Self {
        Self::Parameter { name: name.into(), value: value.to_string(), reason: reason.into() }
    }

    /// Two inputs that do not fit each other.
    pub fn shape(input: &str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Shape { input: input.into(), expected: expected.into(), found: found.into() }
    }
}

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

/// Returns `value` if it is a finite number in `low..=high`.
///
/// # Errors
/// Names the parameter otherwise.
pub fn within(name: &str, value: f64, low: f64, high: f64) -> Result<f64> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(Error::parameter(name, value, &format!("expected a number from {low} to {high}")))
    }
}

fn hint(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; known: {}", known.join(", ")) }
}
