//! Serialisation of the state that an algorithm changes during training.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::{DType, Tensor, TensorData};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::nn::checkpoint::{Archive, CheckpointError, Flat, STATE_KEY, flattened};

/// Name of the module that the optimiser updates, in the state of every algorithm.
pub(super) const TRAINED: &str = "trained";

/// Collects the state of an algorithm.
#[derive(Debug, Default)]
pub struct StateWriter {
    pub(crate) tensors: Vec<Flat>,
    pub(crate) values: Map<String, Value>,
}

impl StateWriter {
    /// A network or another module with parameters.
    pub fn module<M: Module>(&mut self, name: &str, module: &M) {
        self.tensors.extend(flattened(name, module));
    }

    /// A tensor that is not a parameter.
    pub fn tensor(&mut self, name: &str, tensor: Tensor<2>) {
        let (shape, count) = (tensor.dims().to_vec(), tensor.shape().num_elements());
        let values = tensor.without_autodiff().reshape([count]);
        self.tensors.push(Flat { name: name.into(), shape, values });
    }

    /// Any other value. A float that is NaN or infinite becomes `null` in JSON: hand over the [`f64::to_bits`] of one that may be.
    ///
    /// # Errors
    /// The value has no JSON form.
    pub fn value(&mut self, name: &str, value: &impl Serialize) -> Result<(), CheckpointError> {
        let value = serde_json::to_value(value).map_err(|e| unusable(name, &e))?;
        self.values.insert(name.into(), value);
        Ok(())
    }
}

/// Returns the entries that a [`StateWriter`] collected, by the same names.
#[derive(Debug)]
pub struct StateReader {
    archive: Archive,
    values: Map<String, Value>,
    sizes: BTreeMap<String, usize>,
}

impl StateReader {
    pub(crate) fn new(archive: Archive, values: Map<String, Value>) -> Self {
        let count = |shape: &[usize]| shape.iter().product();
        let sizes = archive.tensors.iter().map(|(name, t)| (name.clone(), count(&t.shape))).collect();
        Self { archive, values, sizes }
    }

    /// The entries that the algorithm has not read.
    pub(crate) fn into_archive(self) -> Archive {
        self.archive
    }

    /// Number of values of a tensor of the module that the optimiser updates.
    pub(crate) fn trained_size(&self, tensor: &str) -> Option<usize> {
        self.sizes.get(&format!("{TRAINED}.{tensor}")).copied()
    }

    /// The module with its tensors replaced by the stored ones; parameters keep their identity.
    ///
    /// # Errors
    /// A tensor is missing or of another shape.
    pub fn module<M: Module>(&mut self, name: &str, module: M) -> Result<M, CheckpointError> {
        self.archive.restore(name, module)
    }

    /// A tensor of the shape and on the device of `like`.
    ///
    /// # Errors
    /// It is missing or of another shape.
    pub fn tensor(&mut self, name: &str, like: &Tensor<2>) -> Result<Tensor<2>, CheckpointError> {
        let expected = like.dims().to_vec();
        match self.archive.tensors.remove(name) {
            None => Err(CheckpointError::MissingTensor { name: name.into() }),
            Some(tensor) if tensor.shape != expected => {
                Err(CheckpointError::Shape { name: name.into(), expected, found: tensor.shape })
            }
            Some(tensor) => {
                let data = TensorData::new(tensor.values, tensor.shape);
                Ok(Tensor::from_data(data, (&like.device(), DType::F32)))
            }
        }
    }

    /// Any other value.
    ///
    /// # Errors
    /// It is missing or of another type.
    pub fn value<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, CheckpointError> {
        let value = self.values.remove(name).unwrap_or(Value::Null);
        serde_json::from_value(value).map_err(|e| unusable(name, &e))
    }
}

pub(super) fn unusable(name: &str, error: &impl std::fmt::Display) -> CheckpointError {
    CheckpointError::Metadata { key: STATE_KEY, reason: format!("has no usable `{name}`: {error}") }
}
