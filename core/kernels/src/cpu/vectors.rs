//! Scalar products and distances of two vectors of `f32` or `f64`.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// Number of sums that are formed side by side, because the compiler keeps them in vector registers.
const LANES: usize = 16;

/// Scalar product.
pub fn dot<T>(a: &[T], b: &[T]) -> T
where
    T: Copy + Default + Add<Output = T> + AddAssign + Mul<Output = T> + Sum,
{
    vectorised!(sum_of(
        a,
        b,
        #[inline(always)]
        |x, y| x * y
    ))
}

/// Square of the Euclidean distance.
pub fn squared_distance<T>(a: &[T], b: &[T]) -> T
where
    T: Copy + Default + Add<Output = T> + AddAssign + Mul<Output = T> + Sub<Output = T> + Sum,
{
    vectorised!(sum_of(
        a,
        b,
        #[inline(always)]
        |x, y| (x - y) * (x - y)
    ))
}

/// The sum of a term of each pair of numbers.
#[inline(always)]
fn sum_of<T: Copy + Default + Add<Output = T> + AddAssign + Sum>(
    a: &[T],
    b: &[T],
    term: impl Fn(T, T) -> T,
) -> T {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [T::default(); LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    let rest: T = a_rest.iter().zip(b_rest).map(|(x, y)| term(*x, *y)).sum();
    sums.into_iter().sum::<T>() + rest
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
            assert!((squared_distance(&a, &b) - square).abs() < 1e-13, "{length}");
        }
    }
}
