//! NumPy's `.npy` format, versions 1 to 3: numbers in row-major order. Arrays of objects are rejected, because they
//! are pickles, which can run code.

use half::f16;

use crate::data::{DatasetError, Result};

/// An array.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// The values, row-major.
    pub values: Values,
}

/// Values by their kind: bytes unchanged, wider types as the widest of their kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// `uint8`.
    Bytes(Vec<u8>),
    /// Signed and other unsigned integers, and booleans as 0 and 1.
    Integers(Vec<i64>),
    /// `float16`, `float32`, `float64`, and `uint64` with a number above [`i64::MAX`].
    Floats(Vec<f64>),
}

impl Values {
    /// The values as numbers.
    pub fn into_floats(self) -> Vec<f64> {
        match self {
            Self::Bytes(values) => values.into_iter().map(f64::from).collect(),
            Self::Integers(values) => values.into_iter().map(|v| v as f64).collect(),
            Self::Floats(values) => values,
        }
    }
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an array; `origin` names the bytes in messages.
///
/// # Errors
/// [`DatasetError::Format`] for bytes in another format, or an unsupported order or type of number;
/// [`DatasetError::Size`] for too few or too many bytes.
pub fn parse(bytes: &[u8], origin: &str) -> Result<Array> {
    let header = |field: &str, expected: &str, found: String| DatasetError::Format {
        origin: origin.into(),
        field: field.into(),
        expected: expected.into(),
        found,
    };
    let cut = |expected: usize| DatasetError::Size {
        origin: origin.into(),
        expected: expected as u64,
        found: bytes.len() as u64,
    };
    let rest = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| header("the beginning", "a NumPy array", "other bytes".into()))?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [] | [1, ..] => return Err(cut(10)),
        [2 | 3, ..] => return Err(cut(12)),
        [version, ..] => return Err(header("the version", "1, 2 or 3", version.to_string())),
    };
    let begun = bytes.len() - rest.len();
    let (text, data) = rest.split_at_checked(length).ok_or_else(|| cut(begun.saturating_add(length)))?;
    let text = text_of(text);
    let kind = quoted(&text, "'descr':").unwrap_or_else(|| "a record".into());
    if !after(&text, "'fortran_order':").is_some_and(|rest| rest.starts_with("False")) {
        return Err(header("the order", "rows (save it with numpy.ascontiguousarray)", "columns".into()));
    }
    let shape = shape(&text).ok_or_else(|| header("the shape", "a list of lengths", text.trim().into()))?;
    let width = width(&kind).map_err(|expected| header("the kind", expected, kind.clone()))?;
    let count = shape.iter().try_fold(1_usize, |product, &axis| product.checked_mul(axis));
    let expected = count.and_then(|count| count.checked_mul(width)).unwrap_or(usize::MAX);
    if data.len() != expected {
        return Err(DatasetError::Size {
            origin: origin.into(),
            expected: expected as u64,
            found: data.len() as u64,
        });
    }
    Ok(Array { shape, values: values(&kind, data) })
}

/// The bytes of a number of a kind, or the kinds that are expected.
fn width(kind: &str) -> std::result::Result<usize, &'static str> {
    match kind {
        "|b1" | "|u1" | "|i1" => Ok(1),
        "<f2" | "<i2" | "<u2" => Ok(2),
        "<f4" | "<i4" | "<u4" => Ok(4),
        "<f8" | "<i8" | "<u8" => Ok(8),
        "|O" => Err("numbers (objects are pickled; save an array of numbers)"),
        _ => Err("booleans, or little-endian integers or floats of at most 64 bits"),
    }
}

/// The numbers of a known kind.
fn values(kind: &str, data: &[u8]) -> Values {
    match kind {
        "|u1" => Values::Bytes(data.to_vec()),
        "|b1" => Values::Integers(data.iter().map(|&v| i64::from(v != 0)).collect()),
        "|i1" => Values::Integers(data.iter().map(|&v| i64::from(v as i8)).collect()),
        "<i2" => Values::Integers(chunks(data).map(|v| i64::from(i16::from_le_bytes(v))).collect()),
        "<u2" => Values::Integers(chunks(data).map(|v| i64::from(u16::from_le_bytes(v))).collect()),
        "<i4" => Values::Integers(chunks(data).map(|v| i64::from(i32::from_le_bytes(v))).collect()),
        "<u4" => Values::Integers(chunks(data).map(|v| i64::from(u32::from_le_bytes(v))).collect()),
        "<i8" => Values::Integers(chunks(data).map(i64::from_le_bytes).collect()),
        "<u8" => unsigned(data),
        "<f2" => Values::Floats(chunks(data).map(|v| f16::from_le_bytes(v).to_f64()).collect()),
        "<f4" => Values::Floats(chunks(data).map(|v| f64::from(f32::from_le_bytes(v))).collect()),
        _ => Values::Floats(chunks(data).map(f64::from_le_bytes).collect()),
    }
}

/// Numbers of 64 bits without a sign; floats if one is too large for an integer.
fn unsigned(data: &[u8]) -> Values {
    let numbers = || chunks(data).map(u64::from_le_bytes);
    let integers: Option<Vec<i64>> = numbers().map(|v| i64::try_from(v).ok()).collect();
    integers.map_or_else(|| Values::Floats(numbers().map(|v| v as f64).collect()), Values::Integers)
}

