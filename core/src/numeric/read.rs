//! Values of tensors on the host: the one place where this crate reads from a device.
//!
//! A read waits until the device has done all of its work, and the device then waits for the host. So a step of training
//! reads nothing; [`count`] says so.

use std::cell::Cell;

use burn::tensor::{Tensor, TensorData, Transaction, try_read_sync};
use simile_kernels::is_cpu;

use crate::error::{Error, Result};

thread_local! {
    static READS: Cell<u64> = const { Cell::new(0) };
}

/// Number of tensors that this thread has read from devices so far. It does not depend on the device: a read that is left
/// out on a GPU is not counted on the CPU either.
pub fn count() -> u64 {
    READS.get()
}

/// The values of a tensor.
///
/// # Errors
/// The device failed; the text is its reason.
pub(crate) async fn values<const D: usize>(tensor: Tensor<D>) -> std::result::Result<TensorData, String> {
    READS.set(READS.get() + 1);
    tensor.into_data_async().await.map_err(|error| format!("{error:?}"))
}

/// The values of tensors of one device, in one read.
///
/// # Errors
/// The device failed; the text is its reason.
pub(crate) async fn all_values(tensors: Vec<Tensor<2>>) -> std::result::Result<Vec<TensorData>, String> {
    READS.set(READS.get() + 1);
    let reading = tensors.into_iter().fold(Transaction::default(), Transaction::register);
    reading.execute_async().await.map_err(|error| format!("{error:?}"))
}

/// The values of a tensor, at once.
///
/// # Errors
/// [`Error::Degenerate`] if the device failed, or is WebGPU in a page, where reading must be asynchronous.
pub(crate) fn values_now<const D: usize>(
    tensor: Tensor<D>,
    failed: impl FnOnce(String) -> Error,
) -> Result<TensorData> {
    match try_read_sync(values(tensor)) {
        None => Err(failed("a page cannot read from this device without waiting".into())),
        Some(Err(reason)) => Err(failed(format!("the device failed ({reason})"))),
        Some(Ok(data)) => Ok(data),
    }
}

/// The numbers that were read from a tensor, in `f32`. Those of an `f32` tensor are copied as they lie, where
/// [`TensorData::iter`] calls a function for each.
pub(crate) fn floats(data: &TensorData) -> Vec<f32> {
    data.as_slice().map_or_else(|_| data.iter().collect(), <[f32]>::to_vec)
}

/// The values of a tensor of a CPU backend, which lie in the memory of the program: this waits for nothing, and is no read from
/// a device. `None` for a tensor elsewhere.
pub(crate) fn in_memory<const D: usize>(tensor: &Tensor<D>) -> Option<TensorData> {
    let tensor = tensor.clone().without_autodiff();
    is_cpu(&tensor.device()).then(|| tensor.into_data())
}
