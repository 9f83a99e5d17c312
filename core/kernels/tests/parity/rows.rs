use burn::tensor::{DType, Device, Tensor, TensorData, activation};
use simile_kernels::{RowSoftmax, SoftCrossEntropy, pull_back_unit_rows, unit_rows};

use crate::devices::{Target, assert_close, noise, targets, values};

/// Enough rows for several iterations of a loop, and a number of columns that does not fill vectors.
const SHAPE: [usize; 2] = [460, 37];

/// A matrix with rows of very different lengths; the third and the last are zero.
fn matrix([rows, columns]: [usize; 2]) -> Vec<f64> {
    let mut x = noise(rows * columns, 3);
    for (i, row) in x.chunks_exact_mut(columns).enumerate() {
        let size = if i == 2 || i + 1 == rows { 0.0 } else { 10_f64.powi(i as i32 % 7 - 3) };
        row.iter_mut().for_each(|x| *x *= size);
    }
    x
}

/// A constant in the type of a target.
fn constant<const D: usize>(target: &Target, values: &[f64], shape: [usize; D]) -> Tensor<D> {
    target.leaf(values, shape).detach()
}

/// The same on the CPU in `f64`.
fn reference<const D: usize>(values: &[f64], shape: [usize; D]) -> Tensor<D> {
    let data = TensorData::new(values.to_vec(), shape);
    Tensor::from_data(data, (&Device::flex().autodiff(), DType::F64)).require_grad()
}

/// Values and the gradient of their weighted sum.
fn differentiate(x: &Tensor<2>, results: [Tensor<2>; 2], weights: [Tensor<2>; 2]) -> [Vec<f64>; 3] {
    let sums = results.clone().into_iter().zip(weights).map(|(result, weights)| (result * weights).sum());
    let gradients = sums.reduce(|sum, next| sum + next).unwrap().backward();
    let [first, second] = results.map(values);
    [first, second, values(x.grad(&gradients).unwrap())]
}

/// Compares an operation with two results with a plain function, for a contiguous matrix and a transposed one.
fn check(
    name: &str,
    x: &[f64],
    shape: [usize; 2],
    operation: fn(Tensor<2>) -> [Tensor<2>; 2],
    plain: fn(Tensor<2>) -> [Tensor<2>; 2],
) {
    let ([rows, columns], column) = (shape, [shape[0], 1]);
    let (over, beside) = (noise(rows * columns, 5), noise(rows, 6));
    let leaf = reference(x, shape);
    let weights = [reference(&over, shape).detach(), reference(&beside, column).detach()];
    let expected = differentiate(&leaf, plain(leaf.clone()), weights);
    let across: Vec<f64> = (0..rows * columns).map(|at| x[at % rows * columns + at / rows]).collect();
    for target in targets() {
        let as_it_lies = target.leaf(x, shape);
        let transposed = target.leaf(&across, [columns, rows]);
        for (leaf, x) in [(&as_it_lies, as_it_lies.clone()), (&transposed, transposed.clone().transpose())] {
            let weights = [constant(&target, &over, shape), constant(&target, &beside, column)];
            let mut results = differentiate(leaf, operation(x), weights);
            if leaf.dims() != shape {
                results[2] =
                    (0..rows * columns).map(|at| results[2][at % columns * rows + at / columns]).collect();
            }
            for (what, (result, expected)) in
                ["first", "second", "gradient"].iter().zip(results.iter().zip(&expected))
            {
                // Rows have different scales, and so have their results.
                for (row, expected) in
                    result.chunks(result.len() / rows).zip(expected.chunks(result.len() / rows))
                {
                    assert_close(row, expected, &target, &format!("{name}, {what}"));
                }
            }
        }
    }
}

#[test]
fn unit_rows_and_their_lengths() {
    let operation = |x| {
        let (unit, scale) = unit_rows(x);
        [unit, scale]
    };
    let plain = |x: Tensor<2>| {
        let zero = x.clone().detach().abs().max_dim(1).equal_elem(0.0);
        let square = x.clone().square().sum_dim(1).mask_fill(zero.clone(), 1.0);
        let scale = square.sqrt().recip().mask_fill(zero, 0.0);
        [x * scale.clone(), scale]
    };
    // The kernels of GPUs read one, two or four numbers at once.
    for columns in [37, 38, 40] {
        let shape = [SHAPE[0], columns];
        check("unit rows", &matrix(shape), shape, operation, plain);
    }
}

