//! Tensors whose shapes do not fit each other are refused on every device, before a kernel that checks no bounds gets them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{DType, Int, Tensor, TensorData};
use simile_kernels::{
    Comparison, Epilogue, LogSumExp, Norm, PairSums, PairWeights, Redundancy, SoftCrossEntropy, Statistics,
    Windows, batch_norm_train, convolve, convolve_normalised, convolve_normalised_by, convolve_tanh_pool,
    gemm, log_sum_exps, max_pool, own_log_sum_exps, pull_back_unit_rows,
};

use crate::devices::{Target, targets};

fn ones<const D: usize>(target: &Target, shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, (&target.device, target.dtype))
}

/// The call panics with the message of the check of `operation`.
fn assert_refused<T>(operation: &str, target: &Target, call: impl FnOnce() -> T) {
    let panic = catch_unwind(AssertUnwindSafe(call)).err();
    let message = panic.as_ref().and_then(|panic| panic.downcast_ref::<String>());
    let is_named = message.is_some_and(|message| message.contains(&format!("Operation: '{operation}'")));
    assert!(is_named, "{operation} on {}: {message:?}", target.name);
}

#[test]
fn rows_and_weights_of_other_pairs() {
    for target in &targets() {
        let rows = |shape: [usize; 2]| ones(target, shape);
        let comparison = || Comparison::new([LogSumExp::all()], 2.0);
        assert_refused("PairSums", target, || {
            log_sum_exps(rows([3, 8]), rows([6, 4]), PairWeights::Ones, comparison())
        });
        assert_refused("PairSums", target, || {
            let weights = PairWeights::pairs(rows([3, 5]));
            log_sum_exps(rows([3, 4]), rows([6, 4]), weights, comparison())
        });
        assert_refused("PairSums", target, || {
            let none = TensorData::new(Vec::<i32>::new(), [0]);
            let none = Tensor::<1, Int>::from_data(none, (&target.device, DType::I32));
            own_log_sum_exps(rows([6, 4]), PairWeights::groups(none), comparison())
        });
        assert_refused("PairSums", target, || {
            own_log_sum_exps(rows([6, 4]), PairWeights::samples(rows([4, 3])), comparison())
        });
        // The rows of two views of three samples, less one.
        assert_refused("PairSums", target, || {
            let weights = PairWeights::factors(rows([5, 2]), rows([5, 2]), 3);
            own_log_sum_exps(rows([6, 4]), weights, comparison())
        });
        assert_refused("PairSums::pull_back", target, || {
            PairSums::within(rows([6, 4]), PairWeights::Ones, comparison()).pull_back(rows([5, 1]))
        });
    }
}

#[test]
fn rows_of_another_matrix() {
    for target in &targets() {
        let rows = |shape: [usize; 2]| ones(target, shape);
        for (scale, gradient) in [([3, 1], [4, 8]), ([4, 1], [3, 8]), ([4, 1], [1, 8]), ([1, 1], [4, 8])] {
            assert_refused("pull_back_unit_rows", target, || {
                pull_back_unit_rows(rows([4, 8]), rows(scale), rows(gradient))
            });
        }
        assert_refused("gemm", target, || gemm(rows([4, 8]), rows([7, 4])));
        assert_refused("SoftCrossEntropy", target, || SoftCrossEntropy::new(rows([4, 8]), rows([1, 8]), 0.1));
        assert_refused("Redundancy", target, || Redundancy::new([rows([4, 8]), rows([4, 7])], 0.1, 1e-5));
    }
}

#[test]
fn constants_of_other_channels() {
    for target in &targets() {
        let row = |length: usize| ones(target, [length]);
        for (gain, shift) in [(3, 5), (5, 3), (1, 5), (6, 5)] {
            assert_refused("batch_norm_train", target, || {
                batch_norm_train(ones(target, [7, 5]), row(gain), row(shift), 1e-3)
            });
        }
    }
}

#[test]
fn weights_and_identities_of_other_maps() {
    let windows = Windows { stride: 2, padding: 1 };
    for target in &targets() {
        let maps = || ones(target, [2, 6, 8, 3]);
        let weight = |inputs: usize| ones(target, [5, inputs, 3, 3]);
        let row = |length: usize| ones(target, [length]);
        let norm = |gain: usize, shift: usize| Norm { gain: row(gain), shift: row(shift), epsilon: 1e-3 };
        let added = |shape: [usize; 4]| Epilogue::added_and_rectified(ones(target, shape));
        let fitting = [2, 3, 4, 5];
        for (weight, bias) in [(weight(4), None), (weight(3), Some(row(4)))] {
            assert_refused("convolve", target, || convolve(maps(), weight, bias, windows));
        }
        for (maps, stride) in [([2, 2, 8, 3], 1), ([2, 6, 2, 3], 1), ([2, 6, 8, 3], 0)] {
            assert_refused("convolve", target, || {
                convolve(ones(target, maps), weight(3), None, Windows { stride, padding: 0 })
            });
        }
        for (gain, shift, identity) in [(4, 5, fitting), (5, 1, fitting), (5, 5, [2, 3, 3, 5])] {
            assert_refused("convolve_normalised", target, || {
                convolve_normalised(maps(), weight(3), windows, norm(gain, shift), added(identity))
            });
        }
        for (mean, variance, identity) in [(4, 5, fitting), (5, 6, fitting), (5, 5, [1, 3, 4, 5])] {
            assert_refused("convolve_normalised_by", target, || {
                let statistics = Statistics { mean: row(mean), variance: row(variance) };
                convolve_normalised_by(maps(), weight(3), windows, norm(5, 5), statistics, added(identity))
            });
        }
        for (weight, bias) in [(weight(4), row(5)), (weight(3), row(4))] {
            assert_refused("convolve_tanh_pool", target, || convolve_tanh_pool(maps(), weight, bias));
        }
    }
}

#[test]
fn maps_without_a_window() {
    for target in &targets() {
        // The convolved maps have a side of 1, of which no mean of 2×2 is left.
        for sides in [[3, 8], [6, 3]] {
            assert_refused("convolve_tanh_pool", target, || {
                let [maps, weight] =
                    [[2, sides[0], sides[1], 3], [5, 3, 3, 3]].map(|shape| ones(target, shape));
                convolve_tanh_pool(maps, weight, ones(target, [5]))
            });
        }
        for (sides, side, stride, padding) in
            [([2, 8], 3, 1, 0), ([6, 2], 3, 1, 0), ([6, 2], 5, 1, 1), ([6, 8], 3, 0, 1), ([6, 8], 0, 1, 0)]
        {
            assert_refused("max_pool", target, || {
                max_pool(ones(target, [2, sides[0], sides[1], 3]), side, Windows { stride, padding })
            });
        }
    }
}
