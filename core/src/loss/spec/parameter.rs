//! The parameters of an objective, with their defaults and ranges.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::error::{Error, Result, bounded, factor, positive, shown, within};
use crate::kernel::KERNELS;

/// A parameter of an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name in recipes and request files.
    pub name: &'static str,
    /// Its symbol in formulas, if it differs from the name.
    pub symbol: Option<&'static str>,
    /// The values that it accepts.
    pub kind: Kind,
    /// Its value if none is given.
    pub default: DefaultValue,
    /// The meaning of `null`, if `null` is a value.
    pub null: Option<&'static str>,
    /// Its meaning.
    pub meaning: &'static str,
    /// The only form that reads it; all do if there is none.
    pub form: Option<&'static str>,
    /// The number at which a slider starts: the default, or a common value where that is `null`.
    start: Option<f64>,
    /// The lowest and highest number worth trying, if the range is too wide to show it.
    between: Option<(f64, f64)>,
}

/// A slider for a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slider {
    /// Its lowest number.
    pub low: f64,
    /// Its highest number.
    pub high: f64,
    /// The number at which it starts.
    pub start: f64,
    /// The spacing of its numbers.
    pub scale: Scale,
}

/// The numbers of a slider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Linear: each step adds the same amount.
    Linear,
    /// Logarithmic: each step multiplies by the same factor.
    Logarithmic,
    /// Integers.
    Integers,
}

/// The values that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number.
    Number(Range),
    /// An integer from `low` to `high`.
    Integer {
        /// The smallest.
        low: u64,
        /// The largest; [`u64::MAX`] means no limit.
        high: u64,
    },
    /// Yes or no.
    Flag,
    /// One of some names.
    Choice(&'static [&'static str]),
    /// A [`Kernel`](crate::kernel::Kernel) with its settings.
    Kernel,
    /// A list or a table, described by the parameter's meaning.
    Structured,
}

/// The numbers that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// A divisor or the like, from 1e-12 to 1e12.
    Moderate,
    /// A factor of a part of the loss, from 0 to 1e12.
    Factor,
    /// Any number above 0.
    Positive,
    /// A probability from 0 to below 1.
    Probability,
    /// A number above 0 and at most 1.
    Share,
    /// A number from the first to the second.
    Within(f64, f64),
}

/// The value of a parameter if none is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DefaultValue {
    /// None: it has to be given.
    Required,
    /// `null`, with the meaning that the parameter states.
    Null,
    /// A number.
    Number(f64),
    /// An integer.
    Integer(u64),
    /// Yes or no.
    Flag(bool),
    /// A name.
    Name(&'static str),
    /// Anything else, as JSON.
    Json(&'static str),
}

impl DefaultValue {
    /// As JSON; `null` if there is none.
    pub fn to_value(self) -> Value {
        match self {
            Self::Required | Self::Null => Value::Null,
            Self::Number(value) => value.into(),
            Self::Integer(value) => value.into(),
            Self::Flag(value) => value.into(),
            Self::Name(value) => value.into(),
            Self::Json(text) => serde_json::from_str(text).unwrap_or_default(),
        }
    }
}

impl Range {
    /// Returns `value` if it is in the range.
    ///
    /// # Errors
    /// Names the parameter otherwise.
    pub fn check(self, name: &str, value: f64) -> Result<f64> {
        let refused = |reason| Err(Error::parameter(name, value, reason));
        match self {
            Self::Moderate => bounded(name, value),
            Self::Factor => factor(name, value),
            Self::Positive => positive(name, value),
            Self::Probability if (0.0..1.0).contains(&value) => Ok(value),
            Self::Probability => refused("expected a probability from 0 to below 1"),
            Self::Share if value > 0.0 && value <= 1.0 => Ok(value),
            Self::Share => refused("expected a number above 0 and at most 1"),
            Self::Within(low, high) => within(name, value, low, high),
        }
    }
}

/// A slider is logarithmic if its highest number is at least this many times its lowest one.
const MANY_TIMES: f64 = 30.0;

impl Kind {
    /// The range of numbers around `start` that is worth trying, if it accepts numbers.
    fn worth_trying(self, start: f64) -> Option<(f64, f64)> {
        Some(match self {
            Self::Number(Range::Moderate | Range::Positive) => (start / MANY_TIMES, start * MANY_TIMES),
            Self::Number(Range::Factor) => (0.0, (4.0 * start).max(1.0)),
            Self::Number(Range::Probability) => (0.0, 0.99),
            Self::Number(Range::Share) => (0.01, 1.0),
            Self::Number(Range::Within(low, high)) => (low, high),
            Self::Integer { low, high } => (low as f64, (high as f64).min((4.0 * start).max(1.0))),
            Self::Flag | Self::Choice(_) | Self::Kernel | Self::Structured => return None,
        })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Positive => write!(f, "above 0"),
            Self::Probability => write!(f, "0 to below 1"),
            Self::Share => write!(f, "above 0, to 1"),
            Self::Moderate => write!(f, "1e-12 to 1e12"),
            Self::Factor => write!(f, "0 to 1e12"),
            Self::Within(low, high) => write!(f, "{} to {}", shown(*low), shown(*high)),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number(range) => write!(f, "{range}"),
            Self::Integer { low, high: u64::MAX } => write!(f, "integers, {low} or more"),
            Self::Integer { low, high } => write!(f, "integers, {low} to {high}"),
            Self::Flag => write!(f, "true, false"),
            Self::Choice(names) => write!(f, "{}", names.join(", ")),
            Self::Kernel => write!(f, "a kernel"),
            Self::Structured => write!(f, "see its meaning"),
        }
    }
}

