//! Collective operations on tensors: peers exchange numbers of the host, so that every tensor passes through it.

use burn::tensor::{Tensor, TensorData};

use super::Peers;
use crate::error::{Error, Result};
use crate::numeric::read;

/// Reads the values of a tensor to send them to peers, which waits for the device.
///
/// # Errors
/// The device failed.
pub(crate) fn to_host<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let failed =
        |reason: String| Error::Peers { reason: format!("values cannot be read from the device: {reason}") };
    Ok(read::floats(&read::values_now(tensor, failed)?))
}

/// Sums a tensor over all processes, each of which has one of this shape. Returns the sum on the same device.
///
/// # Errors
/// A peer cannot be reached, or the device failed.
pub(crate) fn sum_tensor<const D: usize>(peers: &dyn Peers, tensor: Tensor<D>) -> Result<Tensor<D>> {
    if peers.count() == 1 {
        return Ok(tensor);
    }
    let (shape, device, dtype) = (tensor.shape(), tensor.device(), tensor.dtype());
    let mut values = to_host(tensor)?;
    peers.sum(&mut values)?;
    Ok(Tensor::from_data(TensorData::new(values, shape), (&device, dtype)))
}
