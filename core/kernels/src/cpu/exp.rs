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
pub fn exp(x: f32) -> f32 {
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut mantissa = INVERSE_FACTORIALS[0];
    for coefficient in &INVERSE_FACTORIALS[1..] {
        mantissa = mantissa * r + coefficient;
    }
    mantissa * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// `1 / (1 + exp(-x))` of each value.
pub fn sigmoid_of_slice(values: &mut [f32]) {
    let of = |x: f32| 1.0 / (1.0 + exp(-x.clamp(-LARGEST, LARGEST)));
    vectorised!(values.iter_mut().for_each(|x| *x = of(*x)));
}

/// As [`ROUND`], in `f64`.
const ROUND_F64: f64 = 6_755_399_441_055_744.0;
/// As [`LN_2_HIGH`], in `f64`.
const LN_2_HIGH_F64: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW_F64: f64 = 1.908_214_929_270_587_7e-10;
/// The reciprocals of 13 to 1: the next term of the exponential of ln(2)/2 is below 1e-17.
const RECIPROCALS: [f64; 13] = [
    1.0 / 13.0,
    1.0 / 12.0,
    1.0 / 11.0,
    1.0 / 10.0,
    1.0 / 9.0,
    1.0 / 8.0,
    1.0 / 7.0,
    1.0 / 6.0,
    1.0 / 5.0,
    1.0 / 4.0,
    1.0 / 3.0,
    1.0 / 2.0,
    1.0,
];
/// Smallest argument for which the exponential has all digits.
const SMALLEST: f64 = -700.0;

/// `exp(x)` of each value with relative error 1e-15, for values of at most 700; of those below -700 it is that of -700.
pub fn exp_of_slice(values: &mut [f64]) {
    let of = |x: f64| {
        let x = x.max(SMALLEST);
        let shifted = x * std::f64::consts::LOG2_E + ROUND_F64;
        let k = shifted - ROUND_F64;
        let r = (x - k * LN_2_HIGH_F64) - k * LN_2_LOW_F64;
        let mut mantissa = 1.0;
        for reciprocal in RECIPROCALS {
            mantissa = mantissa * (r * reciprocal) + 1.0;
        }
        mantissa * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
    };
    vectorised!(values.iter_mut().for_each(|x| *x = of(*x)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_f64_are_those_of_the_library_within_rounding() {
        let arguments: Vec<f64> = (-70_000..=70_000).map(|i| f64::from(i) * 1e-2).collect();
        let mut found = arguments.clone();
        exp_of_slice(&mut found);
        for (x, found) in arguments.into_iter().zip(found) {
            assert!((found - x.exp()).abs() <= 1e-15 * x.exp(), "{x}: {found} {}", x.exp());
        }
        let mut ends = [0.0, -1e300, f64::NEG_INFINITY];
        exp_of_slice(&mut ends);
        assert!(ends[0] == 1.0 && ends[1] < 1e-300 && ends[2] < 1e-300);
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
    fn the_sigmoid_ends_in_zero_and_one() {
        let mut values = [-1e30, -100.0, -3.0, 0.0, 0.5, 20.0, 1e30];
        let expected = values.map(|x| 1.0 / (1.0 + (-f64::from(x)).exp()));
        sigmoid_of_slice(&mut values);
        for (found, expected) in values.into_iter().zip(expected) {
            assert!((f64::from(found) - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}
