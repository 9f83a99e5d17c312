//! An attribute of every image.

use std::sync::Arc;

use crate::numeric::matrix::Matrix;

/// An attribute of every image: to condition on, to remove, or to report on.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Numbers, one row an image: a colour, attributes, features of another network; shared by all that read them.
    Numeric(Arc<Matrix>),
    /// One of several named values.
    Categorical {
        /// The value of each image, an index into `names`.
        values: Vec<usize>,
        /// The names of the values.
        names: Vec<String>,
    },
}

impl Condition {
    /// Number of images for which the attribute is known.
    pub fn len(&self) -> usize {
        match self {
            Self::Numeric(matrix) => matrix.rows(),
            Self::Categorical { values, .. } => values.len(),
        }
    }

    /// True if it is known for no image.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The attribute of the images named by `indices`, in that order. Indices must be below [`Condition::len`].
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        match self {
            Self::Numeric(matrix) => Self::Numeric(matrix.select(indices).into()),
            Self::Categorical { values, names } => Self::Categorical {
                values: indices.iter().filter_map(|&i| values.get(i).copied()).collect(),
                names: names.clone(),
            },
        }
    }

    /// The attribute as numbers: the same ones if numeric, or one indicator column for each named value.
    pub fn to_matrix(&self) -> Arc<Matrix> {
        match self {
            Self::Numeric(matrix) => Arc::clone(matrix),
            Self::Categorical { values, names } => {
                let is_value = |i: usize, j: usize| if values.get(i) == Some(&j) { 1.0 } else { 0.0 };
                Matrix::from_fn(values.len(), names.len(), is_value).into()
            }
        }
    }
}
