//! Rows of length 1, whose scalar products are cosines.

use simile_kernels::cpu::vectors::dot;

use crate::error::Result;
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, Rows};
use crate::numeric::unit_rows::SMALLEST_NORM;

/// Every row divided by its Euclidean length; a row shorter than 1e-12 becomes zero.
#[must_use]
pub fn unit_rows(matrix: &Matrix) -> Matrix {
    let mut out = matrix.clone();
    (0..out.rows()).for_each(|row| normalise(out.row_mut(row)));
    out
}

/// Rows that are divided by their Euclidean length where they are read; a row shorter than 1e-12 becomes zero.
#[derive(Debug, Clone)]
pub struct Unit<R>(pub R);

impl<R: Rows> Rows for Unit<R> {
    fn is_single(&self) -> bool {
        self.0.is_single()
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn columns(&self) -> usize {
        self.0.columns()
    }

    fn read(&self, first: usize, mut out: Buffer<'_>) -> Result<()> {
        let columns = self.columns();
        // Without a copy: neighbours read a row for each candidate of a query.
        if let Buffer::Double(out) = out {
            self.0.read(first, Buffer::Double(&mut *out))?;
            out.chunks_exact_mut(columns.max(1)).for_each(normalise);
            return Ok(());
        }
        let mut values = vec![0.0; columns];
        (0..out.len() / columns.max(1)).try_for_each(|row| {
            self.0.read(first + row, Buffer::Double(&mut values))?;
            normalise(&mut values);
            out.part(row * columns, columns).copy(&values);
            Ok(())
        })
    }
}

fn normalise(row: &mut [f64]) {
    let norm = dot(row, row).sqrt();
    let scale = if norm > SMALLEST_NORM { 1.0 / norm } else { 0.0 };
    row.iter_mut().for_each(|value| *value *= scale);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_unit_rows_in_either_type() {
        let matrix = Matrix::from_fn(4, 3, |i, j| if i == 2 { 0.0 } else { (i * 3 + j) as f64 - 4.5 });
        let expected = unit_rows(&matrix).select(&[1, 2, 3]);
        let (mut single, mut double) = ([7.0_f32; 9], [7.0_f64; 9]);
        Unit(&matrix).read(1, Buffer::Single(&mut single)).unwrap();
        Unit(&matrix).read(1, Buffer::Double(&mut double)).unwrap();
        assert_eq!(double, expected.data());
        assert!(single.iter().zip(expected.data()).all(|(value, expected)| *value == *expected as f32));
    }

    #[test]
    fn zero_rows_stay_zero() {
        assert_eq!(unit_rows(&Matrix::zeros(1, 3)), Matrix::zeros(1, 3));
    }
}
