//! The numbers of a file of `torch.save`: a zip archive with an entry for each storage, or, before PyTorch 1.6, one
//! storage after the other behind the pickle.

use std::collections::HashMap;
use std::io::{self, Cursor};
use std::ops::Range;

use half::{bf16, f16};
use zip::{CompressionMethod, ZipArchive};

use super::TorchError;
use super::heap::{Heap, Id, Value, View};
use super::pickle;

/// The magic number of the old format, as the protocols 2 to 5 of pickle write it, and the end of that pickle.
const MAGIC: [u8; 13] = [0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, b'.'];
/// The same in the protocols 0 and 1, which write it in digits.
const MAGIC_IN_DIGITS: &[u8] = b"L119547037146038801333356L\n.";
/// Tensors that may share each number of a file, on average: a network can lie in it under several names.
const MOST_SHARED: usize = 4;

/// A file, its storages not yet read.
pub(super) struct Container<'a> {
    bytes: &'a [u8],
    form: Form<'a>,
    /// Remaining budget of the bytes that tensors are read from, which they could share repeatedly to fill the memory.
    budget: usize,
}

/// The content of a tensor.
pub(super) enum Content<'v> {
    /// Its values in row order.
    Floats(Vec<f32>),
    /// Something that is not read, in words.
    Other(&'v str),
}

enum Form<'a> {
    Zip(Entries<'a>),
    Plain { places: HashMap<String, Range<usize>> },
}

/// The entries of a zip archive, each read once, even if many tensors share it.
struct Entries<'a> {
    bytes: &'a [u8],
    archive: Box<ZipArchive<Cursor<&'a [u8]>>>,
    /// The common prefix of the names.
    root: String,
    /// The places of the entries that were read.
    places: HashMap<String, Range<usize>>,
    /// Remaining budget of bytes: only hostile entries overlap and exceed it.
    budget: usize,
}

impl<'a> Entries<'a> {
    /// The content of an entry, as `torch.save` writes it: uncompressed, so that it is a slice of the file.
    fn content(&mut self, name: &str) -> Result<&'a [u8], TorchError> {
        let place = match self.places.get(name) {
            Some(place) => place.clone(),
            None => {
                let place = self.check(&format!("{}{name}", self.root))?;
                self.places.insert(name.into(), place.clone());
                place
            }
        };
        self.bytes.get(place).ok_or_else(|| damaged(&format!("{name} lies beyond the end")))
    }

    /// The place of the content of an entry, after a check of its checksum.
    fn check(&mut self, name: &str) -> Result<Range<usize>, TorchError> {
        let mut file = self.archive.by_name(name).map_err(|error| damaged(&format!("{name}: {error}")))?;
        if file.compression() != CompressionMethod::Stored {
            return Err(damaged(&format!("{name} is compressed, which torch.save never does")));
        }
        let (start, size) =
            (file.data_start().and_then(|at| usize::try_from(at).ok()), usize::try_from(file.size()).ok());
        let place = start.zip(size).and_then(|(start, size)| Some(start..start.checked_add(size)?));
        let place = place.filter(|place| place.end <= self.bytes.len());
        let place = place.ok_or_else(|| damaged(&format!("{name} lies beyond the end")))?;
        self.budget = self.budget.checked_sub(place.len()).ok_or_else(|| damaged(&"its entries overlap"))?;
        // The reader compares the checksum at the end.
        io::copy(&mut file, &mut io::sink()).map_err(|error| {
            damaged(&format!(
                "{name}: {error} (a file that was saved without checksums has to be saved again, after \
                 `torch.serialization.set_crc32_options(True)`)"
            ))
        })?;
        Ok(place)
    }

    fn has(&self, name: &str) -> bool {
        let name = format!("{}{name}", self.root);
        self.archive.file_names_raw().any(|other| other == name.as_bytes())
    }
}

impl<'a> Container<'a> {
    /// Opens a file, with the values of its pickle.
    pub(super) fn open(bytes: &'a [u8]) -> Result<(Self, Heap, Id), TorchError> {
        let (form, heap, root) = if bytes.starts_with(b"PK\x03\x04") {
            zip(bytes)?
        } else if let Some(length) = magic(bytes) {
            plain(bytes, length)?
        } else if bytes.starts_with(MAGIC_IN_DIGITS) {
            return Err(TorchError::Protocol);
        } else {
            return Err(TorchError::Unknown);
        };
        Ok((Self { bytes, form, budget: bytes.len().saturating_mul(MOST_SHARED) }, heap, root))
    }

