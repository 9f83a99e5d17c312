use burn::tensor::activation::relu;
use burn::tensor::module::{avg_pool2d, conv2d, max_pool2d};
use burn::tensor::ops::{AvgPoolOptions, ConvOptions, MaxPoolOptions};
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use simile_kernels::{
    Epilogue, Norm, Statistics, Windows, convolve, convolve_normalised, convolve_normalised_by,
    convolve_tanh_pool, max_pool, mean_pool,
};

use crate::devices::{Target, assert_close, noise, targets, values};

const EPSILON: f64 = 1e-3;

/// A convolution of so many images.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    sides: [usize; 2],
    inputs: usize,
    outputs: usize,
    kernel: usize,
    windows: Windows,
}

const fn case(
    n: usize,
    sides: [usize; 2],
    [inputs, outputs]: [usize; 2],
    [kernel, stride, padding]: [usize; 3],
) -> Case {
    Case { n, sides, inputs, outputs, kernel, windows: Windows { stride, padding } }
}

const CASES: [Case; 13] = [
    case(9, [12, 14], [16, 32], [3, 1, 1]),
    case(9, [7, 5], [32, 16], [3, 1, 1]),
    case(37, [1, 3], [16, 16], [3, 1, 1]),
    // Too few tiles for Winograd's algorithm.
    case(1, [6, 6], [16, 16], [3, 1, 1]),
    case(1, [33, 30], [16, 16], [3, 1, 1]),
    case(9, [9, 11], [16, 32], [3, 2, 1]),
    case(9, [6, 8], [3, 16], [3, 1, 2]),
    case(9, [13, 15], [3, 16], [7, 2, 3]),
    case(9, [9, 8], [2, 5], [7, 1, 3]),
    case(9, [5, 7], [16, 32], [1, 1, 0]),
    case(9, [8, 10], [16, 32], [1, 2, 0]),
    case(1, [29, 31], [5, 3], [3, 1, 0]),
    case(9, [8, 10], [3, 16], [4, 2, 1]),
];

/// The inputs of an operation, by name and as numbers, and the weight of each output in the differentiated sum.
struct Inputs {
    maps: Vec<f64>,
    weight: Vec<f64>,
    bias: Vec<f64>,
    gain: Vec<f64>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    identity: Vec<f64>,
    along: Vec<f64>,
}

impl Case {
    fn shape(&self) -> [usize; 4] {
        let Windows { stride, padding } = self.windows;
        let [height, width] = self.sides.map(|side| (side + 2 * padding - self.kernel) / stride + 1);
        [self.n, height, width, self.outputs]
    }

    fn maps(&self) -> [usize; 4] {
        [self.n, self.sides[0], self.sides[1], self.inputs]
    }

    fn weight(&self) -> [usize; 4] {
        [self.outputs, self.inputs, self.kernel, self.kernel]
    }

    /// Multiplications of a pass.
    fn work(&self) -> usize {
        self.shape().iter().product::<usize>() * self.inputs * self.kernel * self.kernel
    }

    fn inputs(&self) -> Inputs {
        let of = |count: usize, seed, scale: f64| noise(count, seed).into_iter().map(|v| scale * v).collect();
        let size = |shape: [usize; 4]| shape.iter().product();
        let window = (self.inputs * self.kernel * self.kernel) as f64;
        let near_one = |seed| noise(self.outputs, seed).into_iter().map(|v| 1.0 + 0.5 * v).collect();
        Inputs {
            maps: of(size(self.maps()), 1, 1.0),
            weight: of(size(self.weight()), 2, 2.0 / window.sqrt()),
            bias: of(self.outputs, 3, 0.5),
            gain: near_one(4),
            mean: of(self.outputs, 5, 0.3),
            variance: near_one(6),
            identity: of(size(self.shape()), 7, 1.0),
            along: of(size(self.shape()), 8, 1.0),
        }
    }
}

