//! The operator for code that only needs its product with the rows of a tensor.

use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use faer::linalg::solvers::{Llt, Solve};
use simile_kernels::is_cpu;

use super::dense::{cholesky, regularised};
use super::{Accuracy, ConditionalEmbedding, DeviceEmbedding, SMALL, check_ridge, to_faer};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;
use crate::numeric::read::in_memory;

/// `W = (K + ridge I)^-1 K` as a map of rows, before it is on their device.
///
/// Systems are solved on the host. If the rows are on the host too, and there are at most 1024, a Cholesky factor in `f64`
/// solves for them. A GPU, and a larger batch, gets the entries of `W` instead, so that nothing is read back and no step waits
/// for a read.
#[derive(Debug)]
pub struct HostRidge(Host);

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one a batch")]
enum Host {
    /// The entries of `W`, or their factors.
    Entries(ConditionalEmbedding),
    Factor(Arc<Factor>),
}

/// The Cholesky factor of `K + ridge I`: `W C = C - ridge (K + ridge I)^-1 C` takes a third of the work of the entries.
#[derive(Debug)]
struct Factor {
    factor: Llt<f64>,
    ridge: f64,
}

impl HostRidge {
    /// The operator for the rows of `z`, for tensors on a device.
    ///
    /// # Errors
    /// As [`ConditionalEmbedding::new`].
    pub fn new(kernel: &Kernel, z: &Matrix, ridge: f64, device: &Device) -> Result<Self> {
        check_ridge(ridge)?;
        kernel.fits(z)?;
        if let Some(operator) = ConditionalEmbedding::by_features(kernel, z, ridge)? {
            return Ok(Self(Host::Entries(operator)));
        }
        if is_cpu(device) && z.rows() <= SMALL {
            let regularised = regularised(&kernel.gram(z), ridge)?;
            if let Some(factor) = cholesky(&regularised, ridge)? {
                return Ok(Self(Host::Factor(Arc::new(Factor { factor, ridge }))));
            }
        }
        Ok(Self(Host::Entries(ConditionalEmbedding::by_samples(kernel, z, ridge)?)))
    }

    /// Number of samples.
    pub(super) fn rows(&self) -> usize {
        match &self.0 {
            Host::Entries(operator) => operator.rows(),
            Host::Factor(solver) => solver.factor.L().nrows(),
        }
    }

    /// The accuracy of `W`.
    pub(super) fn accuracy(&self) -> Accuracy {
        match &self.0 {
            Host::Entries(operator) => operator.accuracy(),
            Host::Factor(_) => Accuracy::Exact,
        }
    }
}

/// `W = (K + ridge I)^-1 K` as a map of rows.
pub struct KernelRidge {
    form: Form,
    accuracy: Accuracy,
}

#[allow(clippy::large_enum_variant, reason = "there is one a batch")]
enum Form {
    Entries(DeviceEmbedding),
    Factor(Arc<Factor>),
}

impl KernelRidge {
    /// The operator for the rows of `z`, for tensors with the shape and device of `like`, `[b, d]`.
    ///
    /// # Errors
    /// As [`ConditionalEmbedding::new`].
    pub fn new(kernel: &Kernel, z: &Matrix, ridge: f64, like: &Tensor<2>) -> Result<Self> {
        Ok(Self::of(&HostRidge::new(kernel, z, ridge, &like.device())?, like))
    }

    /// An operator of the host for tensors with the device and type of `like`.
    pub fn of(host: &HostRidge, like: &Tensor<2>) -> Self {
        let form = match &host.0 {
            Host::Entries(operator) => Form::Entries(operator.on_device(&like.device(), like.dtype())),
            Host::Factor(factor) => Form::Factor(Arc::clone(factor)),
        };
        Self { form, accuracy: host.accuracy() }
    }

    /// The accuracy of `W`.
    pub(crate) fn accuracy(&self) -> Accuracy {
        self.accuracy
    }

    /// `W C`. The operator is symmetric, so the backward pass applies the same operator.
    ///
    /// # Errors
    /// The rows are not in the memory that the operator was made for.
    pub fn apply(&self, c: Tensor<2>) -> Result<Tensor<2>> {
        let Factor { factor, ridge } = match &self.form {
            Form::Entries(operator) => return Ok(operator.apply(c)),
            Form::Factor(factor) => factor.as_ref(),
        };
        let data = in_memory(&c).ok_or_else(|| Error::Degenerate {
            reason: "a factor on the host was applied to rows on another device".into(),
            remedy: "make the operator for tensors on that device".into(),
        })?;
        let rows = Matrix::from_data(&data)?;
        let solution = factor.solve(to_faer(&rows));
        let shift = Matrix::from_fn(rows.rows(), rows.columns(), |i, j| ridge * solution[(i, j)]);
        Ok(c.clone() - shift.to_tensor(&c.device(), c.dtype()))
    }
}
