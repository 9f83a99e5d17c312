//! The ends of a range of numbers.

/// The least and the greatest of some numbers, without those that are NaN; infinity and minus infinity if there is none.
pub(crate) fn extremes(numbers: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let widened = |(low, high): (f64, f64), number: f64| (low.min(number), high.max(number));
    numbers.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), widened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_one_is_no_end() {
        assert_eq!(extremes([3.0, f64::NAN, -1.0, 2.0]), (-1.0, 3.0));
        let (low, high) = extremes([f64::NAN]);
        assert!(low > high, "there is none");
    }
}
