//! One objective, probe or optimiser on the numbers of a JSON document: what `simile loss` and the page run.
//!
//! The document names an `objective`, a `variant`, `params` and `inputs`; other fields are ignored, so that a file of
//! reference numbers is a case too. Embeddings, logits and the like are lists of rows. `inputs_normalised` says that
//! embeddings are unit rows already: gradients are then partial derivatives with respect to them.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device, Tensor};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::evaluate;
use crate::matrix::Matrix;
use crate::objective::{self, Aux, Evaluation};
use crate::optimizer;

/// Inputs that are lists of integers.
const INDICES: [&str; 4] = ["labels", "bias", "ce_labels", "ce_bias"];
/// Inputs that stay on the host.
const CONDITIONS: [&str; 5] = ["z", "z_a", "z_b", "prior", "bias_features"];

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
        serde_json::from_str(json).map_err(|e| {
            Error::parameter("case", "not understood", &format!("{e}; expected objective, params and inputs"))
        })
    }

    /// Runs the case and reads the results back.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate), or the device failed.
    pub async fn run(&self, device: &Device, dtype: DType, tile: Option<usize>) -> Result<CaseOutcome> {
        if let Some(outcome) =
            evaluate::case::run(&self.objective, self.variant.as_deref(), &self.params, &self.inputs)
        {
            return outcome;
        }
        match optimizer::case::variant(&self.objective) {
            Some(variant) => {
                let inputs = Value::Object(self.inputs.clone());
                optimizer::case::run(variant, &self.params, &inputs, device, dtype).await
            }
            None => self.evaluate(device, dtype, tile)?.read().await,
        }
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
                name if INDICES.contains(&name) => batch.with_indices(name, parse_indices(name, value)?),
                name if CONDITIONS.contains(&name) => batch.with_condition(name, parse_rows(name, value)?),
                name => batch.with_tensor(name, parse_rows(name, value)?.to_tensor(device, dtype)),
            };
        }
        Ok(batch)
    }
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

fn parse_indices(name: &str, value: &Value) -> Result<Vec<usize>> {
    serde_json::from_value(value.clone())
        .map_err(|e| Error::shape(name, "a list of integers from 0", e.to_string()))
}

impl Evaluation {
    /// Reads loss, gradients and intermediate results back to the host.
    ///
    /// # Errors
    /// The device failed, or a result is not finite.
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
