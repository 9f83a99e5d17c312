//! Batches of images on their way to views: bytes in the host's memory for a device that computes there, numbers on any other.

use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use simile_kernels::{Filter, View, Views, augment, augment_pixels};

use super::normalise::Normalisation;
use super::planes::{ByteForm, Change, DevicePlanes, HostPlanes, read_in_pieces};
use crate::data::{DatasetError, ImageSet, ImageShape, Images};
use crate::error::Result;

/// A batch of images in the host's memory, ready for a device. It can be made by another thread than the one that computes
/// with it.
#[derive(Debug)]
pub struct HostImages(HostForm);

#[derive(Debug)]
enum HostForm {
    /// As they were read, for a CPU.
    Pixels(Images),
    Planes(HostPlanes),
}

impl HostImages {
    /// Reads the images `indices` of a set for a device, each changed by `change` if there is one. No batch is in memory twice: one
    /// that is changed or separated into planes is read in pieces of 32 MiB.
    ///
    /// # Errors
    /// As [`ImageSet::read`] and `change`, which must give all images one size.
    pub fn read(
        images: &ImageSet,
        indices: &[usize],
        device: &Device,
        change: Option<Change<'_>>,
    ) -> Result<Self, DatasetError> {
        if let Some(form) = ByteForm::of(device) {
            let planes = HostPlanes::read(images, indices, form, change.unwrap_or(&Ok))?;
            return Ok(Self(HostForm::Planes(planes)));
        }
        let Some(change) = change else { return Ok(Self(HostForm::Pixels(images.read(indices)?))) };
        let begin = |shape: ImageShape| (shape, Vec::with_capacity(indices.len() * shape.bytes()));
        let add = |(_, pixels): &mut (_, Vec<u8>), _, piece: &Images| pixels.extend_from_slice(&piece.pixels);
        let (ImageShape { height, width, channels }, pixels) =
            read_in_pieces(images, indices, change, begin, add)?;
        Ok(Self(HostForm::Pixels(Images::new(height, width, channels, pixels)?)))
    }

    /// Copies the images to a device, unless it computes in the host's memory.
    pub fn upload(self, device: &Device) -> ImageBatch {
        ImageBatch(match self.0 {
            HostForm::Pixels(images) => {
                let (rows, device) = ((0..images.len()).collect(), device.clone());
                BatchForm::Pixels(Pixels { images: Arc::new(images), rows, device })
            }
            HostForm::Planes(planes) => BatchForm::Planes(planes.upload(device)),
        })
    }
}

/// A batch of images, of which views are made. A tensor `[n, channels, height, width]`, 0 to 1, becomes one by `into`.
#[derive(Debug, Clone)]
pub struct ImageBatch(BatchForm);

#[derive(Debug, Clone)]
enum BatchForm {
    Pixels(Pixels),
    Planes(DevicePlanes),
    Numbers(Tensor<4>),
}

/// Images in the host's memory, for a device that computes there.
#[derive(Debug, Clone)]
struct Pixels {
    images: Arc<Images>,
    /// The images of the batch, in order; all of them are there.
    rows: Arc<[usize]>,
    device: Device,
}

impl Pixels {
    fn views(&self, views: &Views, normalisation: &[[f32; 2]]) -> Tensor<4> {
        let images = self.rows.iter().map(|&row| self.images.image(row));
        views_of_pixels(images, self.images.shape(), views, normalisation, &self.device)
    }

    /// The whole images as numbers.
    fn numbers(&self, normalisation: &[[f32; 2]]) -> Tensor<4> {
        self.views(&unchanged(self.rows.len(), self.images.shape()), normalisation)
    }
}

/// The views of images, each row-major `[height, width, channels]`, on a device that computes in the host's memory, with the
/// [coefficients](Normalisation::coefficients) of a normalisation.
fn views_of_pixels<'a>(
    images: impl ExactSizeIterator<Item = &'a [u8]>,
    shape: ImageShape,
    views: &Views,
    normalisation: &[[f32; 2]],
    device: &Device,
) -> Tensor<4> {
    let ImageShape { height, width, channels } = shape;
    let dims = [images.len(), channels, views.size[0], views.size[1]];
    let values = augment_pixels(images, [height, width, channels], views, normalisation);
    Tensor::from_data(TensorData::new(values, dims), device)
}

