//! Tensors whose numbers lie in the host's memory as `f32`: a loop over them can do in one pass what takes a backend
//! several.

use std::ops::{Deref, DerefMut};

use burn::tensor::{DType, Device, Tensor, TensorData};

/// Whether tensors lie in the host's memory, so that reading one is free. Burn says so nowhere but in the name.
pub(crate) fn is_host(device: &Device) -> bool {
    format!("{device:?}").contains("Flex")
}

/// The numbers of a tensor, row by row, if they are `f32` and lie here, else the tensor. They are copied where other
/// tensors share them.
pub(crate) fn numbers<const D: usize>(tensor: Tensor<D>) -> Result<Numbers, Tensor<D>> {
    if tensor.dtype() == DType::F32 && is_host(&tensor.device()) {
        Ok(Numbers(tensor.into_data()))
    } else {
        Err(tensor)
    }
}

/// The numbers of a tensor that is still needed.
pub(crate) fn copy<const D: usize>(tensor: &Tensor<D>) -> Option<Numbers> {
    numbers(tensor.clone()).ok()
}

/// What a tensor holds, to be read and written in place.
pub(crate) struct Numbers(TensorData);

impl Numbers {
    /// As a tensor again.
    pub(crate) fn into_tensor<const D: usize>(self, device: &Device) -> Tensor<D> {
        Tensor::from_data(self.0, device)
    }
}

impl Deref for Numbers {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        self.0.as_slice().unwrap_or_default()
    }
}

impl DerefMut for Numbers {
    fn deref_mut(&mut self) -> &mut [f32] {
        self.0.as_mut_slice().unwrap_or_default()
    }
}

/// Numbers of the host as a tensor.
pub(crate) fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), device)
}
