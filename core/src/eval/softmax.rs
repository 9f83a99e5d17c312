//! The exponentials of a row of scores, which take most of the time of the linear probe.
//!
//! `f64::exp` is a call into the C library for every number: 0.17 µs each where this was measured, twenty times the
//! matrix products around it. This one is a polynomial without branches, which the compiler vectorises; it gives
//! the same bits on every platform.

/// Below this the exponential is smaller than any normal number; the argument is clamped here.
const LEAST: f64 = -708.0;
/// Adding this constant rounds to an integer, which is then in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts, the first with so few bits that its product with an exponent is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// 1/k! from 13 down: the remainder is at most ln(2)/2 from 0, where the next term is below 1e-17.
const INVERSE_FACTORIALS: [f64; 14] = [
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

/// Replaces every score by `exp(score - largest score)` and returns the largest score and the sum. NaN stays NaN.
pub(super) fn exponentials(scores: &mut [f64]) -> (f64, f64) {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = exp_of_negative(*score - most));
    (most, scores.iter().sum())
}

/// `exp(x)` for `x` up to 0: `2^k exp(r)` with `x = k ln 2 + r`.
#[inline]
pub(super) fn exp_of_negative(x: f64) -> f64 {
    let x = if x < LEAST { LEAST } else { x };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mantissa = INVERSE_FACTORIALS.iter().fold(0.0, |value, coefficient| value * r + coefficient);
    f64::from_bits(mantissa.to_bits().wrapping_add(shifted.to_bits() << 52))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_exponential_to_the_last_bits() {
        for i in 0..200_000 {
            let x = -f64::from(i) * 0.003_537;
            let expected = x.exp();
            assert!((exp_of_negative(x) - expected).abs() <= 4e-16 * expected, "{x}");
        }
        assert_eq!(exp_of_negative(0.0), 1.0);
        assert_eq!(exp_of_negative(-0.0), 1.0);
    }

    #[test]
    fn far_below_nothing_is_left_and_nan_is_kept() {
        for x in [-709.0, -1e4, -1e300, f64::NEG_INFINITY] {
            assert!((0.0..1e-300).contains(&exp_of_negative(x)));
        }
        assert!(exp_of_negative(f64::NAN).is_nan());
    }

    #[test]
    fn the_largest_score_has_weight_one_however_large() {
        let mut scores = [1e6, 1e6 - 2.0, -1e6];
        let (most, total) = exponentials(&mut scores);
        assert_eq!((most, scores[0]), (1e6, 1.0));
        assert!((total - (1.0 + (-2_f64).exp())).abs() < 1e-15);
    }
}