/// Views that change nothing.
fn unchanged(count: usize, shape: ImageShape) -> Views {
    let views = vec![View::default(); count].into();
    Views { size: [shape.height, shape.width], filter: Filter::default(), radius: 0, views }
}

impl From<Tensor<4>> for ImageBatch {
    fn from(images: Tensor<4>) -> Self {
        Self(BatchForm::Numbers(images))
    }
}

impl ImageBatch {
    /// The images `rows` of those in the host's memory, which must be there, for a device that computes there.
    pub(super) fn of_pixels(images: &Arc<Images>, rows: &[usize], device: &Device) -> Self {
        let (images, rows, device) = (Arc::clone(images), rows.into(), device.clone());
        Self(BatchForm::Pixels(Pixels { images, rows, device }))
    }

    /// Number of images, channels, height and width.
    pub fn dims(&self) -> [usize; 4] {
        let dims = |count: usize, shape: ImageShape| [count, shape.channels, shape.height, shape.width];
        match &self.0 {
            BatchForm::Pixels(Pixels { images, rows, .. }) => dims(rows.len(), images.shape()),
            BatchForm::Planes(planes) => dims(planes.count(), planes.shape()),
            BatchForm::Numbers(images) => images.dims(),
        }
    }

    /// The images in the form of which the device makes views: bytes on a CPU, numbers elsewhere. Several views of a batch that is not in
    /// this form convert it several times.
    #[must_use]
    pub fn ready_for_views(self) -> Self {
        match self.0 {
            BatchForm::Planes(planes) => planes.images().into(),
            ready => Self(ready),
        }
    }

    /// The images as numbers, `[n, channels, height, width]`, 0 to 1.
    pub fn into_tensor(self) -> Tensor<4> {
        match self.0 {
            BatchForm::Pixels(pixels) => pixels.numbers(&[]),
            BatchForm::Planes(planes) => planes.images(),
            BatchForm::Numbers(images) => images,
        }
    }

    /// The images as numbers, normalised.
    ///
    /// # Errors
    /// As [`Normalisation::apply`].
    pub fn normalised(self, normalisation: &Normalisation) -> Result<Tensor<4>> {
        match self.0 {
            BatchForm::Pixels(pixels) => {
                Ok(pixels.numbers(&normalisation.coefficients(pixels.images.shape().channels)?))
            }
            other => normalisation.apply(Self(other).into_tensor()),
        }
    }

    /// Views of the images, normalised: on a CPU while a view lies in the cache.
    ///
    /// # Errors
    /// As [`Normalisation::apply`].
    pub(super) fn views(self, views: &Views, normalisation: &Normalisation) -> Result<Tensor<4>> {
        match self.0 {
            BatchForm::Pixels(pixels) => {
                Ok(pixels.views(views, &normalisation.coefficients(pixels.images.shape().channels)?))
            }
            other => normalisation.apply(augment(Self(other).into_tensor(), views)),
        }
    }
}

