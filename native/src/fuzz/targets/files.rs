//! Compressed files: archives, gzip files and pictures.

use super::super::repair;
use super::{Target, emptied, file, place, said};
use crate::data::keys::values::Fit;
use crate::data::{ResizeSpec, parsers, read_picture};

pub(super) fn targets() -> Vec<Target> {
    vec![
        Target::new("zip", ZIP, |bytes| run_archive("a.zip", bytes)),
        Target {
            repair: |bytes, draw| repair::mostly(bytes, draw, repair::tar),
            ..Target::new("tar", TAR, |bytes| run_archive("a.tar", bytes))
        },
        Target {
            repair: |bytes, draw| repair::mostly(bytes, draw, repair::tar),
            ..Target::new("tar-gz", TAR, |bytes| run_archive("a.tar.gz", &repair::gzip(bytes)))
        },
        Target::new("gzip", &[b"\x1f\x8b\x08\0", b"\x1f\x8b\x08\x1c"], |bytes| {
            said(parsers::gzip(&file("a.gz", bytes)));
        }),
        Target {
            repair: |bytes, draw| repair::mostly(bytes, draw, repair::png),
            ..Target::new("png", PNG, run_picture)
        },
        Target::new("jpeg", JPEG, run_picture),
        Target::new("webp", WEBP, run_picture),
    ]
}

const ZIP: &[&[u8]] = &[
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"PK\x07\x08",
    b"../../../evil",
    b"/etc/evil",
    b"a\\..\\..\\evil",
    b"C:\\evil",
    b"\0\0\xff\xa1",
];

const TAR: &[&[u8]] = &[
    b"ustar\0",
    b"../../../evil",
    b"/etc/evil",
    b"././@LongLink",
    b"././@PaxHeader",
    b"77777777777\0",
    b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    b"1",
    b"2",
    b"L",
    b"x",
    b"g",
    b"S",
    b"30 path=../../evil\n",
    b"20 size=99999999999\n",
];

const PNG: &[&[u8]] = &[
    b"IHDR",
    b"IDAT",
    b"PLTE",
    b"tRNS",
    b"IEND",
    b"iCCP",
    b"zTXt",
    b"iTXt",
    b"eXIf",
    b"acTL",
    b"fcTL",
    b"fdAT",
    b"\0\0\xff\xff\0\0\xff\xff\x08\x06",
    b"\x7f\xff\xff\xff",
];

const JPEG: &[&[u8]] = &[
    b"\xff\xd8",
    b"\xff\xd9",
    b"\xff\xc0",
    b"\xff\xc2",
    b"\xff\xc4",
    b"\xff\xda",
    b"\xff\xdb",
    b"\xff\xdd",
    b"\xff\xe0",
    b"\xff\xe1",
    b"\xff\xee",
    b"\xff\xd0",
    b"\xff\xff\xff\xff",
];

const WEBP: &[&[u8]] = &[
    b"RIFF",
    b"WEBP",
    b"VP8 ",
    b"VP8L",
    b"VP8X",
    b"ALPH",
    b"ANIM",
    b"ANMF",
    b"ICCP",
    b"EXIF",
    b"\xff\xff\xff\x3f",
];

/// Unpacks an archive; nothing may be written outside the target folder.
fn run_archive(name: &str, bytes: &[u8]) {
    let (archive, place) = (file(name, bytes), place());
    let inside = place.join("in");
    emptied(&inside);
    said(parsers::unpack(&archive, &inside));
    let beside: Vec<_> = std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(beside.iter().all(|entry| entry == "in" || entry == name), "{beside:?}");
    said(parsers::members(&archive, &["a.txt", "labels.npy"]));
}

fn run_picture(bytes: &[u8]) {
    let path = file("picture", bytes);
    for fit in [Fit::Middle, Fit::Whole, Fit::Aspect, Fit::Crops] {
        let resize = ResizeSpec { side: 8, channels: 3, fit };
        if let Some(images) = said(read_picture(&path, resize)) {
            assert_eq!(images.pixels.len(), 8 * 8 * 3);
        }
    }
}
