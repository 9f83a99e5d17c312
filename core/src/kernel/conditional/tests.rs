#![allow(clippy::unwrap_used)]

use burn::tensor::{DType, Device, Tensor};
use faer::Side;
use simile_kernels::{Comparison, LogSumExp, Weight, own_log_sum_exps};

use super::dense::solve_dense;
use super::system::{SMALL, to_faer};
use super::testing::{largest_difference, polynomial, weights_of};
use super::weights::{DENSE_ROWS, Storage};
use super::{ConditionWeights, DeviceWeights, GramDiagonal, WeightProduct, WeightScheme};
use crate::kernel::{Approximation, Factor, Kernel};
use crate::numeric::matrix::Matrix;

/// Values of three columns without order or symmetry.
fn values(n: usize, scale: f64) -> Matrix {
    Matrix::from_fn(n, 3, |i, j| scale * (((i * i * (5 + j) + 7 * i + 3 * j) % 23) as f64 / 11.0 - 0.9))
}

fn kernels() -> Vec<Kernel> {
    vec![
        Kernel::rbf(0.8),
        Kernel::Laplacian { scale: 1.5 },
        Kernel::LaplacianL1 { gamma: 0.7 },
        Kernel::MedianRbf,
        Kernel::Linear { scale: 1.0 },
        Kernel::Cosine,
        Kernel::Polynomial { gamma: 1.0, offset: 0.0, degree: 3, scale: 2.0 },
        polynomial(1.0, 2),
        Kernel::ExactMatch,
    ]
}

/// `(K + ridge I) W`, which is `K` if `W` solves its equation.
fn residual(gram: &Matrix, ridge: f64, w: &Matrix) -> f64 {
    let product = Matrix::from_fn(w.rows(), w.rows(), |i, j| {
        let sum: f64 = (0..w.rows()).map(|k| gram[(i, k)] * w[(k, j)]).sum();
        sum + ridge * w[(i, j)]
    });
    largest_difference(&product, gram)
}

#[test]
fn the_weights_solve_their_equation() {
    let z = values(20, 1.0);
    for kernel in kernels() {
        for ridge in [0.01, 1.0, 100.0] {
            let w = weights_of(&kernel, &z, ridge).unwrap().to_matrix();
            let error = residual(&kernel.gram(&z), ridge, &w);
            assert!(error < 1e-9, "{kernel:?}, ridge {ridge}: {error}");
            let transposed = Matrix::from_fn(20, 20, |i, j| w[(j, i)]);
            assert!(largest_difference(&w, &transposed) < 1e-9, "{kernel:?} is not symmetric");
        }
    }
}

#[test]
fn a_product_with_another_number_of_rows_is_an_error() {
    let like = Tensor::<2>::ones([20, 2], (&Device::flex(), DType::F64));
    for kernel in [Kernel::rbf(0.8), Kernel::Cosine] {
        let product = WeightProduct::new(&kernel, &values(20, 1.0), 0.1, &like).unwrap();
        let fewer = like.clone().slice([0..19, 0..2]);
        let error = product.apply(fewer).map(drop).unwrap_err().to_string();
        assert_eq!(error, "`c` has 19 rows, expected 20 rows", "{kernel:?}");
    }
}

/// Both ended as values of the kernel above 1e140, without the row or the bandwidth.
#[test]
fn a_value_that_is_no_number_and_a_bandwidth_of_zero_are_named() {
    let like = Tensor::<2>::ones([20, 2], (&Device::flex(), DType::F64));
    let refusals = |kernel: &Kernel, z: &Matrix| {
        let refused = [
            weights_of(kernel, z, 0.1).map(drop),
            WeightScheme::Released.weights(kernel, z, 0.1, 1e-6).map(drop),
            WeightProduct::new(kernel, z, 0.1, &like).map(drop),
            kernel.low_rank(z, &Approximation::default()).map(drop),
        ];
        refused.map(|refused| refused.unwrap_err().to_string())
    };
    let mut broken = values(20, 1.0);
    broken[(3, 1)] = f64::NAN;
    for kernel in kernels() {
        for error in refusals(&kernel, &broken) {
            assert!(error.starts_with("`z` has a value that is not finite in row 3"), "{kernel:?}: {error}");
        }
    }
    let product =
        |start, end| Kernel::Product { factors: vec![Factor { start, end, kernel: Kernel::rbf(0.0) }] };
    for (kernel, expected) in [
        (Kernel::rbf(0.0), "`kernel.temp_z` is 0, expected a number from 1e-250 to 1e250"),
        (Kernel::rbf(f64::NAN), "`kernel.temp_z` is NaN, expected a number from 1e-250 to 1e250"),
        (product(0, 3), "`kernel.temp_z` is 0, expected a number from 1e-250 to 1e250"),
        (product(2, 1), "`kernel.factors` is columns 2 to 1, expected start below end"),
    ] {
        for error in refusals(&kernel, &values(20, 1.0)) {
            assert_eq!(error, expected, "{kernel:?}");
        }
    }
}

