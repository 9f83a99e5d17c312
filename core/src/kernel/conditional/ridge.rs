//! The operator for code that only needs its product with the rows of a tensor.

use burn::tensor::Tensor;
use faer::Side;
use faer::linalg::solvers::{Llt, Solve};
use simile_kernels::is_cpu;

use super::{ConditionalEmbedding, DeviceEmbedding, check_pivots, check_ridge, representable, to_faer};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;

/// `W = (K + ridge I)^-1 K` as a map of rows.
///
/// Systems are solved in `f64` on the host. If the rows are on the host too, a Cholesky factor solves for them. A
/// GPU gets the entries of `W` instead, so that nothing is read back and nobody waits for it.
pub struct KernelRidge(Form);

#[allow(clippy::large_enum_variant, reason = "there is one a batch")]
enum Form {
    /// The entries of `W`, or their factors.
    ConditionalEmbedding(DeviceEmbedding),
    /// The Cholesky factor of `K + ridge I`: `W C = C - ridge (K + ridge I)^-1 C` takes a third of the work of the
    /// entries of `W`.
    Factor { factor: Llt<f64>, ridge: f64 },
}

impl KernelRidge {
    /// The operator for the rows of `z`, for tensors with the shape and device of `like`, `[b, d]`.
    ///
    /// # Errors
    /// As [`ConditionalEmbedding::new`].
    pub fn new(kernel: &Kernel, z: &Matrix, ridge: f64, like: &Tensor<2>) -> Result<Self> {
        check_ridge(ridge)?;
        kernel.fits(z)?;
        let has_features = ridge > 0.0 && kernel.features(z).is_some();
        if is_cpu(&like.device()) && !has_features {
            let gram = kernel.gram(z);
            representable(&gram)?;
            let mut regularised = to_faer(&gram);
            for i in 0..z.rows() {
                regularised[(i, i)] += ridge;
            }
            if let Ok(factor) = regularised.llt(Side::Lower) {
                let pivots = (0..z.rows()).map(|i| factor.L()[(i, i)].powi(2));
                check_pivots(&regularised, pivots, ridge)?;
                return Ok(Self(Form::Factor { factor, ridge }));
            }
        }
        let operator = ConditionalEmbedding::new(kernel, z, ridge)?;
        Ok(Self(Form::ConditionalEmbedding(operator.on_device(&like.device(), like.dtype()))))
    }

    /// `W C`. The operator is symmetric, so the backward pass applies the same operator.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn apply(&self, c: Tensor<2>) -> Result<Tensor<2>> {
        match &self.0 {
            Form::ConditionalEmbedding(operator) => Ok(operator.apply(c)),
            Form::Factor { factor, ridge } => {
                let rows = Matrix::from_data(&c.clone().into_data())?;
                let solution = factor.solve(to_faer(&rows));
                let shift = Matrix::from_fn(rows.rows(), rows.columns(), |i, j| ridge * solution[(i, j)]);
                Ok(c.clone() - shift.to_tensor(&c.device(), c.dtype()))
            }
        }
    }
}
