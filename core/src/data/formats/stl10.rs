//! STL-10 (Coates et al. 2011) in its binary version: images of 96×96, the red, green and blue plane one after the
//! other, each plane column by column; labels 1 to 10.
//!
//! The 100,000 unlabelled images are not read: a data set here has a class for every image.

use crate::data::{Dataset, DatasetError, Images, Result};

/// Height and width.
pub const SIDE: usize = 96;
const PLANE: usize = SIDE * SIDE;

/// Reads one split from the bytes of `*_X.bin` and `*_y.bin`, each with the name that messages use.
///
/// # Errors
/// [`DatasetError::Records`] for a truncated file, [`DatasetError::Label`] for a label outside 1..=10,
/// [`DatasetError::Count`] if the files differ in length, [`DatasetError::Parameter`] for other than ten names.
pub fn parse(images: (&[u8], &str), labels: (&[u8], &str), classes: Vec<String>) -> Result<Dataset> {
    let (bytes, origin) = images;
    if classes.len() != 10 {
        return Err(DatasetError::parameter(
            "classes",
            format!("{} names", classes.len()),
            "expected 10 names",
        ));
    }
    if bytes.is_empty() {
        return Err(DatasetError::Empty { origin: origin.into(), missing: "images" });
    }
    if !bytes.len().is_multiple_of(3 * PLANE) {
        return Err(DatasetError::Records { origin: origin.into(), record: 3 * PLANE, found: bytes.len() });
    }
    let count = bytes.len() / (3 * PLANE);
    if labels.0.len() != count {
        return Err(DatasetError::Count { what: labels.1.into(), expected: count, found: labels.0.len() });
    }
    let mut numbers = Vec::with_capacity(count);
    for (sample, &label) in labels.0.iter().enumerate() {
        match usize::from(label).checked_sub(1).filter(|&label| label < classes.len()) {
            Some(label) => numbers.push(label),
            None => {
                let origin = labels.1.into();
                return Err(DatasetError::Label {
                    origin,
                    sample,
                    label: label.into(),
                    classes: classes.len(),
                });
            }
        }
    }
    let mut pixels = vec![0; bytes.len()];
    for (image, planes) in pixels.chunks_exact_mut(3 * PLANE).zip(bytes.chunks_exact(3 * PLANE)) {
        for (channel, plane) in planes.chunks_exact(PLANE).enumerate() {
            for (column, values) in plane.chunks_exact(SIDE).enumerate() {
                let line = image.iter_mut().skip(3 * column + channel).step_by(3 * SIDE);
                line.zip(values).for_each(|(pixel, &value)| *pixel = value);
            }
        }
    }
    Dataset::new(Images::new(SIDE, SIDE, 3, pixels)?, numbers, classes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        (0..10).map(|i| i.to_string()).collect()
    }

    #[test]
    fn planes_by_columns_become_pixels() {
        let bytes: Vec<u8> =
            (0..2 * 3 * PLANE).map(|at| (at / PLANE * 40 + at % PLANE / SIDE + at % 7) as u8).collect();
        let images = parse((&bytes, "train_X.bin"), (&[1, 10], "train_y.bin"), names()).unwrap();
        assert_eq!(images.labels, [0, 9]);
        let (row, column) = (5, 70);
        for (image, channel) in [(0, 0), (1, 2)] {
            let expected = bytes[(image * 3 + channel) * PLANE + column * SIDE + row];
            assert_eq!(
                images.images.read(&[image]).unwrap().pixels[(row * SIDE + column) * 3 + channel],
                expected
            );
        }
    }

    #[test]
    fn damaged_files_are_named() {
        let bytes = vec![0; 3 * PLANE];
        let text = |bytes: &[u8], labels: &[u8]| {
            parse((bytes, "test_X.bin"), (labels, "test_y.bin"), names()).unwrap_err().to_string()
        };
        assert!(text(&bytes[1..], &[1]).contains("test_X.bin: 27647 bytes"));
        assert!(text(&bytes, &[0]).contains("test_y.bin: label 0"));
        assert!(text(&bytes, &[11]).contains("label 11"));
        assert!(text(&bytes, &[1, 1]).contains("test_y.bin has 2 entries"));
        assert!(text(&[], &[]).contains("no images"));
    }
}
