//! The writer of `metrics.jsonl`.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::run_folder::digest::{Digest, REMEDY};
use crate::run_folder::folder::{METRICS, RunFolder};
use crate::run_folder::record::Measurement;

/// `metrics.jsonl`, open for appending.
pub(crate) struct MetricsLog {
    file: BufWriter<File>,
    path: PathBuf,
    written: Digest,
}

impl MetricsLog {
    /// Opens the log and truncates it after the lines of `digest`, so that a resumed run writes the lines
    /// after its checkpoint again.
    ///
    /// # Errors
    /// If it cannot be opened, or does not begin with those lines.
    pub(crate) fn open(folder: &RunFolder, digest: Digest) -> Result<Self> {
        let path = folder.path(METRICS);
        if digest.bytes > 0 {
            let bytes = folder.read(METRICS)?;
            let lines = usize::try_from(digest.bytes).ok().and_then(|end| bytes.get(..end));
            anyhow::ensure!(
                lines.is_some_and(|lines| Digest::of(lines) == digest),
                "{} is damaged: it does not begin with the lines that the run wrote; {REMEDY}",
                path.display()
            );
        }
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.and_then(|file| file.set_len(digest.bytes).map(|()| file));
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self { file: BufWriter::new(file), path, written: digest })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn append(&mut self, measurement: &Measurement) -> Result<()> {
        let line = serde_json::to_string(measurement)? + "\n";
        self.file
            .write_all(line.as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.written = self.written.followed_by(line.as_bytes());
        Ok(())
    }

    /// Passes every line to the system, so that others can read it.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn show(&mut self) -> Result<()> {
        self.file.flush().with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Writes every line to the disk and returns the digest of the file.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn flush(&mut self) -> Result<Digest> {
        let on_disk = |file: &mut BufWriter<File>| file.flush().and_then(|()| file.get_ref().sync_data());
        on_disk(&mut self.file).with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(self.written)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn measurement(iteration: usize) -> Measurement {
        Measurement { variant: "a".into(), iteration, loss: 1.0 / 3.0, learning_rate: 0.1 }
    }

    #[test]
    fn a_resumed_log_repeats_no_line_and_goes_on_after_none_but_its_own() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let mut log = MetricsLog::open(&folder, Digest::default()).unwrap();
        log.append(&measurement(1)).unwrap();
        let first_line = log.flush().unwrap();
        log.append(&measurement(2)).unwrap();
        log.flush().unwrap();
        drop(log);
        let mut log = MetricsLog::open(&folder, first_line).unwrap();
        log.append(&measurement(3)).unwrap();
        let both = log.flush().unwrap();
        assert_eq!(folder.measurements().unwrap(), [measurement(1), measurement(3)]);

        let text = fs::read_to_string(folder.path(METRICS)).unwrap();
        for damaged in [text.replace("0.33", "0.34"), text[..text.len() - 1].to_owned()] {
            fs::write(folder.path(METRICS), &damaged).unwrap();
            assert!(
                MetricsLog::open(&folder, both).is_err_and(|error| error.to_string().contains("damaged"))
            );
            assert_eq!(fs::read_to_string(folder.path(METRICS)).unwrap(), damaged, "it is left as it is");
        }
    }
}
