//! Exponentials, as arithmetic that a compiler can vectorise.
//!
//! The C library computes one value at a time, which costs more than the matrix products around it.

/// Largest argument for which the exponential and its reciprocal are in `f32`.
const LARGEST: f32 = 87.0;
/// Adding this constant pushes the fraction of a small number out of the mantissa, which rounds it.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts, the first with so few bits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// 1/k! from 7 down: the remainder is at most ln(2)/2 from 0, where the next term is below 1e-8.
const INVERSE_FACTORIALS: [f32; 8] =
    [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];

/// `exp(x)` with relative error 3e-7 for `x` from -87 to 88: `2^k exp(r)` with `x = k ln 2 + r`.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut mantissa = INVERSE_FACTORIALS[0];
    for coefficient in &INVERSE_FACTORIALS[1..] {
        mantissa = mantissa * r + coefficient;
    }
    mantissa * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// [`exp`] for any `x`: 0 below -87; `exp(87)` above 87, as where a pair that does not count is above all others; NaN for NaN.
#[inline(always)]
pub(crate) fn exp_or_zero(x: f32) -> f32 {
    let exponential = exp(x.clamp(-LARGEST, LARGEST));
    if x < -LARGEST { 0.0 } else { exponential }
}

/// `1 / (1 + exp(-x))` of each value.
pub(crate) fn logistic(values: &mut [f32]) {
    let of = |x: f32| 1.0 / (1.0 + exp(-x.clamp(-LARGEST, LARGEST)));
    vectorised!(values.iter_mut().for_each(|x| *x = of(*x)));
}

/// Smallest argument whose exponential is a normal number.
const SMALLEST_F64: f64 = -708.0;
/// As [`ROUND`], in `f64`.
const ROUND_F64: f64 = 6_755_399_441_055_744.0;
/// As [`LN_2_HIGH`], in `f64`.
const LN_2_HIGH_F64: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW_F64: f64 = 1.908_214_929_270_587_7e-10;
/// 1/k! from 13 down: the remainder is at most ln(2)/2 from 0, where the next term is below 1e-17.
const INVERSE_FACTORIALS_F64: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// `exp(x)` with relative error 1e-15 for `x` up to 700, and the same bits on every platform. Below -708 it is that of
/// -708; that of NaN is NaN.
#[inline(always)]
pub fn exp_f64(x: f64) -> f64 {
    let x = if x < SMALLEST_F64 { SMALLEST_F64 } else { x };
    let shifted = x * std::f64::consts::LOG2_E + ROUND_F64;
    let k = shifted - ROUND_F64;
    let r = (x - k * LN_2_HIGH_F64) - k * LN_2_LOW_F64;
    let mut mantissa = 0.0;
    for coefficient in INVERSE_FACTORIALS_F64 {
        mantissa = mantissa * r + coefficient;
    }
    f64::from_bits(mantissa.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// [`exp_f64`] of each value.
pub fn exp_of_slice(values: &mut [f64]) {
    vectorised!(values.iter_mut().for_each(|x| *x = exp_f64(*x)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_f64_are_those_of_the_library_to_the_last_bits() {
        for i in 0..200_000 {
            let x = -f64::from(i) * 0.003_537;
            assert!((exp_f64(x) - x.exp()).abs() <= 4e-16 * x.exp(), "{x}");
        }
        let arguments: Vec<f64> = (-70_000..=70_000).map(|i| f64::from(i) * 1e-2).collect();
        let mut exponentials = arguments.clone();
        exp_of_slice(&mut exponentials);
        for (x, exponential) in arguments.into_iter().zip(exponentials) {
            assert!((exponential - x.exp()).abs() <= 1e-15 * x.exp(), "{x}: {exponential} {}", x.exp());
        }
        assert_eq!([0.0, -0.0].map(exp_f64), [1.0; 2]);
    }

    #[test]
    fn far_below_nothing_is_left_and_nan_is_kept() {
        for x in [-709.0, -1e4, -1e300, f64::NEG_INFINITY] {
            assert!((0.0..1e-300).contains(&exp_f64(x)));
        }
        assert!(exp_f64(f64::NAN).is_nan());
    }

    #[test]
    fn values_are_those_of_the_library_within_rounding() {
        for i in -87_000..=88_000 {
            let x = i as f32 * 1e-3;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) - expected).abs() < 3e-7 * expected, "{x}: {} {expected}", exp(x));
        }
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn outside_of_its_range_it_is_zero_or_the_largest() {
        for x in [-LARGEST, -3.0, 0.0, 0.5, LARGEST] {
            assert_eq!(exp_or_zero(x), exp(x));
        }
        assert_eq!([-87.1, -1e30, f32::NEG_INFINITY].map(exp_or_zero), [0.0; 3]);
        assert_eq!([87.1, 1e30, f32::INFINITY].map(exp_or_zero), [exp(LARGEST); 3]);
        assert!(exp(LARGEST).is_finite() && exp_or_zero(f32::NAN).is_nan());
    }

    #[test]
    fn the_sigmoid_ends_in_zero_and_one() {
        let mut values = [-1e30, -100.0, -3.0, 0.0, 0.5, 20.0, 1e30];
        let expected = values.map(|x| 1.0 / (1.0 + (-f64::from(x)).exp()));
        logistic(&mut values);
        for (sigmoid, expected) in values.into_iter().zip(expected) {
            assert!((f64::from(sigmoid) - expected).abs() < 1e-6, "{sigmoid} {expected}");
        }
    }
}
