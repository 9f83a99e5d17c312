//! The numbers of a file of `torch.save`: a zip archive with an entry for each storage, or, before PyTorch 1.6, one
//! storage after the other behind the pickle.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Cursor, Read as _};
use std::ops::Range;

use half::{bf16, f16};
use zip::{CompressionMethod, ZipArchive};

use super::TorchError;
use super::pickle::{self, Heap, Id, Value, View};

/// The first pickle of a file of the old form: a number, and nothing else.
const MAGIC: [u8; 15] = [0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, b'.'];

/// A file, its storages not yet read.
pub(super) struct Container<'a> {
    bytes: &'a [u8],
    form: Form<'a>,
    /// Numbers that tensors may still take: a file cannot hold more of them than bytes, unless tensors share them over
    /// and over to fill the memory.
    budget: usize,
}

enum Form<'a> {
    Zip { archive: Box<ZipArchive<Cursor<&'a [u8]>>>, root: String },
    Plain { places: HashMap<String, Range<usize>> },
}

impl<'a> Container<'a> {
    /// The file, with the values of its pickle.
    pub(super) fn open(bytes: &'a [u8]) -> Result<(Self, Heap, Id), TorchError> {
        let (form, heap, root) = if bytes.starts_with(b"PK\x03\x04") {
            zip(bytes)?
        } else if bytes.starts_with(&MAGIC) {
            plain(bytes)?
        } else {
            return Err(TorchError::Unknown);
        };
        Ok((Self { bytes, form, budget: bytes.len() }, heap, root))
    }

    /// The values of a tensor in row order; `None` if they are no floats.
    pub(super) fn floats(&mut self, name: &str, view: &View) -> Result<Option<Vec<f32>>, TorchError> {
        let wrong = |reason: &str| TorchError::Tensor { name: name.into(), reason: reason.into() };
        let (width, read): (usize, fn(&[u8]) -> f32) = match view.storage.kind.as_str() {
            "FloatStorage" => (4, |b| b.try_into().map_or(f32::NAN, f32::from_le_bytes)),
            "DoubleStorage" => (8, |b| b.try_into().map_or(f32::NAN, |b| f64::from_le_bytes(b) as f32)),
            "HalfStorage" => (2, |b| b.try_into().map_or(f32::NAN, |b| f16::from_le_bytes(b).to_f32())),
            "BFloat16Storage" => (2, |b| b.try_into().map_or(f32::NAN, |b| bf16::from_le_bytes(b).to_f32())),
            _ => return Ok(None),
        };
        let count = view.shape.iter().try_fold(1_usize, |count, &side| count.checked_mul(side));
        let count = count.filter(|&count| count <= view.storage.count);
        let count = count.ok_or_else(|| wrong("has more values than its storage"))?;
        self.budget = self.budget.checked_sub(count).ok_or_else(|| wrong("shares its values too often"))?;
        if view.shape.len() != view.strides.len() {
            return Err(wrong("has not one stride a side"));
        }
        if count == 0 {
            return Ok(Some(vec![]));
        }
        let reach = view.shape.iter().zip(&view.strides).try_fold(view.offset, |reach, (&side, &stride)| {
            reach.checked_add((side - 1).checked_mul(stride)?)
        });
        if reach.is_none_or(|last| last >= view.storage.count) {
            return Err(wrong("reaches beyond its storage"));
        }
        let numbers = self.storage(&view.storage.key)?;
        if numbers.len() / width < view.storage.count {
            return Err(TorchError::Truncated { what: format!("the values of `{name}`") });
        }
        let value = |place: usize| numbers.get(place * width..(place + 1) * width).map_or(f32::NAN, read);
        Ok(Some(places(view, count).map(value).collect()))
    }

    fn storage(&mut self, key: &str) -> Result<Cow<'_, [u8]>, TorchError> {
        match &mut self.form {
            Form::Plain { places } => {
                let bytes = places.get(key).and_then(|place| self.bytes.get(place.clone()));
                bytes
                    .map(Cow::Borrowed)
                    .ok_or_else(|| TorchError::Truncated { what: format!("storage {key}") })
            }
            Form::Zip { archive, root } => Ok(Cow::Owned(entry(archive, &format!("{root}data/{key}"))?)),
        }
    }
}

