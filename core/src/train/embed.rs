//! Embeddings and class scores of a whole data set.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Tensor, TensorData};

use crate::error::{Error, Result};
use crate::nn::Encoder;
use crate::nn::Model;
use crate::numeric::matrix::Matrix;
use crate::numeric::read;
use crate::numeric::rows::FeatureTable;

/// Embeds `count` images, `batch` at a time, with the encoder in evaluation mode: `[count, embedding_size]`, in `f32`.
///
/// `images` returns those of a range, `[n, channels, size, size]`, normalised as the encoder expects.
/// Asynchronous because a page cannot wait for its GPU; elsewhere [`read_sync`](burn::tensor::read_sync) waits for the result.
///
/// # Errors
/// A batch of 0, a wrong number of images for a range, a value that is not finite, or the device failed; or an error of
/// `images`.
///
/// # Panics
/// On images of another size than the encoder takes, which its settings can tell beforehand:
/// [`EncoderConfig::check_images`](crate::nn::EncoderConfig::check_images).
pub async fn embed<E: From<Error>>(
    encoder: &Encoder,
    count: usize,
    batch: usize,
    images: impl FnMut(Range<usize>) -> Result<Tensor<4>, E>,
) -> Result<FeatureTable, E> {
    let (mut values, mut columns) = (Vec::new(), 0);
    let keep = |rows: &[f32], width| {
        values.extend_from_slice(rows);
        columns = width;
        Ok(())
    };
    embed_each(encoder, (count, batch), images, keep).await?;
    Ok(FeatureTable::new(count, columns, values)?)
}

/// As [`embed`], but gives the embeddings of each batch of `(count, batch)` images with their number of columns to `keep`,
/// in order, and holds no others.
///
/// # Errors
/// As [`embed`], and those of `keep`.
///
/// # Panics
/// As [`embed`].
pub async fn embed_each<E: From<Error>>(
    encoder: &Encoder,
    sizes: (usize, usize),
    images: impl FnMut(Range<usize>) -> Result<Tensor<4>, E>,
    mut keep: impl FnMut(&[f32], usize) -> Result<(), E>,
) -> Result<(), E> {
    let encoder = encoder.valid();
    let keep = |rows: TensorData, columns| keep(&read::floats(&rows), columns);
    collect(|images| encoder.forward(images), "embedding", sizes, images, keep).await
}

/// As [`embed`], through the head: projections or class scores, `[count, head.output]`.
///
/// # Errors
/// As [`embed`].
///
/// # Panics
/// As [`embed`].
pub async fn score<E: From<Error>>(
    model: &Model,
    count: usize,
    batch: usize,
    images: impl FnMut(Range<usize>) -> Result<Tensor<4>, E>,
) -> Result<Matrix, E> {
    let model = model.valid();
    let (mut values, mut columns) = (Vec::new(), 0);
    let keep = |rows: TensorData, width| {
        values.extend(rows.iter::<f64>());
        columns = width;
        Ok(())
    };
    let forward = |images| model.head.forward(model.encoder.forward(images));
    collect(forward, "logits", (count, batch), images, keep).await?;
    Ok(Matrix::new(count, columns, values)?)
}

/// Gives the outputs of each batch, and their number of columns, to `keep`.
async fn collect<E: From<Error>>(
    forward: impl Fn(Tensor<4>) -> Tensor<2>,
    name: &str,
    (count, batch): (usize, usize),
    mut images: impl FnMut(Range<usize>) -> Result<Tensor<4>, E>,
    mut keep: impl FnMut(TensorData, usize) -> Result<(), E>,
) -> Result<(), E> {
    if batch == 0 {
        return Err(Error::parameter("batch", batch, "expected at least 1").into());
    }
    for start in (0..count).step_by(batch) {
        let range = start..(start + batch).min(count);
        let images = images(range.clone())?;
        if images.dims()[0] != range.len() {
            let image_count = format!("{} images", images.dims()[0]);
            return Err(Error::shape("images", format!("{} images", range.len()), image_count).into());
        }
        let outputs = forward(images.without_autodiff());
        let columns = outputs.dims()[1];
        let outputs = read::values(outputs).await.map_err(|reason| Error::Degenerate {
            reason: format!("the device could not return its results ({reason})"),
            remedy: "try a smaller batch or another device".into(),
        })?;
        if let Some(at) = outputs.iter::<f64>().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { input: name.into(), row: start + at / columns.max(1) }.into());
        }
        keep(outputs, columns)?;
    }
    Ok(())
}
