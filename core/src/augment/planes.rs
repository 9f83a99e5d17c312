//! Images as a GPU gets them: channel planes, one byte a value.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::pixels::separate;
use simile_kernels::is_cpu;

use crate::data::{DatasetError, ImageSet, ImageShape, Images};

/// The form of bytes on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteForm {
    /// Numbers of 8 bits, where the device can compute with them.
    Bytes,
    /// Four to a word of 32 bits: WebGPU has no smaller integer. Value `w + k words` of an image is byte `k` of word `w`, so
    /// that unpacking is four contiguous copies.
    Words,
}

impl ByteForm {
    /// The form for a device; none for a CPU, which reads images where they are.
    pub(super) fn of(device: &Device) -> Option<Self> {
        if is_cpu(device) {
            return None;
        }
        Some(if device.supports_dtype(DType::U8) { Self::Bytes } else { Self::Words })
    }
}

/// A change of the images of a batch, or of a part of them.
pub type Change<'a> = &'a (dyn Fn(Images) -> Result<Images, DatasetError> + Send);

/// Bytes of images that are read at once before they are separated into planes.
const PIECE: usize = 32 << 20;

/// Images in the host's memory, as planes for a GPU.
#[derive(Debug)]
pub(super) struct HostPlanes {
    values: Values,
    count: usize,
    shape: ImageShape,
}

/// The values of all images in a form, each image in a row of its own.
#[derive(Debug)]
enum Values {
    Bytes(Vec<u8>),
    Words(Vec<i32>),
}

impl HostPlanes {
    /// The planes of images.
    pub(super) fn new(images: &Images, form: ByteForm) -> Self {
        let mut planes = Self::zeros(images.len(), images.shape(), form);
        planes.fill(0, images);
        planes
    }

    /// The planes of the images `indices` of a set, each changed by `change`. At most 32 MiB of images are read at a time, so
    /// that no batch is in memory twice.
    ///
    /// # Errors
    /// As [`ImageSet::read`] and `change`, which must give all images one size.
    pub(super) fn read(
        images: &ImageSet,
        indices: &[usize],
        form: ByteForm,
        change: Change<'_>,
    ) -> Result<Self, DatasetError> {
        let begin = |shape| Self::zeros(indices.len(), shape, form);
        read_in_pieces(images, indices, change, begin, Self::fill)
    }

    fn zeros(count: usize, shape: ImageShape, form: ByteForm) -> Self {
        let values = match form {
            ByteForm::Bytes => Values::Bytes(vec![0; count * shape.bytes()]),
            ByteForm::Words => Values::Words(vec![0; count * words(shape)]),
        };
        Self { values, count, shape }
    }

    /// Puts images into the rows from `start` on.
    fn fill(&mut self, start: usize, images: &Images) {
        let (size, words, channels) = (self.shape.bytes(), words(self.shape), self.shape.channels);
        match &mut self.values {
            Values::Bytes(values) => {
                let rows = values.chunks_exact_mut(size.max(1)).skip(start);
                parallel::map(images.iter().zip(rows), |(image, row)| {
                    separate(image, channels, row, |byte| byte)
                });
            }
            Values::Words(values) => {
                let rows = values.chunks_exact_mut(words.max(1)).skip(start);
                let pack = |planes: &mut Vec<u8>, (image, row): (&[u8], &mut [i32])| {
                    separate(image, channels, &mut planes[..size], |byte| byte);
                    let byte = |word: usize, at: usize| planes[word + at * words];
                    let packed = |word| i32::from_le_bytes(std::array::from_fn(|at| byte(word, at)));
                    row.iter_mut().enumerate().for_each(|(word, value)| *value = packed(word));
                };
                parallel::map_in(images.iter().zip(rows), || vec![0; 4 * words], pack);
            }
        }
    }

    /// Copies the images to a device.
    pub(super) fn upload(self, device: &Device) -> DevicePlanes {
        let Self { values, count, shape } = self;
        let (values, form) = match values {
            Values::Bytes(values) => {
                let data = TensorData::new(values, [count, shape.bytes()]);
                (Tensor::from_data(data, (device, DType::U8)), ByteForm::Bytes)
            }
            Values::Words(values) => {
                let data = TensorData::new(values, [count, words(shape)]);
                (Tensor::from_data(data, device), ByteForm::Words)
            }
        };
        DevicePlanes { values, count, shape, form }
    }
}

