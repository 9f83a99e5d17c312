//! Mean and spread of a few runs.

use serde::Serialize;

use crate::units::NOTHING;

/// Mean and standard deviation of values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct MeanStd {
    pub(crate) mean: f64,
    /// With n − 1; none for one value.
    pub(crate) std: Option<f64>,
}

impl MeanStd {
    /// Mean and deviation of measured values; none if there are none.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = || values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let std = (values.len() > 1).then(|| (squares() / (count - 1.0)).sqrt());
        (!values.is_empty()).then_some(Self { mean, std })
    }

    /// `mean ± standard deviation`, or the mean alone.
    pub(crate) fn text(self, digits: usize) -> String {
        let mean = number(self.mean, digits);
        self.std.map_or_else(|| mean.clone(), |std| format!("{mean} ± {}", number(std, digits)))
    }
}

/// Numbers from here on are written with an exponent.
const LARGE: f64 = 1e12;

/// A number with digits after the point. One that rounds to zero has no sign.
fn number(value: f64, digits: usize) -> String {
    let text = if value.abs() < LARGE { format!("{value:.digits$}") } else { format!("{value:.3e}") };
    match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|c| c == '0' || c == '.') => zero.to_owned(),
        _ => text,
    }
}

/// The spread in words, or a dash where there is none.
pub(crate) fn written(mean_std: Option<MeanStd>, digits: usize) -> String {
    mean_std.map_or_else(|| NOTHING.into(), |mean_std| mean_std.text(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_that_of_a_sample() {
        assert_eq!(written(MeanStd::of(&[1.0, 2.0, 3.0]), 2), "2.00 ± 1.00");
        assert_eq!(written(MeanStd::of(&[0.5]), 1), "0.5");
        assert_eq!(written(MeanStd::of(&[]), 1), "–");
        assert_eq!(written(MeanStd::of(&[1e200]), 1), "1.000e200");
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!(written(MeanStd::of(&[-0.001, -0.003]), 2), "0.00 ± 0.00");
        assert_eq!(written(MeanStd::of(&[-0.004]), 2), "0.00");
        assert_eq!(written(MeanStd::of(&[-0.4]), 0), "0");
        assert_eq!(written(MeanStd::of(&[-0.006]), 2), "-0.01");
    }
}
