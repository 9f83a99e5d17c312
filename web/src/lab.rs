//! Objectives on the numbers of a JSON document, as `simile loss` runs them.

use burn::tensor::DType;
use serde_json::json;
use simile_core::case::Case;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::device::Device;

/// Runs a case, an objective or a table such as `kceo-weights`, and writes `{ loss, grads, aux }`.
///
/// # Errors
/// What core says about the document.
#[wasm_bindgen]
pub async fn evaluate(document: String, device: &Device) -> Result<String, JsError> {
    let device = device.inner.clone();
    let outcome = Case::parse(&document)?.run(&device, DType::F32, None).await?;
    Ok(json!({ "loss": outcome.loss, "grads": outcome.gradients, "aux": outcome.aux }).to_string())
}

/// Finds the forces between the rows of both views, and writes them as rows.
///
/// # Errors
/// What core says about the document, or that the objective does not compare its rows by inner products.
#[wasm_bindgen]
pub async fn forces(document: String, device: &Device) -> Result<String, JsError> {
    let device = device.inner.clone();
    let forces = Case::parse(&document)?.forces(&device, DType::F32).await?;
    Ok(json!(forces).to_string())
}
