use burn::tensor::{DType, Device, Tensor, TensorData};
use simile_kernels::uniformity;

use crate::devices::{assert_close, noise, targets, values};

/// The definition, with all differences.
fn reference(rows: &Tensor<2>, t: f64) -> Tensor<1> {
    let [n, width] = rows.dims();
    let difference = rows.clone().reshape([n, 1, width]) - rows.clone().reshape([1, n, width]);
    let own = Tensor::<2>::eye(n, &rows.device()).cast(rows.dtype()).reshape([n, n, 1]);
    let terms = (difference.square().sum_dim(2) * -t).exp() * (own.neg() + 1.0);
    // Burn 0.22.1 computes the gradient of a division by a number in single precision.
    (terms.sum() * (1.0 / (n * (n - 1)) as f64)).log()
}

#[test]
fn uniformity_of_rows() {
    for (n, width, t, scale) in [(2, 3, 2.0, 0.5), (70, 9, 2.0, 0.3), (600, 4, 1.0, 0.2), (20, 3, 30.0, 1.0)]
    {
        let given: Vec<f64> = noise(n * width, 1).into_iter().map(|x| scale * x).collect();
        let run = |rows: Tensor<2>, function: &dyn Fn(&Tensor<2>) -> Tensor<1>| {
            let value = function(&rows);
            let gradients = (value.clone() * 3.0).backward();
            (values(value), values(rows.grad(&gradients).unwrap()))
        };
        let device = Device::flex().autodiff();
        let rows = Tensor::from_data(TensorData::new(given.clone(), [n, width]), (&device, DType::F64));
        let expected = run(rows.require_grad(), &|rows| reference(rows, t));
        for target in targets() {
            let (value, gradient) = run(target.leaf(&given, [n, width]), &|rows| uniformity(rows.clone(), t));
            assert_close(&value, &expected.0, &target, "uniformity");
            assert_close(&gradient, &expected.1, &target, "gradient of uniformity");
        }
    }
}
