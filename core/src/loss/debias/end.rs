//! EnD: features of samples with the same bias are made orthogonal, features of samples with the same class and
//! different bias are made parallel.
//!
//! ```text
//! L = 1/n sum_i CE(z_i, y_i) + alpha R_orthogonal + beta R_parallel,   g_pq = <x_p, x_q>
//! R_orthogonal = 1/M sum_b |sum_{p > q in B_b} g_pq|
//! paper     R_parallel = 1 - 1/M' sum_{p > q, y_p = y_q, b_p != b_q} (1 + g_pq)/2
//! released  R_parallel = 1 - 1/M' sum_{p > q, y_p = y_q, b_p < b_q} (1 + g_pq)/2
//! ```
//!
//! with the features `view_a` `x` as unit rows, `[n, d]`, the scores `logits` `z`, `[n, classes]`, the classes `labels` `y` and the
//! bias attributes `bias` `b`; `B_b` are the samples of bias `b`, `M` and `M'` the pairs that each term counts. Tartaglione et al.,
//! *EnD: Entangling and Disentangling deep representations for bias correction* (2021). The orthogonal term does not depend on the
//! class.
//!
//! Released code masks both terms with the strict lower triangle. For equal biases that counts each pair once; for
//! different ones, whose mask is not symmetric, it drops each pair whose later sample has the larger bias, about
//! half of them, and which half depends on the order of the batch. The default, `paper`, counts every pair once and
//! does not depend on the order. Released code expects that the network normalises the features; here they are
//! normalised unless the batch marks them as unit rows. It clamps `g` to [-1, 1], which unit rows never leave.
//!
//! `alpha` = `beta` = 1 as in the comparison of Hong and Yang; the original code has 0.1, and draws both at random
//! from [0, 1], at a correlation of 0.999 from [0, 50]. A term without any pair is 0 with gradient 0.

use burn::tensor::{Int, Tensor};
use serde::{Deserialize, Serialize};
use simile_kernels::gemm;

use crate::error::Result;
use crate::loss::batch::{Batch, check_rows};
use crate::loss::logits::{CrossEntropies, targets};
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::pairwise::itself;
use crate::loss::spec::{
    BIAS, CLASSES, Described, Family, Form, Head, LOGITS, Parameter, Range, Spec, VIEW_A,
};
use crate::numeric::label_groups::LabelGroups;
use crate::numeric::matrix::{Matrix, indices};

/// EnD; see the [module](self). Inputs: `logits`, `[n, classes]`; `view_a`, `[n, d]`; `labels`, `bias`, `[n]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct End {
    /// Factor of the orthogonal term, 0 to 1e12.
    pub alpha: f64,
    /// Factor of the parallel term, 0 to 1e12.
    pub beta: f64,
    /// Selects all pairs (`paper`) or the released half (`released`) for the parallel term.
    pub variant: Variant,
}

impl Default for End {
    fn default() -> Self {
        Self { alpha: 1.0, beta: 1.0, variant: Variant::Paper }
    }
}

