//! A small host matrix of `f64`, row-major: conditioning variables, features read back for a probe, tables.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Largest value of a host matrix, so that sums of squares stay finite.
const LARGEST: f64 = 1e100;

/// A dense host matrix, row-major.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<f64>>", into = "Vec<Vec<f64>>")]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix from its values in row order.
    ///
    /// # Errors
    /// [`Error::Shape`] if `data` does not hold `rows * columns` values.
    pub fn new(rows: usize, columns: usize, data: Vec<f64>) -> Result<Self> {
        if data.len() == rows * columns {
            Ok(Self { rows, columns, data })
        } else {
            Err(Error::shape("matrix", format!("{rows}x{columns} values"), format!("{} values", data.len())))
        }
    }

    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }

    /// A matrix whose entry at row `i` and column `j` is `value(i, j)`.
    pub fn from_fn(rows: usize, columns: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * columns);
        for i in 0..rows {
            data.extend((0..columns).map(|j| value(i, j)));
        }
        Self { rows, columns, data }
    }

    /// One column.
    pub fn column(values: &[f64]) -> Self {
        Self { rows: values.len(), columns: 1, data: values.to_vec() }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All values in row order.
    #[inline]
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// All values in row order, mutable.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// Row `i`, mutable.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// The rows in order.
    pub fn iter_rows(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.rows).map(|i| self.row(i))
    }

    /// The rows named by `indices`, in that order.
    pub fn select(&self, indices: &[usize]) -> Self {
        let data = indices.iter().flat_map(|&i| self.row(i).iter().copied()).collect();
        Self { rows: indices.len(), columns: self.columns, data }
    }

    /// The first row with a value that is not finite.
    pub fn first_not_finite(&self) -> Option<usize> {
        self.data.iter().position(|v| !v.is_finite()).map(|at| at / self.columns.max(1))
    }

    /// The matrix as a tensor of the given type on a device.
    pub fn to_tensor(&self, device: &Device, dtype: DType) -> Tensor<2> {
        let shape = [self.rows, self.columns];
        let data = match dtype {
            DType::F64 => TensorData::new(self.data.clone(), shape),
            _ => TensorData::new(self.data.iter().map(|&v| v as f32).collect::<Vec<_>>(), shape),
        };
        Tensor::from_data(data, (device, dtype))
    }

    /// Reads tensor data of any float type.
    ///
    /// # Errors
    /// [`Error::Shape`] if the data does not have two dimensions.
    pub fn from_data(data: &TensorData) -> Result<Self> {
        match data.shape().as_slice() {
            &[rows, columns] => Self::new(rows, columns, data.iter::<f64>().collect()),
            shape => Err(Error::shape("tensor", "two dimensions", format!("shape {shape:?}"))),
        }
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;

    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[i * self.columns + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[i * self.columns + j]
    }
}

impl TryFrom<Vec<Vec<f64>>> for Matrix {
    type Error = Error;

    fn try_from(rows: Vec<Vec<f64>>) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        if let Some(at) = rows.iter().position(|row| row.len() != columns) {
            return Err(Error::shape(
                "matrix",
                format!("{columns} values in every row"),
                format!("{} in row {at}", rows[at].len()),
            ));
        }
        Self::new(rows.len(), columns, rows.into_iter().flatten().collect())
    }
}

impl From<Matrix> for Vec<Vec<f64>> {
    fn from(matrix: Matrix) -> Self {
        matrix.iter_rows().map(<[f64]>::to_vec).collect()
    }
}

/// Host indices as a device vector.
pub(crate) fn indices(values: &[usize], device: &Device) -> Tensor<1, Int> {
    let values: Vec<i32> = values.iter().map(|&v| i32::try_from(v).unwrap_or(i32::MAX)).collect();
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), (device, DType::I32))
}

/// Checks that the values of an input are finite, and small enough to be squared.
///
/// # Errors
/// [`Error::NotFinite`] or [`Error::TooLarge`] names the first row.
pub(crate) fn check_values(name: &str, matrix: &Matrix) -> Result<()> {
    if let Some(row) = matrix.first_not_finite() {
        return Err(Error::NotFinite { input: name.into(), row });
    }
    match matrix.data().iter().enumerate().find(|(_, value)| value.abs() > LARGEST) {
        None => Ok(()),
        Some((at, &value)) => {
            Err(Error::TooLarge { input: name.into(), row: at / matrix.columns().max(1), value })
        }
    }
}
