//! A campaign of faults: processes that are killed at any moment, disks that are full, folders that are damaged. After
//! each fault a run resumes and ends with the same bytes, or reports the faulty file and its error.
//!
//! Every test runs a few trials; `SIMILE_CAMPAIGN=100 cargo test --workspace --test cli -- campaign` runs a hundred of each.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use simile_tests::{place, repository, skipped};
use tempfile::TempDir;

use crate::support::process::{interrupt, start};
use crate::support::program::{ALONE, simile, stderr_of};
use crate::support::recipes::place_with;
use crate::support::run::result;

/// Two variants, one chosen among several networks, checkpoints by count and by the clock.
const RECIPE: &str = r#"
[data]
dataset = "digits"
train = 160
test = 48

[augment]
crop = { scale = [0.5, 1.0] }

[optimizer]
name = "adam"

[train]
batch = 16
iterations = 24
checkpoint_every = 5
checkpoint_minutes = 0.001
log_every = 1

[selection]
held_out = 64
every = 4

[probe]
steps = 5

[[variant]]
name = "Plain"
objective = { name = "nt-xent", temperature = 0.5 }

[[variant]]
name = "Fair"
objective = { name = "fair-cclk", temperature = 0.5, kernel = { name = "rbf", sigma = 20.0 } }
"#;

const BEGIN: [&str; 4] = ["train", "mine.toml", "--out", "cut"];
const RESUME: [&str; 3] = ["train", "--resume", "cut"];

/// The number of trials: that of a short test, or the requested one.
fn trials(short: usize) -> usize {
    std::env::var("SIMILE_CAMPAIGN").ok().map_or(short, |count| count.parse().unwrap())
}

/// Pseudo-random numbers with a fixed seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

/// A run in `whole` as it lies in its place: the files with their paths there, and the duration of the run.
struct Whole {
    files: Vec<(PathBuf, Vec<u8>)>,
    duration: Duration,
}

/// The run that all tests compare with. Its files are kept in memory, because nobody would remove a folder of all tests.
static WHOLE: LazyLock<Whole> = LazyLock::new(|| {
    let place = place_with("mine.toml", RECIPE);
    let begun = Instant::now();
    simile(place.path(), &["train", "mine.toml", "--out", "whole"]).assert().success();
    let duration = begun.elapsed();
    let files = repository::files_below(place.path(), |_| true);
    let read =
        |path: PathBuf| (path.strip_prefix(place.path()).unwrap().to_owned(), fs::read(&path).unwrap());
    Whole { files: files.into_iter().map(read).collect(), duration }
});

/// A folder with the recipe and the run in `whole`.
fn with_whole() -> TempDir {
    let place = place();
    for (path, content) in &WHOLE.files {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    place
}

/// The files of a run, without those that have times in their names.
fn files(run: &Path) -> Vec<PathBuf> {
    repository::files_below(run, |path| !path.to_string_lossy().contains("tfevents"))
}

/// Asserts that the run in `cut` has the files of the one in `whole`, the same to the bit except for times.
fn assert_same(place: &Path, trial: &str) {
    let [whole, cut] = ["whole", "cut"].map(|run| place.join(run));
    let names = |run: &Path| -> Vec<PathBuf> {
        files(run).iter().map(|path| path.strip_prefix(run).unwrap().to_owned()).collect()
    };
    assert_eq!(names(&whole), names(&cut), "{trial}");
    for name in names(&whole) {
        let text = name.to_string_lossy();
        if !["result.json", "report.html", "state/state.json", "state/lock"].contains(&text.as_ref()) {
            let of = |run: &Path| fs::read(run.join(&name)).unwrap();
            assert!(of(&whole) == of(&cut), "{trial}: {text} differs");
        }
    }
    let timeless = |run: &Path| {
        let mut result = result(run);
        result["seconds"] = 0.into();
        // A run says when it ended, and the command that began it, which names its folder.
        for own in ["date", "command"] {
            assert!(result[own].is_string(), "{trial}: no {own}");
            result[own] = "".into();
        }
        for variant in result["arms"].as_array_mut().unwrap() {
            variant["training_seconds"] = 0.into();
        }
        result.to_string()
    };
    assert_eq!(timeless(&whole), timeless(&cut), "{trial}");
}

/// The command that resumes the run in `cut`, or begins it.
fn next(place: &Path) -> &'static [&'static str] {
    if place.join("cut/recipe.toml").exists() { &RESUME } else { &BEGIN }
}

