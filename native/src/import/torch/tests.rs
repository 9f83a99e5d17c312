#![allow(clippy::unwrap_used)]

use super::hostile::{Pickle, begun, zipped};
use super::*;

/// `{"epoch": 3, "state_dict": {"module.w": [[1, 3], [2, 4]], "module.n": whole numbers}}`; the matrix lies transposed.
fn nested() -> Pickle {
    begun()
        .raw(b"}q\x00(")
        .text("epoch")
        .raw(b"K\x03")
        .text("state_dict")
        .raw(b"ccollections\nOrderedDict\n)Rq\x01(")
        .tensor("module.w", "FloatStorage", "0", [5, 1], [&[2, 2], &[1, 2]])
        .tensor("module.n", "LongStorage", "1", [1, 0], [&[], &[]])
        .raw(b"u}")
        .text("_metadata")
        .raw(b"}sbu.")
}

const VALUES: [f32; 5] = [9.0, 1.0, 2.0, 3.0, 4.0];

fn floats() -> Vec<u8> {
    VALUES.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn stored(pickle: &Pickle) -> Vec<u8> {
    let entries: [(&str, &[u8]); 4] = [
        ("a/data.pkl", &pickle.0),
        ("a/byteorder", b"little"),
        ("a/data/0", &floats()),
        ("a/data/1", &7_i64.to_le_bytes()),
    ];
    zipped(&entries, zip::CompressionMethod::Stored)
}

/// The format before PyTorch 1.6.
fn old(pickle: &Pickle) -> Vec<u8> {
    let mut bytes = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.".to_vec();
    bytes.extend(begun().raw(b"}").text("little_endian").raw(b"\x88s.").0);
    // Here a reference to a storage has a sixth part, which marks it as not part of another.
    let reference = |bytes: &[u8]| -> Vec<u8> {
        let parts: Vec<&[u8]> = split(bytes, b"tQ");
        parts.join(&b"NtQ"[..])
    };
    bytes.extend(reference(&pickle.0));
    bytes.extend(begun().raw(b"](").text("0").text("1").raw(b"e.").0);
    bytes.extend(5_i64.to_le_bytes());
    bytes.extend(floats());
    bytes.extend(1_i64.to_le_bytes());
    bytes.extend(7_i64.to_le_bytes());
    bytes
}

fn split<'a>(bytes: &'a [u8], at: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = vec![];
    let mut rest = bytes;
    while let Some(place) = rest.windows(at.len()).position(|window| window == at) {
        parts.push(&rest[..place]);
        rest = &rest[place + at.len()..];
    }
    parts.push(rest);
    parts
}

fn expected() -> Weights {
    let mut weights = Weights::default();
    weights.insert("state_dict.module.w", vec![2, 2], vec![1.0, 3.0, 2.0, 4.0]).unwrap();
    weights.insert_other("state_dict.module.n", "LongStorage");
    weights
}

