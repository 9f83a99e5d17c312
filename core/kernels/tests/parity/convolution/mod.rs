//! The cases of convolutions, their tensors on a device, and the comparison with Burn's operations.

mod normalised;
mod plain;

use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{DType, Device, Gradients, Tensor};
use simile_kernels::Windows;

use crate::devices::{Target, assert_close, noise, targets, values};

/// A convolution of so many images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// The convolution by Burn.
    fn plain(&self, bias: Option<Tensor<1>>, windows: Windows) -> Tensor<4> {
        let options = ConvOptions::new([windows.stride; 2], [windows.padding; 2], [1; 2], 1);
        let maps = self.maps.clone().permute([0, 3, 1, 2]);
        conv2d(maps, self.weight.clone(), bias, options).permute([0, 2, 3, 1])
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
    check_on(name, case, case.maps(), |_| true, plain, ours);
}

/// As [`check`], on the devices that `takes` chooses, with maps whose numbers lie in memory as those of a tensor of another shape,
/// which the functions get.
fn check_on(
    name: &str,
    case: &Case,
    shape: [usize; 4],
    takes: impl Fn(&Target) -> bool,
    plain: impl Fn(&On) -> Tensor<4>,
    ours: impl Fn(&On) -> Tensor<4>,
) {
    let is_small_enough = |target: &Target| target.name != "ndarray" || case.work() <= MOST_WORK_ON_NDARRAY;
    let mut targets = targets();
    targets.retain(|target| takes(target) && is_small_enough(target));
    if targets.is_empty() {
        return;
    }
    let inputs = case.inputs();
    let on_target = |target: &Target| {
        let on = On::new(case, &inputs, target);
        On { maps: target.leaf(&inputs.maps, shape), ..on }
    };
    let on = on_target(&reference());
    let expected = on.results(plain(&on));
    for target in targets {
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

/// True of a device that computes in half precision; of the CPU, which has two targets, once.
fn is_in_half_precision(target: &Target) -> bool {
    target.dtype == DType::F32 && target.device.supports_dtype(DType::BF16)
}