/// Places of the values of a tensor in its storage, in row order.
fn places(view: &View, count: usize) -> impl Iterator<Item = usize> + '_ {
    (0..count).map(|index| {
        let mut rest = index;
        let sides = view.shape.iter().zip(&view.strides).rev();
        sides.fold(view.offset, |place, (&side, &stride)| {
            let at = rest % side.max(1);
            rest /= side.max(1);
            place + at * stride
        })
    })
}

fn zip(bytes: &[u8]) -> Result<(Form<'_>, Heap, Id), TorchError> {
    let mut archive = Box::new(ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?);
    let root = archive.file_names().find_map(|name| {
        let root = name.strip_suffix("data.pkl")?;
        (root.is_empty() || root.ends_with('/')).then(|| root.to_owned())
    });
    let root = root.ok_or_else(|| TorchError::Zip { reason: "it holds no data.pkl".into() })?;
    if archive.file_names().any(|name| name == format!("{root}constants.pkl")) {
        return Err(TorchError::Script);
    }
    if archive.file_names().any(|name| name == format!("{root}byteorder"))
        && entry(&mut archive, &format!("{root}byteorder"))? != b"little"
    {
        return Err(TorchError::Zip { reason: "its numbers are big-endian".into() });
    }
    let (heap, id, _) = pickle::read(&entry(&mut archive, &format!("{root}data.pkl"))?)?;
    Ok((Form::Zip { archive, root }, heap, id))
}

/// An entry, as `torch.save` writes it: uncompressed, so that it cannot be larger than the file.
fn entry(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Vec<u8>, TorchError> {
    let mut file = archive.by_name(name).map_err(|error| damaged(&format!("{name}: {error}")))?;
    if file.compression() != CompressionMethod::Stored {
        return Err(damaged(&format!("{name} is compressed, which torch.save never does")));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| damaged(&format!("{name}: {error}")))?;
    Ok(bytes)
}

fn damaged(reason: &impl std::fmt::Display) -> TorchError {
    TorchError::Zip { reason: reason.to_string() }
}

/// Pickles of a magic number, a version, the machine, the value, and the keys; then each storage behind its count.
fn plain(bytes: &[u8]) -> Result<(Form<'_>, Heap, Id), TorchError> {
    let mut at = MAGIC.len();
    let mut next = || -> Result<(Heap, Id), TorchError> {
        let (heap, root, length) = pickle::read(bytes.get(at..).unwrap_or_default())?;
        at += length;
        Ok((heap, root))
    };
    next()?;
    let (machine, of_machine) = next()?;
    if let Value::Dict(entries) = machine.get(of_machine) {
        let is_big = |&(key, value): &(Id, Id)| {
            *machine.get(key) == Value::Text("little_endian".into())
                && *machine.get(value) == Value::Bool(false)
        };
        if entries.iter().any(is_big) {
            return Err(TorchError::Malformed { at: 0, reason: "its numbers are big-endian".into() });
        }
    }
    let (heap, root) = next()?;
    let (keys, list) = next()?;

    let mut widths: HashMap<&str, usize> = HashMap::new();
    for value in heap.values() {
        if let Value::Storage(storage) = value {
            widths.insert(&storage.key, width(&storage.kind));
        }
    }
    let Value::List(list) = keys.get(list) else {
        return Err(TorchError::Malformed { at, reason: "no list of storages".into() });
    };
    let mut places = HashMap::new();
    for &key in list {
        let Value::Text(key) = keys.get(key) else {
            return Err(TorchError::Malformed { at, reason: "a storage without a key".into() });
        };
        let truncated = || TorchError::Truncated { what: format!("storage {key}") };
        let count = bytes.get(at..at + 8).and_then(|count| count.try_into().ok()).map(u64::from_le_bytes);
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or_else(truncated)?;
        let width = widths.get(key.as_str()).copied().unwrap_or(1);
        let end = count.checked_mul(width).and_then(|size| size.checked_add(at + 8));
        let end = end.filter(|&end| end <= bytes.len()).ok_or_else(truncated)?;
        places.insert(key.clone(), at + 8..end);
        at = end;
    }
    Ok((Form::Plain { places }, heap, root))
}

/// Bytes of a number.
fn width(kind: &str) -> usize {
    match kind {
        "DoubleStorage" | "LongStorage" | "ComplexFloatStorage" => 8,
        "ComplexDoubleStorage" => 16,
        "FloatStorage" | "IntStorage" => 4,
        "HalfStorage" | "BFloat16Storage" | "ShortStorage" => 2,
        _ => 1,
    }
}
