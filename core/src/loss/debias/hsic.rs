//! The Hilbert-Schmidt independence criterion, unbiased: the dependence between two representations.
//!
//! ```text
//! HSIC = [ tr(K L) + (1'K 1)(1'L 1) / ((n-1)(n-2)) - 2/(n-2) 1'K L 1 ] / ( n(n-3) )
//! K_ij = exp( -|a_i - a_j|^2 / (2 sigma_x^2) ),   L_ij = exp( -|b_i - b_j|^2 / (2 sigma_y^2) )
//! ```
//!
//! with the diagonals of `K` and `L` set to 0, and two representations `view_a` `a`, `[n, d]`, and `view_b` `b`, `[n, e]`, never
//! normalised, even if the batch marks unit rows. Song et al., *Feature Selection via Dependence Maximization* (2012), eq. 5; Bahng
//! et al., *Learning De-biased Representations with Biased Representations* (2020), ReBias: the debiased network `f` descends `CE +
//! lambda HSIC(f, g)`, the biased network `g`, whose receptive field is small, `CE - lambda HSIC(f, g)`, with `lambda` = 1 and
//! `sigma_x` = `sigma_y` = 1 as released. If [details are requested](Batch::with_details), `aux.minus` is the value that
//! `g` descends.
//!
//! Released code subtracts the diagonal from every row instead of setting it to 0. For kernels of constant diagonal
//! that shifts the other entries by a constant, which the estimator ignores: value and gradient are the same.
//!
//! Because it is unbiased it can be negative; it is about 0 for independent representations. It needs four samples;
//! fewer are an error.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::batch::{Batch, check_rows};
use crate::loss::logits::grad_inputs;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{Described, Family, Head, Input, InputNetworks, Parameter, Range, Spec};
use crate::numeric::distances::squared_distances;

/// HSIC as a loss; see the [module](self). Inputs: `view_a`, `[n, d]`; `view_b`, `[n, e]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RebiasHsic {
    /// Bandwidth of the kernel of `view_a`, 1e-12 to 1e12.
    pub sigma_x: f64,
    /// Bandwidth of the kernel of `view_b`, 1e-12 to 1e12.
    pub sigma_y: f64,
}

impl Default for RebiasHsic {
    fn default() -> Self {
        Self { sigma_x: 1.0, sigma_y: 1.0 }
    }
}

