//! Distances between the rows of a tensor.

use burn::tensor::Tensor;
use simile_kernels::gemm;

/// `|z_i - z_j|^2` of the rows of `z`, `[n, n]`, from their products. Distances do not depend on the origin; rows about their mean,
/// which passes no gradient on, lose fewer digits in the difference of squares.
pub(crate) fn squared_distances(z: Tensor<2>) -> Tensor<2> {
    let centred = z.clone() - z.mean_dim(0).detach();
    let squares = centred.clone().square().sum_dim(1);
    let products = gemm(centred.clone(), centred.transpose());
    (squares.clone() + squares.transpose() - products * 2.0).clamp_min(0.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::numeric::matrix::Matrix;

    #[test]
    fn rows_far_from_the_origin_keep_their_distances() {
        let z = Matrix::from_fn(5, 3, |i, j| 1e5 + ((7 * i + 3 * j * j) % 5) as f64);
        let distances = squared_distances(z.to_tensor(&Device::flex(), DType::F32));
        let distances = Matrix::from_data(&distances.into_data()).unwrap();
        for i in 0..5 {
            for j in 0..5 {
                let expected: f64 = z.row(i).iter().zip(z.row(j)).map(|(a, b)| (a - b).powi(2)).sum();
                assert!((distances[(i, j)] - expected).abs() < 1e-4, "{i} {j}: {}", distances[(i, j)]);
            }
        }
    }
}
