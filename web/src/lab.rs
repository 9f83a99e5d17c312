//! Objectives on the numbers of a JSON document, as `simile loss` runs them.

use burn::tensor::DType;
use serde_json::json;
use simile_core::error::{Error, Result as CoreResult};
use simile_core::loss;
use simile_core::loss::Evaluation;
use simile_core::numeric::matrix::Matrix;
use simile_core::requests::{self, Request};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::device::Device;

/// Runs a case, an objective or a table such as `kceo-weights`, and writes `{ loss, grads, aux }`.
///
/// # Errors
/// Core rejects the document.
#[wasm_bindgen]
pub async fn evaluate(document: String, device: &Device) -> Result<String, JsError> {
    let device = device.inner.clone();
    let outcome = Request::parse(&document)?.run(&device, DType::F32, None).await?;
    Ok(json!({ "loss": outcome.loss, "grads": outcome.gradients, "aux": outcome.aux }).to_string())
}

/// Computes the forces between the rows of both views, and writes them as rows.
///
/// # Errors
/// Core rejects the document, or the objective does not compare its rows by inner products.
#[wasm_bindgen]
pub async fn forces(document: String, device: &Device) -> Result<String, JsError> {
    let device = device.inner.clone();
    let forces = Request::parse(&document)?.forces(&device, DType::F32).await?;
    Ok(json!(forces).to_string())
}

/// A loss and its gradients by both views, row after row.
#[wasm_bindgen]
#[derive(Debug, Clone)]
pub struct Differentiated {
    /// The loss.
    pub loss: f64,
    by_a: Vec<f32>,
    by_b: Vec<f32>,
}

#[wasm_bindgen]
impl Differentiated {
    /// The gradient by the first view.
    #[wasm_bindgen(getter)]
    pub fn by_a(&self) -> Vec<f32> {
        self.by_a.clone()
    }

    /// The gradient by the second view.
    #[wasm_bindgen(getter)]
    pub fn by_b(&self) -> Vec<f32> {
        self.by_b.clone()
    }
}

/// Computes only the loss of two views, rows of `columns` numbers, and its gradients, for use in a loop.
/// `document` is a case without the views.
///
/// # Errors
/// Core rejects the document or the views, or a result is not a finite number, or the device failed.
#[wasm_bindgen]
pub async fn differentiate(
    document: String,
    view_a: Vec<f32>,
    view_b: Vec<f32>,
    columns: usize,
    device: &Device,
) -> Result<Differentiated, JsError> {
    let device = device.inner.clone();
    let mut case = Request::parse(&document)?;
    let objective = loss::build(&case.objective, case.variant.as_deref(), case.params.clone())?;
    let mut batch = case.batch(&device, DType::F32)?;
    let views =
        [("view_a", rows("view_a", &view_a, columns)?), ("view_b", rows("view_b", &view_b, columns)?)];
    for (name, view) in &views {
        batch = batch.with_matrix(name, view.clone(), &device, DType::F32);
    }
    let Evaluation { loss, mut gradients, .. } = objective.evaluate(&batch)?;
    let mut by = |name: &str| {
        let missing = || JsError::new(&format!("{} has no gradient by {name}", case.objective));
        gradients.remove(name).ok_or_else(missing)
    };
    let (by_a, by_b) = (by("view_a")?, by("view_b")?);
    let read = requests::read(vec![loss.unsqueeze(), by_a, by_b]).await?;
    if read.iter().any(|matrix| matrix.first_not_finite().is_some()) {
        case.inputs.extend(views.map(|(name, view)| (name.to_owned(), json!(view))));
        return Err(refusal(&case, &device).await);
    }
    let [loss, by_a, by_b] = read.as_slice() else {
        return Err(JsError::new("the device returned too few results"));
    };
    let values = |matrix: &Matrix| matrix.data().iter().map(|&value| value as f32).collect();
    Ok(Differentiated { loss: loss[(0, 0)], by_a: values(by_a), by_b: values(by_b) })
}

/// The error of a case whose result is not finite. `evaluate` names the number that most likely causes that.
async fn refusal(case: &Request, device: &burn::tensor::Device) -> JsError {
    match case.run(device, DType::F32, None).await {
        Err(error) => error.into(),
        Ok(_) => JsError::new(&format!("`{}`: its result is not a finite number", case.objective)),
    }
}

fn rows(name: &str, view: &[f32], columns: usize) -> CoreResult<Matrix> {
    let values = view.iter().map(|&value| f64::from(value)).collect();
    let matrix = Matrix::new(view.len() / columns.max(1), columns, values)?;
    match matrix.first_not_finite() {
        Some(row) => Err(Error::NotFinite { input: name.into(), row }),
        None => Ok(matrix),
    }
}
