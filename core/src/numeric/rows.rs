//! Rows of numbers that are read a block at a time, wherever they lie: a host matrix, features in `f32`, a file.
//!
//! Sums over many rows go through blocks, so that memory does not grow with the number of rows, and each block is in the
//! processor's cache when it is computed with.

use std::ops::{Mul, Sub};

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::matrix::Matrix;
use crate::error::{Error, Result};

/// A type of numbers to compute in.
pub trait Real:
    Copy + Default + Into<f64> + Sub<Output = Self> + Mul<Output = Self> + Send + Sync + 'static
{
    /// Fraction of a mean over rows below which a difference of two such means may be rounding.
    const ROUNDING: f64;
    /// True for `f32`.
    const IS_SINGLE: bool;

    /// The nearest number of this type.
    fn of(value: f64) -> Self;

    /// `out = left right`, on the calling thread.
    fn multiply(out: MatMut<'_, Self>, left: MatRef<'_, Self>, right: MatRef<'_, Self>);

    /// Numbers of this type, to be read to.
    fn buffer(numbers: &mut [Self]) -> Buffer<'_>;
}

impl Real for f32 {
    const ROUNDING: f64 = 1e-7;
    const IS_SINGLE: bool = true;

    #[inline]
    fn of(value: f64) -> Self {
        value as f32
    }

    fn multiply(out: MatMut<'_, f32>, left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
        matmul(out, Accum::Replace, left, right, 1.0, Par::Seq);
    }

    fn buffer(numbers: &mut [f32]) -> Buffer<'_> {
        Buffer::Single(numbers)
    }
}

impl Real for f64 {
    const ROUNDING: f64 = 1e-15;
    const IS_SINGLE: bool = false;

    #[inline]
    fn of(value: f64) -> Self {
        value
    }

    fn multiply(out: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
        matmul(out, Accum::Replace, left, right, 1.0, Par::Seq);
    }

    fn buffer(numbers: &mut [f64]) -> Buffer<'_> {
        Buffer::Double(numbers)
    }
}

/// Memory that rows are read to, in the type in which they are computed with.
#[derive(Debug)]
pub enum Buffer<'a> {
    /// `f32`.
    Single(&'a mut [f32]),
    /// `f64`.
    Double(&'a mut [f64]),
}

impl Buffer<'_> {
    /// The number of values that it holds.
    pub fn len(&self) -> usize {
        match self {
            Self::Single(out) => out.len(),
            Self::Double(out) => out.len(),
        }
    }

    /// True without room for a value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Borrows the same memory again, so that it can be written more than once.
    pub fn again(&mut self) -> Buffer<'_> {
        match self {
            Self::Single(out) => Buffer::Single(out),
            Self::Double(out) => Buffer::Double(out),
        }
    }

    /// The values `from..from + count`.
    pub fn part(&mut self, from: usize, count: usize) -> Buffer<'_> {
        match self {
            Self::Single(out) => Buffer::Single(&mut out[from..from + count]),
            Self::Double(out) => Buffer::Double(&mut out[from..from + count]),
        }
    }

    /// Copies values, in its type, to its first places.
    pub fn copy<S: Real>(&mut self, values: &[S]) {
        match self {
            Self::Single(out) => convert(out, values),
            Self::Double(out) => convert(out, values),
        }
    }

    /// Writes values one after another, from the first on.
    pub fn write<S: Into<f64>>(&mut self, values: impl Iterator<Item = S>) {
        match self {
            Self::Single(out) => write(out, values),
            Self::Double(out) => write(out, values),
        }
    }
}

/// Rows of numbers, `[n, d]`, that can be read in any order and by several threads.
///
/// All that is computed of rows takes them as `&dyn Rows`: a call for a block of them costs nothing beside the block, and
/// the computations are compiled once.
pub trait Rows: Sync {
    /// True if the numbers are kept in `f32`.
    fn is_single(&self) -> bool;

    /// `n`.
    fn rows(&self) -> usize;

    /// `d`.
    fn columns(&self) -> usize;

    /// Writes the rows from `first` on to `out`, as many as it holds.
    ///
    /// # Errors
    /// If there are fewer rows, or rows that lie in a file cannot be read.
    fn read(&self, first: usize, out: Buffer<'_>) -> Result<()>;
}

impl<R: Rows + ?Sized> Rows for &R {
    fn is_single(&self) -> bool {
        (**self).is_single()
    }

