//! Objectives on the numbers of a JSON document, as `simile loss` runs them.

use burn::tensor::DType;
use serde_json::json;
use simile_core::numeric::matrix::Matrix;
use simile_core::requests::{InputValues, LossRequest, Request};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::device::Device;
use crate::warning::kind;

/// Runs a request, an objective or a table such as `kceo-weights`, and writes `{ loss, grads, aux, warnings, warningKinds }`.
///
/// # Errors
/// Core rejects the document.
#[wasm_bindgen]
pub async fn evaluate(document: String, device: &Device) -> Result<String, JsError> {
    let device = device.inner.clone();
    let request = Request::parse(&document)?;
    let outcome = request.run(&device, DType::F32, None).await?;
    let warnings = request.warnings();
    let answer = json!({
        "loss": outcome.loss, "grads": outcome.gradients, "aux": outcome.aux,
        "warnings": warnings.iter().map(|warning| &warning.text).collect::<Vec<_>>(),
        "warningKinds": warnings.iter().map(|warning| kind(warning.degeneracy)).collect::<Vec<_>>(),
    });
    Ok(answer.to_string())
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
pub struct LossAndGradients {
    /// The loss.
    pub loss: f64,
    by_a: Vec<f32>,
    by_b: Vec<f32>,
}

#[wasm_bindgen]
impl LossAndGradients {
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
/// `document` is a request without the views.
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
) -> Result<LossAndGradients, JsError> {
    let device = device.inner.clone();
    let mut request = LossRequest::of(&Request::parse(&document)?)?;
    for (name, view) in [("view_a", view_a), ("view_b", view_b)] {
        let values = view.iter().map(|&value| f64::from(value)).collect();
        let rows = Matrix::new(view.len() / columns.max(1), columns, values)?;
        request.inputs.insert(name.to_owned(), InputValues::Rows(rows));
    }
    let mut differentiated = request.differentiate(&device, DType::F32).await?;
    let mut by = |name: &str| {
        let missing = || JsError::new(&format!("{} has no gradient by {name}", request.objective));
        let gradient = differentiated.gradients.remove(name).ok_or_else(missing)?;
        Ok::<Vec<f32>, JsError>(gradient.data().iter().map(|&value| value as f32).collect())
    };
    Ok(LossAndGradients { by_a: by("view_a")?, by_b: by("view_b")?, loss: differentiated.loss })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::try_read_sync;
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_evaluation_has_the_warnings_of_the_command_line() {
        let warnings_of = |z: Value, variant: &str, params: Value| {
            let rows = json!([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
            let inputs = json!({ "view_a": rows, "view_b": rows, "z": z });
            let case =
                json!({ "objective": "fair-cclk", "variant": variant, "params": params, "inputs": inputs });
            let answer = try_read_sync(evaluate(case.to_string(), &Device::cpu())).unwrap().unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            (answer["warningKinds"].clone(), answer["warnings"].clone())
        };
        let warnings =
            |variant: &str, params| warnings_of(json!([[10.0], [120.0], [250.0]]), variant, params);
        let wide = json!({ "name": "rbf", "sigma": 100.0 });
        assert_eq!(warnings("normalised", json!({ "kernel": wide })), (json!([]), json!([])));
        let (kinds, narrow) = warnings("normalised", json!({ "kernel": { "name": "rbf", "sigma": 1.0 } }));
        assert_eq!(kinds, json!(["all-apart"]));
        assert!(narrow[0].as_str().unwrap().starts_with("`z`: every kernel value"), "{narrow}");
        let (_, exact) = warnings("normalised", json!({ "kernel": { "name": "exact-match" } }));
        let remedy = r#"{ "name": "rbf", "sigma": "median" }"#;
        assert!(exact[0].as_str().unwrap().contains(remedy), "{exact}");
        let one = warnings_of(json!([[10.0], [10.0], [10.0]]), "normalised", json!({ "kernel": wide }));
        assert_eq!(one.0, json!(["one-value"]));
        let cosine = json!({ "kernel": { "name": "cosine" } });
        assert_eq!(warnings("normalised", cosine).0, json!(["one-sign"]));
        let (kinds, unread) = warnings("paper", json!({ "kernel": wide, "clip_threshold": 0.5 }));
        assert_eq!(kinds, json!(["unread"]));
        assert!(unread[0].as_str().unwrap().contains("`clip_threshold` has no effect"), "{unread}");
    }
}
