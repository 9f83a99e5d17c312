//! Jobs in a browser: one Node does all of them, with `tests/browser/jobs.mjs`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::workspace;

/// Longer than the deadline of a job in `jobs.mjs`, which then has to close the page.
const LONGEST: Duration = Duration::from_secs(1500);

/// The answers that are waited for, by the number of their job; none once Node has ended.
type Waiting = Arc<Mutex<Option<HashMap<usize, Sender<Value>>>>>;

/// A Node that waits for jobs. It ends with this process, because its input does.
pub(crate) struct Node {
    jobs: Mutex<(usize, ChildStdin)>,
    waiting: Waiting,
}

impl Node {
    /// The one of this process, or the reason why there is none.
    pub(crate) fn get() -> Result<&'static Self, &'static str> {
        static NODE: OnceLock<Result<Node, String>> = OnceLock::new();
        NODE.get_or_init(Self::start).as_ref().map_err(String::as_str)
    }

    fn start() -> Result<Self, String> {
        let folder = workspace().join("tests/browser");
        install(&folder)?;
        let mut command = Command::new("node");
        command.arg("jobs.mjs").current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut node = command.spawn().map_err(|error| format!("Node is missing ({error})"))?;
        let (input, output) = (node.stdin.take().unwrap(), node.stdout.take().unwrap());
        let mut lines = BufReader::new(output).lines();
        let Some(Ok(first)) = lines.next() else { return Err("Node does not load playwright-core".into()) };
        let found: Value = serde_json::from_str(&first).unwrap();
        if found["browser"].is_null() {
            return Err("no Chromium or Chrome was found; set CHROMIUM to its path".into());
        }
        let waiting = Waiting::new(Mutex::new(Some(HashMap::new())));
        let answered = Arc::clone(&waiting);
        thread::spawn(move || {
            hand_out(lines, &answered);
            node.wait()
        });
        Ok(Self { jobs: Mutex::new((0, input)), waiting })
    }

    /// Does a job with a script of `tests/browser`, and returns its result.
    ///
    /// # Panics
    /// If the script fails or does not end, or the page complains; the message tells which.
    pub(crate) fn perform(&self, script: &str, job: &Value) -> Value {
        let mut answer = match self.send(script, job).recv_timeout(LONGEST) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => panic!("{script}: Node does not answer"),
            Err(RecvTimeoutError::Disconnected) => panic!("{script}: Node has ended"),
        };
        if let Some(error) = answer["error"].as_str() {
            panic!("{script}: {error}");
        }
        assert_eq!(answer["complaints"], json!([]), "{script}: errors in the page");
        answer["result"].take()
    }

    fn send(&self, script: &str, job: &Value) -> Receiver<Value> {
        let (sender, receiver) = channel();
        let mut jobs = self.jobs.lock().unwrap();
        let (id, input) = &mut *jobs;
        *id += 1;
        if let Some(waiting) = &mut *self.waiting.lock().unwrap() {
            waiting.insert(*id, sender);
        }
        writeln!(input, "{}", json!({ "id": id, "script": script, "job": job })).unwrap();
        receiver
    }
}

/// Gives each answer to the test that waits for it, until Node ends or writes something else.
fn hand_out(lines: Lines<BufReader<ChildStdout>>, waiting: &Waiting) {
    let answers = lines.map_while(Result::ok).map_while(|line| serde_json::from_str::<Value>(&line).ok());
    for answer in answers {
        let id = answer["id"].as_u64().and_then(|id| usize::try_from(id).ok());
        let sender = waiting.lock().unwrap().as_mut().zip(id).and_then(|(waiting, id)| waiting.remove(&id));
        if let Some(sender) = sender {
            // A test that has ended waits for nothing.
            let _ = sender.send(answer);
        }
    }
    *waiting.lock().unwrap() = None;
}

fn install(folder: &Path) -> Result<(), String> {
    if folder.join("node_modules").exists() {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    match Command::new(npm).args(["ci", "--no-audit", "--no-fund"]).current_dir(folder).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("npm ci failed: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("Node with npm is missing ({error})")),
    }
}
