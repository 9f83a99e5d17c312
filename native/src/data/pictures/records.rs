//! A file of decoded pictures: records of one size that are read by their numbers.
//!
//! ```text
//! SIMILE02 | pixels, their CRC-32C | pixels, their CRC-32C | ...
//!          | contents (JSON) | their length (u64) | their CRC-32C | SIMILE02
//! ```
//!
//! Numbers are little-endian; a CRC-32C is a u32. There is a record for each picture file, in their order. That of a picture
//! which cannot be read is zero, and the contents name it. A file begins as a `.part` (see [`writer`](super::writer)), so that
//! a file of another name is complete.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;
use serde::{Deserialize, Serialize};
use simile_core::data::{DatasetError, ImageShape, ImageSource};

use super::decode::read_into;
use super::resize::ResizeSpec;
use crate::console::line;
use crate::data::settings::Fit;
use crate::positioned::read_at;

pub(super) const MAGIC: &[u8; 8] = b"SIMILE02";
/// Bytes of a CRC-32C.
pub(super) const CRC: usize = 4;
/// Bytes after the contents.
const TAIL: u64 = (8 + CRC + MAGIC.len()) as u64;
/// Most bytes of contents; those of a million unreadable pictures take a tenth.
const MOST_CONTENTS: u64 = 1 << 30;

/// The description of a file, or of the part of one that is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Contents {
    /// Number of records, one for each picture file.
    pub(super) records: usize,
    #[serde(flatten)]
    pub(super) resize: ResizeSpec,
    /// The numbers of unreadable pictures, ascending, with the reasons.
    pub(super) broken: Vec<(usize, String)>,
    /// The stretch of each picture, if it is kept; 1 of one that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) stretches: Vec<f32>,
}

/// Bytes of a record with its checksum.
pub(super) fn stride(resize: ResizeSpec) -> u64 {
    (resize.bytes() + CRC) as u64
}

/// The place of a record in its file.
pub(super) fn offset(resize: ResizeSpec, record: usize) -> u64 {
    MAGIC.len() as u64 + record as u64 * stride(resize)
}

/// The end of a file.
pub(super) fn tail(contents: &Contents) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(contents)?;
    let (length, sum) = ((json.len() as u64).to_le_bytes(), crc32c::crc32c(&json).to_le_bytes());
    Ok([&json, &length[..], &sum, MAGIC].concat())
}

/// The result of a look-up.
#[derive(Debug)]
pub(super) enum Found {
    Whole(RecordFile),
    Nothing,
    /// A file that is no whole one of these pictures.
    Damaged,
}

/// An open file of records. Any number of threads read it.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    file: File,
    contents: Contents,
    /// The folder of the pictures.
    root: PathBuf,
    /// The picture of each record.
    pictures: Vec<String>,
}

impl RecordFile {
    /// Opens the file of pictures; only its end is read.
    pub(super) fn open(path: &Path, root: &Path, pictures: &[String], resize: ResizeSpec) -> Found {
        let Ok(mut file) = File::open(path) else { return Found::Nothing };
        match contents(&mut file) {
            Some((contents, start))
                if contents.records == pictures.len()
                    && contents.resize == resize
                    && start == offset(resize, pictures.len()) =>
            {
                let (path, root, pictures) = (path.into(), root.into(), pictures.to_vec());
                Found::Whole(Self { path, file, contents, root, pictures })
            }
            _ => Found::Damaged,
        }
    }

    /// The stretch of each picture, if it is kept.
    pub(super) fn stretches(&self) -> Option<Vec<f32>> {
        (self.contents.resize.fit == Fit::Aspect).then(|| self.contents.stretches.clone())
    }

    /// The numbers of unreadable pictures, ascending, with the reasons.
    pub(super) fn broken(&self) -> &[(usize, String)] {
        &self.contents.broken
    }

    /// Reads a record into `pixels`; one that is damaged is decoded again.
    fn record(&self, record: usize, bytes: &mut Vec<u8>, pixels: &mut [u8]) -> Result<(), DatasetError> {
        bytes.resize(pixels.len() + CRC, 0);
        let read = read_at(&self.file, bytes, offset(self.contents.resize, record));
        let (stored, sum) = bytes.split_at(pixels.len());
        if read.is_ok() && crc32c::crc32c(stored).to_le_bytes() == sum {
            pixels.copy_from_slice(stored);
            return Ok(());
        }
        let reason = read.err().map_or_else(|| "its checksum differs".into(), |error| error.to_string());
        self.decode_again(record, &reason, pixels)
    }

    fn decode_again(&self, record: usize, reason: &str, pixels: &mut [u8]) -> Result<(), DatasetError> {
        let Self { path, root, pictures, contents, .. } = self;
        let picture = root.join(pictures.get(record).map_or("", String::as_str));
        read_into(&picture, contents.resize, pixels).map_err(|of_picture| DatasetError::Unreadable {
            origin: format!("record {record} of {}", path.display()),
            reason: format!(
                "{reason}, and its picture {} cannot be decoded again: {of_picture}; repair the picture, or delete the \
                 file of records and leave unreadable pictures out with data.broken=skip",
                picture.display()
            ),
        })?;
        let kept = match self.rewrite(record, pixels) {
            Ok(()) => String::new(),
            Err(error) => format!("; the record stays damaged: {error}"),
        };
        line(format_args!(
            "record {record} of {} is damaged ({reason}); {} is decoded again{kept}",
            path.display(),
            picture.display()
        ));
        Ok(())
    }