#[test]
fn no_rows_have_no_lengths() {
    for target in targets() {
        let (unit, scale) = unit_rows(constant(&target, &[], [0, 8]));
        assert_eq!((unit.dims(), scale.dims()), ([0, 8], [0, 1]), "{}", target.name);
    }
}

#[test]
fn a_gradient_with_respect_to_unit_rows_by_hand_is_that_of_the_graph() {
    for target in targets() {
        let (x, weights) =
            (target.leaf(&matrix(SHAPE), SHAPE), constant(&target, &noise(460 * 37, 8), SHAPE));
        let gradients = (unit_rows(x.clone()).0 * weights.clone()).sum().backward();
        let (unit, scale) = unit_rows(x.clone().inner());
        let by_hand = pull_back_unit_rows(unit, scale, weights.inner());
        let (by_hand, of_graph) = (values(by_hand), values(x.grad(&gradients).unwrap()));
        for (gradient, expected) in by_hand.chunks(SHAPE[1]).zip(of_graph.chunks(SHAPE[1])) {
            assert_close(gradient, expected, &target, "gradient by hand");
        }
    }
}

#[test]
fn no_square_of_a_long_or_short_row_leaves_the_numbers() {
    for target in targets() {
        for size in [1e-10, 1e25] {
            let x = constant(&target, &[3.0 * size, 0.0, -4.0 * size], [1, 3]);
            let (unit, scale) = unit_rows(x);
            assert_close(&values(unit), &[0.6, 0.0, -0.8], &target, "unit row");
            assert_close(&values(scale * size), &[0.2], &target, "reciprocal of the length");
        }
    }
}

#[test]
fn softmax_and_log_sum_exp() {
    let operation = |x| {
        let RowSoftmax { log_sum, softmax } = RowSoftmax::new(x);
        [softmax, log_sum.unsqueeze_dim(1)]
    };
    let plain = |x: Tensor<2>| {
        let largest = x.clone().detach().max_dim(1);
        let log_sum = (x.clone() - largest.clone()).exp().sum_dim(1).log() + largest;
        [activation::softmax(x, 1), log_sum]
    };
    // Pairs that are left out have logits far below the others, in some rows all.
    let mut x: Vec<f64> = matrix(SHAPE).into_iter().map(|x| 0.02 * x).collect();
    x[5..20].fill(-1e30);
    x[74..111].fill(-1e30);
    check("softmax", &x, SHAPE, operation, plain);
}

#[test]
fn cross_entropies_with_target_weights() {
    let (scores, weights) = (noise(460 * 37, 9), noise(460, 10));
    let targets_of_rows: Vec<f64> = noise(460 * 37, 11).into_iter().map(f64::abs).collect();
    let column = [460, 1];
    let expected = {
        let (scores, target) = (reference(&scores, SHAPE), reference(&targets_of_rows, SHAPE).detach());
        let losses = || (activation::log_softmax(scores.clone() / 0.1, 1) * target.clone()).sum_dim(1).neg();
        let gradient = |losses: Tensor<2>| {
            let gradients = losses.sum().backward();
            values(scores.grad(&gradients).unwrap() * 0.1)
        };
        let of_weighted = gradient(losses() * reference(&weights, column).detach());
        (values(losses()), of_weighted, gradient(losses()))
    };
    for target in targets() {
        let (scores, weights) = (target.leaf(&scores, SHAPE), constant(&target, &weights, column));
        let of_rows = constant(&target, &targets_of_rows, SHAPE);
        let SoftCrossEntropy { losses, grad_logits } = SoftCrossEntropy::new(scores.clone(), of_rows, 0.1);
        let gradients = (losses.clone() * weights.squeeze_dim::<1>(1)).sum().backward();
        assert_close(&values(losses), &expected.0, &target, "cross-entropies");
        assert_close(&values(scores.grad(&gradients).unwrap() * 0.1), &expected.1, &target, "their gradient");
        assert_close(&values(grad_logits), &expected.2, &target, "the gradient of each");
    }
}
