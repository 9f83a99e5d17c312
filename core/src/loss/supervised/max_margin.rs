//! Max-margin: the large-margin softmax, a classifier whose target class must win by a multiple of the angle.
//!
//! ```text
//! L = 1/n sum_i CE(f_i, y_i)
//! f_ic = |x_i| |W_c| cos theta_ic,   c != y_i
//! f_iy = |x_i| |W_y| (annealing cos theta_iy + psi(theta_iy))/(1 + annealing)
//! psi(theta) = (-1)^k cos(margin theta) - 2k,   theta in [k pi/margin, (k + 1) pi/margin]
//! ```
//!
//! with the `features` `x`, `[n, d]`, the weights of the final layer `fc_weight` `W`, `[classes, d]`, without bias, and
//! the classes `labels` `y`. Liu et al., *Large-Margin Softmax Loss for Convolutional Neural Networks* (2016), eq. 4
//! and 6.
//!
//! The tables of SupCon and ConTeX have a row "max-margin" that cites this loss without margin or settings; they
//! released no code of it. This is the cited loss: the margin is angular and an integer, and `margin` = 1 is
//! softmax cross-entropy. The original work uses a margin of 4 on CIFAR-10 and anneals: it starts at a large
//! `annealing` (1000 in its released code) and lowers it while training. The default is a margin of 2 without
//! annealing, which trains from random initial weights. At test time `x W^T` is used.
//!
//! Features and weights are never normalised, even if the batch marks unit rows. It is defined on every batch of at
//! least one sample: a zero feature or weight gives scores 0, and its angle, which is not defined, gives no
//! gradient.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use simile_kernels::gemm;

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::logits::{check_shape, cross_entropy, grad_inputs, targets};
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{CLASSES, Described, Family, Head, Input, Parameter, Range, Spec};
use crate::numeric::unit_rows::SMALLEST_NORM;

/// Max-margin; see the [module](self). Inputs: `features`, `[n, d]`; `fc_weight`, `[classes, d]`; `labels`, `[n]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaxMargin {
    /// Multiple of the target angle, 1 to 8.
    pub margin: u32,
    /// Weight of the plain score of the target class, relative to weight 1 of the margin's score; 0 to 1e12.
    pub annealing: f64,
}

impl Default for MaxMargin {
    fn default() -> Self {
        Self { margin: 2, annealing: 0.0 }
    }
}

impl MaxMargin {
    /// `psi(theta)` from `cos theta`, by the recurrence of the Chebyshev polynomials `T_m(cos theta) = cos(m theta)`.
    fn psi(&self, cosine: Tensor<1>) -> Tensor<1> {
        let (mut before, mut multiple) = (cosine.ones_like(), cosine.clone());
        for _ in 1..self.margin {
            let next = cosine.clone() * multiple.clone() * 2.0 - before;
            before = std::mem::replace(&mut multiple, next);
        }
        let constant = cosine.clone().detach();
        let (mut sign, mut folds) = (constant.ones_like(), constant.zeros_like());
        for fold in 1..self.margin {
            let edge = (f64::from(fold) * std::f64::consts::PI / f64::from(self.margin)).cos();
            let is_past = constant.clone().lower_elem(edge).float().cast(constant.dtype());
            sign = sign * (is_past.clone() * -2.0 + 1.0);
            folds = folds + is_past;
        }
        multiple * sign - folds * 2.0
    }

    /// The scores for the cross-entropy; `target` is 1 at the label of each row, else 0.
    fn scores(&self, features: &Tensor<2>, weight: &Tensor<2>, target: &Tensor<2>) -> Tensor<2> {
        let plain = gemm(features.clone(), weight.clone().transpose());
        let own = (plain.clone() * target.clone()).sum_dim(1);
        let lengths = lengths(features) * gemm(target.clone(), lengths(weight));
        let zero = lengths.clone().lower_equal_elem(SMALLEST_NORM * SMALLEST_NORM);
        let cosine = (own.clone() / lengths.clone().mask_fill(zero.clone(), 1.0)).squeeze_dim::<1>(1);
        let with_margin = lengths * self.psi(cosine).unsqueeze_dim(1).mask_fill(zero, 0.0);
        let replaced = (with_margin - own) * (1.0 + self.annealing).recip();
        plain + target.clone() * replaced
    }
}

/// The length of each row, `[n, 1]`; that of a zero row has gradient 0.
fn lengths(rows: &Tensor<2>) -> Tensor<2> {
    let squares = rows.clone().square().sum_dim(1);
    let zero = squares.clone().lower_equal_elem(SMALLEST_NORM * SMALLEST_NORM);
    squares.mask_fill(zero.clone(), 1.0).sqrt().mask_fill(zero, 0.0)
}

