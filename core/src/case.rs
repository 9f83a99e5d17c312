//! One objective, probe or optimiser on the numbers of a JSON document: what `simile loss` and the page run.
//!
//! The document names an `objective`, a `variant`, `params` and `inputs`; other fields are ignored, so that a
//! file of reference numbers is a case too. Embeddings, logits and the like are lists of rows.
//! `inputs_normalised` says that embeddings are unit rows already: gradients are then partial derivatives
//! with respect to them.

mod finite;
mod forces;
mod kernels;

use std::collections::BTreeMap;

use burn::tensor::{DType, Device, Tensor};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::evaluate;
use crate::kernel::Kernel;
use crate::matrix::Matrix;
use crate::objective::{self, Aux, Evaluation};
use crate::optimizer;

/// Inputs that are lists of integers.
const INDICES: [&str; 5] = ["labels", "bias", "errors", "ce_labels", "ce_bias"];
/// Inputs that stay on the host.
const CONDITIONS: [&str; 6] = ["z", "z_a", "z_b", "prior", "bias_features", "weights"];

/// Runs a case that is not an objective, from its `params` and `inputs`.
pub type Runner = fn(&Value, &Value) -> Result<CaseOutcome>;

/// The cases that are neither objectives nor evaluation: states and tables.
const RUNNERS: &[(&str, Runner)] = &[
    ("kernel-gram", kernels::gram),
    ("kceo-weights", kernels::weights),
    ("lff-weights", objective::lff::run),
];

/// The names that a case may give as its `objective`.
pub fn names() -> impl Iterator<Item = &'static str> {
    let tables = RUNNERS.iter().map(|(name, _)| *name);
    objective::names().chain(tables).chain(evaluate::case::names()).chain(optimizer::case::NAMES)
}

fn runner(name: &str) -> Option<Runner> {
    RUNNERS.iter().find(|(known, _)| *known == name).map(|(_, run)| *run)
}

/// A case as it is written.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// Name of the objective.
    pub objective: String,
    /// Its variant; the objective's default if absent.
    #[serde(default)]
    pub variant: Option<String>,
    /// Its parameters.
    #[serde(default)]
    pub params: Value,
    /// Its inputs.
    pub inputs: Map<String, Value>,
}

/// What came out of a case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseOutcome {
    /// The loss, where the case has one.
    pub loss: Option<f64>,
    /// Gradients by the name of the input.
    pub gradients: BTreeMap<String, Vec<Vec<f64>>>,
    /// Everything else, a JSON object.
    pub aux: Value,
}

impl Case {
    /// Parses a case.
    ///
    /// # Errors
    /// Says where the document is not a case.
    pub fn parse(json: &str) -> Result<Self> {
        let understood = |e: serde_json::Error| {
            Error::parameter("case", "not understood", &format!("{e}; expected objective, params and inputs"))
        };
        let document: Value = serde_json::from_str(json).map_err(understood)?;
        let mut case = Self::deserialize(&document).map_err(understood)?;
        if case.objective == "kernel-gram"
            && case.params.get("kernels").is_none()
            && let Some(kernels) = kernels::kernels_of_reference(&document)
        {
            match &mut case.params {
                Value::Object(params) => drop(params.insert("kernels".into(), kernels)),
                params => *params = serde_json::json!({ "kernels": kernels }),
            }
        }
        Ok(case)
    }

    /// Runs the case and reads the results back.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate), or the device failed, or a result is not a finite number: then the message names
    /// the parameter or input that is furthest from 1.
    pub async fn run(&self, device: &Device, dtype: DType, tile: Option<usize>) -> Result<CaseOutcome> {
        let outcome = self.outcome(device, dtype, tile).await?;
        finite::checked(self, outcome, dtype == DType::F64)
    }

    async fn outcome(&self, device: &Device, dtype: DType, tile: Option<usize>) -> Result<CaseOutcome> {
        let evaluated =
            evaluate::case::run(&self.objective, self.variant.as_deref(), &self.params, &self.inputs);
        if let Some(outcome) = evaluated {
            return outcome;
        }
        let inputs = || Value::Object(self.inputs.clone());
        if let Some(variant) = optimizer::case::variant(&self.objective) {
            return optimizer::case::run(variant, &self.params, &inputs(), device, dtype).await;
        }
        match runner(&self.objective) {
            Some(run) => run(&self.params, &inputs()),
            None if names().any(|name| name == self.objective) => {
                self.evaluate(device, dtype, tile)?.read().await
            }
            None => Err(Error::unknown("objective", &self.objective, names())),
        }
    }

