//! Unit rows. Every contrastive objective compares embeddings by their cosine, so it works on unit rows and
//! hands a gradient with respect to those back to the rows as they were given.

use burn::tensor::Tensor;

/// Rows shorter than this are treated as zero: their cosine with anything is 0 and they receive no gradient.
///
/// Released code divides by `max(norm, 1e-8)` instead, which gives a zero row a gradient of about `1e8`.
pub const SMALLEST_NORM: f64 = 1e-12;

/// Rows of length one, with what is needed to carry a gradient back to the rows they came from.
#[derive(Debug, Clone)]
pub struct UnitRows {
    unit: Tensor<2>,
    /// `[rows, 1]`, reciprocal of the length, 0 for a zero row; `None` if the rows were given as unit rows.
    scale: Option<Tensor<2>>,
}

impl UnitRows {
    /// Divides each row of `raw` (`[rows, dims]`) by its Euclidean length. Rows are brought to a largest
    /// entry of 1 first, so that no square leaves the range of the numbers.
    pub fn normalise(raw: Tensor<2>) -> Self {
        let largest = raw.clone().abs().max_dim(1);
        let zero = largest.clone().lower_equal_elem(SMALLEST_NORM);
        let largest = largest.mask_fill(zero.clone(), 1.0);
        let rows = raw / largest.clone();
        let length = rows.clone().square().sum_dim(1).sqrt().mask_fill(zero.clone(), 1.0);
        let unit = rows * length.clone().recip().mask_fill(zero.clone(), 0.0);
        Self { unit, scale: Some((largest * length).recip().mask_fill(zero, 0.0)) }
    }

    /// Takes rows that already have length one; a gradient is then the partial derivative with respect to
    /// them.
    pub fn given(unit: Tensor<2>) -> Self {
        Self { unit, scale: None }
    }

    /// The unit rows.
    pub fn rows(&self) -> Tensor<2> {
        self.unit.clone()
    }

    /// Carries a gradient with respect to the unit rows back: `(g - (g . u) u) / |x|`.
    pub fn pull_back(&self, gradient: Tensor<2>) -> Tensor<2> {
        match &self.scale {
            None => gradient,
            Some(scale) => {
                let radial = (gradient.clone() * self.unit.clone()).sum_dim(1);
                (gradient - self.unit.clone() * radial) * scale.clone()
            }
        }
    }
}