impl Described for MaxMargin {
    const SPEC: Spec = Spec {
        name: "max-margin",
        title: "Max-margin",
        family: Family::ClassScores,
        summary: "labels, on features and a final layer",
        work: "Liu et al., Large-Margin Softmax Loss for Convolutional Neural Networks, 2016, eq. 4 and 6",
        formula: "L = 1/n sum_i CE(f_i, y_i)\n\
            f_ic = |x_i| |W_c| cos theta_ic,   c != y_i\n\
            f_iy = |x_i| |W_y| (annealing cos theta_iy + psi(theta_iy))/(1 + annealing)\n\
            psi(theta) = (-1)^k cos(margin theta) - 2k,   theta in [k pi/margin, (k + 1) pi/margin]",
        symbols: "x the features, W the weights of the final layer, theta_ic the angle between x_i and W_c",
        inputs: &[
            Input::rows("features", "[n, d]", "features before the final layer"),
            Input::rows("fc_weight", "[classes, d]", "weights of the final layer"),
            CLASSES.shape("[n]"),
        ],
        head: Head::Other,
        parameters: &[
            Parameter::integer("margin", [1, 8], 2, "multiple of the target angle"),
            Parameter::number(
                "annealing",
                Range::Factor,
                0.0,
                "weight of the score without margin; the score with the margin has the weight 1",
            ),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for MaxMargin {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let features = batch.tensor(self.name(), "features")?;
        let weight = batch.tensor(self.name(), "fc_weight")?;
        let ([rows, width], [classes, _]) = (features.dims(), weight.dims());
        if rows == 0 || width == 0 {
            return Err(Error::shape(
                "features",
                "at least one row and one column",
                format!("{rows}x{width}"),
            ));
        }
        check_shape("fc_weight", &weight, [classes, width])?;
        let (device, dtype) = (features.device(), features.dtype());
        let zeros = Tensor::<2>::zeros([rows, classes], (&device, dtype));
        let targets = targets(batch, self.name(), ["features", "labels"], &zeros)?;
        let one_hot = zeros.scatter(
            1,
            targets.clone(),
            Tensor::ones([rows, 1], (&device, dtype)),
            burn::tensor::IndexingUpdateOp::Add,
        );
        let inputs = [("features", features.clone()), ("fc_weight", weight.clone())];
        let evaluation = grad_inputs(inputs, |[features, weight]| {
            cross_entropy(self.scores(&features, &weight, &one_hot), &targets).mean()
        });
        evaluation.with_details(batch, |evaluation| {
            let without_margin = cross_entropy(gemm(features, weight.transpose()), &targets).mean();
            Ok(evaluation.with_aux("loss_without_margin", Aux::Scalar(without_margin)))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};

    use super::*;
    use crate::loss::finite_difference::{gradient_error, place, random, read, value};
    use crate::numeric::matrix::Matrix;

    fn batch() -> Batch {
        Batch::default()
            .with_tensor("features", random(6, 3, 1))
            .with_tensor("fc_weight", random(4, 3, 2))
            .with_indices("labels", vec![0, 3, 1, 1, 2, 0])
    }

    #[test]
    fn gradient_matches_differences() {
        for margin in 1..=4 {
            let objective = MaxMargin { margin, annealing: 0.5 };
            assert!(gradient_error(&objective, &batch()) < 1e-6, "margin {margin}");
        }
    }

    #[test]
    fn a_margin_of_one_is_cross_entropy() {
        let objective = MaxMargin { margin: 1, ..MaxMargin::default() };
        let evaluation = objective.evaluate(&batch().with_details(true)).unwrap();
        let Aux::Scalar(plain) = evaluation.aux["loss_without_margin"].clone() else { unreachable!() };
        let difference = read((evaluation.loss - plain).unsqueeze());
        assert!(difference[(0, 0)].abs() < 1e-12);
    }

    #[test]
    fn psi_is_monotone_and_meets_its_definition() {
        let angles: Vec<f64> = (0..=50).map(|i| f64::from(i) * std::f64::consts::PI / 50.0).collect();
        for margin in 2..=4_u32 {
            let objective = MaxMargin { margin, ..MaxMargin::default() };
            let cosines: Vec<f64> = angles.iter().map(|a| a.cos()).collect();
            let data = TensorData::new(cosines, [angles.len()]);
            let psi = objective.psi(Tensor::from_data(data, (&Device::flex(), DType::F64)));
            let psi = read(psi.unsqueeze());
            for (i, angle) in angles.iter().enumerate() {
                let m = f64::from(margin);
                let fold = (angle * m / std::f64::consts::PI).floor().min(m - 1.0);
                let expected = (-1.0_f64).powf(fold) * (m * angle).cos() - 2.0 * fold;
                assert!((psi[(0, i)] - expected).abs() < 1e-9, "margin {margin}, angle {angle}");
                assert!(i == 0 || psi[(0, i)] <= psi[(0, i - 1)] + 1e-12);
            }
        }
    }

    #[test]
    fn a_zero_feature_is_finite() {
        let batch = batch().with_tensor("features", place(&Matrix::zeros(6, 3)));
        let evaluation = MaxMargin::default().evaluate(&batch).unwrap();
        assert!(evaluation.gradients.into_values().all(|g| read(g).first_not_finite().is_none()));
        assert!((value(&MaxMargin::default(), &batch) - 4.0_f64.ln()).abs() < 1e-12);
    }
}
