//! Rows of features in the span of the training images.
//!
//! The weights of a penalised linear probe lie in that span, so the probe predicts the same from the projected rows, and its fit takes a
//! fraction of the time and of the memory where images are few.

use std::sync::Arc;

use anyhow::Result;
use simile_core::error::Result as CoreResult;
use simile_core::eval::projection::Pca;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::{Buffer, Rows};

/// The span of the rows to which a probe is fitted, if its dimension is far below the number of features.
pub(super) struct Span(Option<Arc<Pca>>);

impl Span {
    /// The span of training images.
    ///
    /// # Errors
    /// If rows cannot be read, or are not finite.
    pub(super) fn of(train: &dyn Rows) -> Result<Self> {
        let (images, features) = (train.rows(), train.columns());
        if 2 * images > features {
            return Ok(Self(None));
        }
        Ok(Self(Some(Arc::new(Pca::fit(train, images)?))))
    }

    /// Few rows in the span, which a fit reads many times: they are projected once.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(super) fn hold<R: Rows>(&self, rows: R) -> Result<ProbeRows<R>> {
        Ok(match &self.0 {
            None => ProbeRows::Original(rows),
            Some(span) => ProbeRows::Held(span.project(&rows)?),
        })
    }

    /// Many rows in the span: each block is projected where it is read.
    pub(super) fn stream<R: Rows>(&self, rows: R) -> ProbeRows<R> {
        match &self.0 {
            None => ProbeRows::Original(rows),
            Some(span) => ProbeRows::Projected { rows, span: Arc::clone(span) },
        }
    }
}

/// Standardised features: as they are read, or projected onto a span.
pub(super) enum ProbeRows<R> {
    Original(R),
    Held(Matrix),
    Projected { rows: R, span: Arc<Pca> },
}

impl<R: Rows> Rows for ProbeRows<R> {
    fn is_single(&self) -> bool {
        true
    }

    fn rows(&self) -> usize {
        match self {
            Self::Original(rows) | Self::Projected { rows, .. } => rows.rows(),
            Self::Held(rows) => rows.rows(),
        }
    }

    fn columns(&self) -> usize {
        match self {
            Self::Original(rows) => rows.columns(),
            Self::Held(rows) => rows.columns(),
            Self::Projected { span, .. } => span.components().rows(),
        }
    }

    fn read(&self, first: usize, out: Buffer<'_>) -> CoreResult<()> {
        match self {
            Self::Original(rows) => rows.read(first, out),
            Self::Held(rows) => rows.read(first, out),
            Self::Projected { rows, span } => span.of(rows)?.read(first, out),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::error::Error;
    use simile_core::numeric::rows::to_matrix;

    use super::*;

    /// Features of which few numbers can be read at once: as many as two megabytes of `f32` are.
    struct Many {
        images: usize,
    }

    impl Many {
        const COLUMNS: usize = 64;
        const MOST: usize = 1 << 19;

        fn value(image: usize, column: usize) -> f64 {
            ((image * image + 31 * column * column + 13 * image * column) % 1009) as f64 / 1009.0
        }
    }

    impl Rows for Many {
        fn is_single(&self) -> bool {
            false
        }

        fn rows(&self) -> usize {
            self.images
        }

        fn columns(&self) -> usize {
            Self::COLUMNS
        }

        fn read(&self, first: usize, mut out: Buffer<'_>) -> CoreResult<()> {
            let most = format!("at most {} numbers", Self::MOST);
            match out.len() {
                numbers if numbers > Self::MOST => Err(Error::shape("rows", most, numbers.to_string())),
                numbers => {
                    let value = |at: usize| Self::value(first + at / Self::COLUMNS, at % Self::COLUMNS);
                    out.write((0..numbers).map(value));
                    Ok(())
                }
            }
        }
    }

    /// All of them were copied to `f64` at once, to be projected.
    #[test]
    fn many_test_images_are_projected_by_blocks() {
        let span = Span::of(&Many { images: 20 }).unwrap();
        let images = 2 * Many::MOST / Many::COLUMNS;
        let ProbeRows::Held(held) = span.hold(Matrix::from_fn(images, Many::COLUMNS, Many::value)).unwrap()
        else {
            unreachable!()
        };
        let streamed = span.stream(Many { images });
        assert!(matches!(streamed, ProbeRows::Projected { .. }));
        assert_eq!((streamed.rows(), streamed.columns()), (images, 20));
        let streamed = to_matrix(&streamed).unwrap();
        let off = streamed.data().iter().zip(held.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{off:.1e}");
    }

    #[test]
    fn images_that_are_many_for_their_features_are_read_as_they_are() {
        let is_projected = |images: usize| {
            let span = Span::of(&Many { images }).unwrap();
            matches!(span.hold(Many { images }).unwrap(), ProbeRows::Held(_))
        };
        assert!(is_projected(32) && !is_projected(33));
    }
}