#[test]
fn few_features_give_what_the_gram_matrix_gives() {
    let z = values(40, 1.0);
    for kernel in kernels().into_iter().filter(|k| k.features(&z).is_some()) {
        for ridge in [0.01, 1.0] {
            let gram = kernel.gram(&z);
            let features = kernel.features(&z).unwrap();
            let few = ConditionWeights::from_features(&features, ridge).unwrap().to_matrix();
            assert!(largest_difference(&few, &solve_dense(&gram, ridge).unwrap()) < 1e-9, "{kernel:?}");

            let mut unit = gram;
            (0..40).for_each(|i| unit[(i, i)] = 1.0);
            let few = ConditionWeights::from_features_with_unit_diagonal(&features, ridge).unwrap();
            let Some(few) = few else { continue };
            assert!(
                largest_difference(&few.to_matrix(), &solve_dense(&unit, ridge).unwrap()) < 1e-7,
                "{kernel:?}"
            );
        }
    }
}

#[test]
fn a_large_batch_is_held_in_factors_and_reads_the_same() {
    let z = values(DENSE_ROWS + 6, 1.0);
    let device = Device::flex();
    for kernel in [Kernel::Cosine, Kernel::Linear { scale: 1.0 }] {
        let solved = weights_of(&kernel, &z, 0.1).unwrap();
        assert!(matches!(solved.storage, Storage::Factors { .. }));
        let dense = ConditionWeights::exact(Storage::Dense(solved.to_matrix()));
        let (few, dense) = (solved.on_device(&device, DType::F64), dense.on_device(&device, DType::F64));
        let difference = |a: Tensor<2>, b: Tensor<2>| (a - b).abs().max().into_scalar::<f64>();
        assert!(difference(few.diagonal(), dense.diagonal()) < 1e-12);
        let total = |w: &DeviceWeights| {
            let weights = DeviceWeights::pair_weights(&[w]);
            let term = LogSumExp::other_rows(z.rows()).weighted(Weight::Above(0.0)).with_power(0.0);
            let rows = Tensor::zeros([z.rows(), 1], (&device, DType::F64));
            own_log_sum_exps(rows, weights, Comparison::new([term], 1.0))
        };
        assert!(difference(total(&few), total(&dense)) < 1e-6);
        let c = values(z.rows(), 1.0).to_tensor(&device, DType::F64);
        assert!(difference(few.apply(c.clone()), dense.apply(c)) < 1e-10);
    }
}

#[test]
fn badly_scaled_features_stay_a_projection() {
    let colours = |i: usize, j: usize| ((i * i * (31 + 17 * j * j) + (7 + j) * i) % 1009) as f64 / 4.0;
    for (samples, offset, features) in [(200, 0.0, 10.0), (200, 1.0, 20.0), (SMALL + 76, 1.0, 20.0)] {
        let colours = Matrix::from_fn(samples, 3, colours);
        let w = weights_of(&polynomial(offset, 3), &colours, 0.01).unwrap().to_matrix();
        let trace: f64 = (0..samples).map(|i| w[(i, i)]).sum();
        assert!((trace - features).abs() < 1e-2, "{features} features, trace {trace}");
        assert!(w.data().iter().all(|v| v.abs() <= 1.0 + 1e-9));
    }
}

#[test]
fn a_unit_diagonal_can_make_the_system_indefinite() {
    let z = values(7, 3.0);
    let kernel = Kernel::Linear { scale: 1.0 };
    let mut gram = kernel.gram(&z);
    (0..7).for_each(|i| gram[(i, i)] = 1.0);
    let eigenvalues = to_faer(&gram).self_adjoint_eigenvalues(Side::Lower).unwrap();
    assert!(eigenvalues.iter().any(|&e| e < -0.5));
    let w = ConditionWeights::solve(&kernel, &z, 0.5, GramDiagonal::One).unwrap().to_matrix();
    assert!(residual(&gram, 0.5, &w) < 1e-9);
}

