//! The process of a target and its outcome.

use std::env;
use std::fmt::{self, Display, Formatter};
use std::io::{BufRead as _, BufReader, Read as _, Write as _, stdout};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::data::space;
use crate::markdown;

/// Number of faults after which a target is given up.
const ENOUGH: usize = 5;
/// Number of last letters of a process's output to report.
const SAID: usize = 600;

/// Cases of a target.
pub(super) struct Job {
    pub(super) target: &'static str,
    pub(super) seed: u64,
    pub(super) cases: u64,
}

impl Job {
    /// The job of this process, and its first case.
    pub(super) fn given() -> Option<(Job, u64)> {
        let text = env::var("SIMILE_FUZZ_WORKER").ok()?;
        let [target, seed, cases, first] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
        let target = super::named(target)?.name;
        Some((Job { target, seed: seed.parse().ok()?, cases: cases.parse().ok()? }, first.parse().ok()?))
    }
}

/// Prints that a case begins. Writes to stdout directly, because the test runner captures `print`.
pub(super) fn begin(case: u64) {
    writeln!(stdout(), "\ncase {case}").unwrap();
}

/// Prints that all cases are done: the most memory of one, and the number of accepted ones.
pub(super) fn end(most: usize, taken: u64) {
    writeln!(stdout(), "\ntaken {taken}\nmost {most}").unwrap();
}

/// The outcome of a job.
pub(super) struct Row {
    pub(super) target: &'static str,
    pub(super) cases: u64,
    /// Accepted cases, of those after the last fault.
    pub(super) taken: u64,
    pub(super) took: Duration,
    pub(super) most: usize,
    pub(super) failures: Vec<String>,
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&markdown::row(self.cells()))
    }
}

const HEADS: [&str; 6] = ["target", "cases", "no error", "seconds", "most memory, MiB", "failures"];

impl Row {
    fn cells(&self) -> Vec<String> {
        let Row { target, cases, taken, took, most, failures } = self;
        let mebibytes = *most as f64 / f64::from(1 << 20);
        vec![
            (*target).to_owned(),
            cases.to_string(),
            taken.to_string(),
            format!("{:.1}", took.as_secs_f64()),
            format!("{mebibytes:.1}"),
            failures.len().to_string(),
        ]
    }

    /// A table of all rows, and their sum.
    pub(super) fn table(rows: &[Row]) -> String {
        let sum = Row {
            target: "all",
            cases: rows.iter().map(|row| row.cases).sum(),
            taken: rows.iter().map(|row| row.taken).sum(),
            took: rows.iter().map(|row| row.took).sum(),
            most: rows.iter().map(|row| row.most).max().unwrap_or_default(),
            failures: rows.iter().flat_map(|row| row.failures.clone()).collect(),
        };
        format!("\n{}", markdown::table(&HEADS, rows.iter().chain([&sum]).map(Row::cells)))
    }
}

/// Runs a job to its end, and continues after cases that end its process.
pub(super) fn run(job: &Job, longest: Duration) -> Row {
    let started = Instant::now();
    let mut row =
        Row { target: job.target, cases: 0, taken: 0, took: Duration::ZERO, most: 0, failures: vec![] };
    let mut first = 0;
    while row.failures.len() < ENOUGH {
        match part(job, first, longest) {
            Outcome::Done { most, taken, last } => {
                row.most = row.most.max(most);
                row.taken = taken;
                // No case is left after a fault in the last one.
                row.cases = row.cases.max(last.wrapping_add(1));
                break;
            }
            Outcome::Failed { case, how } => {
                let Job { target, seed, .. } = job;
                row.failures.push(format!(
                    "target {target}, seed {seed}, case {case}: {how}\nAgain: SIMILE_FUZZ_SEED={seed} \
                     SIMILE_FUZZ_CASE={target}:{case} cargo test --workspace --bin simile fuzz::replay -- --ignored \
                     --nocapture"
                ));
                first = case + 1;
                row.cases = first;
            }
        }
    }
    row.took = started.elapsed();
    row
}

enum Outcome {
    Done { most: usize, taken: u64, last: u64 },
    Failed { case: u64, how: String },
}

/// The cases from `first` on, to the end or to the one that ends the process.
fn part(job: &Job, first: u64, longest: Duration) -> Outcome {
    let Job { target, seed, cases } = job;
    // A process that aborts or is ended removes none of its files: they go with this folder, after its end.
    let place = place();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "fuzz::worker", "--ignored", "--nocapture", "--test-threads=1"])
        .env("SIMILE_FUZZ_WORKER", format!("{target}:{seed}:{cases}:{first}"))
        .env("RUST_BACKTRACE", "0")
        .env("TMPDIR", place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (output, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    // The number of the case in work; none before the first.
    let (case, most, taken) = (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX), AtomicU64::new(0));
    let (hangs, said) = thread::scope(|scope| {
        let said = scope.spawn(|| {
            let mut text = vec![];
            let _ = BufReader::new(errors).read_to_end(&mut text);
            let text = String::from_utf8_lossy(&text).into_owned();
            text.chars().skip(text.chars().count().saturating_sub(SAID)).collect::<String>()
        });
        let reader = scope.spawn(|| {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let number = |start: &str| line.strip_prefix(start)?.parse::<u64>().ok();
                if let Some(number) = number("case ") {
                    case.store(number, Relaxed);
                } else if let Some(number) = number("taken ") {
                    taken.store(number, Relaxed);
                } else if let Some(number) = number("most ") {
                    most.store(number, Relaxed);
                }
            }
        });
        let hangs = guard(&mut child, &case, longest);
        reader.join().unwrap();
        (hangs, said.join().unwrap())
    });
    let status = child.wait().unwrap();
    let (case, most) = (case.into_inner(), most.into_inner());
    if status.success() && most != u64::MAX {
        return Outcome::Done { most: most as usize, taken: taken.into_inner(), last: case };
    }
    assert!(case != u64::MAX, "the process of {target} ended before its first case, {status}: {said}");
    let how = if hangs { format!("more than {} s", longest.as_secs()) } else { format!("{status}: {said}") };
    Outcome::Failed { case, how }
}

/// The folder of a process's files: in memory, where Linux has a file system with room there and `TMPDIR` names no other folder. A disk
/// takes as long to write and delete the contents of archives as the parsers take for all cases.
fn place() -> TempDir {
    /// As much as other tests ask for (`simile_tests::place`).
    const ROOM: u64 = 4 << 30;
    let memory = Path::new("/dev/shm");
    let has_room = space::free(memory).is_some_and(|free| free >= ROOM);
    let chosen = (has_room && env::var_os("TMPDIR").is_none()).then_some(memory);
    chosen.map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap()
}

/// Waits for the end of a process; ends it and returns true if one case takes too long.
fn guard(child: &mut Child, case: &AtomicU64, longest: Duration) -> bool {
    let mut last = (u64::MAX, Instant::now());
    while child.try_wait().unwrap().is_none() {
        let now = case.load(Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        } else if last.1.elapsed()
            > longest + if now == u64::MAX { Duration::from_secs(60) } else { Duration::ZERO }
        {
            let _ = child.kill();
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}
