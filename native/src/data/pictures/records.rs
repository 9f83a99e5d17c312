//! The pictures of a list, read from a file of records by their numbers in the list. [`cache`](super::cache) describes the file.
//!
//! Two numbers must not be confused: the number of a picture is its place in the list that a run reads, the number of a record is
//! its place in the file, which other lists share.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;
use simile_core::data::{DatasetError, ImageFile, ImageShape, ImageSource};

use super::decode::read_into;
use super::index::{Index, RecordLocation};
use super::layout::{BROKEN_STRETCH, CRC_BYTES, Key, Layout};
use super::list::PictureList;
use super::resize::ResizeSpec;
use crate::console::line;
use crate::positioned::read_at;

/// The reasons for which the system did not read some pictures. These have no record.
pub(super) type Unread = HashMap<Key, String>;

/// The keys and the sizes in bytes of the files of a list, in its order, and those that the system did not read.
pub(super) struct KeyedFiles<'a> {
    pub(super) keys: &'a [Key],
    pub(super) sizes: &'a [u64],
    pub(super) unread: &'a Unread,
}

/// The pictures of a list in an open file of records. Any number of threads read it.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    file: File,
    layout: Layout,
    /// The folder of the pictures.
    root: PathBuf,
    /// The path of each picture of the list, below that folder.
    files: Vec<String>,
    /// The size of the file of each picture in bytes.
    sizes: Vec<u64>,
    /// The key of each picture, and the number of its record.
    records: Vec<(Key, u32)>,
    /// The stretch of each picture, if the fit keeps it; 1 of a picture that cannot be read.
    stretches: Option<Vec<f32>>,
    /// The numbers of the pictures that cannot be read, ascending.
    unreadable: Vec<usize>,
    /// Those of them that the system did not read, so that they have no record.
    unread: Unread,
}

impl RecordFile {
    /// The pictures of a list in the file at `path`; none if the file lacks one of them that is not `unread`.
    pub(super) fn of(
        index: Index,
        path: &Path,
        layout: &Layout,
        list: PictureList<'_>,
        &KeyedFiles { keys, sizes, unread }: &KeyedFiles<'_>,
    ) -> Option<Self> {
        // Callers leave unreadable pictures out, so that nobody reads the record that an unread one has here.
        let no_record = RecordLocation { record: 0, stretch: BROKEN_STRETCH };
        let location =
            |key: &Key| index.location(key).or_else(|| unread.contains_key(key).then_some(no_record));
        let locations: Vec<RecordLocation> = keys.iter().map(location).collect::<Option<_>>()?;
        let is_unreadable = |location: &RecordLocation| location.stretch == BROKEN_STRETCH;
        let stretch =
            |location: &RecordLocation| if is_unreadable(location) { 1.0 } else { location.stretch };
        Some(Self {
            path: path.into(),
            file: index.file,
            layout: layout.clone(),
            root: list.root.into(),
            files: list.files.to_vec(),
            sizes: sizes.to_vec(),
            records: keys.iter().zip(&locations).map(|(&key, location)| (key, location.record)).collect(),
            stretches: layout.resize.fit.keeps_shape().then(|| locations.iter().map(stretch).collect()),
            unreadable: (0..)
                .zip(&locations)
                .filter(|(_, location)| is_unreadable(location))
                .map(|(at, _)| at)
                .collect(),
            unread: unread.clone(),
        })
    }

    /// The numbers of the pictures that cannot be read, ascending, with the reasons.
    pub(super) fn broken(&self) -> Vec<(usize, String)> {
        let mut bytes = Vec::new();
        let mut reason = |number: usize| {
            if let Some(reason) = self.records.get(number).and_then(|(key, _)| self.unread.get(key)) {
                return reason.clone();
            }
            match self.read_record(number, self.layout.resize.bytes(), &mut bytes) {
                Ok(reason) => String::from_utf8_lossy(reason).trim_end_matches('\0').to_owned(),
                Err(_) => "it could not be read".into(),
            }
        };
        self.unreadable.iter().map(|&number| (number, reason(number))).collect()
    }

