//! Objectives on the numbers of a JSON document, as `simile loss` runs them.

use burn::tensor::DType;
use serde_json::json;
use simile_core::case::Case;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::device::Device;

/// Evaluates a case and writes `{ loss, grads, aux }`.
///
/// # Errors
/// What core says about the document.
#[wasm_bindgen]
pub async fn evaluate(document: String, device: &Device) -> Result<String, JsError> {
    let device = device.inner.clone();
    let outcome = Case::parse(&document)?.evaluate(&device, DType::F32, None)?.read().await?;
    Ok(json!({ "loss": outcome.loss, "grads": outcome.gradients, "aux": outcome.aux }).to_string())
}
