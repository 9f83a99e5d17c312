use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::devices::{assert_close, noise, targets, values};

const EPSILON: f64 = 1e-5;

/// Output, mean, variance, and the gradients of `x`, gain and shift.
type Outcome = [Vec<f64>; 6];

type Operation<const D: usize> = fn(Tensor<D>, Tensor<1>, Tensor<1>) -> (Tensor<D>, Tensor<1>, Tensor<1>);

fn run<const D: usize>(
    [x, gain, shift, weights]: [&[f64]; 4],
    shape: [usize; D],
    (device, dtype): (&Device, DType),
    operation: Operation<D>,
) -> Outcome {
    fn leaf<const D: usize>(values: &[f64], shape: [usize; D], place: (&Device, DType)) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), place).require_grad()
    }
    let statistics = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let x = leaf(x, shape, (device, dtype));
    let [gain, shift] = [gain, shift].map(|values| leaf(values, [values.len()], (device, statistics)));
    let (y, mean, variance) = operation(x.clone(), gain.clone(), shift.clone());
    assert_eq!((y.dtype(), mean.dtype(), variance.dtype()), (dtype, statistics, statistics));
    let gradients = (y.clone() * leaf(weights, shape, (device, dtype)).detach()).sum().backward();
    let slope = |of: &Tensor<1>| values(of.grad(&gradients).unwrap());
    let slopes = (values(x.grad(&gradients).unwrap()), slope(&gain), slope(&shift));
    [values(y), values(mean), values(variance), slopes.0, slopes.1, slopes.2]
}

/// The formulas, in `f64` and in Burn's operations, which differentiate themselves.
fn formula<const D: usize>(
    x: Tensor<D>,
    gain: Tensor<1>,
    shift: Tensor<1>,
) -> (Tensor<D>, Tensor<1>, Tensor<1>) {
    let channels = x.dims()[1];
    let per_channel: [usize; D] = std::array::from_fn(|axis| if axis == 1 { channels } else { 1 });
    let mean_of = |x: Tensor<D>| (0..D).filter(|&axis| axis != 1).fold(x, Tensor::mean_dim);
    let mean = mean_of(x.clone());
    let centred = x - mean.clone();
    let variance = mean_of(centred.clone() * centred.clone());
    let y = centred / (variance.clone() + EPSILON).sqrt() * gain.reshape(per_channel);
    (y + shift.reshape(per_channel), mean.reshape([channels]), variance.reshape([channels]))
}

fn check<const D: usize>(shape: [usize; D], offset: f64) {
    let (count, channels) = (shape.iter().product::<usize>(), shape[1]);
    let inner: usize = shape[2..].iter().product();
    // Channels differ in mean and deviation.
    let value = |(i, x): (usize, f64)| offset + (1.0 + (i / inner % channels % 3) as f64) * (x + 0.3);
    let x: Vec<f64> = noise(count, 1).into_iter().enumerate().map(value).collect();
    let gain: Vec<f64> = noise(channels, 2).into_iter().map(|x| 1.0 + 0.5 * x).collect();
    let (shift, weights) = (noise(channels, 3), noise(count, 4));
    let inputs = [&x[..], &gain, &shift, &weights];
    let reference = run(inputs, shape, (&Device::flex().autodiff(), DType::F64), formula);
    for target in targets() {
        let operation: Operation<D> =
            |x, gain, shift| simile_kernels::batch_norm_train(x, gain, shift, EPSILON);
        let results = run(inputs, shape, (&target.device, target.dtype), operation);
        let names = ["output", "mean", "variance", "gradient", "gradient of gain", "gradient of shift"];
        for ((result, expected), name) in results.iter().zip(&reference).zip(names) {
            assert_close(result, expected, &target, &format!("{name} of {shape:?}"));
        }
    }
}

#[test]
fn rows_of_features() {
    for channels in [1, 3, 64, 130] {
        check([37, channels], 0.0);
    }
    // More rows than one round of a loop, or one cube, takes.
    check([3000, 17], 0.0);
    // More cubes than units: those that join the sums take a second one.
    check([17_000, 34], 0.0);
}

#[test]
fn maps() {
    for channels in [1, 3, 64, 130] {
        check([5, channels, 7, 7], 0.0);
        check([4, channels, 33], 0.0);
    }
    check([6, 3, 1, 1], 0.0);
    check([33, 2, 40, 40], 0.0);
}

#[test]
fn a_mean_of_many_deviations() {
    check([300, 5], 8.0);
    check([30, 3, 5, 5], -8.0);
}

#[test]
fn statistics_of_half_precision_are_not_in_half_precision() {
    let (x, ones) = (noise(4000, 5), vec![1.0; 2]);
    let x: Vec<f64> = x.into_iter().map(|x| burn::tensor::bf16::from_f64(x + 4.0).to_f64()).collect();
    let weights = noise(4000, 6);
    let inputs = [&x[..], &ones, &ones, &weights];
    let reference = run(inputs, [2000, 2], (&Device::flex().autodiff(), DType::F64), formula);
    for mut target in targets().into_iter().filter(|target| target.device.supports_dtype(DType::BF16)) {
        let operation: Operation<2> =
            |x, gain, shift| simile_kernels::batch_norm_train(x, gain, shift, EPSILON);
        let results = run(inputs, [2000, 2], (&target.device, DType::BF16), operation);
        target.tolerance = 2e-5;
        assert_close(&results[1], &reference[1], &target, "mean of bf16");
        assert_close(&results[2], &reference[2], &target, "variance of bf16");
        target.tolerance = 1e-2;
        for (result, expected) in results.iter().zip(&reference) {
            assert_close(result, expected, &target, "bf16");
        }
    }
}