impl Images {
    /// The images as numbers on a device, `[n, channels, height, width]`, 0 to 1.
    pub fn to_tensor(&self, device: &Device) -> Tensor<4> {
        if let Some(form) = ByteForm::of(device) {
            return HostPlanes::new(self, form).upload(device).images();
        }
        let (shape, images) = (self.shape(), (0..self.len()).map(|row| self.image(row)));
        views_of_pixels(images, shape, &unchanged(self.len(), shape), &[], device)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::super::{Augmentation, Blur, Crop, ImageStore, PRESETS};
    use super::*;
    use crate::data::resize::Interpolation;

    /// Images whose bytes have no order.
    fn noise(count: usize, height: usize, width: usize, channels: usize) -> Images {
        let byte = |at: usize| ((at as u32).wrapping_mul(2_654_435_761) >> 13) as u8;
        let pixels = (0..count * height * width * channels).map(byte).collect();
        Images::new(height, width, channels, pixels).unwrap()
    }

    /// The images as numbers, by the planes that a GPU gets.
    fn by_planes(images: &Images) -> Tensor<4> {
        HostPlanes::new(images, ByteForm::Bytes).upload(&Device::flex()).images()
    }

    fn values(images: Tensor<4>) -> Vec<f32> {
        images.into_data().iter::<f32>().collect()
    }

    #[test]
    fn views_of_bytes_are_those_of_the_same_images_as_numbers() {
        let crop = Crop { interpolation: Interpolation::Bicubic, ..Crop::default() };
        let (rotation, flip) = (30.0, 0.5);
        let grey = Augmentation { crop: Some(crop), rotation, flip, ..Augmentation::default() };
        let blurred = Augmentation { blur: Some(Blur { kernel: 5, ..Blur::default() }), ..grey.clone() };
        let without_crop = Augmentation { rotation, flip, ..Augmentation::default() };
        let presets = PRESETS.into_iter().map(|(name, _)| (3, Augmentation::preset(name).unwrap()));
        let others = [(1, grey), (2, blurred), (4, without_crop)];
        for (channels, augmentation) in presets.chain(others) {
            for size in [None, Some(24), Some(61)] {
                let augmentation = Augmentation { size, ..augmentation.clone() };
                let images = noise(5, 37, 53, channels);
                let rows = [3, 0, 4, 0, 1, 2];
                let selected = ImageSet::from(images.clone()).read(&rows).unwrap();
                let store = ImageStore::new(&images.into(), &Device::flex()).unwrap();
                let batch = store.batch(&rows).unwrap();
                assert_eq!(batch.dims(), [6, channels, 37, 53]);
                assert_eq!(values(batch.clone().into_tensor()), values(by_planes(&selected)));
                let view = |images: ImageBatch| {
                    values(augmentation.view(images, &mut ChaCha8Rng::seed_from_u64(3)).unwrap())
                };
                assert!(view(batch.clone()) == view(by_planes(&selected).into()), "{augmentation:?}");

                let mean = (1..=channels).map(|channel| 0.1 * channel as f64).collect();
                let std = (1..=channels).map(|channel| 0.2 + 0.03 * channel as f64).collect();
                let normalisation = Normalisation { mean, std };
                let expected = normalisation.apply(by_planes(&selected)).unwrap();
                assert_eq!(values(batch.clone().normalised(&normalisation).unwrap()), values(expected));
                let view = |images: ImageBatch| {
                    let mut rng = ChaCha8Rng::seed_from_u64(3);
                    let rows = (6, &[0..6][..]);
                    augmentation.normalised_view(images, rows, None, &normalisation, &mut rng).unwrap()
                };
                let expected = augmentation.view(batch.clone(), &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
                let expected = values(normalisation.apply(expected).unwrap());
                assert!(values(view(by_planes(&selected).into())) == expected, "{augmentation:?}");
                assert!(values(view(batch)) == expected, "{augmentation:?}");
            }
        }
    }

    #[test]
    fn batches_that_are_read_have_the_images_of_the_set() {
        // More than two pieces.
        let images = noise(90, 600, 500, 3);
        let set = ImageSet::from(images);
        let indices: Vec<usize> = (0..90).rev().collect();
        let read = |indices: &[usize], change: Option<Change<'_>>| {
            let images = HostImages::read(&set, indices, &Device::flex(), change)?;
            Ok::<_, DatasetError>(images.upload(&Device::flex()))
        };
        let corner = |images: Images| {
            let corners: Vec<u8> = images.iter().flat_map(|image| image[..12].to_vec()).collect();
            Images::new(2, 2, 3, corners)
        };
        let expected = by_planes(&corner(set.read(&indices).unwrap()).unwrap());
        let changed = read(&indices, Some(&corner)).unwrap();
        assert_eq!(values(changed.into_tensor()), values(expected.clone()));
        let whole = read(&indices, None).unwrap();
        assert_eq!(whole.dims(), [90, 3, 600, 500]);
        let last = read(&indices[88..], None).unwrap().into_tensor();
        assert_eq!(values(whole.into_tensor().slice([88..90])), values(last));

        for change in [None, Some(&corner as Change<'_>)] {
            assert_eq!(read(&[], change).unwrap().dims()[0], 0);
        }
        let uneven = |images: Images| if images.len() > 20 { corner(images) } else { Ok(images) };
        let error = read(&indices, Some(&uneven)).unwrap_err().to_string();
        assert_eq!(error, "a batch: images are 600x500x3, expected 2x2x3");
    }
}