fn complaint(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn tensors_are_read_by_their_path_from_both_forms() {
    assert_eq!(read(&stored(&nested())).unwrap(), expected());
    assert_eq!(read(&old(&nested())).unwrap(), expected());
}

/// `torch.save` writes these bytes if its `pickle_protocol` is 3, 4 or 5.
#[test]
fn the_old_form_is_read_in_each_protocol_that_has_a_number() {
    let second = old(&nested());
    for protocol in 3..6_u8 {
        let parts = split(&second, b"\x80\x02").into_iter().skip(1).map(|part| {
            let frame = [&[0x95_u8][..], &(part.len() as u64).to_le_bytes()].concat();
            let frame: &[u8] = if protocol < 4 { &[] } else { &frame };
            [&[0x80, protocol][..], frame, part].concat()
        });
        let file: Vec<u8> = parts.flatten().collect();
        assert_eq!(read(&file).unwrap(), expected(), "protocol {protocol}");
    }
}

#[test]
fn a_file_of_an_early_protocol_is_told_how_to_be_saved() {
    let early = |pickle: &[u8]| stored(&Pickle::default().raw(pickle));
    for file in [
        b"L119547037146038801333356L\n.I1001\n.(dp0\n.".to_vec(),
        early(b"(dp0\nVw\np1\nI1\ns."),
        early(b"}q\x00X\x01\x00\x00\x00wI01\ns."),
    ] {
        let text = complaint(&file);
        assert!(text.contains("protocol 0 or 1") && text.contains("`pickle_protocol`"), "{text}");
    }
}

/// Python 2 pickles an ordered dictionary with a list of its pairs.
#[test]
fn a_dictionary_of_python_2_is_read() {
    let pairs = begun()
        .raw(b"ccollections\nOrderedDict\n(](](")
        .tensor("module.w", "FloatStorage", "0", [5, 1], [&[2, 2], &[1, 2]])
        .raw(b"e](")
        .tensor("module.n", "LongStorage", "1", [1, 0], [&[], &[]])
        .raw(b"eetR.");
    let mut expected = Weights::default();
    expected.insert("module.w", vec![2, 2], vec![1.0, 3.0, 2.0, 4.0]).unwrap();
    expected.insert_other("module.n", "LongStorage");
    assert_eq!(read(&stored(&pairs)).unwrap(), expected);
    let single = begun().raw(b"ccollections\nOrderedDict\n(](](K\x01eetR.");
    assert!(complaint(&stored(&single)).contains("something else than pairs"));
}

#[test]
fn a_cut_file_is_an_error_at_every_length() {
    for whole in [stored(&nested()), old(&nested())] {
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} of {}", whole.len());
        }
    }
    let text = complaint(&old(&nested())[..old(&nested()).len() - 1]);
    assert!(text.contains("storage 1") && text.contains("download"), "{text}");
}

#[test]
fn a_flipped_bit_never_panics() {
    for whole in [stored(&nested()), old(&nested())] {
        for at in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            let _ = read(&bytes);
        }
    }
}

#[test]
fn calls_are_named_and_not_made() {
    let hostile = begun().raw(b"cposix\nsystem\n").text("touch /tmp/simile-was-here").raw(b"\x85R.");
    let text = complaint(&stored(&hostile));
    assert!(text.contains("posix.system") && text.contains("state_dict()"), "{text}");
    assert!(!std::path::Path::new("/tmp/simile-was-here").exists());
    // A whole module, as `torch.save(model)` writes it.
    let module = begun().raw(b"ctorchvision.models.resnet\nResNet\n)\x81}b.");
    assert!(complaint(&stored(&module)).contains("torchvision.models.resnet.ResNet"));
    let foreign = begun().raw(b"(i__main__\nEvil\n.");
    assert!(complaint(&stored(&foreign)).contains("0x69"));
}

/// Subclasses, narrow floats, and quantised, sparse or absent values.
#[test]
fn tensors_that_are_not_read_are_named_with_their_class() {
    let rebuilt = |name: &str, function: &str, arguments: &[u8]| {
        let call = [format!("ctorch.{function}\n(").as_bytes(), arguments, b"tR"].concat();
        read(&stored(&begun().raw(b"}").text(name).raw(&call).raw(b"s."))).unwrap()
    };
    for (function, arguments, class) in [
        ("_utils\n_rebuild_qtensor", &b""[..], "torch._utils._rebuild_qtensor"),
        ("_utils\n_rebuild_sparse_tensor", b"NN", "torch._utils._rebuild_sparse_tensor"),
        ("_tensor\n_rebuild_from_type_v2", b"cbuiltins\nprint\nca.b\nMine\n)}", "a.b.Mine"),
        ("_utils\n_rebuild_wrapper_subclass", b"ca.b\nMine\n", "a.b.Mine"),
        ("_utils\n_rebuild_tensor_v3", b"NNNNNNctorch\nfloat8_e4m3fn\n", "torch.float8_e4m3fn"),
        ("_utils\n_rebuild_tensor_v3", b"", "torch._utils._rebuild_tensor_v3"),
    ] {
        let mut expected = Weights::default();
        expected.insert_other("fc.weight", &format!("an object of {class}"));
        assert_eq!(rebuilt("fc.weight", function, arguments), expected, "{function}");
    }
    // Functions of others make no tensors that are known.
    let foreign = begun().raw(b"}").text("w").raw(b"cposix\n_rebuild_tensor\n)Rs.");
    assert!(complaint(&stored(&foreign)).contains("no tensors by name"));
}

