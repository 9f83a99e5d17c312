//! Requests that print the Gram matrices of the kernel objectives and the weights computed from them.

use std::collections::BTreeMap;

use faer::{Mat, Side};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::input::{parse_condition, parse_part};
use super::outcome::Outcome;
use crate::error::{Error, Result, within};
use crate::kernel::Kernel;
use crate::kernel::conditional::WeightScheme;
use crate::numeric::matrix::Matrix;

#[derive(Deserialize)]
struct Inputs {
    z: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GramParams {
    #[serde(default)]
    kernels: BTreeMap<String, Kernel>,
    /// The distribution of `z`, which files of reference numbers state; it has no effect.
    #[serde(default, rename = "zkind")]
    _drawn_as: Option<String>,
}

/// Runs the request `kernel-gram`: `aux.grams` holds the Gram matrix of the rows of `z` for each of
/// `params.kernels`.
///
/// # Errors
/// An input or parameter is missing, unknown or has the wrong shape; the error names it.
pub(super) fn gram(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: GramParams = parse_part("params", params)?;
    let z = conditions(inputs)?;
    if params.kernels.is_empty() {
        let reason = "expected named kernels, such as { \"narrow\": { \"name\": \"rbf\", \"sigma\": 0.5 } }";
        return Err(Error::parameter("kernels", "empty", reason));
    }
    params.kernels.values().try_for_each(|kernel| kernel.fits(&z))?;
    let grams: Map<String, Value> = (params.kernels.iter())
        .map(|(name, kernel)| (name.clone(), json!({ "gram": kernel.gram(&z) })))
        .collect();
    Ok(Outcome { aux: json!({ "grams": grams }), ..Outcome::default() })
}

/// The kernels listed in a file of reference Gram matrices, as `params.kernels`: in such a file `aux.grams` holds
/// for each kernel its bandwidth and its matrix, under the kernel's name.
pub(super) fn kernels_of_reference(document: &Value) -> Option<Value> {
    const FUNCTIONS: [&str; 6] = ["laplacian-l1", "rbf", "laplacian", "linear", "cosine", "polynomial"];
    let grams = document.get("aux")?.get("grams")?.as_object()?;
    let kernels: Map<String, Value> = (grams.iter())
        .filter_map(|(name, entry)| {
            let function = FUNCTIONS.iter().find(|function| name.contains(*function))?;
            let mut kernel = entry.as_object()?.clone();
            kernel.remove("gram");
            kernel.insert("name".into(), (*function).into());
            Some((name.clone(), Value::Object(kernel)))
        })
        .collect();
    Some(Value::Object(kernels))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightParams {
    kernel: Kernel,
    #[serde(default = "default_lambda")]
    lambda: f64,
    #[serde(default = "default_threshold")]
    clip_threshold: f64,
}

fn default_lambda() -> f64 {
    0.01
}

fn default_threshold() -> f64 {
    1e-6
}

/// Runs the request `kceo-weights`: `aux` holds the Gram matrix and the weights of each estimator for the rows of `z`,
/// the smallest eigenvalue of `K + lambda I` and its condition number (with the diagonal of `K` set to 1, as
/// released), and the distance of the released weights from the clipping threshold.
///
/// # Errors
/// An input or parameter is missing, unknown or has the wrong shape, or a value of `z` is above 1e100 (the error names it), or
/// `K + lambda I` is singular.
pub(super) fn weights(params: &Value, inputs: &Value) -> Result<Outcome> {
    let WeightParams { kernel, lambda, clip_threshold } = parse_part("params", params)?;
    within("clip_threshold", clip_threshold, 0.0, 1.0)?;
    let z = conditions(inputs)?;
    let weights = |scheme: WeightScheme, threshold: f64| scheme.weights(&kernel, &z, lambda, threshold);
    let unclipped = weights(WeightScheme::Released, f64::NEG_INFINITY)?;
    let margin = (0..z.rows())
        .flat_map(|i| (0..z.rows()).filter(move |&j| j != i).map(move |j| (i, j)))
        .map(|pair| (unclipped[pair] - clip_threshold).abs())
        .min_by(f64::total_cmp);
    let eigenvalues = eigenvalues(&kernel, &z, lambda)?;
    let magnitudes = eigenvalues.iter().map(|v| v.abs());
    let condition = magnitudes.clone().fold(0.0, f64::max) / magnitudes.fold(f64::INFINITY, f64::min);
    let mut aux = json!({
        "K": kernel.gram(&z),
        "W_paper": weights(WeightScheme::Paper, clip_threshold)?,
        "W_released": weights(WeightScheme::Released, clip_threshold)?,
        "W_normalised": weights(WeightScheme::Normalised, clip_threshold)?,
        "cond_K_plus_lambda": condition,
        "min_eig_K_plus_lambda": eigenvalues.iter().copied().fold(f64::INFINITY, f64::min),
    });
    // A single row has no pair.
    if let Some(margin) = margin {
        aux["clip_margin"] = margin.into();
    }
    Ok(Outcome { aux, ..Outcome::default() })
}

fn conditions(inputs: &Value) -> Result<Matrix> {
    let Inputs { z } = parse_part("inputs", inputs)?;
    let z = parse_condition("z", &z)?;
    if z.rows() == 0 { Err(Error::shape("z", "at least one row", "none")) } else { Ok(z) }
}

/// The eigenvalues of `K + lambda I` with the diagonal of `K` set to 1.
fn eigenvalues(kernel: &Kernel, z: &Matrix, lambda: f64) -> Result<Vec<f64>> {
    let gram = kernel.gram(z);
    let n = gram.rows();
    let matrix = Mat::from_fn(n, n, |i, j| if i == j { 1.0 + lambda } else { gram[(i, j)] });
    matrix.self_adjoint_eigenvalues(Side::Lower).map_err(|_| Error::Degenerate {
        reason: "the eigenvalues of K + lambda I could not be found".into(),
        remedy: "look for very large values in z".into(),
    })
}