/// The number of values that the header at the beginning of a file states; `None` if there is no whole header.
pub fn count(beginning: &[u8]) -> Option<u64> {
    let header = text_of(beginning.strip_prefix(MAGIC)?);
    shape(&header)?.iter().try_fold(1_u64, |product, &axis| product.checked_mul(axis as u64))
}

pub(in crate::data) fn chunks<const N: usize>(data: &[u8]) -> impl Iterator<Item = [u8; N]> {
    data.as_chunks::<N>().0.iter().copied()
}

/// A header, which NumPy reads with either quotes, with single ones.
fn text_of(header: &[u8]) -> String {
    String::from_utf8_lossy(header).replace('"', "'")
}

fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest.trim_start())
}

fn quoted(text: &str, key: &str) -> Option<String> {
    after(text, key)?.strip_prefix('\'')?.split_once('\'').map(|(value, _)| value.to_owned())
}

fn shape(text: &str) -> Option<Vec<usize>> {
    let (inner, _) = after(text, "'shape':")?.strip_prefix('(')?.split_once(')')?;
    let axes = inner.split(',').map(str::trim).filter(|axis| !axis.is_empty());
    axes.map(|axis| axis.parse().ok()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(in crate::data) mod tests {
    use super::*;

    /// A file as NumPy writes it.
    pub(in crate::data) fn file(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        header += &" ".repeat(63 - (header.len() + 10) % 64);
        header.push('\n');
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn numbers_of_each_kind_are_read() {
        let read = |kind: &str, data: &[u8]| parse(&file(kind, "(2,)", data), "a.npy").unwrap();
        assert_eq!(read("|u1", &[7, 255]), Array { shape: vec![2], values: Values::Bytes(vec![7, 255]) });
        assert_eq!(read("|i1", &[7, 255]).values, Values::Integers(vec![7, -1]));
        assert_eq!(
            read("<i8", &[[1_i64, -5].map(i64::to_le_bytes).concat()].concat()).values,
            Values::Integers(vec![1, -5])
        );
        assert_eq!(
            read("<f4", &[1.5_f32, -2.0].map(f32::to_le_bytes).concat()).values,
            Values::Floats(vec![1.5, -2.0])
        );
        assert_eq!(
            read("<f8", &[0.1, 1e300].map(f64::to_le_bytes).concat()).values,
            Values::Floats(vec![0.1, 1e300])
        );
        assert_eq!(read("|b1", &[0, 1]).values, Values::Integers(vec![0, 1]));
        let unsigned = |last: u64| read("<u8", &[5, last].map(u64::to_le_bytes).concat()).values;
        assert_eq!(unsigned(i64::MAX as u64), Values::Integers(vec![5, i64::MAX]));
        assert_eq!(unsigned(u64::MAX), Values::Floats(vec![5.0, 2_f64.powi(64)]));
        /* Equivalent python: np.float16([0.1, -65504]).tobytes() */
        assert_eq!(
            read("<f2", &[0x66, 0x2e, 0xff, 0xfb]).values,
            Values::Floats(vec![0.099_975_585_937_5, -65504.0])
        );
        let ends = Values::Floats(vec![2_f64.powi(-24), f64::INFINITY]);
        assert_eq!(read("<f2", &[1, 0, 0, 0x7c]).values, ends);
        let matrix = parse(&file("<u2", "(1, 2)", &[1, 0, 0, 1]), "a.npy").unwrap();
        assert_eq!((matrix.shape, matrix.values), (vec![1, 2], Values::Integers(vec![1, 256])));
    }

    #[test]
    fn a_header_may_have_either_quotes() {
        let single = file("<f4", "(1, 2)", &[0; 8]);
        let double: Vec<u8> = single.iter().map(|&byte| if byte == b'\'' { b'"' } else { byte }).collect();
        assert_eq!(parse(&double, "a.npy").unwrap(), parse(&single, "a.npy").unwrap());
        assert_eq!(count(&double), Some(2));
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        let text = |bytes: &[u8]| parse(bytes, "a.npy").unwrap_err().to_string();
        let good = file("<f4", "(2,)", &[0; 8]);
        assert!(text(&good[..good.len() - 1]).contains("a.npy: 7 bytes, expected 8"));
        assert!(text(b"PK\x03\x04").contains("a NumPy array"));
        for length in [6, 7, 8, 9] {
            let cut = text(&good[..length]);
            assert!(cut.contains(&format!("{length} bytes, expected 10; the file is truncated")), "{cut}");
        }
        assert!(text(&good[..20]).contains("20 bytes, expected 128"));
        assert!(text(&[MAGIC, &[4, 0, 118, 0]].concat()).contains("the version is 4"));
        assert!(text(&file("|O", "(1,)", &[])).contains("pickled"));
        assert!(text(&file(">f4", "(1,)", &[0; 4])).contains("little-endian"));
        let records =
            String::from_utf8_lossy(&file("<f4", "(1,)", &[0; 4])[10..]).replace("'<f4'", "[('a')]");
        let records = [MAGIC, &[1, 0, 118, 0], records.as_bytes()].concat();
        assert!(text(&records).contains("the kind is a record, expected booleans"), "{}", text(&records));
        assert!(text(&file("<f4", "(99999999999, 99999999999)", &[])).contains("expected"));
        let columns = String::from_utf8_lossy(&file("<f4", "(1,)", &[0; 4])[10..]).replace("False", "True ");
        assert!(text(&[MAGIC, &[1, 0, 118, 0], columns.as_bytes()].concat()).contains("columns"));
    }
}
