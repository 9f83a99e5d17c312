//! Images in the form in which a device computes with them: channel planes, one byte a value.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};

use crate::data::{ImageShape, Images};

/// The form of bytes on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteForm {
    /// Numbers of 8 bits, where the device can compute with them.
    Bytes,
    /// Four to a word of 32 bits: WebGPU has no smaller integer. Value `w + k words` of an image is byte `k` of word `w`, so
    /// that unpacking is four contiguous copies.
    Words,
}

impl ByteForm {
    /// The form for a device.
    pub fn of(device: &Device) -> Self {
        if device.supports_dtype(DType::U8) { Self::Bytes } else { Self::Words }
    }
}

/// A batch of images in the host's memory, ready for a device. It can be made by another thread than the one that hands it
/// to the device.
#[derive(Debug)]
pub struct HostPlanes {
    data: TensorData,
    count: usize,
    shape: ImageShape,
    form: ByteForm,
}

impl HostPlanes {
    /// The planes of images.
    pub fn new(images: &Images, form: ByteForm) -> Self {
        let (count, shape) = (images.len(), images.shape());
        let size = shape.bytes();
        let data = match form {
            ByteForm::Bytes => {
                let mut planes = vec![0; count * size];
                for (image, planes) in images.iter().zip(planes.chunks_exact_mut(size.max(1))) {
                    separate(image, shape.channels, planes);
                }
                TensorData::new(planes, [count, size])
            }
            ByteForm::Words => {
                let words = size.div_ceil(4);
                let mut values = Vec::with_capacity(count * words);
                let mut planes = vec![0; 4 * words];
                for image in images.iter() {
                    separate(image, shape.channels, &mut planes[..size]);
                    let byte = |word: usize, at: usize| planes[word + at * words];
                    let packed = |word| i32::from_le_bytes(std::array::from_fn(|at| byte(word, at)));
                    values.extend((0..words).map(packed));
                }
                TensorData::new(values, [count, words])
            }
        };
        Self { data, count, shape, form }
    }

    /// Copies the images to a device.
    pub fn upload(self, device: &Device) -> DevicePlanes {
        let Self { data, count, shape, form } = self;
        let values = match form {
            ByteForm::Bytes => Tensor::from_data(data, (device, DType::U8)),
            ByteForm::Words => Tensor::from_data(data, device),
        };
        DevicePlanes { values, count, shape, form }
    }
}

/// Images on a device, one row an image.
#[derive(Debug, Clone)]
pub struct DevicePlanes {
    values: Tensor<2, Int>,
    count: usize,
    shape: ImageShape,
    form: ByteForm,
}

impl DevicePlanes {
    /// Number of images.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there is no image.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The images as numbers, `[n, channels, height, width]`, 0 to 1.
    pub fn images(&self) -> Tensor<4> {
        let ImageShape { height, width, channels } = self.shape;
        let values = &self.values;
        let flat = match self.form {
            ByteForm::Bytes => values.clone().float(),
            ByteForm::Words => {
                let byte = |at: usize| {
                    values.clone().bitwise_right_shift_scalar(8 * at as i32).bitwise_and_scalar(255)
                };
                let bytes = Tensor::cat((0..4).map(|at| byte(at).float()).collect(), 1);
                bytes.narrow(1, 0, self.shape.bytes())
            }
        };
        flat.reshape([self.count, channels, height, width]).div_scalar(255.0)
    }

    /// The images `rows`, which must be there.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let rows = TensorData::new(rows.iter().map(|&at| at as i32).collect::<Vec<_>>(), [rows.len()]);
        let count = rows.num_elements();
        let rows = Tensor::from_data(rows, &self.values.device());
        Self { values: self.values.clone().select(0, rows), count, ..*self }
    }
}

/// Separates interleaved channels into planes, one after the other.
fn separate(image: &[u8], channels: usize, planes: &mut [u8]) {
    let pixels = image.len() / channels.max(1);
    match channels {
        1 => planes.copy_from_slice(image),
        3 => {
            let (red, others) = planes.split_at_mut(pixels);
            let (green, blue) = others.split_at_mut(pixels);
            let places = red.iter_mut().zip(green).zip(blue);
            for (&[r, g, b], ((red, green), blue)) in image.as_chunks::<3>().0.iter().zip(places) {
                (*red, *green, *blue) = (r, g, b);
            }
        }
        _ => {
            for (channel, plane) in planes.chunks_exact_mut(pixels.max(1)).enumerate() {
                let values = image.iter().skip(channel).step_by(channels);
                plane.iter_mut().zip(values).for_each(|(place, &value)| *place = value);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_the_planes_of_the_images() {
        // With one, two and three channels; with a number of values that is not a multiple of four.
        for channels in 1..=3 {
            let size = 15 * channels as u32;
            let images = Images::new(3, 5, channels, (0..2 * size).map(|i| (i * 37 % 256) as u8).collect());
            let images = images.unwrap();
            for form in [ByteForm::Bytes, ByteForm::Words] {
                let planes = HostPlanes::new(&images, form).upload(&Device::flex());
                let found = planes.images();
                assert_eq!(found.dims(), [2, channels, 3, 5]);
                for (at, value) in found.into_data().iter::<f32>().enumerate() {
                    let (image, channel, pixel) = (at / (15 * channels), at / 15 % channels, at % 15);
                    let byte = images.image(image)[channels * pixel + channel];
                    assert!((value - f32::from(byte) / 255.0).abs() < 1e-7, "{form:?} {at}");
                }
            }
        }
    }
}
