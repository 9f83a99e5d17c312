//! Tensors whose numbers lie in the host's memory as `f32`: a loop over them can do in one pass what takes a backend
//! several.

use std::ops::{Deref, DerefMut};

use burn::tensor::{DType, Device, Tensor, TensorData};

/// Whether tensors lie in the host's memory, so that reading one is free. Burn says so nowhere but in the name.
pub(crate) fn is_host(device: &Device) -> bool {
    format!("{device:?}").contains("Flex")
}

/// Whether a tensor's numbers are `f32` and lie here.
pub(crate) fn holds<const D: usize>(tensor: &Tensor<D>) -> bool {
    tensor.dtype() == DType::F32 && is_host(&tensor.device())
}

/// The numbers of a tensor that is still needed, if they lie here.
pub(crate) fn copy<const D: usize>(tensor: &Tensor<D>) -> Option<Numbers> {
    holds(tensor).then(|| Numbers::of(tensor.clone()))
}

/// What a tensor holds, to be read and written in place.
pub(crate) struct Numbers(TensorData);

impl Numbers {
    /// The numbers of a tensor that lies here, row by row. They are copied where other tensors share them.
    pub(crate) fn of<const D: usize>(tensor: Tensor<D>) -> Self {
        Self(tensor.into_data())
    }

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
