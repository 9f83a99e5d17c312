//! A trained encoder: pictures in, vectors out.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use simile_core::augment::Normalisation;
use simile_core::data::Images;
use simile_core::data::formats::picture::decode;
use simile_core::nn::checkpoint::Checkpoint;
use simile_core::train::embed_each;

use crate::fault::Fault;
use crate::process::{check_signals, refuse_forked};

/// Pictures in one forward pass, as in `simile embed`.
const PASS: usize = 64;

/// A checkpoint on the CPU.
#[pyclass(frozen, module = "simile._native")]
#[derive(Debug)]
pub(crate) struct Encoder {
    checkpoint: Checkpoint,
    normalisation: Normalisation,
}

#[pymethods]
impl Encoder {
    /// Reads a checkpoint.
    ///
    /// # Errors
    /// The file cannot be read, or is no checkpoint, or this process was forked from one that has computed.
    #[new]
    fn new(py: Python, path: PathBuf) -> PyResult<Self> {
        refuse_forked()?;
        Ok(py.detach(|| Self::of(&path))?)
    }

    /// Length of a vector.
    #[getter]
    fn dimensions(&self) -> usize {
        self.checkpoint.metadata.embedding_size
    }

    /// The vectors of picture files, `[n, dimensions]` in `float32`, as bytes.
    ///
    /// # Errors
    /// Names the first file that cannot be read or is no picture; or this process was forked from one that has computed.
    fn embed_files<'py>(&self, py: Python<'py>, paths: Vec<PathBuf>) -> PyResult<Bound<'py, PyByteArray>> {
        refuse_forked()?;
        let read = |path: PathBuf| picture(&path).and_then(|picture| self.fitted(&picture));
        let vectors = py.detach(|| self.vectors(paths, &read))?;
        Ok(PyByteArray::new(py, &vectors))
    }

    /// The vectors of pictures in memory: contiguous arrays `[height, width, channels]` of `uint8`, of any sizes.
    ///
    /// # Errors
    /// An array has another form, or this process was forked from one that has computed.
    fn embed_arrays<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        refuse_forked()?;
        let mut pictures = Vec::with_capacity(arrays.len());
        for array in &arrays {
            let buffer = PyBuffer::<u8>::get(array)?;
            let &[height, width, channels] = buffer.shape() else {
                let shape = buffer.shape();
                let expected = "expected [height, width, channels]";
                return Err(Fault::Value(format!("a picture has shape {shape:?}, {expected}")).into());
            };
            let pixels = buffer.to_vec(py)?;
            pictures.push(Images::new(height, width, channels, pixels).map_err(Fault::from)?);
        }
        let vectors = py.detach(|| self.vectors(pictures, &|picture| self.fitted(&picture)))?;
        Ok(PyByteArray::new(py, &vectors))
    }
}

impl Encoder {
    fn of(path: &Path) -> Result<Self, Fault> {
        let unread = |error: io::Error| {
            Fault::File(error.kind(), format!("cannot read the model {}: {error}", path.display()))
        };
        let bytes = fs::read(path).map_err(unread)?;
        let checkpoint = Checkpoint::from_bytes(&bytes, &Device::flex())
            .map_err(|error| Fault::Value(format!("{} cannot be used: {error}", path.display())))?;
        let normalisation = checkpoint.metadata.normalisation();
        Ok(Self { checkpoint, normalisation })
    }

    /// A picture at the size of the encoder's input.
    fn fitted(&self, picture: &Images) -> Result<Vec<u8>, Fault> {
        Ok(self.checkpoint.metadata.fitted(picture)?.pixels)
    }

    /// The vectors of pictures that `read` brings to the size of the input, pass by pass; a signal ends it before the next.
    fn vectors<T: Send>(
        &self,
        pictures: Vec<T>,
        read: &(impl Fn(T) -> Result<Vec<u8>, Fault> + Sync),
    ) -> Result<Vec<u8>, Fault> {
        let count = pictures.len();
        let metadata = &self.checkpoint.metadata;
        let (side, channels, device) = (metadata.input_size, metadata.encoder.channels, Device::flex());
        let mut rest = pictures.into_iter();
        let pass = |range: std::ops::Range<usize>| {
            check_signals()?;
            let pictures: Vec<T> = rest.by_ref().take(range.len()).collect();
            let pixels: Vec<Result<Vec<u8>, Fault>> = pictures.into_par_iter().map(read).collect();
            // The first in order that cannot be read is named.
            let pixels = pixels.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
            let images = Images::new(side, side, channels, pixels)?.to_tensor(&device);
            Ok(self.normalisation.apply(images)?)
        };
        let mut vectors = Vec::with_capacity(count * metadata.embedding_size * size_of::<f32>());
        let keep = |rows: &[f32], _: usize| {
            vectors.extend(rows.iter().flat_map(|value| value.to_ne_bytes()));
            Ok::<(), Fault>(())
        };
        pollster::block_on(embed_each(&self.checkpoint.encoder, (count, PASS), pass, keep))?;
        Ok(vectors)
    }
}

/// A picture file in its own size.
fn picture(path: &Path) -> Result<Images, Fault> {
    let named = |reason: String| format!("cannot read the picture {}: {reason}", path.display());
    let bytes = fs::read(path).map_err(|error| Fault::File(error.kind(), named(error.to_string())))?;
    // A panic of a decoder is a fault of its own picture.
    match catch_unwind(AssertUnwindSafe(|| decode(&bytes))) {
        Ok(Ok(picture)) => Ok(picture),
        Ok(Err(error)) => Err(Fault::Value(named(error.to_string()))),
        Err(_) => Err(Fault::Value(named("its decoder failed".into()))),
    }
}
