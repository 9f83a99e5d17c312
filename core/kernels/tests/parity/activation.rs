use burn::tensor::{Device, Tensor};

use crate::devices::{assert_close, noise, targets, values};

type Function = fn(Tensor<2>) -> Tensor<2>;

/// Compares an operation of one tensor with Burn's, for a contiguous tensor and a transposed one.
fn check(name: &str, operation: Function, plain: Function) {
    let shape = [7, 19];
    let x: Vec<f64> = noise(7 * 19, 1).into_iter().map(|v| 6.0 * v).collect();
    let weights = noise(7 * 19, 2);
    let run = |x: Tensor<2>, weights: Tensor<2>, function: Function, transposed: bool| {
        let y = if transposed { function(x.clone().transpose()).transpose() } else { function(x.clone()) };
        let gradients = (y.clone() * weights).sum().backward();
        (values(y), values(x.grad(&gradients).unwrap()))
    };
    let reference = (Device::flex().autodiff(), burn::tensor::DType::F64);
    let leaf = |values: &[f64]| {
        let data = burn::tensor::TensorData::new(values.to_vec(), shape);
        Tensor::<2>::from_data(data, (&reference.0, reference.1)).require_grad()
    };
    let (value, gradient) = run(leaf(&x), leaf(&weights), plain, false);
    for target in targets() {
        for transposed in [false, true] {
            let of = |values: &[f64]| target.leaf(values, shape);
            let (y, slope) = run(of(&x), of(&weights).detach(), operation, transposed);
            assert_close(&y, &value, &target, name);
            assert_close(&slope, &gradient, &target, &format!("gradient of {name}"));
        }
    }
}

#[test]
fn tanh() {
    check("tanh", simile_kernels::tanh, Tensor::tanh);
}

#[test]
fn sigmoid() {
    check("sigmoid", simile_kernels::sigmoid, burn::tensor::activation::sigmoid);
}
