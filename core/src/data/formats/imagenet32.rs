//! ImageNet-32 (Chrabaszcz et al. 2017): ImageNet reduced to 32×32, in its NumPy version, whose archives hold an array
//! `data`, `[n, 3072]` bytes with the red, green and blue plane of an image one after the other, and `labels` 1 to 1000.

use super::interleaved;
use super::npy::{Array, Values};
use crate::data::{DatasetError, Images, Result};

/// Height and width.
pub const SIDE: usize = 32;
/// Number of classes.
pub const CLASSES: usize = 1000;
const PLANE: usize = SIDE * SIDE;

/// The images and labels, from 0, of one archive. `origin` names it in messages.
///
/// # Errors
/// [`DatasetError::Format`] for other arrays, [`DatasetError::Count`] if their lengths differ,
/// [`DatasetError::Label`] for a label outside 1..=1000.
pub fn batch(data: &Array, labels: &Array, origin: &str) -> Result<(Images, Vec<usize>)> {
    let shape = |expected: &str, array: &Array| DatasetError::Format {
        origin: origin.into(),
        field: "the content".into(),
        expected: expected.into(),
        found: format!("{:?}", array.shape),
    };
    let (&[count, width], Values::Bytes(bytes)) = (data.shape.as_slice(), &data.values) else {
        return Err(shape("`data` of [n, 3072] bytes", data));
    };
    if width != 3 * PLANE {
        return Err(shape("`data` of [n, 3072] bytes", data));
    }
    let Values::Integers(numbers) = &labels.values else {
        return Err(shape("`labels` of n integers", labels));
    };
    if numbers.len() != count {
        return Err(DatasetError::Count {
            what: format!("{origin}: labels"),
            expected: count,
            found: numbers.len(),
        });
    }
    let mut classes = Vec::with_capacity(count);
    for (sample, &number) in numbers.iter().enumerate() {
        match number
            .checked_sub(1)
            .and_then(|class| usize::try_from(class).ok())
            .filter(|&class| class < CLASSES)
        {
            Some(class) => classes.push(class),
            None => {
                let label = usize::try_from(number).unwrap_or_default();
                return Err(DatasetError::Label { origin: origin.into(), sample, label, classes: CLASSES });
            }
        }
    }
    let mut pixels = Vec::with_capacity(bytes.len());
    for planes in bytes.chunks_exact(3 * PLANE) {
        pixels.extend(interleaved(planes));
    }
    Ok((Images::new(SIDE, SIDE, 3, pixels)?, classes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn data(count: usize) -> Array {
        let bytes = (0..count * 3 * PLANE).map(|at| (at / PLANE * 50 + at % PLANE % 50) as u8).collect();
        Array { shape: vec![count, 3 * PLANE], values: Values::Bytes(bytes) }
    }

    fn labels(values: &[i64]) -> Array {
        Array { shape: vec![values.len()], values: Values::Integers(values.to_vec()) }
    }

    #[test]
    fn planes_become_pixels_and_labels_start_at_nought() {
        let (images, classes) = batch(&data(2), &labels(&[1, 1000]), "val_data.npz").unwrap();
        assert_eq!(classes, [0, 999]);
        assert_eq!(images.image(0)[3 * 7..3 * 7 + 3], [7, 57, 107]);
    }

    #[test]
    fn other_arrays_are_refused() {
        let text = |data: &Array, labels: &Array| batch(data, labels, "a.npz").unwrap_err().to_string();
        assert!(text(&data(1), &labels(&[0])).contains("a.npz: label 0"));
        assert!(text(&data(1), &labels(&[i64::MIN])).contains("a.npz: label 0"));
        assert!(text(&data(1), &labels(&[1, 2])).contains("a.npz: labels has 2 entries"));
        let wide = Array { shape: vec![1, 2], values: Values::Bytes(vec![0, 0]) };
        assert!(text(&wide, &labels(&[1])).contains("[n, 3072]"));
    }
}
