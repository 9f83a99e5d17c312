//! Convolutions that are not normalised, and pools.

use burn::tensor::module::{avg_pool2d, max_pool2d};
use burn::tensor::ops::{AvgPoolOptions, MaxPoolOptions};
use burn::tensor::{DType, Tensor, TensorData};
use simile_kernels::{Windows, convolve, convolve_tanh_pool, max_pool, mean_pool};

use super::{
    CASES, On, assert_alike, case, check, check_on, gradient_values, is_in_half_precision, reference,
};
use crate::devices::{Target, assert_close, noise, targets, values};

#[test]
fn convolutions() {
    for case in &CASES {
        let windows = case.windows;
        check(
            "plain",
            case,
            |on| on.plain(None, windows),
            |on| convolve(on.maps.clone(), on.weight.clone(), None, windows),
        );
        check(
            "with bias",
            case,
            |on| on.plain(Some(on.bias.clone()), windows),
            |on| convolve(on.maps.clone(), on.weight.clone(), Some(on.bias.clone()), windows),
        );
    }
}

/// GPUs write the windows of some images at a time for the gradient of the weight; here of 30, and of the 29 that are left, then of 102
/// and 101. On CUDA a part of the second maps is a copy whose three channels lie as four.
#[test]
fn convolutions_of_many_places() {
    for case in [case(59, [64, 64], [16, 16], [3, 1, 1]), case(203, [65, 65], [3, 4], [7, 2, 3])] {
        check(
            "of many places",
            &case,
            |on| on.plain(None, case.windows),
            |on| convolve(on.maps.clone(), on.weight.clone(), None, case.windows),
        );
    }
}

/// Rounded to the 8 bits of `bf16` after each of two parts, the gradient would be 0.7 % too large.
#[test]
fn sums_of_the_gradient_of_many_places_are_not_in_half_precision() {
    let case = case(73, [32, 32], [240, 1], [2, 1, 0]);
    for target in targets().into_iter().filter(is_in_half_precision) {
        let ones = |shape: [usize; 4]| Tensor::<4>::ones(shape, (&target.device, DType::BF16));
        let weight = ones(case.weight()).require_grad();
        let output = convolve(ones(case.maps()), weight.clone(), None, case.windows);
        let gradient = values(weight.grad(&output.sum().backward()).unwrap());
        let places = (case.n * 31 * 31) as f64;
        for value in gradient {
            assert!((value / places - 1.0).abs() < 4e-3, "{value}, not {places}, on {}", target.name);
        }
    }
}

/// Maps that repeat a column, a row or an image take the memory of one.
#[test]
fn convolutions_of_repeated_maps() {
    let case = &CASES[0];
    let [n, height, width, inputs] = case.maps();
    for once in [[n, height, 1, inputs], [n, 1, width, inputs], [1, height, width, inputs]] {
        let maps = |on: &On| {
            let [images, rows, columns, channels] = once;
            let part = on.maps.clone().slice([0..images, 0..rows, 0..columns, 0..channels]);
            part.expand([n, height, width, inputs])
        };
        check(
            "repeated",
            case,
            |on| On { maps: maps(on), ..on.clone() }.plain(None, case.windows),
            |on| convolve(maps(on), on.weight.clone(), None, case.windows),
        );
    }
}

/// Maps whose planes lie one after another, as those of images do.
#[test]
fn convolutions_of_planes() {
    for case in [&CASES[0], &CASES[6]] {
        let [n, height, width, inputs] = case.maps();
        let maps = |on: &On| on.maps.clone().permute([0, 2, 3, 1]);
        check_on(
            "of planes",
            case,
            [n, inputs, height, width],
            |_| true,
            |on| On { maps: maps(on), ..on.clone() }.plain(None, case.windows),
            |on| convolve(maps(on), on.weight.clone(), None, case.windows),
        );
    }
}

#[test]
fn convolutions_with_tanh_and_mean_of_four() {
    for case in [
        case(9, [12, 15], [3, 6], [5, 1, 0]),
        case(1, [32, 32], [1, 6], [5, 1, 0]),
        case(9, [9, 8], [6, 16], [3, 1, 0]),
        case(3, [8, 9], [2, 7], [4, 1, 0]),
    ] {
        let [n, height, width, outputs] = case.shape();
        let along = |along: Tensor<4>| along.slice([0..n, 0..height / 2, 0..width / 2, 0..outputs]);
        let plain = |on: &On| {
            let maps = on.plain(Some(on.bias.clone()), case.windows).tanh().permute([0, 3, 1, 2]);
            avg_pool2d(maps, AvgPoolOptions::new([2, 2]).with_stride([2, 2])).permute([0, 2, 3, 1])
        };
        let ours = |on: &On| convolve_tanh_pool(on.maps.clone(), on.weight.clone(), on.bias.clone());
        let run = |target: &Target, block: &dyn Fn(&On) -> Tensor<4>| {
            let on = On::new(&case, &case.inputs(), target);
            let on = On { along: along(on.along.clone()), ..on };
            on.results(block(&on))
        };
        let expected = run(&reference(), &plain);
        for target in targets().iter().map(Target::of_products) {
            assert_alike(&run(&target, &ours), &expected, &target, "with tanh and mean");
        }
    }
}

#[test]
fn max_pools() {
    for (shape, side, stride, padding) in
        [([9, 9, 12, 5], 3, 2, 1), ([9, 8, 6, 5], 2, 2, 0), ([9, 7, 7, 5], 3, 1, 1), ([1, 8, 6, 8], 3, 2, 1)]
    {
        let maps = noise(shape.iter().product(), 1);
        let plain = |maps: Tensor<4>| {
            let options = MaxPoolOptions::new([side; 2]).with_stride([stride; 2]).with_padding([padding; 2]);
            max_pool2d(maps.permute([0, 3, 1, 2]), options).permute([0, 2, 3, 1])
        };
        let ours = |maps: Tensor<4>| max_pool(maps, side, Windows { stride, padding });
        let run = |target: &Target, pool: &dyn Fn(Tensor<4>) -> Tensor<4>| {
            let maps = target.leaf(&maps, shape);
            let pooled = pool(maps.clone());
            let along = TensorData::new(noise(pooled.shape().num_elements(), 2), pooled.dims());
            let along = Tensor::from_data(along, (&target.device, target.dtype));
            let gradients = (pooled.clone() * along).sum().backward();
            [values(pooled), gradient_values(&maps, &gradients).unwrap()]
        };
        let expected = run(&reference(), &plain);
        for target in targets() {
            for (result, expected) in run(&target, &ours).iter().zip(&expected) {
                assert_close(result, expected, &target, "max pool or its gradient");
            }
        }
    }
}

#[test]
fn mean_pools() {
    let shape = [9, 5, 7, 6];
    let (maps, along) = (noise(shape.iter().product(), 1), noise(9 * 6, 2));
    let run = |target: &Target, pool: &dyn Fn(Tensor<4>) -> Tensor<2>| {
        let maps = target.leaf(&maps, shape);
        let pooled = pool(maps.clone());
        let gradients = (pooled.clone() * target.leaf(&along, [9, 6])).sum().backward();
        [values(pooled), gradient_values(&maps, &gradients).unwrap()]
    };
    let expected = run(&reference(), &|maps| maps.mean_dim(1).mean_dim(2).reshape([9, 6]));
    for target in targets() {
        for (result, expected) in run(&target, &mean_pool).iter().zip(&expected) {
            assert_close(result, expected, &target, "mean pool or its gradient");
        }
    }
}
