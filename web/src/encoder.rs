//! A checkpoint on a device: pictures in, vectors out.

use burn::tensor::{DType, Tensor, TensorData};
use serde_json::json;
use simile_core::augment::Normalisation;
use simile_core::data::Images;
use simile_core::nn::checkpoint::Checkpoint;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::device::Device;

/// A trained encoder on a device.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Encoder {
    checkpoint: Checkpoint,
    normalisation: Normalisation,
    device: burn::tensor::Device,
}

#[wasm_bindgen]
impl Encoder {
    /// Reads a checkpoint and puts it on a device.
    ///
    /// # Errors
    /// The file is not a valid checkpoint of an encoder.
    #[wasm_bindgen(constructor)]
    pub fn new(checkpoint: &[u8], device: &Device) -> Result<Self, JsError> {
        let read = Checkpoint::from_bytes(checkpoint, &device.inner)
            .map_err(|error| JsError::new(&format!("the checkpoint cannot be used: {error}")))?;
        let normalisation = read.metadata.normalisation();
        Ok(Self { checkpoint: read, normalisation, device: device.inner.clone() })
    }

    /// The metadata of the file: the JSON of `EncoderInfo`.
    #[wasm_bindgen(getter)]
    pub fn info(&self) -> String {
        let metadata = &self.checkpoint.metadata;
        json!({
            "encoder": metadata.encoder.name,
            "inputSize": self.input_size(),
            "mean": metadata.mean,
            "std": metadata.std,
            "embeddingSize": metadata.embedding_size,
            "metadata": metadata,
        })
        .to_string()
    }

    /// Length of an embedding.
    #[wasm_bindgen(getter)]
    pub fn embedding_size(&self) -> usize {
        self.checkpoint.metadata.embedding_size
    }

    /// Number of values of an image that the network takes.
    #[wasm_bindgen(getter)]
    pub fn image_size(&self) -> usize {
        self.input_size().iter().product()
    }

    /// Converts an RGBA picture of any size to the input of the network: `[channels, height, width]`, values in 0..1.
    ///
    /// # Errors
    /// The number of bytes is not four for each pixel.
    pub fn prepare(&self, rgba: Vec<u8>, width: usize, height: usize) -> Result<Vec<f32>, JsError> {
        let fitted = self.checkpoint.metadata.fitted(&Images::new(height, width, 4, rgba)?)?;
        let channels = fitted.channels;
        let plane = |channel| fitted.pixels.iter().skip(channel).step_by(channels);
        Ok((0..channels).flat_map(plane).map(|&value| f32::from(value) / 255.0).collect())
    }

    /// The vectors of `count` images, `[count, channels, height, width]` with values in 0..1, row after row, in one forward pass:
    /// the caller bounds the memory by their number.
    ///
    /// # Errors
    /// The number of values does not fit, or the device failed.
    pub async fn embed(&self, images: Vec<f32>, count: usize) -> Result<Vec<f32>, JsError> {
        let [channels, height, width] = self.input_size();
        let size = self.image_size();
        if images.len() != count * size {
            let length = images.len();
            return Err(JsError::new(&format!(
                "{count} images of {channels} x {height} x {width} need {} values, found {length}",
                count * size
            )));
        }
        let pixels = TensorData::new(images, [count, channels, height, width]);
        let pixels = Tensor::<4>::from_data(pixels, (&self.device, DType::F32));
        let embedding = self.checkpoint.encoder.forward(self.normalisation.apply(pixels)?);
        let data = embedding.into_data_async().await.map_err(|error| JsError::new(&format!("{error:?}")))?;
        Ok(data.iter::<f32>().collect())
    }

    fn input_size(&self) -> [usize; 3] {
        let metadata = &self.checkpoint.metadata;
        [metadata.encoder.channels, metadata.input_size, metadata.input_size]
    }
}
