use burn::tensor::{DType, Device, Tensor, TensorData};
use simile_kernels::gemm;

use crate::devices::{assert_close, noise, targets, values};

/// The product, and the gradients of its weighted sum by both factors. Factors are handed over transposed in memory if asked.
fn run(
    [n, k, m]: [usize; 3],
    transposed: bool,
    place: (&Device, DType),
    multiply: fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
) -> [Vec<f64>; 3] {
    let leaf = |[rows, columns]: [usize; 2], seed| {
        let data = TensorData::new(noise(rows * columns, seed), [rows, columns]);
        Tensor::<2>::from_data(data, place).require_grad()
    };
    let shaped = |[rows, columns]: [usize; 2], seed| match transposed {
        true => leaf([columns, rows], seed),
        false => leaf([rows, columns], seed),
    };
    let of = |x: &Tensor<2>| if transposed { x.clone().transpose() } else { x.clone() };
    let (a, b, weights) = (shaped([n, k], 1), shaped([k, m], 2), leaf([n, m], 3).detach());
    let output = multiply(of(&a), of(&b));
    let gradients = (output.clone() * weights).sum().backward();
    [values(output), values(a.grad(&gradients).unwrap()), values(b.grad(&gradients).unwrap())]
}

/// Within the tolerance of single precision on every device: rounded to the 11 bits of TF32, factors would miss it.
#[test]
fn products_keep_the_digits_of_their_factors() {
    for shape in [[1, 1, 1], [3, 5, 2], [64, 64, 64], [130, 37, 65], [7, 300, 1], [1, 33, 200], [96, 1, 40]] {
        for transposed in [false, true] {
            let reference = (&Device::flex().autodiff(), DType::F64);
            let expected = run(shape, transposed, reference, |a, b| a.matmul(b));
            for target in targets() {
                let results = run(shape, transposed, (&target.device, target.dtype), gemm);
                for ((result, expected), what) in
                    results.iter().zip(&expected).zip(["product", "of a", "of b"])
                {
                    assert_close(result, expected, &target, &format!("{what}, {shape:?}, {transposed}"));
                }
            }
        }
    }
}

#[test]
fn products_of_nothing_are_empty_or_zeros() {
    for target in targets() {
        let leaf = |shape: [usize; 2]| target.leaf(&noise(shape[0] * shape[1], 1), shape);
        assert_eq!(gemm(leaf([0, 3]), leaf([3, 2])).dims(), [0, 2], "{}", target.name);
        assert_eq!(values(gemm(leaf([3, 0]), leaf([0, 2]))), [0.0; 6], "{}", target.name);
    }
}