    /// The `size` bytes of the record of a picture before its checksum, which is verified: its pixels, or the reason for which
    /// it is broken.
    fn read_record<'b>(
        &self,
        number: usize,
        size: usize,
        bytes: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], String> {
        bytes.resize(size + CRC_BYTES, 0);
        let &(key, record) = self.records.get(number).ok_or("there is no such picture")?;
        read_at(&self.file, bytes, self.layout.record_offset(record)).map_err(|error| error.to_string())?;
        let (content, checksum) = bytes.split_at(size);
        if key.checksum_of(content) == checksum { Ok(content) } else { Err("its checksum differs".into()) }
    }

    /// Reads a picture into `pixels`; one whose record is damaged is decoded again.
    fn read_picture(
        &self,
        number: usize,
        bytes: &mut Vec<u8>,
        pixels: &mut [u8],
    ) -> Result<(), DatasetError> {
        match self.read_record(number, pixels.len(), bytes) {
            Ok(content) => {
                pixels.copy_from_slice(content);
                Ok(())
            }
            Err(reason) => self.decode_again(number, &reason, pixels),
        }
    }

    /// Decodes a picture whose record is damaged for the given `reason`, and writes the record again. If only the latter fails, the
    /// pixels are good, and the next reader tries again.
    fn decode_again(&self, number: usize, reason: &str, pixels: &mut [u8]) -> Result<(), DatasetError> {
        let Self { path, root, files, layout, .. } = self;
        let picture = PictureList { root, files }.path(number);
        let record = self.records.get(number).map_or(0, |(_, record)| *record);
        read_into(&picture, layout.resize, pixels).map_err(|picture_error| DatasetError::Unreadable {
            origin: format!("record {record} of {}", path.display()),
            reason: format!(
                "{reason}, and its picture {} cannot be decoded again: {picture_error}; repair the picture, or delete the \
                 file of records and leave unreadable pictures out with data.broken=skip",
                picture.display()
            ),
        })?;
        let note = match self.rewrite(number, pixels) {
            Ok(()) => String::new(),
            Err(error) => format!("; the record stays damaged: {error}"),
        };
        line(format_args!(
            "record {record} of {} is damaged ({reason}); {} is decoded again{note}",
            path.display(),
            picture.display()
        ));
        Ok(())
    }

    /// Writes the record of a picture again. That needs no lock: a record that has an entry never moves, and all runs write the same
    /// bytes.
    fn rewrite(&self, number: usize, pixels: &[u8]) -> io::Result<()> {
        let Some(&(key, record)) = self.records.get(number) else { return Ok(()) };
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        file.seek(SeekFrom::Start(self.layout.record_offset(record)))?;
        file.write_all(&[pixels, &key.checksum_of(pixels)].concat())
    }
}

impl ImageSource for RecordFile {
    fn shape(&self) -> ImageShape {
        let ResizeSpec { side, channels, .. } = self.layout.resize;
        ImageShape { height: side, width: side, channels }
    }

    fn count(&self) -> usize {
        self.records.len()
    }

    fn read(&self, numbers: &[u32], pixels: &mut [u8]) -> Result<(), DatasetError> {
        let size = self.layout.resize.bytes();
        numbers
            .par_iter()
            .zip(pixels.par_chunks_exact_mut(size.max(1)))
            .try_for_each_init(Vec::new, |bytes, (&number, pixels)| {
                self.read_picture(number as usize, bytes, pixels)
            })
    }

    fn stretches(&self) -> Option<&[f32]> {
        self.stretches.as_deref()
    }

    fn file(&self, number: u32) -> Option<ImageFile> {
        let path = self.root.join(self.files.get(number as usize)?).display().to_string();
        Some(ImageFile { path, bytes: *self.sizes.get(number as usize)? })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::super::index::FileState;
    use super::super::writer::{Fault, Writer};
    use super::*;
    use crate::data::keys::values::Fit;

    const RESIZE: ResizeSpec = ResizeSpec { side: 4, channels: 1, fit: Fit::Middle };
    const NAMES: [&str; 3] = ["0.png", "1.png", "2.png"];

    fn keys() -> [Key; 3] {
        NAMES.map(|name| Key::of(name, 1, 2))
    }

    /// A file of three pictures, of which the second cannot be read.
    fn written() -> (tempfile::TempDir, PathBuf, Layout) {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path(), RESIZE);
        let path = place.path().join("deep/a.records");
        let mut writer = Writer::open(&path, &layout, &mut false).unwrap();
        let decoded = [Ok(1.0), Err(Fault::Broken("no picture".into())), Ok(1.0)];
        writer
            .append(&[[7; 16], [0; 16], [9; 16]].concat(), keys().into_iter().zip(decoded).collect())
            .unwrap();
        writer.commit().unwrap();
        (place, path, layout)
    }