#[test]
fn a_file_without_checksums_is_told_how_it_is_saved() {
    let mut bytes = stored(&nested());
    let numbers = bytes.windows(floats().len()).position(|window| window == floats()).unwrap();
    bytes[numbers] ^= 1;
    let text = complaint(&bytes);
    assert!(text.contains("data/0") && text.contains("set_crc32_options(True)"), "{text}");
}

#[test]
fn tensors_cannot_reach_beyond_their_storage_nor_multiply_it() {
    let tensor = |count, sides: [&[i32]; 2]| {
        begun().raw(b"}").tensor("w", "FloatStorage", "0", [count, 1], sides).raw(b"s.")
    };
    for (count, sides, reason) in
        [(5, [&[2, 2], &[1, 4]], "beyond"), (500, [&[2, 2], &[1, 2]], "ends within")]
    {
        let text = complaint(&stored(&tensor(count, [sides[0], sides[1]])));
        assert!(text.contains("`w`") && text.contains(reason), "{text}");
    }
    let text = complaint(&stored(&tensor(5, [&[2, 2], &[1]])));
    assert!(text.contains("stride"), "{text}");
}

/// `torch.ones(1).expand(2, 3)` in a loss does not keep an encoder from being read.
#[test]
fn a_tensor_that_repeats_its_values_is_no_fault_of_the_others() {
    let pickle = begun()
        .raw(b"}(")
        .tensor("mask", "FloatStorage", "0", [5, 1], [&[2, 3], &[0, 0]])
        .tensor("endless", "FloatStorage", "0", [5, 1], [&[1 << 30, 1 << 30, 1 << 30], &[0, 0, 0]])
        .tensor("w", "FloatStorage", "0", [5, 1], [&[2, 2], &[1, 2]])
        .raw(b"u.");
    let mut expected = Weights::default();
    expected.insert("w", vec![2, 2], vec![1.0, 3.0, 2.0, 4.0]).unwrap();
    for name in ["mask", "endless"] {
        expected.insert_other(name, "values that `expand` repeats");
    }
    assert_eq!(read(&stored(&pickle)).unwrap(), expected);
}

#[test]
fn half_floats_may_lie_under_as_many_names_as_floats() {
    let count = 4000;
    let shared = |kind: &str, bytes: &[u8], names: i32| {
        let sides: [&[i32]; 2] = [&[count], &[1]];
        let tensor = |pickle: Pickle, at: i32| pickle.tensor(&at.to_string(), kind, "0", [count, 0], sides);
        let pickle = (0..names).fold(begun().raw(b"}("), tensor).raw(b"u.");
        let entries: [(&str, &[u8]); 2] =
            [("data.pkl", &pickle.0), ("data/0", &bytes.repeat(count as usize))];
        read(&zipped(&entries, zip::CompressionMethod::Stored))
    };
    // The bytes of 1.5.
    let (half, single) = (0x3e00_u16.to_le_bytes(), 1.5_f32.to_le_bytes());
    let mut expected = Weights::default();
    for name in ["0", "1", "2"] {
        expected.insert(name, vec![4000], vec![1.5; 4000]).unwrap();
    }
    assert_eq!(shared("HalfStorage", &half, 3).unwrap(), expected);
    assert_eq!(shared("FloatStorage", &single, 3).unwrap(), expected);
    for (kind, bytes) in [("HalfStorage", &half[..]), ("FloatStorage", &single[..])] {
        let text = shared(kind, bytes, 20).unwrap_err().to_string();
        assert!(text.contains("too often"), "{kind}: {text}");
    }
}