/// Reads the images `indices` of a set in pieces of at most 32 MiB, each changed by `change`. `begin` makes the whole for images of a shape, to
/// which `add` adds each piece, given the number of images before it.
///
/// # Errors
/// As [`ImageSet::read`] and `change`, which must give all images one size.
pub(super) fn read_in_pieces<T>(
    images: &ImageSet,
    indices: &[usize],
    change: Change<'_>,
    begin: impl FnOnce(ImageShape) -> T,
    mut add: impl FnMut(&mut T, usize, &Images),
) -> Result<T, DatasetError> {
    let count = (PIECE / images.shape().bytes().max(1)).max(1);
    let read = |indices: &[usize]| images.read(indices).and_then(change);
    let (first, others) = indices.split_at(count.min(indices.len()));
    let first = read(first)?;
    let shape = first.shape();
    let mut whole = begin(shape);
    add(&mut whole, 0, &first);
    drop(first);
    for (at, piece) in others.chunks(count).enumerate() {
        let piece = read(piece)?;
        if piece.shape() != shape {
            let text = |ImageShape { height, width, channels }| format!("{height}x{width}x{channels}");
            let (expected, found) = (text(shape), text(piece.shape()));
            return Err(DatasetError::Shape { origin: "a batch".into(), expected, found });
        }
        add(&mut whole, (at + 1) * count, &piece);
    }
    Ok(whole)
}

/// Words of 32 bits of an image.
fn words(shape: ImageShape) -> usize {
    shape.bytes().div_ceil(4)
}

/// Images on a device, one row an image.
#[derive(Debug, Clone)]
pub(super) struct DevicePlanes {
    values: Tensor<2, Int>,
    count: usize,
    shape: ImageShape,
    form: ByteForm,
}

impl DevicePlanes {
    /// Number of images.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The size of each image.
    pub(super) fn shape(&self) -> ImageShape {
        self.shape
    }

    /// The images as numbers, `[n, channels, height, width]`, 0 to 1.
    pub(super) fn images(&self) -> Tensor<4> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::data::ImageSource;

    /// Images of one colour, their number; the most bytes that were read at once.
    #[derive(Debug)]
    struct Numbered {
        side: usize,
        most: AtomicUsize,
    }

    impl ImageSource for Numbered {
        fn shape(&self) -> ImageShape {
            ImageShape { height: self.side, width: self.side, channels: 3 }
        }

        fn count(&self) -> usize {
            250
        }

        fn read(&self, numbers: &[u32], pixels: &mut [u8]) -> Result<(), DatasetError> {
            self.most.fetch_max(pixels.len(), Ordering::Relaxed);
            let images = pixels.chunks_exact_mut(self.shape().bytes());
            images.zip(numbers).for_each(|(image, &number)| image.fill(number as u8));
            Ok(())
        }
    }

    #[test]
    fn both_forms_are_the_planes_of_the_images() {
        // With one, two and three channels; with a number of values that is not a multiple of four.
        for channels in 1..=3 {
            let size = 15 * channels as u32;
            let images = Images::new(3, 5, channels, (0..2 * size).map(|i| (i * 37 % 256) as u8).collect());
            let images = images.unwrap();
            for form in [ByteForm::Bytes, ByteForm::Words] {
                let planes = HostPlanes::new(&images, form).upload(&Device::flex());
                let batch = planes.images();
                assert_eq!(batch.dims(), [2, channels, 3, 5]);
                for (at, value) in batch.into_data().iter::<f32>().enumerate() {
                    let (image, channel, pixel) = (at / (15 * channels), at / 15 % channels, at % 15);
                    let byte = images.image(image)[channels * pixel + channel];
                    assert!((value - f32::from(byte) / 255.0).abs() < 1e-7, "{form:?} {at}");
                }
            }
            let planes = HostPlanes::new(&images, ByteForm::Words).upload(&Device::flex());
            assert_eq!(images.to_tensor(&Device::flex()).into_data(), planes.images().into_data());
        }
    }

    #[test]
    fn a_large_batch_is_read_in_pieces_that_are_no_second_copy_of_it() {
        let source = Arc::new(Numbered { side: 256, most: AtomicUsize::new(0) });
        let set = ImageSet::new(Arc::<Numbered>::clone(&source)).unwrap();
        let indices: Vec<usize> = (0..250).rev().collect();
        let planes = HostPlanes::read(&set, &indices, ByteForm::Bytes, &Ok).unwrap();
        let size = source.shape().bytes();
        assert!(source.most.load(Ordering::Relaxed) <= PIECE && PIECE < 250 * size);
        let Values::Bytes(values) = &planes.values else { unreachable!() };
        assert_eq!(values.len(), 250 * size);
        for (image, &number) in values.chunks_exact(size).zip(&indices) {
            assert!(image.iter().all(|&value| value == number as u8), "{number}");
        }
        // An image is changed with the piece that it is read in, and pieces must agree.
        let half =
            |images: Images| Images::new(128, 256, 3, images.pixels[..images.pixels.len() / 2].to_vec());
        assert_eq!(HostPlanes::read(&set, &indices, ByteForm::Words, &half).unwrap().shape.height, 128);
        let by_number = |images: Images| if images.pixels[0] > 200 { Ok(images) } else { half(images) };
        let error = HostPlanes::read(&set, &indices, ByteForm::Bytes, &by_number).unwrap_err().to_string();
        assert_eq!(error, "a batch: images are 128x256x3, expected 256x256x3");
        assert_eq!(HostPlanes::read(&set, &[], ByteForm::Bytes, &Ok).unwrap().shape, source.shape());
    }
}
