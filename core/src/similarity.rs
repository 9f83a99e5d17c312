//! Unit rows. Every contrastive objective compares embeddings by their cosine, so it works on unit rows and
//! hands a gradient with respect to those back to the rows as they were given.

use burn::tensor::{Device, Tensor};
use pulp::Arch;

use crate::host::Numbers;
use simile_kernels::cpu::gemm::dot;
use simile_kernels::cpu::parallel;

use crate::host;

/// Rows shorter than this are treated as zero: their cosine with anything is 0 and they receive no gradient.
///
/// Released code divides by `max(norm, 1e-8)` instead, which gives a zero row a gradient of about `1e8`.
pub const SMALLEST_NORM: f64 = 1e-12;

/// Rows in one round of a loop on the host.
const PART: usize = 128;

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
        let (device, shape) = (raw.device(), raw.dims());
        if host::holds(&raw) {
            return Self::on_host(Numbers::of(raw), shape, &device);
        }
        let largest = raw.clone().abs().max_dim(1);
        let zero = largest.clone().lower_equal_elem(SMALLEST_NORM);
        let largest = largest.mask_fill(zero.clone(), 1.0);
        let rows = raw / largest.clone();
        let length = rows.clone().square().sum_dim(1).sqrt().mask_fill(zero.clone(), 1.0);
        let unit = rows * length.clone().recip().mask_fill(zero.clone(), 0.0);
        Self { unit, scale: Some((largest * length).recip().mask_fill(zero, 0.0)) }
    }

    fn on_host(mut rows: Numbers, [count, width]: [usize; 2], device: &Device) -> Self {
        let size = (PART * width).max(1);
        let scales = parallel::map(rows.chunks_mut(size), |part| {
            part.chunks_exact_mut(width).map(to_unit_length).collect::<Vec<f32>>()
        });
        let scale = host::tensor(scales.concat(), [count, 1], device);
        Self { unit: rows.into_tensor(device), scale: Some(scale) }
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
                if host::holds(&gradient)
                    && let (Some(unit), Some(scale)) = (host::copy(&self.unit), host::copy(scale))
                {
                    let device = gradient.device();
                    let mut gradient = Numbers::of(gradient);
                    pull_back_on_host(&mut gradient, &unit, &scale);
                    return gradient.into_tensor(&device);
                }
                let radial = (gradient.clone() * self.unit.clone()).sum_dim(1);
                (gradient - self.unit.clone() * radial) * scale.clone()
            }
        }
    }
}

/// [`UnitRows::pull_back`] in place.
fn pull_back_on_host(gradient: &mut [f32], unit: &[f32], scale: &[f32]) {
    let width = unit.len() / scale.len().max(1);
    let size = (PART * width).max(1);
    let parts = gradient.chunks_mut(size).zip(unit.chunks(size)).zip(scale.chunks(PART));
    parallel::map(parts, |((gradient, unit), scale)| {
        let rows = gradient.chunks_exact_mut(width).zip(unit.chunks_exact(width)).zip(scale);
        for ((gradient, unit), scale) in rows {
            let radial = dot(gradient, unit);
            let pull = |(g, u): (&mut f32, &f32)| *g = (*g - radial * u) * scale;
            Arch::new().dispatch(|| gradient.iter_mut().zip(unit).for_each(pull));
        }
    });
}

/// Divides a row by its length, and returns the reciprocal of that; both are 0 for a zero row.
fn to_unit_length(row: &mut [f32]) -> f32 {
    Arch::new().dispatch(|| {
        let largest = row.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        // A maximum passes over NaN, which must not be taken for zero.
        if largest <= SMALLEST_NORM as f32 && !row.iter().any(|x| x.is_nan()) {
            row.fill(0.0);
            return 0.0;
        }
        row.iter_mut().for_each(|x| *x /= largest);
        let length = dot(row, row).sqrt();
        row.iter_mut().for_each(|x| *x /= length);
        (largest * length).recip()
    })
}