/// The numbers of the output or of a gradient, if there is one, by name.
type Named = (&'static str, Option<Vec<f64>>);

/// Tensors on one device.
#[derive(Clone)]
struct On {
    maps: Tensor<4>,
    weight: Tensor<4>,
    bias: Tensor<1>,
    gain: Tensor<1>,
    mean: Tensor<1>,
    variance: Tensor<1>,
    identity: Tensor<4>,
    along: Tensor<4>,
}

impl On {
    fn new(case: &Case, inputs: &Inputs, target: &Target) -> Self {
        let channels = [case.outputs];
        Self {
            maps: target.leaf(&inputs.maps, case.maps()),
            weight: target.leaf(&inputs.weight, case.weight()),
            bias: target.leaf(&inputs.bias, channels),
            gain: target.leaf(&inputs.gain, channels),
            mean: target.leaf(&inputs.mean, channels).set_require_grad(false),
            variance: target.leaf(&inputs.variance, channels).set_require_grad(false),
            identity: target.leaf(&inputs.identity, case.shape()),
            along: target.leaf(&inputs.along, case.shape()).set_require_grad(false),
        }
    }

    fn norm(&self) -> Norm {
        Norm { gain: self.gain.clone(), shift: self.bias.clone(), epsilon: EPSILON }
    }

    fn statistics(&self) -> Statistics {
        Statistics { mean: self.mean.clone(), variance: self.variance.clone() }
    }

    /// The convolution by Burn.
    fn plain(&self, bias: Option<Tensor<1>>, windows: Windows) -> Tensor<4> {
        let options = ConvOptions::new([windows.stride; 2], [windows.padding; 2], [1; 2], 1);
        let maps = self.maps.clone().permute([0, 3, 1, 2]);
        conv2d(maps, self.weight.clone(), bias, options).permute([0, 2, 3, 1])
    }

    /// The next steps of the block, by Burn.
    fn follow(
        &self,
        maps: Tensor<4>,
        statistics: [Tensor<4>; 2],
        identity: Option<Tensor<4>>,
        rectified: bool,
    ) -> Tensor<4> {
        let [mean, variance] = statistics;
        let row = |tensor: &Tensor<1>| tensor.clone().reshape([1, 1, 1, -1]);
        let maps = (maps - mean) / (variance + EPSILON).sqrt() * row(&self.gain) + row(&self.bias);
        let maps = match identity {
            Some(identity) => maps + identity,
            None => maps,
        };
        if rectified { relu(maps) } else { maps }
    }

    /// The convolution by Burn, normalised by its own statistics, with the next steps of the block.
    fn plain_normalised(&self, windows: Windows, identity: Option<Tensor<4>>, rectified: bool) -> Tensor<4> {
        let maps = self.plain(None, windows);
        let mean = |maps: Tensor<4>| maps.mean_dim(0).mean_dim(1).mean_dim(2);
        let centre = mean(maps.clone());
        let variance = mean((maps.clone() - centre.clone()).square());
        self.follow(maps, [centre, variance], identity, rectified)
    }

    /// The output and the gradients of all inputs that have one.
    fn results(&self, output: Tensor<4>) -> Vec<Named> {
        let gradients = (output.clone() * self.along.clone()).sum().backward();
        let of = |tensor: &Tensor<1>| tensor.grad(&gradients).map(values);
        vec![
            ("output", Some(values(output))),
            ("gradient of maps", gradient_values(&self.maps, &gradients)),
            ("gradient of weight", gradient_values(&self.weight, &gradients)),
            ("gradient of bias or shift", of(&self.bias)),
            ("gradient of gain", of(&self.gain)),
            ("gradient of identity", gradient_values(&self.identity, &gradients)),
        ]
    }
}

fn gradient_values(tensor: &Tensor<4>, gradients: &Gradients) -> Option<Vec<f64>> {
    tensor.grad(gradients).map(values)
}

/// The CPU in `f64`, where Burn's operations are the reference.
fn reference() -> Target {
    Target { name: "reference", device: Device::flex().autodiff(), dtype: DType::F64, tolerance: 0.0 }
}

/// Most multiplications of a pass on ndarray, whose convolutions are Burn's alone and are compiled without optimisation.
const MOST_WORK_ON_NDARRAY: usize = 1_250_000;

/// Runs `plain` in `f64` and `ours` everywhere, large cases not on ndarray.
fn check(name: &str, case: &Case, plain: impl Fn(&On) -> Tensor<4>, ours: impl Fn(&On) -> Tensor<4>) {
    check_shaped(name, case, case.maps(), plain, ours);
}

/// As [`check`], with maps whose numbers lie in memory as those of a tensor of another shape, which the functions get.
fn check_shaped(
    name: &str,
    case: &Case,
    shape: [usize; 4],
    plain: impl Fn(&On) -> Tensor<4>,
    ours: impl Fn(&On) -> Tensor<4>,
) {
    let inputs = case.inputs();
    let on_target = |target: &Target| {
        let on = On::new(case, &inputs, target);
        On { maps: target.leaf(&inputs.maps, shape), ..on }
    };
    let on = on_target(&reference());
    let expected = on.results(plain(&on));
    let takes = |target: &Target| target.name != "ndarray" || case.work() <= MOST_WORK_ON_NDARRAY;
    for target in targets().into_iter().filter(takes) {
        // Winograd's algorithm has larger rounding errors, and a rectifier may get a value of the other sign.
        let tolerance = if target.dtype == DType::F32 { 1e-4 } else { target.tolerance };
        let target = Target { tolerance, ..target }.of_products();
        let on = on_target(&target);
        assert_alike(&on.results(ours(&on)), &expected, &target, &format!("{name} {case:?}"));
    }
}

/// Compares the output and the gradients, of which the same have to be there.
fn assert_alike(results: &[Named], expected: &[Named], target: &Target, name: &str) {
    for ((what, result), (_, expected)) in results.iter().zip(expected) {
        let what = format!("{name}: {what}");
        match (result, expected) {
            (Some(result), Some(expected)) => assert_close(result, expected, target, &what),
            _ => assert_eq!(result.is_some(), expected.is_some(), "{what} on {}", target.name),
        }
    }
}

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

/// True of a device that computes in half precision; of the CPU, which has two targets, once.
fn is_in_half_precision(target: &Target) -> bool {
    target.dtype == DType::F32 && target.device.supports_dtype(DType::BF16)
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
        check_shaped(
            "of planes",
            case,
            [n, inputs, height, width],
            |on| On { maps: maps(on), ..on.clone() }.plain(None, case.windows),
            |on| convolve(maps(on), on.weight.clone(), None, case.windows),
        );
    }
}