    /// What a result hides although it is a number: a bandwidth so small that no two samples are alike.
    pub fn warnings(&self) -> Vec<String> {
        let kernel = self.params.get("kernel").and_then(|kernel| serde_json::from_value(kernel.clone()).ok());
        let Some(kernel) = kernel else { return Vec::new() };
        let kernel: Kernel = kernel;
        let warn = |name: &str| {
            let z = parse_condition(name, self.inputs.get(name)?).ok()?;
            kernel.fits(&z).ok()?;
            kernel.warning(&z).map(|warning| format!("`{name}`: {warning}"))
        };
        ["z", "z_a", "z_b"].into_iter().filter_map(warn).collect()
    }

    /// Evaluates an objective on a device in the given float type, `tile` anchors at once.
    ///
    /// # Errors
    /// What is unknown, missing, ill-shaped or not finite, by name.
    pub fn evaluate(&self, device: &Device, dtype: DType, tile: Option<usize>) -> Result<Evaluation> {
        let objective = objective::build(&self.objective, self.variant.as_deref(), self.params.clone())?;
        let batch = self.batch(device, dtype)?.with_tile(tile).with_details(true);
        objective.evaluate(&batch)
    }

    /// The inputs as a batch.
    ///
    /// # Errors
    /// What is ill-shaped or not finite, by name.
    pub fn batch(&self, device: &Device, dtype: DType) -> Result<Batch> {
        let mut batch = Batch::default();
        for (name, value) in &self.inputs {
            batch = match name.as_str() {
                "inputs_normalised" => batch.with_unit_rows(value.as_bool().unwrap_or(false)),
                "queue" if value.get(0).and_then(|rows| rows.get(0)).is_some_and(Value::is_array) => {
                    with_queues(batch, value, device, dtype)?
                }
                name if INDICES.contains(&name) => batch.with_indices(name, parse_indices(name, value)?),
                name if CONDITIONS.contains(&name) => {
                    batch.with_condition(name, parse_condition(name, value)?)
                }
                name => {
                    let matrix = parse_rows(name, value)?;
                    check_range(name, &matrix, dtype)?;
                    batch.with_matrix(name, matrix, device, dtype)
                }
            };
        }
        Ok(batch)
    }
}

/// A queue for each of several views, `[views][L][d]`.
fn with_queues(batch: Batch, value: &Value, device: &Device, dtype: DType) -> Result<Batch> {
    let mut queues = value.as_array().into_iter().flatten().enumerate();
    queues.try_fold(batch, |batch, (at, rows)| {
        let name = objective::swav::queue_name(at);
        let matrix = parse_rows(&name, rows)?;
        check_range(&name, &matrix, dtype)?;
        Ok(batch.with_matrix(&name, matrix, device, dtype))
    })
}

/// A list of rows; a plain list of numbers is one row.
fn parse_rows(name: &str, value: &Value) -> Result<Matrix> {
    let is_list = value.get(0).is_some_and(Value::is_number);
    let value = if is_list { Value::Array(vec![value.clone()]) } else { value.clone() };
    let matrix: Matrix = serde_json::from_value(value)
        .map_err(|e| Error::shape(name, "a list of rows of numbers", e.to_string()))?;
    match matrix.first_not_finite() {
        Some(row) => Err(Error::NotFinite { input: name.into(), row }),
        None => Ok(matrix),
    }
}

/// Whether the float type can hold the values.
fn check_range(name: &str, matrix: &Matrix, dtype: DType) -> Result<()> {
    let beyond = |value: &f64| dtype != DType::F64 && value.abs() > f64::from(f32::MAX);
    match matrix.data().iter().position(beyond) {
        Some(at) => Err(Error::NotFinite { input: name.into(), row: at / matrix.columns().max(1) }),
        None => Ok(()),
    }
}

/// A list of rows; a plain list of numbers is one number for each sample.
fn parse_condition(name: &str, value: &Value) -> Result<Matrix> {
    let condition = parse_rows(name, value)?;
    let is_list = value.get(0).is_some_and(Value::is_number);
    Ok(if is_list { Matrix::column(condition.data()) } else { condition })
}

/// Reads the parameters or the inputs of a case that is not an objective; `null` stands for none.
pub(crate) fn parse_part<T: serde::de::DeserializeOwned>(part: &str, value: &Value) -> Result<T> {
    let value = if value.is_null() { Value::Object(Map::new()) } else { value.clone() };
    serde_json::from_value(value).map_err(|e| Error::parameter(part, "not understood", &e.to_string()))
}

fn parse_indices(name: &str, value: &Value) -> Result<Vec<usize>> {
    serde_json::from_value(value.clone())
        .map_err(|e| Error::shape(name, "a list of integers from 0", e.to_string()))
}