#[test]
fn without_a_ridge_a_singular_gram_matrix_is_an_error() {
    let mut z = values(8, 1.0);
    let first = z.row(0).to_vec();
    z.row_mut(5).copy_from_slice(&first);
    for kernel in kernels() {
        let error = weights_of(&kernel, &z, 0.0).unwrap_err().to_string();
        assert!(error.contains("lambda"), "{kernel:?}: {error}");
    }
    assert!(weights_of(&Kernel::Cosine, &z, -1.0).unwrap_err().to_string().contains("lambda"));
    assert!(weights_of(&Kernel::Cosine, &z, f64::NAN).unwrap_err().to_string().contains("lambda"));
}

#[test]
fn without_a_ridge_a_regular_gram_matrix_gives_the_identity() {
    let z = Matrix::from_fn(6, 1, |i, _| i as f64);
    let w = weights_of(&Kernel::rbf(0.5), &z, 0.0).unwrap().to_matrix();
    assert!(largest_difference(&w, &Matrix::from_fn(6, 6, |i, j| f64::from(u8::from(i == j)))) < 1e-12);
}

#[test]
fn exact_match_averages_over_clusters() {
    let clusters = [0.0, 1.0, 0.0, 2.0, 1.0, 0.0];
    let ridge = 0.3;
    let w = weights_of(&Kernel::ExactMatch, &Matrix::column(&clusters), ridge).unwrap().to_matrix();
    for i in 0..6 {
        let members = clusters.iter().filter(|&&c| c == clusters[i]).count() as f64;
        for j in 0..6 {
            let expected = if clusters[i] == clusters[j] { 1.0 / (members + ridge) } else { 0.0 };
            assert!((w[(i, j)] - expected).abs() < 1e-12);
        }
    }
}

#[test]
fn normalised_rows_are_distributions_over_the_others() {
    let weights = WeightScheme::Normalised.weights(&Kernel::Cosine, &values(12, 1.0), 0.1, 0.0).unwrap();
    for i in 0..12 {
        assert!((weights.row(i).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(weights[(i, i)], 0.0);
    }
}

/// `1 + ridge - k_ii` is 0 for the first sample, so that the formula of factors has no digits.
#[test]
fn a_diagonal_of_1_and_the_ridge_is_solved_too() {
    let z = Matrix::column(&[2.0, 0.5, 0.1]);
    let kernel = Kernel::Linear { scale: 1.0 };
    let factor = kernel.low_rank(&z, &Approximation { rank: 3, tolerance: 0.0 }).unwrap();
    let close = ConditionWeights::from_low_rank(&factor, 3.0, GramDiagonal::One).unwrap();
    let exact = ConditionWeights::solve(&kernel, &z, 3.0, GramDiagonal::One).unwrap();
    assert!(largest_difference(&exact.to_matrix(), &close.to_matrix()) < 1e-12);
}

#[test]
fn the_error_of_an_approximation_is_bounded_as_stated() {
    let z = values(60, 1.0);
    let ridge = 0.1;
    for kernel in [Kernel::rbf(0.8), Kernel::Laplacian { scale: 1.5 }] {
        let exact = weights_of(&kernel, &z, ridge).unwrap().to_matrix();
        for rank in [10, 20, 60] {
            let factor = kernel.low_rank(&z, &Approximation { rank, tolerance: 0.0 }).unwrap();
            let close = ConditionWeights::from_low_rank(&factor, ridge, GramDiagonal::OfKernel).unwrap();
            let bound = close.approximation_error().unwrap() + 1e-10;
            assert!(largest_difference(&exact, &close.to_matrix()) <= bound);
        }
        let unit = ConditionWeights::solve(&kernel, &z, ridge, GramDiagonal::One).unwrap().to_matrix();
        let factor = kernel.low_rank(&z, &Approximation { rank: 60, tolerance: 0.0 }).unwrap();
        let close = ConditionWeights::from_low_rank(&factor, ridge, GramDiagonal::One).unwrap();
        assert!(close.approximation_error().unwrap() < 1e-9);
        assert!(largest_difference(&unit, &close.to_matrix()) < 1e-7);
    }
}