#[test]
fn convolutions_normalised_by_their_batch() {
    for (case, added, rectified) in joined() {
        let identity = |on: &On| added.then(|| on.identity.clone());
        let plain = |on: &On| on.plain_normalised(case.windows, identity(on), rectified);
        let epilogue = |on: &On| Epilogue { added: identity(on), rectified };
        let ours = |on: &On| {
            let (maps, weight) = (on.maps.clone(), on.weight.clone());
            let (output, batch) = convolve_normalised(maps, weight, case.windows, on.norm(), epilogue(on));
            // The statistics too, because they normalise.
            let by = |batch| {
                let (maps, weight) = (on.maps.clone(), on.weight.clone());
                convolve_normalised_by(maps, weight, case.windows, on.norm(), batch, epilogue(on))
            };
            let again = (by(batch) - output.clone()).abs().max().into_scalar::<f64>();
            assert!(again < 1e-3, "{case:?}: {again}");
            output
        };
        check(&format!("by batch, {added}, {rectified}"), case, plain, ours);
    }
}

/// Values of 8 bits, with gain, shift and statistics in `f32`.
#[test]
fn convolutions_normalised_in_half_precision() {
    for (case, added) in [&CASES[0], &CASES[5]].into_iter().flat_map(|case| [(case, true), (case, false)]) {
        let mut inputs = case.inputs();
        // No value is so near 0 that rounding takes it to the other side.
        if added {
            inputs.identity.iter_mut().for_each(|x| *x = 8_f64.copysign(*x));
        } else {
            inputs.gain.iter_mut().for_each(|x| *x *= 0.1);
            inputs.bias.iter_mut().for_each(|x| *x = 1_f64.copysign(*x));
        }
        for values in [&mut inputs.maps, &mut inputs.weight, &mut inputs.along] {
            values.iter_mut().for_each(|x| *x = burn::tensor::bf16::from_f64(*x).to_f64());
        }
        let identity = |on: &On| added.then(|| on.identity.clone());
        let on = On::new(case, &inputs, &reference());
        let expected = on.results(on.plain_normalised(case.windows, identity(&on), true));
        for target in targets().into_iter().filter(is_in_half_precision) {
            let half =
                Target { device: target.device.clone(), dtype: DType::BF16, tolerance: 2e-2, ..target };
            let [gain, bias] = [&inputs.gain, &inputs.bias].map(|x| target.leaf(x, [case.outputs]));
            let on = On { gain, bias, ..On::new(case, &inputs, &half) };
            let epilogue = Epilogue { added: identity(&on), rectified: true };
            let (maps, weight) = (on.maps.clone(), on.weight.clone());
            let output = convolve_normalised(maps, weight, case.windows, on.norm(), epilogue).0;
            assert_alike(&on.results(output), &expected, &half, &format!("in bf16, {added}, {case:?}"));
        }
    }
}