impl Parameter {
    const fn new(name: &'static str, kind: Kind, default: DefaultValue, meaning: &'static str) -> Self {
        let start = match default {
            DefaultValue::Number(value) => Some(value),
            DefaultValue::Integer(value) => Some(value as f64),
            _ => None,
        };
        Self { name, symbol: None, kind, default, null: None, meaning, form: None, start, between: None }
    }

    /// A number.
    pub const fn number(name: &'static str, range: Range, default: f64, meaning: &'static str) -> Self {
        Self::new(name, Kind::Number(range), DefaultValue::Number(default), meaning)
    }

    /// The divisor of cosines.
    pub const fn temperature(default: f64) -> Self {
        Self::number("temperature", Range::Moderate, default, "divisor of the cosines")
            .symbol("τ")
            .between(0.03, 3.0)
    }

    /// An integer.
    pub const fn integer(name: &'static str, range: [u64; 2], default: u64, meaning: &'static str) -> Self {
        let [low, high] = range;
        Self::new(name, Kind::Integer { low, high }, DefaultValue::Integer(default), meaning)
    }

    /// An integer that has to be given.
    pub const fn required_integer(name: &'static str, range: [u64; 2], meaning: &'static str) -> Self {
        let [low, high] = range;
        Self::new(name, Kind::Integer { low, high }, DefaultValue::Required, meaning)
    }

    /// Yes or no, no by default.
    pub const fn flag(name: &'static str, meaning: &'static str) -> Self {
        Self::new(name, Kind::Flag, DefaultValue::Flag(false), meaning)
    }

    /// One of some names, the first of which is the default.
    pub const fn choice(name: &'static str, names: &'static [&'static str], meaning: &'static str) -> Self {
        Self::new(name, Kind::Choice(names), DefaultValue::Name(names[0]), meaning)
    }

    /// A kernel, whose default is JSON.
    pub const fn kernel(default: &'static str, meaning: &'static str) -> Self {
        Self::new("kernel", Kind::Kernel, DefaultValue::Json(default), meaning)
    }

    /// A list or a table, whose default is JSON.
    pub const fn structured(name: &'static str, default: &'static str, meaning: &'static str) -> Self {
        Self::new(name, Kind::Structured, DefaultValue::Json(default), meaning)
    }

    /// The same parameter, for which `null` is a value with a meaning.
    pub const fn or_null(self, null: &'static str) -> Self {
        Self { null: Some(null), ..self }
    }

    /// The same parameter, `null` if it is not given.
    pub const fn null_by_default(self, null: &'static str) -> Self {
        Self { default: DefaultValue::Null, ..self.or_null(null) }
    }

    /// The same parameter, which a single form reads.
    pub const fn only_in(self, form: &'static str) -> Self {
        Self { form: Some(form), ..self }
    }

    /// The same parameter with another meaning.
    pub const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// The same parameter with a symbol for formulas.
    pub const fn symbol(self, symbol: &'static str) -> Self {
        Self { symbol: Some(symbol), ..self }
    }

    /// The same parameter, with a slider from `low` to `high`.
    pub const fn between(self, low: f64, high: f64) -> Self {
        Self { between: Some((low, high)), ..self }
    }

    /// Its slider, if it is a number that users may vary.
    pub fn slider(&self) -> Option<Slider> {
        let start = self.start?;
        let (low, high) = self.between.or_else(|| self.kind.worth_trying(start))?;
        let scale = match self.kind {
            Kind::Integer { .. } => Scale::Integers,
            _ if low > 0.0 && high >= MANY_TIMES * low => Scale::Logarithmic,
            _ => Scale::Linear,
        };
        Some(Slider { low, high, start, scale })
    }

    /// Checks a value against the range. A missing value is the default, which needs no check.
    pub(super) fn check(&self, value: Option<&Value>) -> Result<()> {
        let Some(value) = value.filter(|value| !value.is_null() || self.null.is_none()) else {
            return Ok(());
        };
        match self.kind {
            // A number that is not finite is null in JSON.
            Kind::Number(range) => range.check(self.name, value.as_f64().unwrap_or(f64::NAN)).map(drop),
            Kind::Integer { low, high }
                if !value.as_u64().is_some_and(|value| (low..=high).contains(&value)) =>
            {
                let reason = match high {
                    u64::MAX => format!("expected an integer, {low} or more"),
                    _ => format!("expected an integer from {low} to {high}"),
                };
                Err(Error::parameter(self.name, value, &reason))
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, names) = match self.kind {
            Kind::Number(_) => ("number", None),
            Kind::Integer { .. } => ("integer", None),
            Kind::Flag => ("flag", None),
            Kind::Choice(names) => ("choice", Some(names)),
            Kind::Kernel => ("kernel", None),
            Kind::Structured => ("structured", None),
        };
        let mut document = json!({
            "name": self.name, "kind": kind, "range": self.kind.to_string(), "default": self.default.to_value(),
            "meaning": self.meaning,
        });
        let optional = [
            ("names", names.map(|names| json!(names))),
            ("null", self.null.map(Value::from)),
            ("form", self.form.map(Value::from)),
            ("symbol", self.symbol.map(Value::from)),
            ("slider", self.slider().map(|slider| json!(slider))),
            ("kernels", (self.kind == Kind::Kernel).then(|| json!(KERNELS))),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                document[key] = value;
            }
        }
        document.serialize(serializer)
    }
}