#[test]
fn campaign_of_kills_at_any_moment() {
    let place = with_whole();
    let whole = WHOLE.duration;
    let mut chance = Chance(0x5eed_cafe);
    let cut = place.path().join("cut");
    for trial in 0..trials(2) {
        let mut kills = 0;
        while !cut.join("report.html").exists() || kills == 0 {
            let mut child = start(place.path(), next(place.path()));
            // Some kills come early, when the first files are made; most come anywhere in a run.
            let span = if chance.below(3) == 0 { whole / 8 } else { whole };
            sleep(Duration::from_micros(chance.below(span.as_micros() as u64)));
            let _ = child.kill();
            let output = child.wait_with_output().unwrap();
            let text = stderr_of(&output);
            // Killed, done, or nothing left to do.
            assert!(matches!(output.status.code(), None | Some(0) | Some(2)), "trial {trial}: {text}");
            assert!(!text.contains("panicked") && !text.contains("damaged"), "trial {trial}: {text}");
            kills += 1;
            if kills > 40 {
                break;
            }
        }
        let output = simile(place.path(), next(place.path())).output().unwrap();
        let text = stderr_of(&output);
        let fine = output.status.success() || text.contains("has finished");
        assert!(fine, "trial {trial} after {kills} kills: {text}");
        assert_same(place.path(), &format!("trial {trial}, {kills} kills"));
        fs::remove_dir_all(&cut).unwrap();
    }
}

/// A process with a limit on the size of a file gets the errors of a full disk.
fn limited(place: &Path, kilobytes: u64, arguments: &[&str]) -> Output {
    let program = simile_tests::program().display().to_string();
    let script = format!("ulimit -f {}; exec '{program}' {}", kilobytes * 2, arguments.join(" "));
    Command::new("sh").args(["-c", &script]).current_dir(place).envs(ALONE).output().unwrap()
}

#[test]
fn campaign_of_files_that_cannot_grow() {
    let place = with_whole();
    let cut = place.path().join("cut");
    let sizes = files(&place.path().join("whole"));
    let sizes: BTreeSet<u64> = sizes.iter().map(|path| fs::metadata(path).unwrap().len() / 1024).collect();
    // A limit just too small for each of the files in turn.
    let mut met: Vec<u64> = sizes.into_iter().collect();
    met.truncate(trials(met.len().min(3)));
    for kilobytes in met {
        let output = limited(place.path(), kilobytes, &BEGIN);
        let text = stderr_of(&output);
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(1), "{kilobytes} KB: {text}");
            assert!(text.contains("cannot write") && text.contains("cut"), "{kilobytes} KB: {text}");
            assert!(!text.contains("panicked"), "{text}");
            let left: Vec<_> = files(&cut)
                .into_iter()
                .filter(|path| path.file_name().unwrap().to_string_lossy().contains(".tmp"))
                .collect();
            assert!(left.is_empty(), "{left:?}");
            assert!(!cut.join("report.html").exists());
            simile(place.path(), next(place.path())).assert().success();
        }
        assert_same(place.path(), &format!("{kilobytes} KB"));
        fs::remove_dir_all(&cut).unwrap();
    }
}

#[test]
fn campaign_of_a_disk_that_is_full() {
    let place = with_whole();
    let program = simile_tests::program().display().to_string();
    let size: u64 =
        files(&place.path().join("whole")).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    let kilobytes = size / 1024;
    let mut chance = Chance(0xd15c);
    for trial in 0..trials(2) {
        let room = 64 + chance.below(kilobytes);
        let script = format!(
            "mkdir -p disk && mount -t tmpfs -o size={room}k none disk || exit 77
             '{program}' train mine.toml --out disk/cut 2> said; code=$?
             test $code = 1 || test $code = 0 || exit 78
             mount -o remount,size=256m disk || exit 77
             test $code = 0 || if test -e disk/cut/recipe.toml; then '{program}' train --resume disk/cut 2>> said
             else '{program}' train mine.toml --out disk/cut 2>> said; fi || exit 79
             cp -r disk/cut cut"
        );
        let mut apart = Command::new("unshare");
        let apart = apart.args(["-rm", "sh", "-c", &script]).current_dir(place.path()).envs(ALONE);
        let status = apart.output();
        let code = status.ok().and_then(|output| output.status.code()).unwrap_or(77);
        if code == 1 || code == 77 {
            skipped::note("this system lets nobody mount a disk of their own");
            return;
        }
        let said = fs::read_to_string(place.path().join("said")).unwrap_or_default();
        assert_eq!(code, 0, "trial {trial}, {room} KB: {said}");
        assert_same(place.path(), &format!("trial {trial}, {room} KB"));
        fs::remove_dir_all(place.path().join("cut")).unwrap();
    }
}

