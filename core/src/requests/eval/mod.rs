//! Evaluation on the numbers of a JSON document, one file for each kind of case: `simile loss` uses it if the case
//! is not an objective.

mod colour_mse;
mod kmeans;
mod knn;
mod linear_probe;
mod metrics;
mod roc_auc;
mod worst_group;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::requests::input::{parse_integers, parse_part};
use crate::requests::outcome::Outcome;

/// Runs one case from its `params` and `inputs`.
type Runner = fn(&Value, &Value) -> Result<Outcome>;

/// A kind of evaluation.
struct EvaluationKind {
    /// The name in `objective`.
    name: &'static str,
    /// The inputs that it reads and that hold the class or the bias of each sample.
    labels: &'static [&'static str],
    /// The other inputs that it reads.
    others: &'static [&'static str],
    run: Runner,
}

/// Every kind of evaluation, a file each.
const KINDS: [EvaluationKind; 7] = [
    EvaluationKind {
        name: "colour-mse",
        labels: &[],
        others: &["features", "colours", "weight", "clf_bias"],
        run: colour_mse::run,
    },
    EvaluationKind { name: "kmeans", labels: &[], others: &["points"], run: kmeans::run },
    EvaluationKind {
        name: "knn",
        labels: &["bank_labels", "query_labels"],
        others: &["bank", "queries", "inputs_normalised"],
        run: knn::run,
    },
    EvaluationKind {
        name: "linear-probe",
        labels: &["labels", "test_labels"],
        others: &["features", "targets", "init_weight", "init_bias", "test_features"],
        run: linear_probe::run,
    },
    EvaluationKind { name: "metrics", labels: &["labels", "bias"], others: &["logits"], run: metrics::run },
    EvaluationKind { name: "roc-auc", labels: &["labels"], others: &["scores"], run: roc_auc::run },
    EvaluationKind {
        name: "worst-group",
        labels: &["labels", "bias"],
        others: &["logits"],
        run: worst_group::run,
    },
];

impl EvaluationKind {
    fn inputs(&self) -> impl Iterator<Item = &'static str> {
        self.labels.iter().chain(self.others).copied()
    }
}

/// The names that [`run`] accepts.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

/// Runs a case, if `objective` is an evaluation. These have one variant, `released`.
///
/// # Errors
/// An input or parameter is unknown, missing or degenerate, or has the wrong shape; the error names it.
pub(super) fn run(
    objective: &str,
    variant: Option<&str>,
    params: &Value,
    inputs: &Map<String, Value>,
) -> Option<Result<Outcome>> {
    let kind = KINDS.iter().find(|kind| kind.name == objective)?;
    Some(match variant {
        None | Some("released") => check_names(inputs, kind)
            .and_then(|()| with_integers(inputs, kind.labels))
            .and_then(|inputs| (kind.run)(params, &Value::Object(inputs))),
        Some(other) => {
            Err(Error::Unknown { kind: "variant", name: other.into(), known: vec!["released".into()] })
        }
    })
}

/// Checks that no name is nearly that of an input, which would be left out. A document may hold more than a case reads.
fn check_names(inputs: &Map<String, Value>, kind: &EvaluationKind) -> Result<()> {
    let is_near = |name: &str, input: &str| {
        !inputs.contains_key(input) && strsim::damerau_levenshtein(name, input) <= 2
    };
    match inputs.keys().find(|name| kind.inputs().any(|input| is_near(name, input))) {
        Some(name) => Err(Error::unknown("input", name, kind.inputs())),
        None => Ok(()),
    }
}

/// The inputs, with an integer for `1.0` and for `true` in `labels`, as in the labels of objectives.
fn with_integers(inputs: &Map<String, Value>, labels: &[&str]) -> Result<Map<String, Value>> {
    let mut inputs = inputs.clone();
    for name in labels.iter().copied() {
        if let Some(value) = inputs.get_mut(name).filter(|value| !value.is_null()) {
            *value = parse_integers(name, value)?.into();
        }
    }
    Ok(inputs)
}

/// Reads the parameters of a case; `null` or an absent field is an empty set.
fn parameters<T: DeserializeOwned>(params: &Value) -> Result<T> {
    parse_part("params", params)
}

/// Reads a required input.
fn input<T: DeserializeOwned>(objective: &str, inputs: &Value, name: &str) -> Result<T> {
    optional_input(inputs, name)?
        .ok_or_else(|| Error::MissingInput { objective: objective.into(), input: name.into() })
}

/// Reads an optional input.
fn optional_input<T: DeserializeOwned>(inputs: &Value, name: &str) -> Result<Option<T>> {
    match inputs.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let read = T::deserialize(value);
            read.map(Some)
                .map_err(|error| Error::shape(name, "numbers of the case schema", error.to_string()))
        }
    }
}

/// The largest and the second largest number; minus infinity for one that does not exist.
fn two_largest(numbers: &[f64]) -> [f64; 2] {
    numbers.iter().fold([f64::NEG_INFINITY; 2], |[first, second], &number| {
        if number > first { [number, first] } else { [first, second.max(number)] }
    })
}

/// A number, or the string `"nan"` if there is none, because JSON has no such number.
fn number_or_nan(value: Option<f64>) -> Value {
    value.map_or_else(|| Value::from("nan"), Value::from)
}

#[cfg(test)]
mod vectors;
