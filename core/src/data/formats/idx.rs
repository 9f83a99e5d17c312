//! The idx format of MNIST, from bytes.
//!
//! A file is a big-endian header (two zero bytes, the type of the values, the number of dimensions, then the size
//! of each dimension as 32 bits) followed by the values in row order. Only unsigned bytes (type 8) are read: all
//! four official files have them.

use crate::data::{Dataset, DatasetError, Images, Result, check_labels, digit_names};

const UNSIGNED_BYTE: u8 = 8;

/// Reads a file of images, `[n, height, width]`. `origin` names the bytes in messages.
///
/// # Errors
/// [`DatasetError::Header`] for another format, [`DatasetError::Size`] for missing or trailing bytes,
/// [`DatasetError::Empty`] if the header gives no image.
pub fn images(bytes: &[u8], origin: &str) -> Result<Images> {
    let ([n, height, width], values) = array::<3>(bytes, origin)?;
    if n == 0 || height == 0 || width == 0 {
        return Err(DatasetError::Empty { origin: origin.into(), missing: "images" });
    }
    Images::new(height, width, 1, values.to_vec())
}

/// Reads a file of labels, `[n]`, of `classes` classes. `origin` names the bytes in messages.
///
/// # Errors
/// As [`images`], and [`DatasetError::Label`] for a label outside `0..classes`.
pub fn labels(bytes: &[u8], classes: usize, origin: &str) -> Result<Vec<usize>> {
    let ([n], values) = array::<1>(bytes, origin)?;
    if n == 0 {
        return Err(DatasetError::Empty { origin: origin.into(), missing: "labels" });
    }
    let labels: Vec<usize> = values.iter().map(|&label| usize::from(label)).collect();
    check_labels(origin, &labels, classes)?;
    Ok(labels)
}

/// Reads a pair of files as grey digits of ten classes. The second entry of each pair names the bytes in messages.
///
/// # Errors
/// As [`images`] and [`labels`], and [`DatasetError::Count`] if there is not one label an image.
pub fn digits(image_file: (&[u8], &str), label_file: (&[u8], &str)) -> Result<Dataset> {
    let images = images(image_file.0, image_file.1)?;
    let labels = labels(label_file.0, 10, label_file.1)?;
    if images.len() != labels.len() {
        let what = label_file.1.into();
        return Err(DatasetError::Count { what, expected: images.len(), found: labels.len() });
    }
    Dataset::new(images, labels, digit_names())
}

/// Checks the header of an array of `D` dimensions; returns the sizes and the values.
fn array<'a, const D: usize>(bytes: &'a [u8], origin: &str) -> Result<([usize; D], &'a [u8])> {
    let header = |field: &str, expected: String, found: String| DatasetError::Header {
        origin: origin.into(),
        field: field.into(),
        expected,
        found,
    };
    let start = 4 + 4 * D;
    let short =
        || DatasetError::Size { origin: origin.into(), expected: start as u64, found: bytes.len() as u64 };
    let (magic, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    let [zero_a, zero_b, kind, dimensions] = *magic;
    if [zero_a, zero_b] != [0, 0] {
        let content =
            if magic.starts_with(&[0x1f, 0x8b]) { "gzip data".into() } else { format!("{magic:02x?}") };
        return Err(header("the magic number", format!("[00, 00, 08, {D:02x}]"), content));
    }
    if kind != UNSIGNED_BYTE {
        return Err(header("the type of the values", "8 (unsigned byte)".into(), kind.to_string()));
    }
    if usize::from(dimensions) != D {
        return Err(header("the number of dimensions", D.to_string(), dimensions.to_string()));
    }
    let mut sizes = [0; D];
    let mut values = rest;
    let mut product = 1_u64;
    for size in &mut sizes {
        let (word, tail) = values.split_first_chunk::<4>().ok_or_else(short)?;
        values = tail;
        // The sizes come from the file: their product saturates instead of wrapping round to a small number.
        let announced = u32::from_be_bytes(*word);
        product = product.saturating_mul(u64::from(announced));
        *size = announced as usize;
    }
    if values.len() as u64 != product {
        let expected = product.saturating_add(start as u64);
        return Err(DatasetError::Size { origin: origin.into(), expected, found: bytes.len() as u64 });
    }
    Ok((sizes, values))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::ImageShape;

    fn image_file(n: u32) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, 3];
        [n, 2, 3].iter().for_each(|size| bytes.extend(size.to_be_bytes()));
        bytes.extend((0..n * 6).map(|v| v as u8));
        bytes
    }

    fn label_file(labels: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, 1];
        bytes.extend((labels.len() as u32).to_be_bytes());
        bytes.extend(labels);
        bytes
    }

    #[test]
    fn a_well_formed_pair_is_read() {
        let dataset = digits((&image_file(2), "images"), (&label_file(&[9, 4]), "labels")).unwrap();
        assert_eq!(dataset.images.shape(), ImageShape { height: 2, width: 3, channels: 1 });
        assert_eq!(dataset.images.read(&[1]).unwrap().pixels, [6, 7, 8, 9, 10, 11]);
        assert_eq!(dataset.labels, [9, 4]);
        assert_eq!(dataset.classes.len(), 10);
    }

    #[test]
    fn every_truncation_and_any_trailing_byte_is_refused() {
        let bytes = image_file(2);
        for length in 0..bytes.len() {
            let error = images(&bytes[..length], "t10k-images").unwrap_err();
            assert!(matches!(error, DatasetError::Size { .. }), "{length}: {error}");
        }
        let error = images(&bytes[..20], "t10k-images").unwrap_err().to_string();
        assert_eq!(error, "t10k-images: 20 bytes, expected 28; the file is truncated, get it again");
        let longer = [bytes, vec![0]].concat();
        let error = images(&longer, "t10k-images").unwrap_err().to_string();
        assert_eq!(
            error,
            "t10k-images: 29 bytes, expected 28; the file is followed by other bytes, get it again"
        );
    }

    #[test]
    fn another_format_is_named() {
        let with = |at: usize, value: u8| {
            let mut bytes = image_file(1);
            bytes[at] = value;
            images(&bytes, "f").unwrap_err().to_string()
        };
        assert!(with(0, 7).contains("the magic number"));
        assert!(with(2, 13).contains("the type of the values is 13"));
        assert!(with(3, 1).contains("the number of dimensions is 1, expected 3"));
        assert!(images(&[0x1f, 0x8b, 8, 0, 0, 0], "f").unwrap_err().to_string().contains("gzip data"));
        let mut huge = image_file(1);
        huge[4..16].fill(0xff);
        assert!(matches!(images(&huge, "f"), Err(DatasetError::Size { .. })));
        assert!(matches!(images(&image_file(0), "f"), Err(DatasetError::Empty { .. })));
    }

    #[test]
    fn labels_must_be_digits_and_as_many_as_images() {
        let error = labels(&label_file(&[1, 10]), 10, "train-labels").unwrap_err().to_string();
        assert!(error.contains("train-labels: label 10 of sample 1 is outside 0..10"), "{error}");
        let error =
            digits((&image_file(2), "i"), (&label_file(&[1]), "train-labels")).unwrap_err().to_string();
        assert!(error.contains("train-labels has 1 entries but there are 2 images"), "{error}");
    }
}