#[test]
fn campaign_of_damage_to_a_folder() {
    let place = with_whole();
    interrupt(place.path(), &BEGIN, "Fair");
    let (cut, backup) = (place.path().join("cut"), place.path().join("kept"));
    fs::rename(&cut, &backup).unwrap();
    let copy = || {
        for path in files(&backup) {
            let to = cut.join(path.strip_prefix(&backup).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&path, to).unwrap();
        }
    };
    let mut chance = Chance(0xdead_beef);
    let all: Vec<PathBuf> =
        files(&backup).iter().map(|path| path.strip_prefix(&backup).unwrap().to_owned()).collect();
    for trial in 0..trials(6) {
        copy();
        let file = &all[chance.below(all.len() as u64) as usize];
        let path = cut.join(file);
        let mut bytes = fs::read(&path).unwrap();
        let at = chance.below(bytes.len() as u64) as usize;
        let damage = ["a bit", "its end", "its start", "nothing left", "a folder"][chance.below(5) as usize];
        match damage {
            "a bit" if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
            "its end" => bytes.truncate(at),
            "its start" => drop(bytes.drain(..at)),
            _ => {}
        }
        fs::remove_file(&path).unwrap();
        match damage {
            "nothing left" => {}
            "a folder" => fs::create_dir(&path).unwrap(),
            _ => fs::write(&path, bytes).unwrap(),
        }
        let what = format!("trial {trial}, {damage} of {}", file.display());
        let output = simile(place.path(), &RESUME).output().unwrap();
        let text = stderr_of(&output);
        assert!(!text.contains("panicked"), "{what}: {text}");
        match output.status.code() {
            Some(0) => {
                // The interval of checkpoints may be edited.
                fs::copy(backup.join("recipe.toml"), cut.join("recipe.toml")).unwrap();
                assert_same(place.path(), &what);
            }
            Some(1 | 2) => {
                let name = file.file_name().unwrap().to_string_lossy();
                assert!(text.contains(&*name), "{what}: {text}");
            }
            code => unreachable!("{what} ends with {code:?}: {text}"),
        }
        fs::remove_dir_all(&cut).unwrap();
    }
}

#[test]
fn campaign_of_files_that_never_end() {
    let place = with_whole();
    let run = place.path().join("whole");
    for name in ["state/state.json", "metrics.jsonl", "model-plain.safetensors", "figures.json"] {
        fs::rename(run.join(name), place.path().join("kept")).unwrap();
        fs::remove_file(run.join("report.html")).ok();
        for hostile in ["pipe", "endless", "huge"] {
            let script = match hostile {
                "pipe" => format!("mkfifo whole/{name}"),
                "endless" => format!("ln -s /dev/zero whole/{name}"),
                _ => format!("truncate -s 1T whole/{name}"),
            };
            if !Command::new("sh").args(["-c", &script]).current_dir(place.path()).status().unwrap().success()
            {
                continue;
            }
            let output = simile(place.path(), &["train", "--resume", "whole"]).output().unwrap();
            let text = stderr_of(&output);
            assert_eq!(output.status.code(), Some(1), "{hostile} {name}: {text}");
            assert!(text.contains(name) && !text.contains("panicked"), "{hostile} {name}: {text}");
            fs::remove_file(run.join(name)).unwrap();
        }
        fs::rename(place.path().join("kept"), run.join(name)).unwrap();
    }
    simile(place.path(), &["train", "--resume", "whole"]).assert().success();
}
