//! The hyperbolic tangent, fast on the CPU.
//!
//! Burn's `tanh` calls the scalar function of the C library for one value after the other, once in the forward pass
//! and once more in the backward pass: half of the time of a training step of LeNet-5. On the host it is computed here
//! eight or sixteen values at a time, once, together with its slope.

use burn::tensor::{DType, Tensor, TensorData};
use pulp::Arch;

use crate::host::is_host;

/// `tanh(x)` with its gradient.
pub(crate) fn tanh(input: Tensor<2>) -> Tensor<2> {
    let device = input.device();
    if input.dtype() != DType::F32 || !is_host(&device) {
        return input.tanh();
    }
    let plain = device.clone().without_autodiff();
    if !input.is_tracked() {
        let mut data = input.without_autodiff().into_data();
        if let Ok(values) = data.as_mut_slice::<f32>() {
            Arch::new().dispatch(|| values.iter_mut().for_each(|x| *x = tangent(*x)));
        }
        return Tensor::from_data(data, &device);
    }
    let mut offset = input.clone().without_autodiff().into_data();
    let mut slope = vec![0.0_f32; offset.num_elements()];
    if let Ok(values) = offset.as_mut_slice::<f32>() {
        Arch::new().dispatch(|| {
            for (offset, slope) in values.iter_mut().zip(&mut slope) {
                let (x, y) = (*offset, tangent(*offset));
                *slope = 1.0 - y * y;
                *offset = y - x * *slope;
            }
        });
    }
    // A line through (x, tanh x) with the slope there has that value and that gradient, so autodiff needs to know
    // nothing of the function itself.
    let slope = Tensor::from_data(TensorData::new(slope, input.dims()), &plain);
    input * slope + Tensor::from_data(offset, &plain)
}

/// `tanh(x) = sign(x) (1 - e) / (1 + e)` with `e = exp(-2|x|)`, within 2e-7, without a branch or a call so that the
/// compiler turns a loop of it into vector instructions.
#[inline(always)]
pub(crate) fn tangent(x: f32) -> f32 {
    /// Adding it pushes the fraction of a small number out of the mantissa, which rounds.
    const ROUND: f32 = 12_582_912.0;
    /// Powers of ln 2 over factorials: 2^f by its Taylor series, |f| <= 1/2.
    const TAYLOR: [f32; 7] = [
        1.525_273_4e-5,
        1.540_353e-4,
        1.333_355_8e-3,
        9.618_129e-3,
        5.550_411e-2,
        2.402_265e-1,
        6.931_472e-1,
    ];
    let magnitude = x.abs();
    // Beyond, tanh is 1 in f32. A comparison with NaN is false and so keeps it.
    let magnitude = if magnitude > 10.0 { 10.0 } else { magnitude };
    let exponent = magnitude * (-2.0 * std::f32::consts::LOG2_E);
    let shifted = exponent + ROUND;
    let fraction = exponent - (shifted - ROUND);
    let mut power = TAYLOR[0];
    for coefficient in &TAYLOR[1..] {
        power = power * fraction + coefficient;
    }
    let power = power * fraction + 1.0;
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    let e = power * scale;
    ((1.0 - e) / (1.0 + e)).copysign(x)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn grid() -> Vec<f32> {
        let mut grid: Vec<f32> = (-2400..=2400).map(|i| i as f32 * 0.005_013).collect();
        grid.extend([
            -0.0,
            1e-20,
            -1e-6,
            1e-6,
            9.99,
            10.01,
            1e30,
            f32::INFINITY,
            f32::NEG_INFINITY,
            88.0,
            -1e4,
        ]);
        grid.resize(4840, 0.25);
        grid
    }

    #[test]
    fn values_are_those_of_the_library_within_rounding() {
        for x in grid() {
            let expected = f64::from(x).tanh();
            assert!((f64::from(tangent(x)) - expected).abs() < 2e-7, "{x}: {} {expected}", tangent(x));
        }
        assert!(tangent(f32::NAN).is_nan());
        assert_eq!(tangent(0.0), 0.0);
    }

    #[test]
    fn value_and_gradient_are_those_of_burn() {
        let device = burn::tensor::Device::flex().autodiff();
        let finite: Vec<f32> = grid().into_iter().map(|x| x.clamp(-50.0, 50.0)).collect();
        let data = TensorData::new(finite, [484, 10]);
        let ours = Tensor::<2>::from_data(data.clone(), &device).require_grad();
        let theirs = Tensor::<2>::from_data(data, &device).require_grad();
        let (value, expected) = (tanh(ours.clone()), theirs.clone().tanh());
        let difference = (value.clone() - expected.clone()).abs().max().into_scalar::<f32>();
        assert!(difference < 3e-7, "{difference}");
        let (grads, expected) = (value.clone().square().sum().backward(), expected.square().sum().backward());
        let difference =
            (ours.grad(&grads).unwrap() - theirs.grad(&expected).unwrap()).abs().max().into_scalar::<f32>();
        assert!(difference < 1e-6, "{difference}");
        let plain = tanh(ours.inner());
        assert!((plain - value.inner()).abs().max().into_scalar::<f32>() < 3e-7);
    }
}