    fn rewrite(&self, record: usize, pixels: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        file.seek(SeekFrom::Start(offset(self.contents.resize, record)))?;
        file.write_all(&[pixels, &crc32c::crc32c(pixels).to_le_bytes()].concat())
    }
}

impl ImageSource for RecordFile {
    fn shape(&self) -> ImageShape {
        let ResizeSpec { side, channels, .. } = self.contents.resize;
        ImageShape { height: side, width: side, channels }
    }

    fn count(&self) -> usize {
        self.contents.records
    }

    fn read(&self, numbers: &[u32], pixels: &mut [u8]) -> Result<(), DatasetError> {
        let size = self.contents.resize.bytes();
        numbers
            .par_iter()
            .zip(pixels.par_chunks_exact_mut(size.max(1)))
            .try_for_each_init(Vec::new, |bytes, (&number, pixels)| {
                self.record(number as usize, bytes, pixels)
            })
    }

    fn file(&self, number: u32) -> Option<String> {
        Some(self.root.join(self.pictures.get(number as usize)?).display().to_string())
    }
}

/// The contents at the end of a file and the place where they begin, if their checksum is right.
fn contents(file: &mut File) -> Option<(Contents, u64)> {
    let length = file.metadata().ok()?.len();
    let mut tail = [0; TAIL as usize];
    file.seek(SeekFrom::Start(length.checked_sub(TAIL)?)).ok()?;
    file.read_exact(&mut tail).ok()?;
    let (of_json, rest) = tail.split_first_chunk::<8>()?;
    let (sum, magic) = rest.split_first_chunk::<CRC>()?;
    let of_json = u64::from_le_bytes(*of_json);
    let start = length.checked_sub(TAIL)?.checked_sub(of_json).filter(|_| of_json <= MOST_CONTENTS)?;
    let mut json = vec![0; usize::try_from(of_json).ok()?];
    file.seek(SeekFrom::Start(start)).ok()?;
    file.read_exact(&mut json).ok()?;
    let mut head = [0; MAGIC.len()];
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_exact(&mut head).ok()?;
    if magic != &MAGIC[..] || head != *MAGIC || crc32c::crc32c(&json).to_le_bytes() != *sum {
        return None;
    }
    Some((serde_json::from_slice(&json).ok()?, start))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::super::writer::Writer;
    use super::*;

    const RESIZE: ResizeSpec = ResizeSpec { side: 2, channels: 1, fit: Fit::Middle };

    /// A file of three records, of which the second is of an unreadable picture.
    fn written() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deep/a.records");
        let mut writer = Writer::resume(&path, 3, RESIZE).unwrap().unwrap();
        let found = vec![Ok(None), Err("no picture".into()), Ok(None)];
        writer.append(&[1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8], found).unwrap();
        writer.finish(&path).unwrap();
        (place, path)
    }

    fn open(path: &Path) -> Found {
        let pictures = ["0.png", "1.png", "2.png"].map(String::from);
        RecordFile::open(path, path.parent().unwrap(), &pictures, RESIZE)
    }

    fn whole(path: &Path) -> RecordFile {
        match open(path) {
            Found::Whole(file) => file,
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn records_come_back_in_any_order() {
        let (_place, path) = written();
        let file = whole(&path);
        assert_eq!((file.count(), file.broken()), (3, &[(1, "no picture".to_owned())][..]));
        let mut pixels = [9; 12];
        file.read(&[2, 0, 2], &mut pixels).unwrap();
        assert_eq!(pixels, [5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(matches!(open(&path.with_extension("none")), Found::Nothing));
        let two = ["0.png", "1.png"].map(String::from);
        assert!(matches!(RecordFile::open(&path, Path::new("."), &two, RESIZE), Found::Damaged));
    }

    #[test]
    fn every_damage_is_noticed() {
        let (_place, path) = written();
        let good = fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            match open(&path) {
                Found::Whole(file) => file.read(&[0, 1, 2], &mut [0; 12]).is_ok(),
                _ => false,
            }
        };
        assert!(read(&good));
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            assert!(!read(&bytes), "byte {at}");
            assert!(!read(&good[..at]), "{at} bytes");
        }
    }

    #[test]
    fn a_damaged_record_is_decoded_again_and_kept() {
        let (_place, path) = written();
        let picture = path.with_file_name("2.png");
        image::GrayImage::from_raw(2, 2, vec![5, 6, 7, 8]).unwrap().save(&picture).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let good = bytes.clone();
        bytes[offset(RESIZE, 2) as usize] ^= 64;
        fs::write(&path, &bytes).unwrap();
        let mut pixels = [0; 4];
        whole(&path).read(&[2], &mut pixels).unwrap();
        assert_eq!((pixels, fs::read(&path).unwrap()), ([5, 6, 7, 8], good));

        fs::write(&path, &bytes).unwrap();
        fs::remove_file(&picture).unwrap();
        let error = whole(&path).read(&[2], &mut pixels).unwrap_err().to_string();
        assert!(
            error.contains("record 2 of") && error.contains("2.png") && error.contains("checksum"),
            "{error}"
        );
        assert!(whole(&path).read(&[0], &mut pixels).is_ok());
    }
}
