//! Embeddings and class scores of a whole data set.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::Tensor;

use crate::error::{Error, Result};
use crate::nn::Encoder;
use crate::nn::Model;
use crate::numeric::matrix::Matrix;

/// Embeds `count` images, `batch` at a time, with the encoder in evaluation mode: `[count, embedding_size]`.
///
/// `images` returns those of a range, `[n, channels, size, size]`, normalised as the encoder expects.
/// Asynchronous because a page cannot wait for its GPU; on other devices the future is ready at once.
///
/// # Errors
/// A batch of 0, a wrong number of images for a range, a value that is not finite, or the device failed; or an error of
/// `images`.
pub async fn embed<E: From<Error>>(
    encoder: &Encoder,
    count: usize,
    batch: usize,
    images: impl FnMut(Range<usize>) -> Result<Tensor<4>, E>,
) -> Result<Matrix, E> {
    let encoder = encoder.valid();
    collect(|images| encoder.forward(images), "embedding", count, batch, images).await
}

/// As [`embed`], through the head: projections or class scores, `[count, head.output]`.
///
/// # Errors
/// As [`embed`].
pub async fn score<E: From<Error>>(
    model: &Model,
    count: usize,
    batch: usize,
    images: impl FnMut(Range<usize>) -> Result<Tensor<4>, E>,
) -> Result<Matrix, E> {
    let model = model.valid();
    collect(|images| model.head.forward(model.encoder.forward(images)), "logits", count, batch, images).await
}

async fn collect<E: From<Error>>(
    forward: impl Fn(Tensor<4>) -> Tensor<2>,
    name: &str,
    count: usize,
    batch: usize,
    mut images: impl FnMut(Range<usize>) -> Result<Tensor<4>, E>,
) -> Result<Matrix, E> {
    if batch == 0 {
        return Err(Error::parameter("batch", batch, "expected at least 1").into());
    }
    let (mut values, mut columns) = (vec![], 0);
    for start in (0..count).step_by(batch) {
        let range = start..(start + batch).min(count);
        let images = images(range.clone())?;
        if images.dims()[0] != range.len() {
            let found = format!("{} images", images.dims()[0]);
            return Err(Error::shape("images", format!("{} images", range.len()), found).into());
        }
        let rows = forward(images.without_autodiff()).into_data_async().await;
        let rows = Matrix::from_data(&rows.map_err(|e| Error::Degenerate {
            reason: format!("the device could not return its results ({e:?})"),
            remedy: "try a smaller batch or another device".into(),
        })?)?;
        if let Some(row) = rows.first_not_finite() {
            return Err(Error::NotFinite { input: name.into(), row: start + row }.into());
        }
        columns = rows.columns();
        values.extend_from_slice(rows.data());
    }
    Ok(Matrix::new(count, columns, values)?)
}