impl Described for RebiasHsic {
    const SPEC: Spec = Spec {
        name: "rebias-hsic",
        title: "ReBias: HSIC",
        family: Family::ClassScores,
        summary: "the dependence of two networks, to be lowered",
        work: "Bahng et al., Learning De-biased Representations with Biased Representations, 2020; Song et al., 2012, eq. 5",
        formula: "HSIC = [ tr(K L) + (1'K 1)(1'L 1) / ((n-1)(n-2)) - 2/(n-2) 1'K L 1 ] / ( n(n-3) )\n\
            K_ij = exp( -|a_i - a_j|^2 / (2 sigma_x^2) ),   L_ij = exp( -|b_i - b_j|^2 / (2 sigma_y^2) )",
        symbols: "a and b the two representations, K and L with diagonal 0",
        inputs: &[
            Input::rows("view_a", "[n, d]", "the representation of the samples by one network"),
            Input::rows("view_b", "[n, e]", "their representation by the other network"),
        ],
        head: Head::ClassScores,
        networks: InputNetworks::Biased,
        algorithms: &["rebias"],
        parameters: &[
            Parameter::number("sigma_x", Range::Moderate, 1.0, "bandwidth of the kernel of view_a"),
            Parameter::number("sigma_y", Range::Moderate, 1.0, "bandwidth of the kernel of view_b"),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for RebiasHsic {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let (a, b) = (batch.tensor(self.name(), "view_a")?, batch.tensor(self.name(), "view_b")?);
        let ([n, _], [rows, _]) = (a.dims(), b.dims());
        check_rows("view_b", n, rows)?;
        check_samples(n)?;
        let kernels = |a, b| (squared_exponential(a, self.sigma_x), squared_exponential(b, self.sigma_y));
        let evaluation = grad_inputs([("view_a", a.clone()), ("view_b", b.clone())], |[a, b]| {
            let (k, l) = kernels(a, b);
            unbiased_estimate(k, l)
        });
        evaluation.with_details(batch, |evaluation| {
            let (k, l) = kernels(a, b);
            let minus = evaluation.loss.clone().neg();
            Ok(evaluation
                .with_aux("minus", Aux::Scalar(minus))
                .with_aux("biased_estimator", Aux::Scalar(biased_hsic(k, l))))
        })
    }
}

/// The Gram matrix of an RBF kernel, `[n, n]`.
fn squared_exponential(rows: Tensor<2>, sigma: f64) -> Tensor<2> {
    (squared_distances(rows) * (-2.0 * sigma * sigma).recip()).exp()
}

/// The unbiased estimate, `[1]`, from two Gram matrices `k` and `l`, `[n, n]`; their diagonals are not used.
///
/// # Errors
/// [`Error::Degenerate`] for fewer than four samples, [`Error::Shape`] if a matrix has another shape.
pub fn unbiased_hsic(k: Tensor<2>, l: Tensor<2>) -> Result<Tensor<1>> {
    let [n, _] = k.dims();
    for (name, [rows, columns]) in [("k", k.dims()), ("l", l.dims())] {
        if [rows, columns] != [n, n] {
            return Err(Error::shape(name, format!("{n}x{n}"), format!("{rows}x{columns}")));
        }
    }
    check_samples(n)?;
    Ok(unbiased_estimate(k, l))
}

fn check_samples(n: usize) -> Result<()> {
    if n >= 4 {
        return Ok(());
    }
    Err(Error::Degenerate {
        reason: format!("unbiased HSIC is not defined for {n} samples"),
        remedy: "give at least 4".into(),
    })
}

/// The estimate of [`unbiased_hsic`], for at least four samples.
fn unbiased_estimate(k: Tensor<2>, l: Tensor<2>) -> Tensor<1> {
    let [n, _] = k.dims();
    let others = Tensor::<2>::eye(n, &k.device()).cast(k.dtype()).neg() + 1.0;
    let (k, l) = (k * others.clone(), l * others);
    let n = n as f64;
    let (k_rows, l_rows) = (k.clone().sum_dim(1), l.clone().sum_dim(1));
    let trace = (k * l).sum();
    let means = k_rows.clone().sum() * l_rows.clone().sum() * ((n - 1.0) * (n - 2.0)).recip();
    let cross = (k_rows * l_rows).sum() * (2.0 / (n - 2.0));
    (trace + means - cross) * (n * (n - 3.0)).recip()
}

/// `tr(K H L H) / (n - 1)^2` with the centring matrix `H`, which is never negative.
fn biased_hsic(k: Tensor<2>, l: Tensor<2>) -> Tensor<1> {
    let [n, _] = k.dims();
    let centred = k.clone() - k.clone().mean_dim(0) - k.clone().mean_dim(1) + k.mean().unsqueeze();
    (centred * l).sum() / ((n - 1) as f64).powi(2)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{random, value};

    #[test]
    fn averages_to_zero_for_independent_samples_and_is_positive_for_equal_ones() {
        let mean = (0..200).map(|seed| {
            value(&RebiasHsic::default(), &Batch::views(random(6, 1, 2 * seed), random(6, 1, 2 * seed + 1)))
        });
        assert!((mean.sum::<f64>() / 200.0).abs() < 0.01);
        let same = random(12, 2, 3);
        assert!(value(&RebiasHsic::default(), &Batch::views(same.clone(), same)) > 0.03);
    }

    #[test]
    fn three_samples_are_an_error() {
        let batch = Batch::views(random(3, 3, 1), random(3, 2, 2));
        let of_loss = RebiasHsic::default().evaluate(&batch).map(drop);
        let of_matrices = unbiased_hsic(random(3, 3, 1), random(3, 3, 2)).map(drop);
        for result in [of_loss, of_matrices] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("at least 4"), "{error}");
        }
    }

    #[test]
    fn matrices_of_different_sizes_are_an_error() {
        for (columns, rows, name) in [(5, 4, "`k`"), (4, 5, "`l`"), (4, 3, "`l`")] {
            let error = unbiased_hsic(random(4, columns, 1), random(rows, rows, 2)).unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