    /// The values of a tensor, if they are floats. Those of one that repeats them are not read: a few bytes can ask for any number.
    pub(super) fn content<'v>(&mut self, name: &str, view: &'v View) -> Result<Content<'v>, TorchError> {
        let wrong = |reason: &str| TorchError::Tensor { name: name.into(), reason: reason.into() };
        let (width, read): (usize, fn(&[u8]) -> f32) = match view.storage.kind() {
            "FloatStorage" => (4, |b| b.try_into().map_or(f32::NAN, f32::from_le_bytes)),
            "DoubleStorage" => (8, |b| b.try_into().map_or(f32::NAN, |b| f64::from_le_bytes(b) as f32)),
            "HalfStorage" => (2, |b| b.try_into().map_or(f32::NAN, |b| f16::from_le_bytes(b).to_f32())),
            "BFloat16Storage" => (2, |b| b.try_into().map_or(f32::NAN, |b| bf16::from_le_bytes(b).to_f32())),
            kind => return Ok(Content::Other(kind)),
        };
        if view.shape.len() != view.strides.len() {
            return Err(wrong("has not one stride a side"));
        }
        if view.shape.contains(&0) {
            return Ok(Content::Floats(vec![]));
        }
        let reach = view.shape.iter().zip(&view.strides).try_fold(view.offset, |reach, (&side, &stride)| {
            reach.checked_add((side - 1).checked_mul(stride)?)
        });
        if reach.is_none_or(|last| last >= view.storage.count) {
            return Err(wrong("reaches beyond its storage"));
        }
        let count = view.shape.iter().try_fold(1_usize, |count, &side| count.checked_mul(side));
        let Some(count) = count.filter(|&count| count <= view.storage.count) else {
            return Ok(Content::Other("values that `expand` repeats"));
        };
        let budget = self.budget.checked_sub(count.saturating_mul(width));
        self.budget = budget.ok_or_else(|| wrong("shares its values too often"))?;
        let numbers = self.storage(&view.storage.key)?;
        if numbers.len() / width < view.storage.count {
            return Err(TorchError::Truncated { what: format!("the values of `{name}`") });
        }
        let value = |place: usize| numbers.get(place * width..(place + 1) * width).map_or(f32::NAN, read);
        Ok(Content::Floats(Places::of(view).take(count).map(value).collect()))
    }

    fn storage(&mut self, key: &str) -> Result<&'a [u8], TorchError> {
        match &mut self.form {
            Form::Plain { places } => {
                let bytes = places.get(key).and_then(|place| self.bytes.get(place.clone()));
                bytes.ok_or_else(|| TorchError::Truncated { what: format!("storage {key}") })
            }
            Form::Zip(entries) => entries.content(&format!("data/{key}")),
        }
    }
}

/// Places of the values of a tensor in its storage, in row order, without end.
struct Places {
    at: usize,
    /// The length, the stride and the current index of each dimension longer than one, the last first.
    sides: Vec<(usize, usize, usize)>,
}

impl Places {
    fn of(view: &View) -> Self {
        let sides = view.shape.iter().zip(&view.strides).rev().filter(|(side, _)| **side > 1);
        Self { at: view.offset, sides: sides.map(|(&side, &stride)| (side, stride, 0)).collect() }
    }
}

impl Iterator for Places {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let at = self.at;
        for (side, stride, along) in &mut self.sides {
            if *along + 1 < *side {
                *along += 1;
                self.at += *stride;
                break;
            }
            self.at -= *stride * *along;
            *along = 0;
        }
        Some(at)
    }
}

fn zip(bytes: &[u8]) -> Result<(Form<'_>, Heap, Id), TorchError> {
    let archive = Box::new(ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?);
    let root = archive.file_names().filter_map(Result::ok).find_map(|name| {
        let root = name.strip_suffix("data.pkl")?;
        (root.is_empty() || root.ends_with('/')).then(|| root.to_owned())
    });
    let root = root.ok_or_else(|| TorchError::Zip { reason: "it holds no data.pkl".into() })?;
    let mut entries = Entries { bytes, archive, root, places: HashMap::new(), budget: bytes.len() };
    if entries.has("constants.pkl") {
        return Err(TorchError::Script);
    }
    if entries.has("byteorder") && entries.content("byteorder")? != b"little" {
        return Err(TorchError::Zip { reason: "its numbers are big-endian".into() });
    }
    let (heap, id, _) = pickle::read(entries.content("data.pkl")?)?;
    Ok((Form::Zip(entries), heap, id))
}

fn damaged(reason: &impl std::fmt::Display) -> TorchError {
    TorchError::Zip { reason: reason.to_string() }
}

/// The length of the pickle of the magic number, with which a file of the old format begins.
fn magic(bytes: &[u8]) -> Option<usize> {
    // Protocols 4 and 5 say the length of what follows.
    const FRAME: [u8; 9] = [0x95, MAGIC.len() as u8, 0, 0, 0, 0, 0, 0, 0];
    let [0x80, 2..=5, number @ ..] = bytes else { return None };
    let number = number.strip_prefix(&FRAME).unwrap_or(number);
    number.strip_prefix(&MAGIC).map(|rest| bytes.len() - rest.len())
}

/// Reads the old format: pickles of a magic number, which ends at `at`, a version, the machine, the value, and the keys; then each
/// storage after its count.
fn plain(bytes: &[u8], mut at: usize) -> Result<(Form<'_>, Heap, Id), TorchError> {
    let mut next = || -> Result<(Heap, Id), TorchError> {
        let (heap, root, length) = pickle::read(bytes.get(at..).unwrap_or_default())?;
        at += length;
        Ok((heap, root))
    };
    next()?;
    let (machine, machine_root) = next()?;
    if let Value::Dict(entries) = machine.get(machine_root) {
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
            widths.insert(&storage.key, width(storage.kind()));
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
        if key.len() > pickle::LONGEST_NAME {
            return Err(TorchError::Malformed { at, reason: "the key of a storage is too long".into() });
        }
        let truncated = || TorchError::Truncated { what: format!("storage {key}") };
        let count = bytes.get(at..at + 8).and_then(|count| count.try_into().ok()).map(u64::from_le_bytes);
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or_else(truncated)?;
        let width = widths.get(&**key).copied().unwrap_or(1);
        let end = count.checked_mul(width).and_then(|size| size.checked_add(at + 8));
        let end = end.filter(|&end| end <= bytes.len()).ok_or_else(truncated)?;
        places.insert(key.to_string(), at + 8..end);
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
