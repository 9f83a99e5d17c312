//! The other side of a benchmark: a process that answers one line of JSON with another.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

/// A running Python program.
pub(crate) struct Peer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The modules that the program imports, for messages.
    needs: &'static str,
}

impl Peer {
    /// Starts `script`, a path below `native/benches`.
    pub(crate) fn start(python: &str, script: &str, needs: &'static str) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches").join(script);
        let mut process = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {python}"))?;
        let requests = process.stdin.take().context("no standard input")?;
        let answers = BufReader::new(process.stdout.take().context("no standard output")?);
        Ok(Self { process, requests, answers, needs })
    }

    /// The answer to a request.
    pub(crate) fn ask(&mut self, request: &Value) -> Result<Value> {
        let failed = || format!("the peer failed; does PYTHON have {}?", self.needs);
        writeln!(self.requests, "{request}").with_context(failed)?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(failed)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
