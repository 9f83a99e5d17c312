use burn::tensor::{DType, Device, Tensor, TensorData};
use simile_kernels::Redundancy;

use crate::devices::{assert_close, noise, targets, values};

const OFF_DIAGONAL: f64 = 0.2;
const EPS: f64 = 1e-3;

/// By autodiff through the equation.
fn plain([a, b]: [Tensor<2>; 2]) -> Tensor<1> {
    let [rows, width] = a.dims();
    // Burn divides gradients by numbers in single precision.
    let share = 1.0 / rows as f64;
    let standardise = |x: Tensor<2>| {
        let centred = x.clone() - x.sum_dim(0) * share;
        let variance = (centred.clone() * centred.clone()).sum_dim(0) * share;
        centred / (variance + EPS).sqrt()
    };
    let square = |on: f64, off: f64| {
        let values: Vec<f64> =
            (0..width * width).map(|at| if at % width == at / width { on } else { off }).collect();
        Tensor::<2>::from_data(TensorData::new(values, [width, width]), (&a.device(), DType::F64))
    };
    let (identity, weights) = (square(1.0, 0.0), square(1.0, OFF_DIAGONAL));
    let correlation = standardise(a).transpose().matmul(standardise(b)) * share;
    ((correlation - identity).square() * weights).sum()
}

#[test]
fn loss_and_gradients_are_those_of_the_equation() {
    for shape in [[700, 9], [1, 4]] {
        let [a, b] = [13, 14].map(|seed| noise(shape[0] * shape[1], seed));
        // Views of one sample agree partly.
        let b: Vec<f64> = a.iter().zip(b).map(|(a, b)| 0.5 * a + b).collect();
        let expected = {
            let leaves = [&a, &b].map(|values| {
                let data = TensorData::new(values.clone(), shape);
                Tensor::<2>::from_data(data, (&Device::flex().autodiff(), DType::F64)).require_grad()
            });
            let loss = plain(leaves.clone()) * 3.0;
            let gradients = loss.backward();
            (values(loss), leaves.map(|leaf| values(leaf.grad(&gradients).unwrap())))
        };
        for target in targets() {
            let leaves = [&a, &b].map(|values| target.leaf(values, shape));
            let redundancy = Redundancy::new(leaves.clone(), OFF_DIAGONAL, EPS);
            let loss = redundancy.loss * 3.0;
            let gradients = loss.backward();
            assert_close(&values(loss), &expected.0, &target, "redundancy");
            for ((leaf, by_hand), expected) in leaves.iter().zip(redundancy.gradients).zip(&expected.1) {
                let gradient = values(leaf.grad(&gradients).unwrap());
                assert_close(&gradient, expected, &target, "gradient of the redundancy");
                assert_close(&values(by_hand * 3.0), expected, &target, "gradient by hand");
            }
        }
    }
}
