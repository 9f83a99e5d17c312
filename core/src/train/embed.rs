//! Embeddings of a whole data set.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::Tensor;

use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// Embeds `count` images, `batch` at a time, with the encoder in evaluation mode: `[count, embedding_size]`.
///
/// `images` gives those of a range, `[n, channels, size, size]`, normalised as the encoder expects.
/// Asynchronous because a page cannot wait for its GPU; on other devices the future is ready at once.
///
/// # Errors
/// A batch of 0, a range answered with another number of images, a value that is not finite, or the device failed.
pub async fn embed(
    encoder: &Encoder,
    count: usize,
    batch: usize,
    mut images: impl FnMut(Range<usize>) -> Result<Tensor<4>>,
) -> Result<Matrix> {
    if batch == 0 {
        return Err(Error::parameter("batch", batch, "expected at least 1"));
    }
    let encoder = encoder.valid();
    let (mut values, mut columns) = (vec![], 0);
    for start in (0..count).step_by(batch) {
        let range = start..(start + batch).min(count);
        let images = images(range.clone())?;
        if images.dims()[0] != range.len() {
            let found = format!("{} images", images.dims()[0]);
            return Err(Error::shape("images", format!("{} images", range.len()), found));
        }
        let embedding = encoder.forward(images.without_autodiff()).into_data_async().await;
        let embedding = Matrix::from_data(&embedding.map_err(|e| Error::Degenerate {
            reason: format!("the device could not return the embeddings ({e:?})"),
            remedy: "try a smaller batch or another device".into(),
        })?)?;
        if let Some(row) = embedding.first_not_finite() {
            return Err(Error::NotFinite { input: "embedding".into(), row: start + row });
        }
        columns = embedding.columns();
        values.extend_from_slice(embedding.data());
    }
    Matrix::new(count, columns, values)
}
