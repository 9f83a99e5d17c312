//! Images held on a device, one byte a value, from which batches are gathered; those for a CPU in the host's memory.

use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use simile_kernels::memory;

use super::batch::ImageBatch;
use super::planes::{ByteForm, DevicePlanes, HostPlanes};
use crate::data::{DatasetError, ImageSet, ImageShape, Images};
use crate::error::{Error, Result};

/// Most bytes of a tensor, on devices that take as many. CubeCL refuses an allocation above a quarter of a card's memory, or what
/// its driver takes in one buffer: 128 MiB by WebGPU's default.
const MOST_BYTES: u64 = 512 << 20;

/// All images of a data set for one device: CIFAR-10 takes 150 MB. They never change.
#[derive(Debug, Clone)]
pub struct ImageStore {
    place: Place,
    count: usize,
    shape: ImageShape,
}

#[derive(Debug, Clone)]
enum Place {
    /// In the host's memory, for a device that computes there: shared with the set, if they are all those of one in memory.
    Host(Arc<Images>, Device),
    /// Parts of the images, in order, each but the last one of as many.
    Device(Vec<DevicePlanes>, usize),
}

impl ImageStore {
    /// Puts images on a device, in tensors of at most 512 MiB and no larger than the device takes, unless it computes in the host's
    /// memory. Batches have the device's autodiff setting.
    ///
    /// # Errors
    /// If an image cannot be read.
    pub fn new(images: &ImageSet, device: &Device) -> Result<Self, DatasetError> {
        let Some(form) = ByteForm::of(device) else {
            let place = Place::Host(images.in_memory()?, device.clone());
            return Ok(Self { place, count: images.len(), shape: images.shape() });
        };
        let most = memory(device).map_or(MOST_BYTES, |memory| memory.tensor.min(MOST_BYTES));
        // Rows of words end on a multiple of four bytes.
        let row = images.shape().bytes().next_multiple_of(4).max(4);
        let part = usize::try_from(most).unwrap_or(usize::MAX) / row;
        Self::in_parts(images, part.clamp(1, images.len().max(1)), form, device)
    }

    fn in_parts(
        images: &ImageSet,
        part: usize,
        form: ByteForm,
        device: &Device,
    ) -> Result<Self, DatasetError> {
        let (count, shape) = (images.len(), images.shape());
        let of_part = |start: usize| {
            let indices: Vec<usize> = (start..(start + part).min(count)).collect();
            Ok(HostPlanes::read(images, &indices, form, &Ok)?.upload(device))
        };
        let parts = (0..count.max(1)).step_by(part).map(of_part).collect::<Result<_, DatasetError>>()?;
        Ok(Self { place: Place::Device(parts, part), count, shape })
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there is no image.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The size of each image.
    pub fn shape(&self) -> ImageShape {
        self.shape
    }

    /// The images named by `indices`.
    ///
    /// # Errors
    /// [`Error::Shape`] for an index past the end.
    pub fn batch(&self, indices: &[usize]) -> Result<ImageBatch> {
        if let Some(at) = indices.iter().find(|&&at| at >= self.count) {
            return Err(Error::shape("sample", format!("an index below {}", self.count), at.to_string()));
        }
        match &self.place {
            Place::Host(images, device) => Ok(ImageBatch::of_pixels(images, indices, device)),
            Place::Device(parts, part) => gather(parts, *part, indices).map(ImageBatch::from),
        }
    }
}

/// The images named by `indices`, which must be there, of parts of `part` images.
fn gather(parts: &[DevicePlanes], part: usize, indices: &[usize]) -> Result<Tensor<4>> {
    match parts {
        [] => Err(Error::shape("images", "at least one part", "none")),
        [first, others @ ..] if others.is_empty() || indices.is_empty() => Ok(first.select(indices).images()),
        parts => Ok(gather_parts(parts, part, indices)),
    }
}

/// Gathers at least one image from each part that has any of them, then puts them in order.
fn gather_parts(parts: &[DevicePlanes], images_of_part: usize, indices: &[usize]) -> Tensor<4> {
    let (mut gathered, mut places) = (vec![], vec![0; indices.len()]);
    let mut gathered_rows = 0;
    for (at, part) in parts.iter().enumerate() {
        let indices_of_part = indices.iter().enumerate().filter(|(_, index)| *index / images_of_part == at);
        let (batch_places, rows): (Vec<usize>, Vec<usize>) =
            indices_of_part.map(|(place, index)| (place, index % images_of_part)).unzip();
        if rows.is_empty() {
            continue;
        }
        batch_places.iter().zip(gathered_rows..).for_each(|(&place, row)| places[place] = row);
        gathered_rows += rows.len() as i32;
        gathered.push(part.select(&rows).images());
    }
    let gathered = Tensor::cat(gathered, 0);
    let places = Tensor::from_data(TensorData::new(places, [indices.len()]), &gathered.device());
    gathered.select(0, places)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::Images;

    #[test]
    fn a_batch_is_the_same_from_one_tensor_and_from_several() {
        let images = Images::new(3, 5, 3, (0..7 * 45_u32).map(|i| (i * 37 % 256) as u8).collect()).unwrap();
        let set = ImageSet::from(images.clone());
        let values = |part: Option<usize>, indices: &[usize]| {
            let device = Device::flex();
            let store = match part {
                Some(part) => ImageStore::in_parts(&set, part, ByteForm::Bytes, &device),
                None => ImageStore::new(&set, &device),
            };
            let store = store.unwrap();
            assert_eq!((store.len(), store.shape()), (7, images.shape()));
            assert!(store.batch(&[7]).unwrap_err().to_string().contains("below 7"));
            let batch = store.batch(indices).unwrap().into_tensor();
            assert_eq!(batch.dims(), [indices.len(), 3, 3, 5]);
            batch.into_data().iter::<f32>().collect::<Vec<f32>>()
        };
        let store = ImageStore::new(&set, &Device::flex()).unwrap();
        let own = set.in_memory().unwrap();
        assert!(
            matches!(&store.place, Place::Host(images, _) if Arc::ptr_eq(images, &own)),
            "a copy of the set"
        );
        let indices = [2, 6, 0, 2, 5];
        let whole = values(None, &indices);
        for (at, value) in whole.iter().enumerate() {
            let (image, channel, pixel) = (indices[at / 45], at % 45 / 15, at % 15);
            assert_eq!(*value, f32::from(images.image(image)[3 * pixel + channel]) / 255.0);
        }
        for part in 1..=7 {
            assert_eq!(values(Some(part), &indices), whole, "parts of {part}");
            assert!(values(Some(part), &[]).is_empty());
        }
    }
}
