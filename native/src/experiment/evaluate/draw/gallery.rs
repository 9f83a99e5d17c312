//! Some test images with their nearest images and their hardest and easiest negatives.

use anyhow::Result;
use simile_core::data::Dataset;
use simile_core::data::resize::{Interpolation, resize};
use simile_core::eval::unit::Unit;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::{Buffer, Rows};
use simile_kernels::cpu::vectors::dot;

use super::Drawing;
use super::picture::small_sheet;
use crate::run_folder::figures::{Gallery, GalleryRow, ImageStrip};

/// Anchors, each of another class.
const ANCHORS: usize = 6;
/// Images beside an anchor, of each kind.
const NEIGHBOURS: usize = 5;
/// Largest side of an image in pixels.
const SIDE: usize = 48;
/// Rows of features that are read at once.
const BLOCK: usize = 256;

/// The first image of each of the first classes, with its neighbours by cosine.
///
/// # Errors
/// If features cannot be read, or a picture cannot be encoded.
pub(super) fn gallery(drawing: &Drawing<'_>) -> Result<Gallery> {
    let &Drawing { variant, test, features, .. } = drawing;
    let anchors = anchors(&test.labels);
    let cosines = cosines(features, &anchors)?;
    let rows = anchors.iter().zip(&cosines).map(|(&anchor, cosines)| row(anchor, cosines, test));
    Ok(Gallery { variant: variant.name.clone(), rows: rows.collect::<Result<_>>()? })
}

/// The first image of each class, of the classes that come first.
fn anchors(labels: &[usize]) -> Vec<usize> {
    let mut anchors: Vec<usize> = Vec::new();
    for at in 0..labels.len() {
        if anchors.len() < ANCHORS && anchors.iter().all(|&other| labels[other] != labels[at]) {
            anchors.push(at);
        }
    }
    anchors
}

/// The cosine of each anchor with every image, from one pass over the features.
fn cosines(features: &dyn Rows, anchors: &[usize]) -> Result<Vec<Vec<f64>>> {
    let unit = Unit(features);
    let (images, columns) = (unit.rows(), unit.columns());
    let mut anchor_rows = Matrix::zeros(anchors.len(), columns);
    for (at, &anchor) in anchors.iter().enumerate() {
        unit.read(anchor, Buffer::Double(anchor_rows.row_mut(at)))?;
    }
    let mut cosines = vec![Vec::new(); anchors.len()];
    for first in (0..images).step_by(BLOCK) {
        let mut block = Matrix::zeros(BLOCK.min(images - first), columns);
        unit.read(first, Buffer::Double(block.data_mut()))?;
        for (cosines, anchor) in cosines.iter_mut().zip(anchor_rows.iter_rows()) {
            cosines.extend(block.iter_rows().map(|row| dot(anchor, row)));
        }
    }
    Ok(cosines)
}

/// An anchor with the images beside it, by its cosine with each image.
fn row(anchor: usize, cosines: &[f64], test: &Dataset) -> Result<GalleryRow> {
    let others = cosines.iter().copied().enumerate();
    let mut others: Vec<(usize, f64)> = others.filter(|&(i, _)| i != anchor).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    let negative = |(i, _): &&(usize, f64)| test.labels[*i] != test.labels[anchor];
    let nearest: Vec<_> = others.iter().take(NEIGHBOURS).copied().collect();
    let hardest: Vec<_> = others.iter().filter(negative).take(NEIGHBOURS).copied().collect();
    let easiest: Vec<_> = others.iter().rev().filter(negative).take(NEIGHBOURS).copied().collect();
    Ok(GalleryRow {
        anchor: shown(&[(anchor, 1.0)], test)?,
        nearest: shown(&nearest, test)?,
        hardest: shown(&hardest, test)?,
        easiest: shown(&easiest, test)?,
    })
}

fn shown(some: &[(usize, f64)], test: &Dataset) -> Result<ImageStrip> {
    let indices: Vec<usize> = some.iter().map(|one| one.0).collect();
    let images = test.images.for_evaluation()?.read(&indices)?;
    let images = match images.height.max(images.width) {
        side if side > SIDE && !images.is_empty() => resize(&images, SIDE, SIDE, Interpolation::Bilinear)?,
        _ => images,
    };
    let class = |&i: &usize| test.classes.get(test.labels[i]).cloned().unwrap_or_default();
    Ok(ImageStrip {
        picture: if indices.is_empty() { String::new() } else { small_sheet(&images, indices.len())? },
        classes: indices.iter().map(class).collect(),
        cosines: some.iter().map(|one| (one.1 * 1e3).round() / 1e3).collect(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::Images;
    use simile_core::error::{Error, Result as CoreResult};
    use simile_core::eval::unit::unit_rows;

    use super::*;

    /// Features of which no more than a block can be read at once.
    struct InBlocks(Matrix);

    impl Rows for InBlocks {
        fn is_single(&self) -> bool {
            false
        }

        fn rows(&self) -> usize {
            self.0.rows()
        }

        fn columns(&self) -> usize {
            self.0.columns()
        }

        fn read(&self, first: usize, out: Buffer<'_>) -> CoreResult<()> {
            let rows = out.len() / self.columns();
            match rows > BLOCK {
                true => Err(Error::shape("rows", format!("at most {BLOCK} rows"), rows.to_string())),
                false => self.0.read(first, out),
            }
        }
    }

    /// All of them were copied to `f64`, and once more to divide them by their lengths.
    #[test]
    fn cosines_are_computed_by_blocks() {
        let features = Matrix::from_fn(2 * BLOCK + 7, 3, |i, j| ((i * i + 7 * j + i * j) % 11) as f64 - 4.0);
        let unit = unit_rows(&features);
        let cosines = cosines(&InBlocks(features), &[5, BLOCK]).unwrap();
        for (anchor, cosines) in [5, BLOCK].into_iter().zip(cosines) {
            let expected: Vec<f64> = unit.iter_rows().map(|row| dot(unit.row(anchor), row)).collect();
            assert_eq!(cosines, expected);
        }
    }

    #[test]
    fn negatives_are_of_another_class_and_the_hardest_is_the_nearest_of_them() {
        let labels = vec![0, 0, 1, 1, 2];
        let images = Images::new(1, 1, 1, vec![0, 1, 2, 3, 4]).unwrap();
        let classes = ["a", "b", "c"].map(str::to_owned).to_vec();
        let test = Dataset::new(images, labels, classes).unwrap();
        let angle = [0.0_f64, 0.1, 0.3, 2.0, 3.0];
        let features =
            Matrix::from_fn(5, 2, |i, k| 3.0 * if k == 0 { angle[i].cos() } else { angle[i].sin() });
        let gallery_row = row(0, &cosines(&features, &[0]).unwrap()[0], &test).unwrap();
        assert_eq!(gallery_row.nearest.classes, ["a", "b", "b", "c"]);
        assert_eq!(
            (gallery_row.hardest.classes, gallery_row.easiest.classes),
            (vec!["b".into(), "b".into(), "c".to_owned()], vec!["c".into(), "b".into(), "b".to_owned()])
        );
        assert_eq!(gallery_row.hardest.cosines[0], 0.955);
        assert_eq!(anchors(&test.labels), [0, 2, 4]);
    }
}
