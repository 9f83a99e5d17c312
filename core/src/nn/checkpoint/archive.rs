//! Named float tensors with one metadata document in a safetensors file, checked when read and when written.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{DType, Tensor, TensorData};
use safetensors::{Dtype, SafeTensors, View, tensor::TensorView};

use super::error::{CheckpointError, Result};
use crate::nn::names::TensorPath;
use crate::numeric::read;

/// A tensor on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTensor {
    /// Lengths of its axes.
    pub shape: Vec<usize>,
    /// All values in row-major order: the index of the last axis runs fastest.
    pub values: Vec<f32>,
}

impl HostTensor {
    /// The values as a file has them, four bytes each, the lowest first.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4 * self.values.len()];
        let (quads, _) = bytes.as_chunks_mut::<4>();
        quads.iter_mut().zip(&self.values).for_each(|(quad, value)| *quad = value.to_le_bytes());
        bytes
    }
}

/// Bytes are made of one tensor at a time: those of all would be a third copy of a state beside its values and its file.
impl View for HostTensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.to_le_bytes().into()
    }

    fn data_len(&self) -> usize {
        4 * self.values.len()
    }
}

/// The content of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Archive {
    pub(crate) tensors: BTreeMap<String, HostTensor>,
}

/// The key of the metadata document of the state of a run.
pub(crate) const STATE_KEY: &str = "simile_state";

/// The metadata document under `key`, without reading a tensor.
pub(crate) fn metadata(bytes: &[u8], key: &'static str) -> Result<String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(format)?;
    let document = |key: &str| header.metadata().as_ref()?.get(key).cloned();
    document(key).ok_or_else(|| {
        let reason = match document(STATE_KEY) {
            Some(_) => {
                "is absent; this is the state of a run, not a model, which is `model.safetensors` in the folder of the run \
                 once that is done"
            }
            None => "is absent; this file was not written by simile (see `simile import`)",
        };
        CheckpointError::Metadata { key, reason: reason.into() }
    })
}

impl Archive {
    /// Reads every tensor.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes).map_err(format)?;
        let read = |(name, view): (&str, TensorView<'_>)| Ok((name.to_string(), read(name, &view)?));
        Ok(Self { tensors: file.iter().map(read).collect::<Result<_>>()? })
    }

    /// The number of values of all tensors.
    pub(crate) fn numbers(&self) -> u64 {
        self.tensors.values().map(|tensor| tensor.values.len() as u64).sum()
    }

    /// The bytes of a file, the same for the same content. Each tensor is dropped once it is written.
    pub(crate) fn into_bytes(self, key: &'static str, document: String) -> Result<Vec<u8>> {
        for (name, tensor) in &self.tensors {
            check_finite(name, &tensor.values)?;
        }
        // One key only: a second one would come in random order and the bytes would differ from run to run.
        let document = HashMap::from([(key.to_string(), document)]);
        safetensors::serialize(self.tensors, Some(document)).map_err(format)
    }

    /// Adds the tensors of a module under `prefix`, reading them back from the device.
    pub(crate) async fn add_module<M: Module>(&mut self, prefix: &str, module: &M) -> Result<()> {
        for Flat { name, shape, values } in flattened(prefix, module) {
            self.add(name, shape, values).await?;
        }
        Ok(())
    }

    /// Adds a flattened tensor, reading it back from the device.
    pub(crate) async fn add(&mut self, name: String, shape: Vec<usize>, tensor: Tensor<1>) -> Result<()> {
        match read::values(tensor).await {
            Ok(data) => {
                self.tensors.insert(name, HostTensor { shape, values: read::floats(&data) });
                Ok(())
            }
            Err(reason) => Err(CheckpointError::Device { name, reason }),
        }
    }

    /// The module with its tensors replaced by those under `prefix`, which are removed from the archive.
    ///
    /// Everything is checked before the first one is replaced.
    pub(crate) fn restore<M: Module>(&mut self, prefix: &str, module: M) -> Result<M> {
        let mut collect = Collect::new(prefix);
        module.visit(&mut collect);
        check_shapes(collect.tensors, |name| Some(self.tensors.get(name)?.shape.clone()))?;
        // A validation copy takes over the updates of running statistics that wait: they would follow the values set here.
        drop(module.valid());
        Ok(module.map(&mut Replace { path: TensorPath::default(), prefix, archive: self }))
    }

