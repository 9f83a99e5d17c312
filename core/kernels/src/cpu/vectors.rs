//! Sums of a vector; scalar products, distances and scaled sums of two. No function for other crates is generic: it would be compiled
//! in the crate that calls it, where tests have no vector instructions for it.

use std::iter::Sum;
use std::ops::AddAssign;

/// Number of sums that are formed side by side, because the compiler keeps them in vector registers.
pub(super) const LANES: usize = 16;

/// Scalar product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    vectorised!(sum_of(
        a,
        b,
        #[inline(always)]
        |x, y| x * y
    ))
}

/// Scalar product in single precision.
pub(crate) fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    vectorised!(sum_of(
        a,
        b,
        #[inline(always)]
        |x, y| x * y
    ))
}

/// The sum of a vector in single precision.
pub(crate) fn sum_f32(values: &[f32]) -> f32 {
    vectorised!({
        let (parts, rest) = values.as_chunks::<LANES>();
        let mut lanes = [0.0_f32; LANES];
        for part in parts {
            lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane += x);
        }
        lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
    })
}

/// Square of the Euclidean distance.
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    vectorised!(sum_of(
        a,
        b,
        #[inline(always)]
        |x, y| (x - y) * (x - y)
    ))
}

/// Adds `scale * addend` to `target`, as far as both reach.
pub fn add_scaled(target: &mut [f64], scale: f64, addend: &[f64]) {
    vectorised!(for (sum, &value) in target.iter_mut().zip(addend) {
        *sum += scale * value;
    });
}

/// The sum of a term of each pair of numbers.
#[inline(always)]
pub(super) fn sum_of<T: Copy + Default + AddAssign + Sum>(a: &[T], b: &[T], term: impl Fn(T, T) -> T) -> T {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [T::default(); LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    let rest: T = a_rest.iter().zip(b_rest).map(|(x, y)| term(*x, *y)).sum();
    let mut sum: T = sums.into_iter().sum();
    sum += rest;
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_one_number_after_another() {
        for length in [0, 1, 7, 8, 9, 40, 43] {
            let vector =
                |phase: f64| -> Vec<f64> { (0..length).map(|i| (f64::from(i) + phase).sin()).collect() };
            let (a, b) = (vector(0.3), vector(1.9));
            let pairs = || a.iter().zip(&b);
            let product: f64 = pairs().map(|(x, y)| x * y).sum();
            let square: f64 = pairs().map(|(x, y)| (x - y).powi(2)).sum();
            assert!((dot(&a, &b) - product).abs() < 1e-13, "{length}");
            let [a_f32, b_f32] = [&a, &b].map(|v| v.iter().map(|&x| x as f32).collect::<Vec<_>>());
            assert!((f64::from(dot_f32(&a_f32, &b_f32)) - product).abs() < 1e-5, "{length}");
            assert!((f64::from(sum_f32(&a_f32)) - a.iter().sum::<f64>()).abs() < 1e-5, "{length}");
            assert!((squared_distance(&a, &b) - square).abs() < 1e-13, "{length}");
            let mut sum = a.clone();
            add_scaled(&mut sum, -0.7, &b);
            let expected: Vec<f64> = pairs().map(|(x, y)| x + -0.7 * y).collect();
            assert_eq!(sum, expected, "{length}");
        }
    }
}
