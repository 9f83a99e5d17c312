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

/// Burn's own function rounds `f64` to `f32`.
#[cfg(feature = "ndarray")]
#[test]
#[allow(deprecated, reason = "Burn 0.22 retires this backend and still has it")]
fn sigmoid_on_ndarray_has_the_digits_of_f64() {
    let x = [-800.0_f64, -20.0, -0.3, 0.0, 1.7, 40.0];
    let data = burn::tensor::TensorData::new(x.to_vec(), [1, x.len()]);
    let on_device = Tensor::<2>::from_data(data, (&Device::ndarray(), burn::tensor::DType::F64));
    for (x, y) in x.iter().zip(values(simile_kernels::sigmoid(on_device))) {
        let expected = 1.0 / (1.0 + (-x).exp());
        assert!((y - expected).abs() <= 1e-15 * expected, "{x}: {y}, expected {expected}");
    }
}
