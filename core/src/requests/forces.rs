//! The force of a loss between each pair of rows.
//!
//! An objective that compares its rows by their inner products has the gradient
//!
//! ```text
//! dL/dx_i = sum_j F_ij x_j,   F symmetric
//! ```
//!
//! with respect to the unit rows `x` of both views: `F_ij` below 0 attracts `i` and `j`, above 0 it repels them. In
//! a plane the gradient does not determine `F`, because the rows are linearly dependent. So row `i` gets an
//! additional coordinate of length [`LENGTH`], which no other row has: inner products of different rows do not
//! change, and the gradient of row `i` in the coordinate of row `j` is `LENGTH F_ij`.

use burn::tensor::{DType, Device};
use serde_json::json;

use super::Request;
use super::input::parse_rows;
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::spec::Conditioning;
use crate::numeric::matrix::Matrix;

/// Small enough that squared lengths stay at 1 in `f32`, approximately.
const LENGTH: f64 = 1e-3;

/// Tolerance between the forces and the gradient, relative to its largest entry.
const TOLERANCE: f64 = 1e-2;

/// The names of the two views in a request.
const VIEWS: [&str; 2] = ["view_a", "view_b"];

impl Request {
    /// The forces `F` between the rows of `view_a`, then `view_b`, `[2 b, 2 b]`: the derivative of the loss with
    /// respect to the inner product of two different rows; see the top of this file.
    ///
    /// # Errors
    /// As [`run`](Self::run), or the objective does not compare rows by their inner products.
    pub async fn forces(&self, device: &Device, dtype: DType) -> Result<Matrix> {
        let views = [self.unit_view(VIEWS[0])?, self.unit_view(VIEWS[1])?];
        let [rows_a, rows_b] = [views[0].rows(), views[1].rows()];
        let (n, width) = (rows_a + rows_b, views[0].columns());
        if views[1].columns() != width {
            let columns = |view: &Matrix| format!("{} columns", view.columns());
            return Err(Error::shape(VIEWS[1], columns(&views[0]), columns(&views[1])));
        }
        let mut probe = self.clone();
        self.condition_on_views(&mut probe)?;
        for ((name, view), first) in VIEWS.into_iter().zip(&views).zip([0, rows_a]) {
            let own = |i: usize, j: usize| if j == width + first + i { LENGTH } else { 0.0 };
            let extended =
                Matrix::from_fn(
                    view.rows(),
                    width + n,
                    |i, j| {
                        if j < width { view[(i, j)] } else { own(i, j) }
                    },
                );
            probe.inputs.insert(name.into(), json!(extended));
        }
        probe.inputs.insert("inputs_normalised".into(), true.into());
        let outcome = probe.evaluate(device, dtype, None)?.read().await?;
        let mut gradient = Vec::with_capacity(n);
        for name in VIEWS {
            let missing = || self.not_of_pairs(format!("has no gradient of {name}"));
            let rows = outcome.gradients.get(name).ok_or_else(missing)?;
            gradient.extend(rows.iter_rows().map(<[f64]>::to_vec));
        }
        let gradient = Matrix::try_from(gradient)?;
        let forces = Matrix::from_fn(n, n, |i, j| gradient[(i, width + j)] / LENGTH);

        let stacked: Vec<&[f64]> = views.iter().flat_map(Matrix::iter_rows).collect();
        let largest = gradient.data().iter().fold(1e-6_f64, |most, v| most.max(v.abs()));
        for i in 0..n {
            for k in 0..width {
                let product: f64 = (0..n).map(|j| forces[(i, j)] * stacked[j][k]).sum();
                let scale = largest.max((0..n).fold(0.0, |most: f64, j| most.max(forces[(i, j)].abs())));
                if (product - gradient[(i, k)]).abs() > TOLERANCE * scale {
                    return Err(
                        self.not_of_pairs("compares its rows otherwise than by inner products".into())
                    );
                }
            }
        }
        Ok(forces)
    }

    /// An objective that takes the representation for a missing condition gets the views as they are: those of the probe are
    /// of another length, and have more columns.
    fn condition_on_views(&self, probe: &mut Self) -> Result<()> {
        let is_given = ["z", "z_a", "z_b"].into_iter().any(|name| self.inputs.contains_key(name));
        if is_given || loss::spec(&self.objective)?.conditioning() != Conditioning::Representation {
            return Ok(());
        }
        for (view, condition) in VIEWS.into_iter().zip(["z_a", "z_b"]) {
            probe.inputs.extend(self.inputs.get(view).map(|rows| (condition.to_owned(), rows.clone())));
        }
        Ok(())
    }