/// Through the memo a reference to a storage of any size costs a few bytes.
#[test]
fn a_storage_cannot_be_read_until_the_memory_is_full() {
    let file = |tensors| hostile::sharing(&hostile::Sharing { numbers: 1000, each: 1000, tensors });
    assert!(read(&file(3)).is_ok());
    let text = complaint(&file(100));
    assert!(text.contains("too often"), "{text}");
}

/// A value that a few bytes request repeatedly is created once, or is refused; the tests with mutated files bound
/// memory and time.
#[test]
fn what_is_repeated_is_not_copied() {
    for (what, bytes) in hostile::all() {
        let outcome = read(&bytes).map_err(|error| error.to_string());
        let expected = match what {
            "one storage of many tensors" => {
                assert_eq!(outcome.unwrap(), hostile::ones(20_000));
                continue;
            }
            "a long class" => "the name of a class is too long",
            "a long key" => "the key of a storage is too long",
            "a class put together of two texts" => "put together too often",
            "a long dictionary" => "longer than a thousand bytes",
            "many names of one tensor" => "more than two hundred thousand",
            "a shape without end" => "without storage, shape or strides",
            "entries that overlap" => "overlap",
            // These are read, and hold no tensors.
            _ => "no tensors by name",
        };
        let text = outcome.unwrap_err();
        assert!(text.contains(expected), "{what}: {text}");
        assert!(text.len() < 400, "{what}: {text}");
    }
}

/// A tensor that lies transposed, with sides of one between the others.
#[test]
fn values_come_in_row_order_whatever_their_strides() {
    let tensor = begun().raw(b"}").tensor("w", "FloatStorage", "0", [5, 1], [&[1, 2, 1, 2], &[9, 1, 7, 2]]);
    let mut weights = Weights::default();
    weights.insert("w", vec![1, 2, 1, 2], vec![1.0, 3.0, 2.0, 4.0]).unwrap();
    assert_eq!(read(&stored(&tensor.raw(b"s."))).unwrap(), weights);
}

#[test]
fn values_that_refer_to_themselves_end() {
    let cycle = begun().raw(b"}q\x00").text("self").raw(b"h\x00s.");
    assert!(complaint(&stored(&cycle)).contains("no tensors"));
    let deep = (0..50_000).fold(begun(), |pickle, _| pickle.raw(b"}").text("a"));
    let deep = (0..50_000).fold(deep.raw(b"N"), |pickle, _| pickle.raw(b"s"));
    assert!(complaint(&stored(&deep.raw(b"."))).contains("no tensors"));
}

#[test]
fn archives_that_torch_does_not_write_are_named() {
    let pickle = nested();
    let entries: [(&str, &[u8]); 2] = [("a/data.pkl", &pickle.0), ("a/data/0", &floats())];
    assert!(complaint(&zipped(&entries, zip::CompressionMethod::Deflated)).contains("compressed"));
    assert!(complaint(&zipped(&entries[1..], zip::CompressionMethod::Stored)).contains("data.pkl"));
    let script: [(&str, &[u8]); 2] = [("a/data.pkl", &pickle.0), ("a/constants.pkl", b"")];
    assert!(complaint(&zipped(&script, zip::CompressionMethod::Stored)).contains("TorchScript"));
    let big: [(&str, &[u8]); 2] = [("a/data.pkl", &pickle.0), ("a/byteorder", b"big")];
    assert!(complaint(&zipped(&big, zip::CompressionMethod::Stored)).contains("big-endian"));
    assert!(complaint(b"hello").contains("torch.save"));
}
