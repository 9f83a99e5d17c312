//! Scalars for TensorBoard: one event file a variant and session, in `tensorboard/VARIANT` of the run folder.
//!
//! A file is a sequence of records, each its length, a checksum of the length, a protocol buffer, and a checksum of
//! that; the checksums are CRC-32C, masked.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use prost::Message;

use crate::names::slug;
use crate::run_folder::folder::RunFolder;

/// Folder of the event files in a run folder: `tensorboard --logdir RUN/tensorboard`.
const EVENTS: &str = "tensorboard";

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Scalar>,
}

#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    /// Always written, 0 included: TensorBoard shows no value where there is none.
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// An event file, open for writing.
pub(crate) struct EventLog {
    file: BufWriter<File>,
    path: PathBuf,
}

impl EventLog {
    /// Creates a file for a variant. A resumed run creates another one; TensorBoard reads all of them.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn open(folder: &RunFolder, variant: &str) -> Result<Self> {
        let now = since_epoch();
        let place = folder.path(EVENTS).join(slug(variant));
        let path =
            place.join(format!("events.out.tfevents.{:010}.simile.{}", now as u64, std::process::id()));
        let opened = || -> io::Result<File> {
            fs::create_dir_all(&place)?;
            File::create(&path)
        };
        let file = opened().with_context(|| format!("cannot write {}", path.display()))?;
        let mut log = Self { file: BufWriter::new(file), path };
        log.write(&Event { wall_time: now, file_version: Some("brain.Event:2".into()), ..Event::default() })?;
        Ok(log)
    }

    /// Adds values by name at an iteration.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn scalars<'a>(
        &mut self,
        iteration: usize,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<()> {
        let scalar = |(tag, value): (&str, f64)| Scalar { tag: tag.into(), simple_value: Some(value as f32) };
        let summary = Summary { value: values.into_iter().map(scalar).collect() };
        let step = i64::try_from(iteration).unwrap_or(i64::MAX);
        self.write(&Event { wall_time: since_epoch(), step, summary: Some(summary), ..Event::default() })
    }

    /// Passes everything to the system, so that TensorBoard shows it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn show(&mut self) -> Result<()> {
        self.file.flush().with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn write(&mut self, event: &Event) -> Result<()> {
        let bytes = record(&event.encode_to_vec());
        self.file.write_all(&bytes).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

fn record(event: &[u8]) -> Vec<u8> {
    let length = (event.len() as u64).to_le_bytes();
    [length.as_slice(), &masked(&length), event, &masked(event)].concat()
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// Seconds since 1970, as TensorBoard counts.
fn since_epoch() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_reads_back_record_by_record() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let mut log = EventLog::open(&folder, "Fair-CCLK").unwrap();
        log.scalars(7, [("loss", 0.5), ("top1", 0.0)]).unwrap();
        log.show().unwrap();
        let bytes = fs::read(&log.path).unwrap();
        let (mut at, mut events) = (0, Vec::new());
        while at < bytes.len() {
            let length = &bytes[at..at + 8];
            assert_eq!(bytes[at + 8..at + 12], masked(length));
            let event = &bytes[at + 12..at + 12 + u64::from_le_bytes(length.try_into().unwrap()) as usize];
            at += 12 + event.len();
            assert_eq!(bytes[at..at + 4], masked(event));
            at += 4;
            events.push(Event::decode(event).unwrap());
        }
        assert_eq!(events[0].file_version.as_deref(), Some("brain.Event:2"));
        assert_eq!((events[1].step, events.len()), (7, 2));
        let values = &events[1].summary.as_ref().unwrap().value;
        let values: Vec<_> = values.iter().map(|value| (value.tag.as_str(), value.simple_value)).collect();
        assert_eq!(values, [("loss", Some(0.5)), ("top1", Some(0.0))]);
    }

    #[test]
    fn the_checksum_is_the_one_of_the_format() {
        // Computed with TensorBoard's `masked_crc32c`.
        assert_eq!(masked(b"simile"), 0xcd51_bd5a_u32.to_le_bytes());
    }
}