    fn open(path: &Path, layout: &Layout, numbers: &[usize]) -> Option<RecordFile> {
        let FileState::Whole(index) = Index::open(path, layout).unwrap() else { return None };
        let files: Vec<String> = numbers.iter().map(|&at| NAMES[at].to_owned()).collect();
        let keys: Vec<Key> = numbers.iter().map(|&at| keys()[at]).collect();
        let list = PictureList { root: path.parent().unwrap(), files: &files };
        let keyed = KeyedFiles { keys: &keys, sizes: &vec![1; files.len()], unread: &Unread::new() };
        RecordFile::of(index, path, layout, list, &keyed)
    }

    #[test]
    fn pictures_come_back_in_any_order_and_selection() {
        let (_place, path, layout) = written();
        let all = open(&path, &layout, &[0, 1, 2]).unwrap();
        assert_eq!((all.count(), all.broken()), (3, vec![(1, "no picture".to_owned())]));
        let mut pixels = [0; 48];
        all.read(&[2, 0, 2], &mut pixels).unwrap();
        assert_eq!([pixels[0], pixels[16], pixels[47]], [9, 7, 9]);
        let some = open(&path, &layout, &[2, 1]).unwrap();
        assert_eq!((some.count(), some.broken()), (2, vec![(1, "no picture".to_owned())]));
        some.read(&[0], &mut pixels[..16]).unwrap();
        assert_eq!(pixels[..16], [9; 16]);
        assert!(open(&path.with_extension("none"), &layout, &[0]).is_none());
        let other = Layout::new(path.parent().unwrap(), RESIZE);
        assert!(matches!(Index::open(&path, &other).unwrap(), FileState::Damaged));
    }

    #[test]
    fn no_damage_gives_other_pixels() {
        let (_place, path, layout) = written();
        let good = fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let mut pixels = [0; 32];
            // A picture whose entry is lost is missing, one whose record is damaged cannot be decoded again here.
            let read = open(&path, &layout, &[0, 2])?.read(&[0, 1], &mut pixels);
            read.is_ok().then_some(pixels)
        };
        let pixels = read(&good).unwrap();
        let of_others = layout.record_offset(1)..layout.record_offset(2);
        let unused = layout.entry_offset(3)..layout.record_offset(0);
        for at in (0..good.len() as u64).filter(|at| !of_others.contains(at) && !unused.contains(at)) {
            let mut bytes = good.clone();
            bytes[at as usize] ^= 1;
            let is_of_second = (layout.entry_offset(1)..layout.entry_offset(2)).contains(&at);
            assert_eq!(read(&bytes), is_of_second.then_some(pixels), "byte {at}");
        }
        for at in (0..good.len()).step_by(499) {
            assert_eq!(read(&good[..at]), None, "{at} bytes");
        }
    }

    #[test]
    fn a_damaged_record_is_decoded_again_and_kept() {
        let (_place, path, layout) = written();
        let picture = path.with_file_name("2.png");
        image::GrayImage::from_raw(4, 4, vec![9; 16]).unwrap().save(&picture).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let good = bytes.clone();
        bytes[layout.record_offset(2) as usize] ^= 64;
        fs::write(&path, &bytes).unwrap();
        let mut pixels = [0; 16];
        let read = |number, pixels: &mut [u8]| {
            open(&path, &layout, &[0, 1, 2])
                .unwrap()
                .read(&[number], pixels)
                .map_err(|error| error.to_string())
        };
        read(2, &mut pixels).unwrap();
        assert_eq!((pixels, fs::read(&path).unwrap()), ([9; 16], good));

        fs::write(&path, &bytes).unwrap();
        fs::remove_file(&picture).unwrap();
        let error = read(2, &mut pixels).unwrap_err();
        assert!(
            error.contains("record 2 of") && error.contains("2.png") && error.contains("checksum"),
            "{error}"
        );
        assert!(read(0, &mut pixels).is_ok());
    }
}
