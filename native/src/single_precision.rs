//! Numbers in single precision, as vectors are kept.

/// A finite number beyond the range of `f32`.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("number {} is {value:e}, and vectors are kept in f32, which ends at 3.4e38; scale them", .at + 1)]
pub(crate) struct OutOfRange {
    /// Its place, counted from 0.
    pub(crate) at: usize,
    pub(crate) value: f64,
}

/// The nearest `f32` of each number. One that is infinite or no number stays so.
///
/// # Errors
/// Names the first one that is finite and beyond the range of `f32`.
pub(crate) fn to_f32(values: impl IntoIterator<Item = f64>) -> Result<Vec<f32>, OutOfRange> {
    let near = |(at, value): (usize, f64)| {
        let single = value as f32;
        if value.is_finite() && single.is_infinite() { Err(OutOfRange { at, value }) } else { Ok(single) }
    };
    values.into_iter().enumerate().map(near).collect()
}

impl OutOfRange {
    /// In words, in rows of this many numbers after `first` rows.
    pub(crate) fn in_rows(self, first: usize, columns: usize) -> String {
        let (row, at) = (first + self.at / columns.max(1), self.at % columns.max(1));
        format!("vector {}, {}", row + 1, Self { at, ..self })
    }
}