    /// Fails if a tensor has not been read.
    pub(crate) fn finish(self) -> Result<()> {
        match self.tensors.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(CheckpointError::UnknownTensor { name }),
        }
    }
}

fn read(name: &str, view: &TensorView<'_>) -> Result<HostTensor> {
    if view.dtype() != Dtype::F32 {
        return Err(CheckpointError::ElementType { name: name.into(), found: format!("{:?}", view.dtype()) });
    }
    let (chunks, _) = view.data().as_chunks::<4>();
    let values: Vec<f32> = chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    check_finite(name, &values)?;
    Ok(HostTensor { shape: view.shape().to_vec(), values })
}

pub(super) fn check_finite(name: &str, values: &[f32]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(position) => {
            Err(CheckpointError::NotFinite { name: name.into(), position, value: values[position] })
        }
    }
}

pub(super) fn format(error: safetensors::SafeTensorError) -> CheckpointError {
    CheckpointError::Format { reason: error.to_string() }
}

fn join(prefix: &str, path: &TensorPath) -> String {
    if prefix.is_empty() { path.name() } else { format!("{prefix}.{}", path.name()) }
}

/// A tensor on its device, flattened.
#[derive(Debug)]
pub(crate) struct Flat {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Tensor<1>,
}

/// The float tensors of a module, with names under `prefix`.
pub(crate) fn flattened<M: Module>(prefix: &str, module: &M) -> Vec<Flat> {
    // The validation copy has synchronised its running statistics.
    let mut collect = Collect::new(prefix);
    module.valid().visit(&mut collect);
    collect.tensors
}

/// Fails if the tensors of two modules differ in name or shape.
pub(super) fn check_same_tensors<M: Module>(prefix: &str, module: &M, expected: &M) -> Result<()> {
    let module_shapes = flattened(prefix, module).into_iter().map(|tensor| (tensor.name, tensor.shape));
    let mut shapes: BTreeMap<String, Vec<usize>> = module_shapes.collect();
    check_shapes(flattened(prefix, expected), |name| shapes.remove(name))?;
    match shapes.into_keys().next() {
        None => Ok(()),
        Some(name) => Err(CheckpointError::UnknownTensor { name }),
    }
}

/// Fails if one of the tensors is not found, or in another shape.
fn check_shapes(tensors: Vec<Flat>, mut find: impl FnMut(&str) -> Option<Vec<usize>>) -> Result<()> {
    for Flat { name, shape: expected, .. } in tensors {
        match find(&name) {
            None => return Err(CheckpointError::MissingTensor { name }),
            Some(found) if found != expected => return Err(CheckpointError::Shape { name, expected, found }),
            Some(_) => {}
        }
    }
    Ok(())
}

struct Collect<'a> {
    path: TensorPath,
    prefix: &'a str,
    tensors: Vec<Flat>,
}

impl<'a> Collect<'a> {
    fn new(prefix: &'a str) -> Self {
        Self { path: TensorPath::default(), prefix, tensors: vec![] }
    }
}

impl ModuleVisitor for Collect<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, container: &str) {
        self.path.exit(container);
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let (shape, count) = (tensor.dims().to_vec(), tensor.shape().num_elements());
        let (name, values) = (join(self.prefix, &self.path), tensor.without_autodiff().reshape([count]));
        self.tensors.push(Flat { name, shape, values });
    }
}

/// Writes the tensors of an archive into a module.
struct Replace<'a> {
    path: TensorPath,
    prefix: &'a str,
    archive: &'a mut Archive,
}

impl ModuleMapper for Replace<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, container: &str) {
        self.path.exit(container);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(tensor) = self.archive.tensors.remove(&join(self.prefix, &self.path)) else { return param };
        let data = TensorData::new(tensor.values, tensor.shape);
        let (id, device) = (param.id, param.lazy_device());
        param.transform_for_load(Tensor::from_data(data, (&device, DType::F32)), id)
    }
}