impl Evaluation {
    /// Reads loss, gradients and intermediate results back to the host, finite or not.
    ///
    /// # Errors
    /// The device failed.
    pub async fn read(self) -> Result<CaseOutcome> {
        let loss = read(self.loss.unsqueeze()).await?[(0, 0)];
        let mut gradients = BTreeMap::new();
        for (name, gradient) in self.gradients {
            gradients.insert(name, read(gradient).await?.into());
        }
        let mut aux = Map::new();
        for (name, value) in self.aux {
            let value = match value {
                Aux::Number(number) => number.into(),
                Aux::Scalar(scalar) => read(scalar.unsqueeze()).await?[(0, 0)].into(),
                Aux::Vector(vector) => read(vector.unsqueeze()).await?.row(0).into(),
                Aux::Tensor(tensor) => rows(&read(tensor).await?),
                Aux::Matrix(matrix) => rows(&matrix),
            };
            aux.insert(name, value);
        }
        Ok(CaseOutcome { loss: Some(loss), gradients, aux: Value::Object(aux) })
    }
}

async fn read(tensor: Tensor<2>) -> Result<Matrix> {
    let data = tensor.into_data_async().await.map_err(|e| Error::Degenerate {
        reason: format!("the device could not return a result ({e:?})"),
        remedy: "try a smaller batch or another device".into(),
    })?;
    Matrix::from_data(&data)
}

fn rows(matrix: &Matrix) -> Value {
    matrix.iter_rows().map(|row| Value::from(row.to_vec())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(json: &str) -> Result<CaseOutcome> {
        pollster::block_on(Case::parse(json)?.run(&Device::flex(), DType::F64, None))
    }

    #[test]
    fn an_unknown_objective_names_the_nearest() {
        let error = run(r#"{"objective": "fair-cclkk", "inputs": {}}"#).unwrap_err();
        let Error::Unknown { known, .. } = &error else { unreachable!("{error}") };
        assert_eq!(known.first().map(String::as_str), Some("fair-cclk"));
        assert!(
            run(r#"{"objective": "lff-weight", "inputs": {}}"#)
                .unwrap_err()
                .to_string()
                .contains("lff-weights")
        );
    }

    #[test]
    fn a_queue_for_each_view_changes_what_swav_assigns() {
        let case = |queue: &str| {
            run(&format!(
                r#"{{"objective": "swav", "params": {{"epsilon": 0.3}}, "inputs": {{{queue}
                "view_a": [[1, 0], [0, 1]], "view_b": [[1, 1], [0, 1]], "prototypes": [[1, 0], [0, 1], [-1, 0]]}}}}"#
            ))
        };
        let with = case(r#""queue": [[[1, 0], [0.6, 0.8], [1, 0]], [[0, 1], [-1, 0], [0, 1]]],"#).unwrap();
        let without = case("").unwrap();
        assert_ne!(with.loss, without.loss);
        assert_eq!(with.aux["assignments_a"].as_array().unwrap().len(), 2, "those of the batch");
        let error = case(r#""queue": [[[1, 0]], [[0, 1, 0]]],"#).unwrap_err().to_string();
        assert!(error.contains("queue_1"), "{error}");
    }

    #[test]
    fn a_list_of_conditioning_values_is_one_for_each_sample() {
        let case = r#"{"objective": "fair-cclk", "params": {"kernel": {"name": "rbf"}}, "inputs":
            {"view_a": [[1, 0], [0, 1], [1, 1]], "view_b": [[1, 0], [0, 1], [1, 1]], "z": [0.1, 0.2, 0.9]}}"#;
        assert!(run(case).unwrap().loss.unwrap().is_finite());
    }

    #[test]
    fn a_bandwidth_under_which_no_two_samples_are_alike_is_said() {
        let warnings = |kernel: &str| {
            let case = format!(
                r#"{{"objective": "fair-cclk", "params": {{"kernel": {kernel}}}, "inputs": {{"z": [1, 2, 4]}}}}"#
            );
            Case::parse(&case).unwrap().warnings()
        };
        for kernel in [
            r#"{"name": "rbf", "sigma": 1e-30}"#,
            r#"{"name": "laplacian", "sigma": 1e-30}"#,
            r#"{"name": "laplacian-l1", "gamma": 1e6}"#,
        ] {
            let found = warnings(kernel);
            assert!(found[0].contains("`z`") && found[0].contains("median distance"), "{kernel}: {found:?}");
        }
        for kernel in [
            r#"{"name": "rbf", "sigma": 1}"#,
            r#"{"name": "rbf", "sigma": "median"}"#,
            r#"{"name": "exact-match"}"#,
        ] {
            assert_eq!(warnings(kernel), Vec::<String>::new(), "{kernel}");
        }
    }
}
