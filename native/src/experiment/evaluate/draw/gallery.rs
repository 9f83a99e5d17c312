//! Some test images with their nearest images and their hardest and easiest negatives.

use anyhow::Result;
use simile_core::data::Dataset;
use simile_core::data::resize::{Interpolation, resize};
use simile_core::eval::knn::unit_rows;
use simile_core::numeric::matrix::Matrix;
use simile_kernels::cpu::vectors::dot;

use super::Drawing;
use crate::report::picture::small_sheet;
use crate::run_folder::figures::{Gallery, GalleryRow, Shown};

/// Anchors, each of another class.
const ANCHORS: usize = 6;
/// Images beside an anchor.
const BESIDE: usize = 5;
/// Largest side of an image in pixels.
const SIDE: usize = 48;

/// The first image of each of the first classes, with its neighbours by cosine.
///
/// # Errors
/// If a picture cannot be encoded.
pub(super) fn gallery(drawing: &Drawing<'_>, features: &Matrix) -> Result<Gallery> {
    let Drawing { variant, test, .. } = drawing;
    let unit = unit_rows(features);
    let rows = anchors(&test.labels).into_iter().map(|anchor| row(anchor, &unit, test));
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

fn row(anchor: usize, unit: &Matrix, test: &Dataset) -> Result<GalleryRow> {
    let cosine = |i: usize| dot(unit.row(anchor), unit.row(i));
    let mut others: Vec<(usize, f64)> =
        (0..test.len()).filter(|&i| i != anchor).map(|i| (i, cosine(i))).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    let negative = |(i, _): &&(usize, f64)| test.labels[*i] != test.labels[anchor];
    let nearest: Vec<_> = others.iter().take(BESIDE).copied().collect();
    let hardest: Vec<_> = others.iter().filter(negative).take(BESIDE).copied().collect();
    let easiest: Vec<_> = others.iter().rev().filter(negative).take(BESIDE).copied().collect();
    Ok(GalleryRow {
        anchor: shown(&[(anchor, 1.0)], test)?,
        nearest: shown(&nearest, test)?,
        hardest: shown(&hardest, test)?,
        easiest: shown(&easiest, test)?,
    })
}

fn shown(some: &[(usize, f64)], test: &Dataset) -> Result<Shown> {
    let indices: Vec<usize> = some.iter().map(|one| one.0).collect();
    let images = test.images.for_evaluation()?.read(&indices)?;
    let images = match images.height.max(images.width) {
        side if side > SIDE && !images.is_empty() => resize(&images, SIDE, SIDE, Interpolation::Bilinear)?,
        _ => images,
    };
    let class = |&i: &usize| test.classes.get(test.labels[i]).cloned().unwrap_or_default();
    Ok(Shown {
        picture: if indices.is_empty() { String::new() } else { small_sheet(&images, indices.len())? },
        classes: indices.iter().map(class).collect(),
        cosines: some.iter().map(|one| (one.1 * 1e3).round() / 1e3).collect(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::Images;

    use super::*;

    #[test]
    fn negatives_are_of_another_class_and_the_hardest_is_the_nearest_of_them() {
        let labels = vec![0, 0, 1, 1, 2];
        let images = Images::new(1, 1, 1, vec![0, 1, 2, 3, 4]).unwrap();
        let classes = ["a", "b", "c"].map(str::to_owned).to_vec();
        let test = Dataset::new(images, labels, classes).unwrap();
        let angle = [0.0_f64, 0.1, 0.3, 2.0, 3.0];
        let unit = Matrix::from_fn(5, 2, |i, k| if k == 0 { angle[i].cos() } else { angle[i].sin() });
        let gallery_row = row(0, &unit, &test).unwrap();
        assert_eq!(gallery_row.nearest.classes, ["a", "b", "b", "c"]);
        assert_eq!(
            (gallery_row.hardest.classes, gallery_row.easiest.classes),
            (vec!["b".into(), "b".into(), "c".to_owned()], vec!["c".into(), "b".into(), "b".to_owned()])
        );
        assert_eq!(gallery_row.hardest.cosines[0], 0.955);
        assert_eq!(anchors(&test.labels), [0, 2, 4]);
    }
}
