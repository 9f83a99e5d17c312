//! Mutated files for every parser of untrusted bytes: none may panic, abort, use a gigabyte, or take ten seconds.
//!
//! A target is a parser with a corpus (`tests/fuzz/NAME`, and files generated here) that is mutated at random. Each
//! runs in a separate process, which prints the number of a case before it begins: so the case is known even if the
//! process dies. The number and the seed give the same bytes again. `CONTRIBUTING.md` has the commands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod memory;
mod mutate;
mod repair;
mod targets;
mod watch;

use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use self::mutate::mutated;
use self::targets::{Target, all, named};
use self::watch::{Job, Row, run};

/// Most bytes in use by a case.
const MOST_BYTES: usize = 1 << 30;
/// Longest time of a case.
const LONGEST: Duration = Duration::from_secs(10);
/// Cases of a target in the normal tests.
const FEW: u64 = 400;

/// The settings in the environment.
struct Settings {
    cases: u64,
    seed: u64,
    targets: Vec<String>,
    at_length: bool,
}

impl Settings {
    fn read() -> Self {
        let number = |name: &str| -> Option<u64> {
            let text = env::var(name).ok()?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number")))
        };
        let cases = number("SIMILE_FUZZ_CASES");
        let targets = env::var("SIMILE_FUZZ_TARGETS").unwrap_or_default();
        Self {
            cases: cases.unwrap_or(FEW),
            seed: number("SIMILE_FUZZ_SEED").unwrap_or(0),
            targets: targets.split(',').filter(|name| !name.is_empty()).map(String::from).collect(),
            at_length: cases.is_some(),
        }
    }

    fn chosen(&self) -> Vec<Target> {
        let known = all();
        for name in &self.targets {
            let names: Vec<&str> = known.iter().map(|target| target.name).collect();
            assert!(names.contains(&name.as_str()), "no target `{name}`; there are {}", names.join(", "));
        }
        let is_chosen =
            |target: &Target| self.targets.is_empty() || self.targets.iter().any(|name| name == target.name);
        known.into_iter().filter(is_chosen).collect()
    }
}

/// The bytes of a case: first the unchanged files, then mutated ones.
struct Cases {
    target: Target,
    whole: Vec<Vec<u8>>,
    seeds: Vec<Vec<u8>>,
}

impl Cases {
    fn of(target: Target) -> Self {
        let mut seeds = (target.seeds)();
        let corpus = corpus(target.name);
        let mut files: Vec<PathBuf> =
            fs::read_dir(&corpus).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        files.sort_unstable();
        seeds.extend(files.iter().map(|file| fs::read(file).unwrap()));
        assert!(!seeds.is_empty(), "{} has no files to begin with", corpus.display());
        let whole = seeds.iter().cloned().chain((target.hostile)()).collect();
        Self { target, whole, seeds }
    }

    fn bytes(&self, seed: u64, case: u64) -> Vec<u8> {
        if let Some(bytes) = self.whole.get(case as usize) {
            return bytes.clone();
        }
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        draw.set_stream(case);
        let changed = mutated(&self.seeds, self.target.words, &mut draw);
        (self.target.repair)(changed, &mut draw)
    }
}

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz").join(target)
}

#[test]
fn no_changed_file_panics_hangs_or_fills_the_memory() {
    let settings = Settings::read();
    let queue: VecDeque<Job> = settings
        .chosen()
        .iter()
        .map(|target| Job { target: target.name, seed: settings.seed, cases: settings.cases })
        .collect();
    let (queue, rows) = (Mutex::new(queue), Mutex::new(Vec::<Row>::new()));
    let workers =
        if settings.at_length { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = { queue.lock().unwrap().pop_front() } {
                    let row = run(&job, LONGEST);
                    if settings.at_length {
                        writeln!(stdout(), "{row}").unwrap();
                    }
                    rows.lock().unwrap().push(row);
                }
            });
        }
    });
    let rows = rows.into_inner().unwrap();
    if settings.at_length {
        writeln!(stdout(), "{}", Row::table(&rows)).unwrap();
    }
    let failures: Vec<String> = rows.iter().flat_map(|row| row.failures.clone()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    for row in rows {
        assert!(row.taken > 0, "{} took none of its own files", row.target);
    }
}

/// Each fault is reported with its case, and the later cases still run.
#[test]
fn whatever_ends_a_process_is_found() {
    let row = run(&Job { target: "faulty", seed: 0, cases: 0 }, Duration::from_secs(4));
    assert_eq!((row.failures.len(), row.cases, row.taken), (3, 6, 1), "{:?}", row.failures);
    for (failure, (case, how)) in
        row.failures.iter().zip([(1, "on purpose"), (2, "memory allocation"), (4, "more than 4 s")])
    {
        assert!(
            failure.contains(&format!("SIMILE_FUZZ_CASE=faulty:{case} ")) && failure.contains(how),
            "{failure}"
        );
    }
}

/// The process of a target; without a job it does nothing.
#[test]
#[ignore = "a process that another test starts"]
fn worker() {
    let Some((job, first)) = Job::given() else { return };
    let cases = Cases::of(named(job.target).unwrap());
    let (mut most, mut taken) = (0, 0);
    for case in first..job.cases.max(cases.whole.len() as u64) {
        let bytes = cases.bytes(job.seed, case);
        memory::allow(MOST_BYTES);
        watch::begin(case);
        (cases.target.run)(&bytes);
        most = most.max(memory::most(MOST_BYTES));
        taken += u64::from(targets::taken());
    }
    memory::allow(usize::MAX / 2);
    watch::end(most, taken);
}

/// `SIMILE_FUZZ_CASE=NAME:NUMBER` writes the bytes of that case to a file and runs it here, where a debugger sees it.
#[test]
#[ignore = "needs SIMILE_FUZZ_CASE"]
fn replay() {
    let Ok(text) = env::var("SIMILE_FUZZ_CASE") else { return };
    let (name, case) = text.split_once(':').expect("SIMILE_FUZZ_CASE is NAME:NUMBER");
    let cases = Cases::of(named(name).expect("no target of that name"));
    let bytes = cases.bytes(Settings::read().seed, case.parse().unwrap());
    let file = env::temp_dir().join(format!("simile-{name}-{case}"));
    fs::write(&file, &bytes).unwrap();
    writeln!(stdout(), "{}: {} bytes", file.display(), bytes.len()).unwrap();
    (cases.target.run)(&bytes);
}
