//! A file of the stages of steps in the trace event format, which Perfetto and `chrome://tracing` open.

use std::io::{self, BufWriter, IntoInnerError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::spans::RecordedStages;
use crate::run_folder::atomic_file::AtomicFile;

/// A file in the making, which leaves an earlier one as it is until it is whole.
pub(super) struct TraceFile {
    file: AtomicFile,
    path: PathBuf,
    events: Vec<TraceEvent>,
    variants: u64,
}

/// An event of the format: a stage (`X`), or the name of a process or of a thread (`M`). Times are microseconds.
#[derive(Serialize)]
struct TraceEvent {
    name: &'static str,
    ph: &'static str,
    pid: u64,
    tid: u64,
    ts: f64,
    dur: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Name>,
}

#[derive(Serialize)]
struct Name {
    name: String,
}

impl TraceEvent {
    /// The name of a process or of one of its threads.
    fn naming(kind: &'static str, (pid, tid): (u64, u64), name: &str) -> Self {
        let args = Some(Name { name: name.to_owned() });
        Self { name: kind, ph: "M", pid, tid, ts: 0.0, dur: 0.0, args }
    }
}

/// The number of the thread at a place.
fn tid(place: usize) -> u64 {
    place as u64 + 1
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    trace_events: &'a [TraceEvent],
    display_time_unit: &'static str,
}

impl TraceFile {
    /// Begins the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn begin(path: &Path) -> Result<Self> {
        let file = AtomicFile::begin(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file, path: path.to_owned(), events: Vec::new(), variants: 0 })
    }

    /// Adds the stages of a variant, as a process of its own with its threads.
    pub(super) fn add(&mut self, variant: &str, stages: &RecordedStages) {
        self.variants += 1;
        let pid = self.variants;
        self.events.push(TraceEvent::naming("process_name", (pid, 1), variant));
        let threads = stages.threads.iter().enumerate();
        let names = threads.map(|(at, name)| TraceEvent::naming("thread_name", (pid, tid(at)), name));
        self.events.extend(names);
        self.events.extend(stages.events.iter().map(|stage| TraceEvent {
            name: stage.name,
            ph: "X",
            pid,
            tid: tid(stage.thread),
            ts: 1e6 * stage.start.as_secs_f64(),
            dur: 1e6 * stage.length.as_secs_f64(),
            args: None,
        }));
    }

    /// Writes the events.
    ///
    /// # Errors
    /// If the disk is full.
    pub(super) fn finish(self) -> Result<()> {
        let Self { file, path, events, .. } = self;
        let whole = || -> io::Result<()> {
            let mut file = BufWriter::new(file);
            serde_json::to_writer(&mut file, &Document { trace_events: &events, display_time_unit: "ms" })?;
            file.into_inner().map_err(IntoInnerError::into_error)?.finish()
        };
        whole().with_context(|| format!("cannot write {}", path.display()))
    }
}