impl Described for End {
    const SPEC: Spec = Spec {
        name: "end",
        title: "EnD",
        family: Family::ClassScores,
        summary: "labels and bias labels, on class scores and features",
        work: "Tartaglione et al., EnD: Entangling and Disentangling deep representations for bias correction, 2021",
        formula: "L = 1/n sum_i CE(z_i, y_i) + alpha R_orthogonal + beta R_parallel,   g_pq = <x_p, x_q>\n\
            R_orthogonal = 1/M sum_b |sum_{p > q in B_b} g_pq|\n\
            paper     R_parallel = 1 - 1/M' sum_{p > q, y_p = y_q, b_p != b_q} (1 + g_pq)/2\n\
            released  R_parallel = 1 - 1/M' sum_{p > q, y_p = y_q, b_p < b_q} (1 + g_pq)/2",
        symbols: "x the unit features, B_b the samples of bias b, M and M' the pairs counted",
        inputs: &[
            LOGITS,
            VIEW_A.meaning("features of the samples").shape("[n, d]"),
            CLASSES.shape("[n]"),
            BIAS.shape("[n]"),
        ],
        head: Head::ClassScores,
        algorithms: &["single"],
        variants: &[
            Form::new("paper", "the parallel term counts all pairs"),
            Form::new("released", "the parallel term counts half of them, by their order"),
        ],
        parameters: &[
            Parameter::number("alpha", Range::Factor, 1.0, "factor of the orthogonal term"),
            Parameter::number("beta", Range::Factor, 1.0, "factor of the parallel term"),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for End {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let logits = batch.tensor(self.name(), "logits")?;
        let features = batch.unit_rows(self.name(), "view_a")?;
        let targets = targets(batch, self.name(), ["logits", "labels"], &logits)?;
        let [rows, _] = logits.dims();
        check_rows("view_a", rows, features.rows().dims()[0])?;
        let labels = batch.groups(self.name(), "labels", rows)?;
        let bias = batch.groups(self.name(), "bias", rows)?;
        let unit = features.rows();
        let orthogonal = orthogonal(&unit, bias);
        let parallel = match self.variant {
            Variant::Paper => all_pairs(&unit, labels, bias),
            Variant::Released => released_pairs(&unit, labels, bias),
        };

        let (ce, grad_logits) = CrossEntropies::new(logits, &targets).mean();
        let regulariser = orthogonal.value.clone() * self.alpha + parallel.value.clone() * self.beta;
        let grad_unit = orthogonal.gradient * self.alpha + parallel.gradient * self.beta;
        Ok(Evaluation::new(ce.clone() + regulariser.clone())
            .with_gradient("logits", grad_logits)
            .with_gradient("view_a", features.pull_back(grad_unit))
            .with_aux("ce", Aux::Scalar(ce))
            .with_aux("reg", Aux::Scalar(regulariser))
            .with_aux("R_orthogonal", Aux::Scalar(orthogonal.value))
            .with_aux("R_parallel", Aux::Scalar(parallel.value)))
    }
}

/// A term with its gradient with respect to the unit rows.
struct Term {
    value: Tensor<1>,
    gradient: Tensor<2>,
}

impl Term {
    /// `1 - sum_pairs (1 + g_pq) / 2 / pairs`, where `partner_sums` contains for each row the sum of the rows paired with
    /// it; every pair occurs twice, once for each of its rows. 0 without any pair.
    fn parallel(unit: &Tensor<2>, partner_sums: Tensor<2>, pairs: usize) -> Self {
        let (whole, share) = if pairs == 0 { (0.0, 0.0) } else { (0.5, 0.5 / pairs as f64) };
        let value = (unit.clone() * partner_sums.clone()).sum() * (-0.5 * share) + whole;
        Self { value, gradient: partner_sums * -share }
    }
}

/// `R_orthogonal`. The pairs of a bias follow from the sum `t` of its rows: those of row `p` sum to `< x_p, t - x_p >`.
fn orthogonal(unit: &Tensor<2>, bias: &[i64]) -> Term {
    let groups = LabelGroups::new(bias, &unit.device());
    let sizes: Vec<usize> = (0..bias.len()).map(|p| groups.size_of(p)).collect();
    let pairs = sizes.iter().map(|size| size - 1).sum::<usize>() / 2;
    let share = 1.0 / pairs.max(1) as f64;
    let inverse_sizes: Vec<f64> = sizes.iter().map(|&size| 1.0 / size as f64).collect();
    let inverse_sizes = Matrix::column(&inverse_sizes).to_tensor(&unit.device(), unit.dtype());

    let rest = groups.sums(unit.clone()) - unit.clone();
    let bias_sums = groups.sums((unit.clone() * rest.clone()).sum_dim(1)) * 0.5;
    let value = (bias_sums.clone().abs() * inverse_sizes).sum() * share;
    Term { value, gradient: rest * bias_sums.sign() * share }
}

/// `R_parallel` over all pairs of equal class and different bias.
fn all_pairs(unit: &Tensor<2>, labels: &[i64], bias: &[i64]) -> Term {
    let class = LabelGroups::new(labels, &unit.device());
    let same_bias = LabelGroups::new(labels.iter().zip(bias), &unit.device());
    let pairs = (0..labels.len()).map(|p| class.size_of(p) - same_bias.size_of(p)).sum::<usize>() / 2;
    Term::parallel(unit, class.sums(unit.clone()) - same_bias.sums(unit.clone()), pairs)
}

/// `R_parallel` over the released half of these pairs, which depends on the order of the batch.
fn released_pairs(unit: &Tensor<2>, labels: &[i64], bias: &[i64]) -> Term {
    let (n, device) = (labels.len(), unit.device());
    let counts = |p: usize, q: usize| labels[p] == labels[q] && bias[p] < bias[q];
    let pairs = (0..n).map(|p| (0..p).filter(|&q| counts(p, q)).count()).sum::<usize>();
    let mut sorted = bias.to_vec();
    sorted.sort_unstable();
    let ranks: Vec<usize> = bias.iter().map(|own| sorted.partition_point(|other| other < own)).collect();
    // The mask is made on the device: a few numbers of each sample are copied there, not one of each pair.
    let on_device = |numbers: &[usize]| {
        let numbers = indices(numbers, &device);
        let row_numbers: Tensor<2, Int> = numbers.clone().unsqueeze_dim(1);
        let column_numbers: Tensor<2, Int> = numbers.unsqueeze_dim(0);
        (row_numbers.expand([n, n]), column_numbers.expand([n, n]))
    };
    let ((rank, others), (place, places)) = (on_device(&ranks), on_device(&itself(n)));
    let is_pair = LabelGroups::new(labels, &device).same(0..n).bool_and(rank.lower(others));
    let mask = is_pair.bool_and(place.greater(places)).float().cast(unit.dtype());
    let partner_sums = gemm(mask.clone(), unit.clone()) + gemm(mask.transpose(), unit.clone());
    Term::parallel(unit, partner_sums, pairs)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{random, value};

    const LABELS: [usize; 6] = [0, 1, 0, 1, 0, 0];
    const BIAS: [usize; 6] = [1, 0, 0, 1, 1, 2];

    fn batch(order: [usize; 6]) -> Batch {
        let at: Vec<i32> = order.iter().map(|&i| i32::try_from(i).unwrap()).collect();
        let at: Tensor<1, burn::tensor::Int> =
            Tensor::from_ints(at.as_slice(), &burn::tensor::Device::flex());
        Batch::default()
            .with_tensor("view_a", random(6, 4, 1).select(0, at.clone()))
            .with_tensor("logits", random(6, 2, 2).select(0, at))
            .with_indices("labels", order.iter().map(|&i| LABELS[i]).collect())
            .with_indices("bias", order.iter().map(|&i| BIAS[i]).collect())
    }

    #[test]
    fn only_the_papers_form_ignores_the_order() {
        let (given, shuffled) = (batch([0, 1, 2, 3, 4, 5]), batch([5, 2, 0, 4, 3, 1]));
        let change = |variant| {
            let objective = End { variant, ..End::default() };
            (value(&objective, &given) - value(&objective, &shuffled)).abs()
        };
        assert!(change(Variant::Paper) < 1e-12);
        assert!(change(Variant::Released) > 1e-3);
    }

    #[test]
    fn without_pairs_it_is_cross_entropy() {
        let alone = batch([0, 1, 2, 3, 4, 5]).with_indices("bias", vec![0; 6]);
        let no_orthogonal = End { alpha: 0.0, ..End::default() };
        let evaluation = no_orthogonal.evaluate(&alone).unwrap();
        let Aux::Scalar(ce) = evaluation.aux["ce"].clone() else { unreachable!() };
        assert!((evaluation.loss - ce).abs().into_scalar::<f64>() < 1e-12);
    }
}
