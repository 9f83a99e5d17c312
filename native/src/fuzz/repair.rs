//! Corrects checksums and lengths, so that a mutation reaches the code behind those checks.

use std::io::{Cursor, Write as _};

use flate2::Crc;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

/// Leaves one file in four unchanged, so that the checks of checksums are tested too.
pub(super) fn mostly(
    bytes: Vec<u8>,
    draw: &mut ChaCha8Rng,
    repair: impl FnOnce(Vec<u8>) -> Vec<u8>,
) -> Vec<u8> {
    if draw.random_bool(0.25) { bytes } else { repair(bytes) }
}

/// The checksums of a PNG's chunks.
pub(super) fn png(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = 8;
    while let Some(length) = bytes.get(at..at + 4).and_then(|length| length.try_into().ok()) {
        let end = at + 8 + u32::from_be_bytes(length) as usize;
        let Some(chunk) = bytes.get(at + 4..end) else { break };
        let mut sum = Crc::new();
        sum.update(chunk);
        let sum = sum.sum().to_be_bytes();
        let Some(place) = bytes.get_mut(end..end + 4) else { break };
        place.copy_from_slice(&sum);
        at = end + 4;
    }
    bytes
}

/// The checksums of a tar file's headers.
pub(super) fn tar(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Some(header) = bytes.get_mut(at..at + 512) {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let digits = std::str::from_utf8(&header[124..135]).unwrap_or_default().trim_matches([' ', '\0']);
        let size = usize::from_str_radix(digits, 8).unwrap_or_default();
        at += 512 + size.min(1 << 20).next_multiple_of(512);
    }
    bytes
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

/// An archive whose entries are stored as they are.
pub(super) fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        || zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in entries {
        let begun = writer.start_file(*name, options()).is_ok();
        if !begun || writer.write_all(bytes).is_err() {
            break;
        }
    }
    writer.finish().map(Cursor::into_inner).unwrap_or_default()
}
