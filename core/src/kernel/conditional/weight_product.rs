//! `W` for code that only needs its product with the rows of a tensor.

use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use faer::linalg::solvers::{Llt, Solve};
use simile_kernels::is_cpu;

use super::accuracy::Accuracy;
use super::dense::{cholesky, regularised};
use super::device::DeviceWeights;
use super::system::{SMALL, check_system, to_faer};
use super::weights::ConditionWeights;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;
use crate::numeric::read::in_memory;

/// The operator `C -> W C` with `W = (K + ridge I)^-1 K`, before it is bound to the device of `C`.
///
/// Systems are solved on the host. If the rows are on the host too, and there are at most 1024, a Cholesky factor in `f64`
/// solves for them. A GPU, and a larger batch, gets the entries of `W` instead, so that nothing is read back and no step waits
/// for a read.
#[derive(Debug)]
pub struct HostWeightProduct(Host);

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one a batch")]
enum Host {
    /// The entries of `W`, or their factors.
    Entries(ConditionWeights),
    Cholesky(Arc<Cholesky>),
}

/// The Cholesky factor of `K + ridge I`: `W C = C - ridge (K + ridge I)^-1 C` takes a third of the work of the entries.
#[derive(Debug)]
struct Cholesky {
    factor: Llt<f64>,
    ridge: f64,
}

impl HostWeightProduct {
    /// That of the rows of `z`, for tensors on a device.
    ///
    /// # Errors
    /// As [`ConditionWeights::solve`].
    pub fn new(kernel: &Kernel, z: &Matrix, ridge: f64, device: &Device) -> Result<Self> {
        check_system(kernel, z, ridge)?;
        if let Some(weights) = ConditionWeights::by_features(kernel, z, ridge)? {
            return Ok(Self(Host::Entries(weights)));
        }
        if is_cpu(device) && z.rows() <= SMALL {
            let regularised = regularised(&kernel.gram(z), ridge)?;
            if let Some(factor) = cholesky(&regularised, ridge)? {
                return Ok(Self(Host::Cholesky(Arc::new(Cholesky { factor, ridge }))));
            }
        }
        Ok(Self(Host::Entries(ConditionWeights::by_samples(kernel, z, ridge)?)))
    }

    /// Number of samples.
    pub(super) fn rows(&self) -> usize {
        match &self.0 {
            Host::Entries(weights) => weights.rows(),
            Host::Cholesky(solver) => solver.factor.L().nrows(),
        }
    }

    /// The accuracy of `W`.
    pub(super) fn accuracy(&self) -> Accuracy {
        match &self.0 {
            Host::Entries(weights) => weights.accuracy(),
            Host::Cholesky(_) => Accuracy::Exact,
        }
    }
}

/// The operator `C -> W C` with `W = (K + ridge I)^-1 K`, for rows `C`, `[b, d]`.
pub struct WeightProduct {
    on_device: OnDevice,
    rows: usize,
    accuracy: Accuracy,
}

#[allow(clippy::large_enum_variant, reason = "there is one a batch")]
enum OnDevice {
    Entries(DeviceWeights),
    Cholesky(Arc<Cholesky>),
}

impl WeightProduct {
    /// That of the rows of `z`, for tensors with the shape and device of `like`, `[b, d]`.
    ///
    /// # Errors
    /// As [`ConditionWeights::solve`].
    pub fn new(kernel: &Kernel, z: &Matrix, ridge: f64, like: &Tensor<2>) -> Result<Self> {
        Ok(Self::of(&HostWeightProduct::new(kernel, z, ridge, &like.device())?, like))
    }

    /// That of the host, for tensors with the device and float type of `like`.
    pub fn of(host: &HostWeightProduct, like: &Tensor<2>) -> Self {
        let on_device = match &host.0 {
            Host::Entries(weights) => OnDevice::Entries(weights.on_device(&like.device(), like.dtype())),
            Host::Cholesky(factor) => OnDevice::Cholesky(Arc::clone(factor)),
        };
        Self { on_device, rows: host.rows(), accuracy: host.accuracy() }
    }

    /// The accuracy of `W`.
    pub(crate) fn accuracy(&self) -> Accuracy {
        self.accuracy
    }

    /// `W C`, `[b, d]`, for `c`, `[b, d]`, with a row for each of the `b` rows of `z`. `W` is symmetric, so that the backward pass
    /// takes the same product.
    ///
    /// # Errors
    /// [`Error::Shape`] if `c` has another number of rows, [`Error::Degenerate`] if they are not in the memory that it was made for.
    pub fn apply(&self, c: Tensor<2>) -> Result<Tensor<2>> {
        let [rows, _] = c.dims();
        if rows != self.rows {
            return Err(Error::shape("c", format!("{} rows", self.rows), format!("{rows} rows")));
        }
        let Cholesky { factor, ridge } = match &self.on_device {
            OnDevice::Entries(weights) => return Ok(weights.apply(c)),
            OnDevice::Cholesky(factor) => factor.as_ref(),
        };
        let data = in_memory(&c).ok_or_else(|| Error::Degenerate {
            reason: "a factor on the host was applied to rows on another device".into(),
            remedy: "make the product for tensors on that device".into(),
        })?;
        let rows = Matrix::from_data(&data)?;
        let solution = factor.solve(to_faer(&rows));
        let shift = Matrix::from_fn(rows.rows(), rows.columns(), |i, j| ridge * solution[(i, j)]);
        Ok(c.clone() - shift.to_tensor(&c.device(), c.dtype()))
    }
}
