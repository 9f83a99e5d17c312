//! The result of a request, read back to the host.

use std::collections::BTreeMap;

use burn::tensor::Tensor;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::loss::{Aux, Evaluation};
use crate::numeric::matrix::Matrix;

/// The result of a case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The loss, if the case has one.
    pub loss: Option<f64>,
    /// Gradients by the name of the input.
    pub gradients: BTreeMap<String, Vec<Vec<f64>>>,
    /// All other results, a JSON object.
    pub aux: Value,
}

impl Evaluation {
    /// Reads loss, gradients and intermediate results back to the host, finite or not.
    ///
    /// # Errors
    /// The device failed.
    pub async fn read(self) -> Result<Outcome> {
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
        Ok(Outcome { loss: Some(loss), gradients, aux: Value::Object(aux) })
    }
}

pub(super) async fn read(tensor: Tensor<2>) -> Result<Matrix> {
    let data = tensor.into_data_async().await.map_err(|e| Error::Degenerate {
        reason: format!("the device could not return a result ({e:?})"),
        remedy: "try a smaller batch or another device".into(),
    })?;
    Matrix::from_data(&data)
}

pub(super) fn rows(matrix: &Matrix) -> Value {
    matrix.iter_rows().map(|row| Value::from(row.to_vec())).collect()
}
