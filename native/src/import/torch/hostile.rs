//! Files of `torch.save` that ask for far more than they hold: a few bytes of a pickle refer to a value again, and each
//! use of it could cost as much as the value itself.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write as _};

use simile_core::nn::checkpoint::Weights;

/// Writes pickles in the form of `torch.save`.
#[derive(Default, Clone)]
pub(super) struct Pickle(pub(super) Vec<u8>);

impl Pickle {
    pub(super) fn text(mut self, text: &str) -> Self {
        self.0.push(b'X');
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub(super) fn int(self, value: i32) -> Self {
        self.raw(b"J").raw(&value.to_le_bytes())
    }

    pub(super) fn ints(self, values: &[i32]) -> Self {
        values.iter().fold(self.raw(b"("), |pickle, &value| pickle.int(value)).raw(b"t")
    }

    /// `key: tensor`, its values in the storage `place`.
    pub(super) fn tensor(
        self,
        key: &str,
        kind: &str,
        place: &str,
        [count, offset]: [i32; 2],
        sides: [&[i32]; 2],
    ) -> Self {
        self.text(key)
            .raw(b"ctorch._utils\n_rebuild_tensor_v2\n((")
            .text("storage")
            .raw(format!("ctorch\n{kind}\n").as_bytes())
            .text(place)
            .text("cpu")
            .int(count)
            .raw(b"tQ")
            .int(offset)
            .ints(sides[0])
            .ints(sides[1])
            .raw(b"\x89ccollections\nOrderedDict\n)RtR")
    }
}

pub(super) fn begun() -> Pickle {
    Pickle::default().raw(b"\x80\x02")
}

pub(super) fn zipped(entries: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer
            .start_file(*name, zip::write::SimpleFileOptions::default().compression_method(method))
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn file(pickle: Pickle, numbers: usize) -> Vec<u8> {
    let values = 1.0_f32.to_le_bytes().repeat(numbers);
    let entries: [(&str, &[u8]); 2] = [("data.pkl", &pickle.0), ("data/0", &values)];
    zipped(&entries, zip::CompressionMethod::Stored)
}

/// Tensors that share one storage through the memo.
pub(super) struct Sharing {
    /// Numbers of the storage.
    pub(super) numbers: usize,
    /// Numbers of a tensor, the first ones of the storage.
    pub(super) each: usize,
    pub(super) tensors: usize,
}

pub(super) fn sharing(what: &Sharing) -> Vec<u8> {
    let first = shared(&begun().raw(b"}("), "0", what);
    let pickle = (0..what.tensors)
        .fold(first, |pickle, at| pickle.text(&at.to_string()).raw(b"h\x06(h\x05K\x00h\x07h\x08tR"));
    file(pickle.raw(b"u."), what.numbers)
}

/// Puts the function, the storage, the shape and the strides of a tensor into the memo.
fn shared(before: &Pickle, key: &str, what: &Sharing) -> Pickle {
    before
        .clone()
        .raw(b"ctorch._utils\n_rebuild_tensor_v2\nq\x060(")
        .text("storage")
        .raw(b"ctorch\nFloatStorage\n")
        .text(key)
        .text("cpu")
        .int(what.numbers as i32)
        .raw(b"tQq\x050")
        .ints(&[what.each as i32])
        .raw(b"q\x070")
        .ints(&[1])
        .raw(b"q\x080")
}

/// The tensors of [`sharing`] with one number each.
pub(super) fn ones(tensors: usize) -> Weights {
    let mut weights = Weights::default();
    for at in 0..tensors {
        weights.insert(&at.to_string(), vec![1], vec![1.0]).unwrap();
    }
    weights
}

const ONE: Sharing = Sharing { numbers: 1, each: 1, tensors: 0 };
/// One of those tensors.
const TENSOR: &[u8] = b"h\x06(h\x05K\x00h\x07h\x08tR";

/// Files of one to forty megabytes, each named by its repeated part.
pub(crate) fn all() -> Vec<(&'static str, Vec<u8>)> {
    let long = "k".repeat(1_000_000);
    let listed = |pickle: Pickle, call: &[u8], times| pickle.raw(&call.repeat(times)).raw(b"eu.");
    let list = || begun().raw(b"}(").text("x").raw(b"](");
    let class = |name: &str| list().raw(format!("c{name}\nb\nq\x00").as_bytes());
    let texts = list().text(&"a".repeat(400)).raw(b"q\x00").text(&"b".repeat(400)).raw(b"q\x01");
    let many = class("a").raw(b"(").raw(&b"N".repeat(1_000_000)).raw(b"tq\x01");
    let within = shared(&begun(), "0", &ONE).raw(b"}").text(&long).raw(b"}(");
    let within = (0..20_000).fold(within, |pickle, at| pickle.text(&at.to_string()).raw(TENSOR));
    let named = shared(&begun(), "0", &ONE).raw(TENSOR).raw(b"q\x090}(").text("w").raw(b"q\x0a0");
    let shape = shared(&begun(), "0", &ONE).raw(b"(").raw(&b"K\x01".repeat(1_000_000)).raw(b"tq\x070}(");
    let key = shared(&begun().raw(b"}("), &long, &ONE);
    vec![
        ("a long class", file(listed(class(&long), b"h\x00)R", 20_000), 1)),
        ("a class of many objects", file(listed(class(&long[..900]), b"h\x00)R", 500_000), 1)),
        (
            "a long key",
            file((0..20_000).fold(key, |pickle, at| pickle.text(&at.to_string()).raw(TENSOR)).raw(b"u."), 1),
        ),
        ("a long tuple", file(listed(many, b"h\x00h\x01R", 20_000), 1)),
        ("a class put together of two texts", file(listed(texts, b"h\x00h\x01\x93", 100_000), 1)),
        ("a long dictionary", file(within.raw(b"us."), 1)),
        ("many names of one tensor", file(named.raw(&b"h\x0ah\x09".repeat(300_000)).raw(b"u."), 1)),
        ("a shape without end", file(shape.text("w").raw(TENSOR).raw(b"u."), 1)),
        ("one storage of many tensors", sharing(&Sharing { numbers: 10_000_000, each: 1, tensors: 20_000 })),
        ("entries that overlap", overlapping()),
    ]
}

/// An archive of five hundred entries that all point to the first one.
fn overlapping() -> Vec<u8> {
    const ENTRIES: usize = 500;
    let names: Vec<String> = (0..ENTRIES).map(|at| format!("data/{at:03}")).collect();
    let of = |pickle: Pickle, name: &String| {
        let key = name.trim_start_matches("data/");
        pickle.tensor(key, "FloatStorage", key, [1, 0], [&[], &[]])
    };
    let pickle = names.iter().fold(begun().raw(b"}("), of).raw(b"u.");
    let first = 1.0_f32.to_le_bytes().repeat(100_000);
    let mut entries: Vec<(&str, &[u8])> = vec![("data.pkl", &pickle.0)];
    entries.extend(names.iter().map(|name| (name.as_str(), &first[..4])));
    entries[1].1 = &first;
    let mut bytes = zipped(&entries, zip::CompressionMethod::Stored);
    // Signatures of the records in the directory at the end, of which the second is that of the first storage.
    let records: Vec<usize> =
        (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")).collect();
    assert_eq!(records.len(), ENTRIES + 1);
    for &record in &records[2..] {
        // Checksum and both sizes, and the offset of the entry.
        for field in [16..28, 42..46] {
            bytes.copy_within(records[1] + field.start..records[1] + field.end, record + field.start);
        }
    }
    bytes
}
