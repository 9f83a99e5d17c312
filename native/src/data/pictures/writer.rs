//! A file of records in the making: `NAME.part`, and `NAME.journal` with the number of its records that lie safely on the
//! disk. Decoding that was interrupted goes on after these.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::records::{Contents, MAGIC, offset, stride, tail};
use super::resize::ResizeSpec;
use crate::console::line;
use crate::data::settings::Fit;

/// Time between two entries of the journal: so much work an interruption costs at most.
const INTERVAL: Duration = Duration::from_secs(10);

/// Bytes that are written at once.
const WRITTEN: usize = 1 << 20;

/// The stretch of a decoded picture, if it is kept, or the reason for which it cannot be read.
pub(super) type Decoded = Result<Option<f32>, String>;

/// Writes records one after the other.
pub(super) struct Writer {
    file: File,
    part: PathBuf,
    journal: PathBuf,
    /// Of the records that were written.
    contents: Contents,
    /// Number of records in the end.
    total: usize,
    /// Time of the last entry of the journal.
    kept: Instant,
}

impl Writer {
    /// Begins the file at `path`, or goes on with it. Waits while another process writes it; `None` if that has completed it.
    ///
    /// # Errors
    /// If its folder cannot be written to.
    pub(super) fn resume(path: &Path, total: usize, resize: ResizeSpec) -> io::Result<Option<Self>> {
        let (part, journal) = (path.with_extension("part"), path.with_extension("journal"));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&part)?;
        // Where files cannot be locked, two processes write the same bytes.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            line("another run decodes the same pictures; waiting for it");
            let _ = file.lock();
        }
        if path.exists() {
            let _ = fs::remove_file(&part);
            return Ok(None);
        }
        let nothing = Contents { records: 0, resize, broken: Vec::new(), stretches: Vec::new() };
        let written = fs::read(&journal).ok().and_then(|json| serde_json::from_slice::<Contents>(&json).ok());
        let whole = |written: &Contents| {
            let length = file.metadata().map_or(0, |known| known.len());
            let fits = written.resize == resize && written.records <= total;
            fits && length >= offset(resize, written.records)
        };
        let contents = written.filter(whole).unwrap_or(nothing);
        file.write_all(MAGIC)?;
        file.set_len(offset(resize, contents.records))?;
        file.seek(SeekFrom::End(0))?;
        Ok(Some(Self { file, part, journal, contents, total, kept: Instant::now() }))
    }

    /// Number of records that are written.
    pub(super) fn records(&self) -> usize {
        self.contents.records
    }

    /// Bytes that are still to be written.
    pub(super) fn missing(&self) -> u64 {
        let left = self.total.saturating_sub(self.records());
        (left as u64).saturating_mul(stride(self.contents.resize))
    }

    /// Adds the records of further pictures, with the stretch of each, or the reason for which it cannot be read.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(super) fn append(&mut self, pixels: &[u8], found: Vec<Decoded>) -> io::Result<()> {
        let size = self.contents.resize.bytes().max(1);
        let mut bytes = Vec::new();
        for record in pixels.chunks_exact(size) {
            bytes.extend_from_slice(record);
            bytes.extend_from_slice(&crc32c::crc32c(record).to_le_bytes());
            if bytes.len() >= WRITTEN {
                self.file.write_all(&bytes)?;
                bytes.clear();
            }
        }
        self.file.write_all(&bytes)?;
        for picture in found {
            let keeps_stretch = self.contents.resize.fit == Fit::Aspect;
            let stretch = *picture.as_ref().unwrap_or(&None);
            self.contents.stretches.extend(keeps_stretch.then_some(stretch.unwrap_or(1.0)));
            let record = self.contents.records;
            self.contents.broken.extend(picture.err().map(|reason| (record, reason)));
            self.contents.records += 1;
        }
        if self.kept.elapsed() >= INTERVAL {
            self.keep()?;
        }
        Ok(())
    }

    /// Writes the journal, after the records lie on the disk.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(super) fn keep(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let folder = self.journal.parent().unwrap_or_else(|| Path::new("."));
        let mut journal = tempfile::NamedTempFile::new_in(folder)?;
        journal.write_all(&serde_json::to_vec(&self.contents)?)?;
        journal.persist(&self.journal)?;
        self.kept = Instant::now();
        Ok(())
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(super) fn finish(mut self, path: &Path) -> io::Result<()> {
        self.file.write_all(&tail(&self.contents)?)?;
        self.file.sync_data()?;
        // Its lock is held until it has its name.
        fs::rename(&self.part, path)?;
        let _ = fs::remove_file(&self.journal);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const RESIZE: ResizeSpec = ResizeSpec { side: 1, channels: 2, fit: Fit::Middle };

    #[test]
    fn an_interrupted_file_goes_on_after_its_journal_and_ends_the_same() {
        let place = tempfile::tempdir().unwrap();
        let (at_once, interrupted) = (place.path().join("a.records"), place.path().join("b.records"));
        let mut writer = Writer::resume(&at_once, 4, RESIZE).unwrap().unwrap();
        writer
            .append(&[1, 2, 0, 0, 5, 6, 7, 8], vec![Ok(None), Err("lost".into()), Ok(None), Ok(None)])
            .unwrap();
        writer.finish(&at_once).unwrap();

        let mut writer = Writer::resume(&interrupted, 4, RESIZE).unwrap().unwrap();
        assert_eq!((writer.records(), writer.missing()), (0, 4 * 6));
        writer.append(&[1, 2, 0, 0], vec![Ok(None), Err("lost".into())]).unwrap();
        writer.keep().unwrap();
        // These are written, but not in the journal.
        writer.append(&[9, 9], vec![Ok(None)]).unwrap();
        drop(writer);
        let mut writer = Writer::resume(&interrupted, 4, RESIZE).unwrap().unwrap();
        assert_eq!((writer.records(), writer.missing()), (2, 2 * 6));
        writer.append(&[5, 6, 7, 8], vec![Ok(None); 2]).unwrap();
        writer.finish(&interrupted).unwrap();
        assert_eq!(fs::read(&at_once).unwrap(), fs::read(&interrupted).unwrap());
        assert!(Writer::resume(&interrupted, 4, RESIZE).unwrap().is_none());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "neither part nor journal is left");
    }

    #[test]
    fn a_journal_that_promises_more_than_there_is_begins_anew() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.records");
        let mut writer = Writer::resume(&path, 4, RESIZE).unwrap().unwrap();
        writer.append(&[1, 2, 3, 4], vec![Ok(None); 2]).unwrap();
        writer.keep().unwrap();
        drop(writer);
        let part = path.with_extension("part");
        let bytes = fs::read(&part).unwrap();
        fs::write(&part, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(Writer::resume(&path, 4, RESIZE).unwrap().unwrap().records(), 0);
        let other = ResizeSpec { channels: 1, ..RESIZE };
        fs::write(&part, bytes).unwrap();
        assert_eq!(Writer::resume(&path, 4, other).unwrap().unwrap().records(), 0);
    }
}
