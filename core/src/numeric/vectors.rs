//! Scalar products and distances of two vectors on the host.

/// Number of sums that are formed side by side, because the compiler keeps them in vector registers.
const LANES: usize = 8;

/// Scalar product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_of(a, b, |x, y| x * y)
}

/// Square of the Euclidean distance.
pub(crate) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    sum_of(a, b, |x, y| (x - y) * (x - y))
}

/// The sum of a term of each pair of numbers.
#[inline]
fn sum_of(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| term(*x, *y)).sum();
    sums.iter().sum::<f64>() + rest
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