    fn rows(&self) -> usize {
        (**self).rows()
    }

    fn columns(&self) -> usize {
        (**self).columns()
    }

    fn read(&self, first: usize, out: Buffer<'_>) -> Result<()> {
        (**self).read(first, out)
    }
}

impl Rows for Matrix {
    fn is_single(&self) -> bool {
        false
    }

    fn rows(&self) -> usize {
        self.rows()
    }

    fn columns(&self) -> usize {
        self.columns()
    }

    fn read(&self, first: usize, out: Buffer<'_>) -> Result<()> {
        copy(self.data(), first * self.columns(), out)
    }
}

/// Features of samples in `f32`, the type in which an encoder gives them: half the memory of a [`Matrix`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FeatureTable {
    rows: usize,
    columns: usize,
    values: Vec<f32>,
}

impl FeatureTable {
    /// A table from its values in row order.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not `rows * columns` values.
    pub fn new(rows: usize, columns: usize, values: Vec<f32>) -> Result<Self> {
        if values.len() == rows * columns {
            Ok(Self { rows, columns, values })
        } else {
            let count = format!("{} values", values.len());
            Err(Error::shape("features", format!("{rows}x{columns} values"), count))
        }
    }

    /// The samples `indices` of any rows, in that order.
    ///
    /// # Errors
    /// As [`Rows::read`].
    pub fn gather(source: &dyn Rows, indices: &[usize]) -> Result<Self> {
        let columns = source.columns();
        let mut values = vec![0.0; indices.len() * columns];
        for (row, &index) in values.chunks_exact_mut(columns.max(1)).zip(indices) {
            source.read(index, Buffer::Single(row))?;
        }
        Ok(Self { rows: indices.len(), columns, values })
    }

    /// All values in row order.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

impl Rows for FeatureTable {
    fn is_single(&self) -> bool {
        true
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn read(&self, first: usize, out: Buffer<'_>) -> Result<()> {
        copy(&self.values, first * self.columns, out)
    }
}

/// Rows as a host matrix.
///
/// # Errors
/// As [`Rows::read`].
pub fn to_matrix(source: &dyn Rows) -> Result<Matrix> {
    let mut out = Matrix::zeros(source.rows(), source.columns());
    source.read(0, Buffer::Double(out.data_mut()))?;
    Ok(out)
}

/// Copies the numbers of `values` from `start` on, in another type.
///
/// # Errors
/// [`Error::Shape`] if `out` holds more.
fn copy<S: Real>(values: &[S], start: usize, mut out: Buffer<'_>) -> Result<()> {
    let end = start.saturating_add(out.len());
    let Some(source) = values.get(start..end) else {
        return Err(Error::shape("rows", format!("at most {} numbers", values.len()), end.to_string()));
    };
    out.copy(source);
    Ok(())
}

/// Not by `Iterator::copied`: it calls a function for each number, which is not inlined across codegen units.
fn convert<T: Real, S: Real>(out: &mut [T], values: &[S]) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = T::of((*value).into()));
}

fn write<T: Real, S: Into<f64>>(out: &mut [T], values: impl Iterator<Item = S>) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = T::of(value.into()));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_in_any_order_and_type() {
        let matrix = Matrix::from_fn(5, 3, |i, j| (i * 3 + j) as f64 + 0.5);
        let some = FeatureTable::gather(&matrix, &[4, 0]).unwrap();
        assert_eq!(some.values(), [12.5, 13.5, 14.5, 0.5, 1.5, 2.5]);
        assert_eq!(to_matrix(&some).unwrap(), matrix.select(&[4, 0]));
        let mut rows = [0.0_f32; 6];
        matrix.read(1, Buffer::Single(&mut rows)).unwrap();
        assert_eq!(rows, [3.5, 4.5, 5.5, 6.5, 7.5, 8.5]);
        assert!(matches!(FeatureTable::new(2, 2, vec![0.0; 3]), Err(Error::Shape { .. })));
        assert_eq!(FeatureTable::gather(&Matrix::zeros(3, 0), &[2, 1]).unwrap().rows(), 2);
        assert!(
            FeatureTable::gather(&matrix, &[5]).is_err() && some.read(1, Buffer::Single(&mut rows)).is_err()
        );
    }
}
