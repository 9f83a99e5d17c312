//! Images held on a device, one byte a value, from which batches are gathered.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};

use crate::data::Images;
use crate::error::{Error, Result};

/// All images of a data set on one device: CIFAR-10 takes 150 MB. They never change.
#[derive(Debug, Clone)]
pub struct ImageStore {
    values: Values,
    shape: [usize; 4],
}

/// Channel planes, one row an image.
#[derive(Debug, Clone)]
enum Values {
    /// `[n, values]` of 8 bits, where the device can compute with them.
    Bytes(Tensor<2, Int>),
    /// `[n, ⌈values / 4⌉]` of 32 bits: WebGPU has no smaller integer. Value `w + k words` of an image is byte `k` of
    /// word `w`, so that unpacking is four contiguous copies.
    Packed(Tensor<2, Int>),
}

impl ImageStore {
    /// Puts images on a device. Batches have the device's autodiff setting.
    pub fn new(images: &Images, device: &Device) -> Self {
        let shape = [images.len(), images.channels, images.height, images.width];
        let size = images.bytes_per_image();
        let values = if device.supports_dtype(DType::U8) {
            let planes = images.iter().flat_map(|image| planes(image, images.channels)).collect::<Vec<u8>>();
            Values::Bytes(Tensor::from_data(TensorData::new(planes, [shape[0], size]), (device, DType::U8)))
        } else {
            Values::Packed(packed(images, device))
        };
        Self { values, shape }
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.shape[0]
    }

    /// True if there is no image.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Channels, height and width of an image.
    pub fn image_shape(&self) -> [usize; 3] {
        let [_, channels, height, width] = self.shape;
        [channels, height, width]
    }

    /// The images named by `indices`, `[indices, channels, height, width]`, 0 to 1.
    ///
    /// # Errors
    /// [`Error::Shape`] for an index past the end.
    pub fn batch(&self, indices: &[usize]) -> Result<Tensor<4>> {
        let [n, channels, height, width] = self.shape;
        if let Some(at) = indices.iter().find(|&&at| at >= n) {
            return Err(Error::shape("sample", format!("an index below {n}"), at.to_string()));
        }
        let (Values::Bytes(values) | Values::Packed(values)) = &self.values;
        let rows = TensorData::new(indices.iter().map(|&at| at as i32).collect::<Vec<_>>(), [indices.len()]);
        let rows = values.clone().select(0, Tensor::from_data(rows, &values.device()));
        let flat = match &self.values {
            Values::Bytes(_) => rows.float(),
            Values::Packed(_) => {
                let byte = |at: usize| {
                    rows.clone().bitwise_right_shift_scalar(8 * at as i32).bitwise_and_scalar(255)
                };
                let bytes = Tensor::cat((0..4).map(|at| byte(at).float()).collect(), 1);
                bytes.narrow(1, 0, channels * height * width)
            }
        };
        Ok(flat.reshape([indices.len(), channels, height, width]).div_scalar(255.0))
    }
}

/// The channel planes of an image of interleaved channels, one after the other.
fn planes(image: &[u8], channels: usize) -> impl Iterator<Item = u8> {
    (0..channels).flat_map(move |channel| image.iter().skip(channel).step_by(channels).copied())
}

fn packed(images: &Images, device: &Device) -> Tensor<2, Int> {
    let words = images.bytes_per_image().div_ceil(4);
    let mut values = Vec::with_capacity(images.len() * words);
    for image in images.iter() {
        let mut bytes: Vec<u8> = planes(image, images.channels).collect();
        bytes.resize(4 * words, 0);
        values.extend((0..words).map(|word| {
            let byte = |at: usize| bytes.get(word + at * words).copied().unwrap_or_default();
            i32::from_le_bytes(std::array::from_fn(byte))
        }));
    }
    Tensor::from_data(TensorData::new(values, [images.len(), words]), device)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Three images whose number of values is not a multiple of four.
    fn images() -> Images {
        Images::new(3, 5, 3, (0..135_u32).map(|i| (i * 37 % 256) as u8).collect()).unwrap()
    }

    fn check(store: &ImageStore) {
        let images = images();
        let batch = store.batch(&[2, 0, 2]).unwrap();
        assert_eq!(batch.dims(), [3, 3, 3, 5]);
        let values: Vec<f32> = batch.into_data().iter::<f32>().collect();
        for (at, value) in values.iter().enumerate() {
            let (image, channel, pixel) = ([2, 0, 2][at / 45], at % 45 / 15, at % 15);
            let byte = images.image(image)[3 * pixel + channel];
            assert!((value - f32::from(byte) / 255.0).abs() < 1e-7, "{at}");
        }
        assert!(store.batch(&[3]).unwrap_err().to_string().contains("below 3"));
    }

    #[test]
    fn a_batch_is_the_planes_of_its_images() {
        let store = ImageStore::new(&images(), &Device::flex());
        assert!(matches!(store.values, Values::Bytes(_)));
        check(&store);
        assert_eq!((store.len(), store.image_shape()), (3, [3, 3, 5]));
    }

    #[test]
    fn packed_words_hold_the_same_bytes() {
        let values = Values::Packed(packed(&images(), &Device::flex()));
        check(&ImageStore { values, shape: [3, 3, 3, 5] });
    }
}
