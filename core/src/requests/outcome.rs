//! The result of a request, read back to the host.

use std::collections::BTreeMap;

use burn::tensor::Tensor;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::loss::{Aux, Evaluation};
use crate::numeric::matrix::Matrix;
use crate::numeric::read::all_values;

/// The result of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The loss, if the request has one.
    pub loss: Option<f64>,
    /// Gradients by the name of the input, in its shape.
    pub gradients: BTreeMap<String, Matrix>,
    /// All other results, a JSON object.
    pub aux: Value,
}

impl Evaluation {
    /// Reads loss, gradients and intermediate results back to the host, finite or not.
    ///
    /// # Errors
    /// The device failed.
    pub async fn read(self) -> Result<Outcome> {
        let mut tensors = vec![self.loss.unsqueeze()];
        let (names, gradients): (Vec<_>, Vec<_>) = self.gradients.into_iter().unzip();
        tensors.extend(gradients);
        tensors.extend(self.aux.values().filter_map(on_device));
        let mut read = read(tensors).await?.into_iter();
        let mut next = || read.next().ok_or_else(|| failed("it returned too few results"));

        let loss = next()?[(0, 0)];
        let mut gradients = BTreeMap::new();
        for name in names {
            gradients.insert(name, next()?);
        }
        let mut aux = Map::new();
        for (name, value) in self.aux {
            let value = match value {
                Aux::Number(number) => number.into(),
                Aux::Matrix(matrix) => json!(matrix),
                Aux::Scalar(_) => next()?[(0, 0)].into(),
                Aux::Vector(_) => next()?.row(0).into(),
                Aux::Tensor(_) => json!(next()?),
            };
            aux.insert(name, value);
        }
        Ok(Outcome { loss: Some(loss), gradients, aux: Value::Object(aux) })
    }
}

/// The result as a matrix, if it is on the device.
fn on_device(value: &Aux) -> Option<Tensor<2>> {
    match value {
        Aux::Number(_) | Aux::Matrix(_) => None,
        Aux::Scalar(scalar) => Some(scalar.clone().unsqueeze()),
        Aux::Vector(vector) => Some(vector.clone().unsqueeze()),
        Aux::Tensor(tensor) => Some(tensor.clone()),
    }
}

/// Reads tensors of one device back to the host, all at once: each read waits for the device, in a page for a millisecond
/// or more.
///
/// # Errors
/// The device failed.
pub(super) async fn read(tensors: Vec<Tensor<2>>) -> Result<Vec<Matrix>> {
    let data = all_values(tensors).await.map_err(|reason| failed(&reason))?;
    data.iter().map(Matrix::from_data).collect()
}

fn failed(why: &str) -> Error {
    Error::Degenerate {
        reason: format!("the device could not return a result ({why})"),
        remedy: "try a smaller batch or another device".into(),
    }
}
