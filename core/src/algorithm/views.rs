//! The images of a step.

use burn::tensor::{Device, Tensor};

use crate::error::{Error, Result};
use crate::loss::pairwise::rows_of;

/// Two views of the same samples, and the further images of algorithms with a classifier. All pixels are normalised as the encoder
/// expects, by [`Normalisation`](crate::augment::Normalisation).
#[derive(Debug, Clone)]
pub struct Views {
    /// `[b, channels, size, size]`.
    pub a: Tensor<4>,
    /// `[b, channels, size, size]`.
    pub b: Tensor<4>,
    /// True if batch norm takes the statistics of each view separately, as in the released code of CCL-K; false for both
    /// together.
    pub per_view_batch_norm: bool,
    /// The same samples without augmentation, `[b, channels, size, size]`, for a network that does not take views.
    pub plain: Option<Tensor<4>>,
    /// A separate batch of images to classify, `[n, channels, size, size]`.
    pub to_classify: Option<Tensor<4>>,
    /// Number of samples of the batch, of which other processes have some.
    pub(super) batch: usize,
}

impl Views {
    /// Two views as they come from an augmentation.
    ///
    /// # Errors
    /// [`Error::Shape`] if they differ in shape, or there is no sample.
    pub fn new(a: Tensor<4>, b: Tensor<4>) -> Result<Self> {
        if a.dims() != b.dims() || a.dims()[0] == 0 {
            let shape = format!("{:?}", b.dims());
            return Err(Error::shape("view_b", format!("{:?}, at least one sample", a.dims()), shape));
        }
        // Batch norm detects training by the images, not by its own tensors.
        let batch = a.dims()[0];
        Ok(Self {
            a: a.autodiff(),
            b: b.autodiff(),
            per_view_batch_norm: false,
            plain: None,
            to_classify: None,
            batch,
        })
    }

    /// Marks the views as those of [`Algorithm::shard`](super::Algorithm::shard) of a batch of `batch` samples.
    #[must_use]
    pub fn out_of(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// The same views, with or without separate statistics.
    #[must_use]
    pub fn with_per_view_batch_norm(self, per_view_batch_norm: bool) -> Self {
        Self { per_view_batch_norm, ..self }
    }

    /// Adds the same samples without augmentation.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not have the shape of the views.
    pub fn with_plain(self, images: Tensor<4>) -> Result<Self> {
        if images.dims() != self.a.dims() {
            let shape = format!("{:?}", images.dims());
            return Err(Error::shape("plain", format!("{:?}", self.a.dims()), shape));
        }
        Ok(Self { plain: Some(images.autodiff()), ..self })
    }

    /// Adds a separate batch of images to classify.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no image, or they do not have the size of the views.
    pub fn with_images_to_classify(self, images: Tensor<4>) -> Result<Self> {
        if images.dims()[0] == 0 || images.dims()[1..] != self.a.dims()[1..] {
            let (expected, shape) = (&self.a.dims()[1..], images.dims());
            let expected = format!("[n, ..{expected:?}], at least one image");
            return Err(Error::shape("classified", expected, format!("{shape:?}")));
        }
        Ok(Self { to_classify: Some(images.autodiff()), ..self })
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.a.dims()[0]
    }

    /// The views in chunks of at most `size` samples, in order; images to classify are a separate batch and are
    /// left out.
    pub(super) fn chunks(&self, size: usize) -> Vec<Self> {
        let size = size.max(1);
        let part = |start: usize| {
            let rows = start..(start + size).min(self.samples());
            let of = |view: &Tensor<4>| rows_of(view, rows.clone());
            let plain = self.plain.as_ref().map(of);
            Self { a: of(&self.a), b: of(&self.b), plain, to_classify: None, ..self.clone() }
        };
        (0..self.samples()).step_by(size).map(part).collect()
    }

    /// The same views with one change applied to all images.
    pub(crate) fn map(self, of: impl Fn(Tensor<4>) -> Tensor<4>) -> Self {
        let Self { a, b, per_view_batch_norm, plain, to_classify, batch } = self;
        Self {
            a: of(a),
            b: of(b),
            per_view_batch_norm,
            plain: plain.map(&of),
            to_classify: to_classify.map(&of),
            batch,
        }
    }

    pub(super) fn to_device(&self, device: &Device) -> Self {
        self.clone().map(|images| images.to_device(device))
    }

    /// Both views as one batch, view a first.
    pub(super) fn both(&self) -> Tensor<4> {
        Tensor::cat(vec![self.a.clone(), self.b.clone()], 0)
    }
}