    fn unit_view(&self, name: &str) -> Result<Matrix> {
        let missing = || Error::MissingInput { objective: self.objective.clone(), input: name.to_owned() };
        let mut view = parse_rows(name, self.inputs.get(name).ok_or_else(missing)?)?;
        for i in 0..view.rows() {
            let row = view.row_mut(i);
            let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            row.iter_mut().filter(|_| length > 0.0).for_each(|v| *v /= length);
        }
        Ok(view)
    }

    fn not_of_pairs(&self, reason: String) -> Error {
        Error::Degenerate {
            reason: format!("`{}` {reason}", self.objective),
            remedy: "there are no forces between pairs".into(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn request(objective: &str) -> Request {
        let at = |angle: f64| [angle.cos(), angle.sin()];
        let document = serde_json::json!({
            "objective": objective,
            "params": if objective == "align-uniform" { serde_json::json!({}) } else { serde_json::json!({ "temperature": 0.5 }) },
            "inputs": {
                "view_a": [at(0.1), at(1.4), at(2.9), at(4.0)],
                "view_b": [at(0.4), at(1.0), at(3.3), at(5.5)],
                "labels": [0, 1, 0, 1],
                "inputs_normalised": true,
            },
        });
        Request::parse(&document.to_string()).unwrap()
    }

    fn forces(objective: &str, dtype: DType) -> Result<Matrix> {
        pollster::block_on(request(objective).forces(&Device::flex(), dtype))
    }

    #[test]
    fn an_objective_conditioned_on_the_views_takes_them_at_their_length() {
        let mut alone = request("hardneg-cclk");
        alone.params = serde_json::json!({ "kernel": { "name": "rbf" } });
        for (name, length) in VIEWS.into_iter().zip([3.0, 0.5]) {
            let view = parse_rows(name, &alone.inputs[name]).unwrap();
            let longer = Matrix::from_fn(view.rows(), view.columns(), |i, j| length * view[(i, j)]);
            alone.inputs.insert(name.into(), json!(longer));
        }
        alone.inputs.remove("inputs_normalised");
        let mut weighted = alone.clone();
        for (view, condition) in VIEWS.into_iter().zip(["z_a", "z_b"]) {
            weighted.inputs.insert(condition.into(), alone.inputs[view].clone());
        }
        let forces =
            |request: &Request| pollster::block_on(request.forces(&Device::flex(), DType::F64)).unwrap();
        let difference = (forces(&alone).data().iter().zip(forces(&weighted).data()))
            .fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(difference < 1e-12, "{difference}");
        weighted.inputs.insert("view_b".into(), serde_json::json!([[1], [1], [1], [1]]));
        let error = pollster::block_on(weighted.forces(&Device::flex(), DType::F64)).unwrap_err();
        assert!(error.to_string().contains("`view_b` has 1 columns, expected 2 columns"), "{error}");
    }

    /// `dL/ds_ij = (p_ij - [j = i]) / (b temperature)` with the softmax `p` of anchor `i`.
    #[test]
    fn the_forces_of_info_nce_are_its_softmax() {
        let forces = forces("info-nce", DType::F64).unwrap();
        let inputs = &request("info-nce").inputs;
        let [a, b] = VIEWS.map(|name| parse_rows(name, &inputs[name]).unwrap());
        for i in 0..4 {
            let logit = |j: usize| a.row(i).iter().zip(b.row(j)).map(|(x, y)| x * y).sum::<f64>() / 0.5;
            let sum: f64 = (0..4).map(|j| logit(j).exp()).sum();
            for j in 0..4 {
                let own = if i == j { 1.0 } else { 0.0 };
                let expected = (logit(j).exp() / sum - own) / (4.0 * 0.5);
                assert!((forces[(i, 4 + j)] - expected).abs() < 1e-5, "{i} {j}");
                assert!(forces[(i, j)].abs() < 1e-12);
            }
        }
    }

    #[test]
    fn forces_are_symmetric_and_make_the_gradient_in_single_precision() {
        for objective in ["nt-xent", "supcon", "hcl", "dcl", "contex", "align-uniform"] {
            let forces = forces(objective, DType::F32).unwrap();
            for i in 0..8 {
                for j in 0..8 {
                    assert!((forces[(i, j)] - forces[(j, i)]).abs() < 1e-3, "{objective}: {i} {j}");
                }
            }
        }
    }

    #[test]
    fn an_objective_of_features_has_no_forces() {
        let mut barlow = request("barlow-twins");
        barlow.params = Value::Null;
        let error = pollster::block_on(barlow.forces(&Device::flex(), DType::F64)).unwrap_err();
        assert!(error.to_string().contains("inner products"), "{error}");
    }
}
