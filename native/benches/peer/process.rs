//! The other side: a process that answers one line of JSON with another.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

/// A running `benches/peer/peer.py`.
pub(crate) struct Peer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn start(python: &str) -> Result<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer/peer.py");
        let mut process = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {python}"))?;
        let requests = process.stdin.take().context("no standard input")?;
        let answers = BufReader::new(process.stdout.take().context("no standard output")?);
        Ok(Self { process, requests, answers })
    }

    /// The times of `repeats` evaluations of a request, in milliseconds.
    pub(crate) fn milliseconds(&mut self, request: &Value, repeats: usize) -> Result<Vec<f64>> {
        let mut request = request.clone();
        request["repeats"] = repeats.into();
        writeln!(self.requests, "{request}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let answer: Value =
            serde_json::from_str(&line).context("the peer failed; does PYTHON have torch?")?;
        Ok(serde_json::from_value(answer["milliseconds"].clone())?)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