#[test]
fn convolutions_normalised_by_given_statistics() {
    for (case, added, rectified) in joined() {
        let identity = |on: &On| added.then(|| on.identity.clone());
        let plain = |on: &On| {
            let of = |tensor: &Tensor<1>| tensor.clone().reshape([1, 1, 1, -1]);
            let statistics = [of(&on.mean), of(&on.variance)];
            on.follow(on.plain(None, case.windows), statistics, identity(on), rectified)
        };
        let ours = |on: &On| {
            let by = |maps: Tensor<4>, weight: Tensor<4>, norm, added| {
                let epilogue = Epilogue { added, rectified };
                convolve_normalised_by(maps, weight, case.windows, norm, on.statistics(), epilogue)
            };
            let output = by(on.maps.clone(), on.weight.clone(), on.norm(), identity(on));
            // Without gradients it is a single operation.
            let [gain, shift] = [&on.gain, &on.bias].map(|tensor| tensor.clone().set_require_grad(false));
            let [maps, weight] = [&on.maps, &on.weight].map(|tensor| tensor.clone().set_require_grad(false));
            let constant = identity(on).map(|identity| identity.set_require_grad(false));
            let alone = by(maps, weight, Norm { gain, shift, epsilon: EPSILON }, constant);
            assert!(!alone.is_tracked());
            let worst = (alone - output.clone()).abs().max().into_scalar::<f64>();
            assert!(worst < 1e-4, "{case:?}: {worst}");
            output
        };
        check(&format!("by statistics, {added}, {rectified}"), case, plain, ours);
    }
}

/// Every case with and without an identity and a rectifier.
fn joined() -> impl Iterator<Item = (&'static Case, bool, bool)> {
    let ways = [(true, true), (false, true), (true, false), (false, false)];
    CASES.iter().flat_map(move |case| ways.map(|(added, rectified)| (case, added, rectified)))
}

/// If some of the inputs need no gradient, the others still get theirs.
#[test]
fn inputs_without_a_gradient_change_no_other() {
    let case = &CASES[0];
    let inputs = case.inputs();
    for target in targets() {
        let run = |frozen: usize| {
            let mut on = On::new(case, &inputs, &target);
            match frozen {
                1 => on.maps = on.maps.set_require_grad(false),
                2 => on.weight = on.weight.set_require_grad(false),
                3 => on.gain = on.gain.set_require_grad(false),
                4 => on.identity = on.identity.set_require_grad(false),
                _ => {}
            }
            let (maps, weight) = (on.maps.clone(), on.weight.clone());
            let epilogue = Epilogue::added_and_rectified(on.identity.clone());
            let output = convolve_normalised(maps, weight, case.windows, on.norm(), epilogue).0;
            on.results(output)
        };
        let all = run(0);
        for frozen in 1..=4 {
            let results = run(frozen);
            assert!(results.iter().any(|(_, result)| result.is_none()), "{frozen} on {}", target.name);
            for ((what, result), (_, expected)) in results.iter().zip(&all) {
                if let (Some(result), Some(expected)) = (result, expected) {
                    assert_close(result, expected, &target, what);
                }
            }
        }
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
