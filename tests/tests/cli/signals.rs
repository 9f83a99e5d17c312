//! Signals that end a process, and concurrent processes.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::process::{end, interrupt, start, wait_until};
use crate::support::program::{complaint, simile, stderr, stderr_of};
use crate::support::recipes::with_two_variants;
use crate::support::run::{assert_same_end, iterations, result};

#[test]
fn sigterm_and_sighup_lose_nothing_and_the_clock_makes_checkpoints_too() {
    let place = with_two_variants();
    // A variant that takes seconds, so that no signal comes after its end on a machine that does other work too.
    let long = ["train", "tiny.toml", "--set", "train.iterations=160"];
    simile(place.path(), &[&long[..], &["--out", "whole"]].concat()).assert().success();
    // No checkpoint by count: a kill leaves only those by the clock.
    let by_clock = ["--set", "train.checkpoint_every=1000", "--set", "train.checkpoint_minutes=0.0001"];
    let begin = [&long[..], &["--out", "my cut"], &by_clock[..]].concat();
    let resume = ["train", "--resume", "my cut"];
    let run = place.path().join("my cut");

    let mut child = start(place.path(), &begin);
    wait_until(&mut child, "a checkpoint by the clock", || iterations(&run, "SimCLR") > 0);
    assert_eq!(end(child, "-KILL").0, None);
    let before = iterations(&run, "SimCLR");
    assert!(before > 0);

    let mut child = start(place.path(), &resume);
    wait_until(&mut child, "a checkpoint", || iterations(&run, "SimCLR") > before);
    let (code, text) = end(child, "-TERM");
    assert_eq!(code, Some(143), "{text}");
    assert!(text.contains("`simile train --resume 'my cut'`"), "{text}");

    let mut child = with_a_terminal(place.path(), &resume);
    wait_until(&mut child, "a checkpoint", || iterations(&run, "Fair") > 0);
    let (code, text) = end(child, "-HUP");
    assert_eq!(code, Some(129), "{text}");

    simile(place.path(), &resume).assert().success();
    for file in ["metrics.jsonl", "figures.json"] {
        let of = |run: &str| fs::read(place.path().join(run).join(file)).unwrap();
        assert!(of("whole") == of("my cut"), "{file} differs");
    }
}

/// Begins a run that heeds the end of its terminal, also where the tests themselves run under `nohup` and would hand on that they do
/// not.
fn with_a_terminal(place: &Path, arguments: &[&str]) -> Child {
    if !cfg!(target_os = "linux") {
        return start(place, arguments);
    }
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(simile_tests::program()).args(arguments);
    command.current_dir(place).env("SIMILE_CACHE", place.join("cache"));
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_signal_among_several_seeds_names_the_command_of_all() {
    let place = with_two_variants();
    let seeds = ["train", "tiny.toml", "--seeds", "2", "--out", "seeds", "--set", "train.iterations=160"];
    let mut child = start(place.path(), &seeds);
    let run = place.path().join("seeds/seed-0");
    wait_until(&mut child, "a checkpoint", || iterations(&run, "SimCLR") > 0);
    let (code, text) = end(child, "-INT");
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("the same command continues from here") && !text.contains("--resume"), "{text}");
}

/// The run probed the network and wrote its report before it ended, with 0 where it was alone: a queue did not begin it again.
#[test]
fn a_signal_ends_probing_and_the_run_goes_on_from_there() {
    let place = with_two_variants();
    // So many test images that the evaluation takes longer than a signal.
    let set = ["--set", "train.iterations=2", "--set", "data.test=800"];
    let seeds = [&["train", "tiny.toml", "--seeds", "2", "--out", "seeds"], &set[..]].concat();
    let mut child = start(place.path(), &seeds);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("Fair: probing")));
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let told: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(143), "{told:?}");
    assert!(told.iter().any(|line| line.contains("the same command continues from here")), "{told:?}");
    let exists = |file: &str| place.path().join("seeds").join(file).exists();
    assert!(!exists("seed-0/result.json") && !exists("seed-1"), "{told:?}");
    simile(place.path(), &["train", "--resume", "seeds/seed-0"]).assert().success();
    assert!(exists("seed-0/result.json"));
}

#[test]
fn a_signal_asks_and_a_second_one_ends_at_once() {
    let place = with_two_variants();
    let mut child =
        start(place.path(), &["train", "tiny.toml", "--out", "cut", "--set", "train.iterations=100000"]);
    let run = place.path().join("cut");
    wait_until(&mut child, "a checkpoint", || iterations(&run, "SimCLR") > 0);
    let script = format!("kill -TERM {0}; kill -TERM {0}; true", child.id());
    Command::new("sh").args(["-c", &script]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", stderr_of(&output));
}

#[test]
fn under_nohup_a_run_outlives_its_terminal() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let place = with_two_variants();
    let script =
        format!("trap '' HUP; exec '{}' train tiny.toml --out cut", simile_tests::program().display());
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let run = place.path().join("cut");
    wait_until(&mut child, "a checkpoint", || iterations(&run, "SimCLR") > 0);
    let (code, text) = end(child, "-HUP");
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn runs_that_begin_at_once_have_a_folder_each() {
    let place = with_two_variants();
    let seeds = ["1", "2", "3", "4"];
    let begun = seeds.map(|seed| start(place.path(), &["train", "tiny.toml", "--smoke", "--seed", seed]));
    for child in begun {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr_of(&output));
    }
    let names = ["tiny-smoke", "tiny-smoke-2", "tiny-smoke-3", "tiny-smoke-4"];
    let seed = |name: &str| result(&place.path().join("runs").join(name))["seed"].to_string();
    let seeds_of_runs: BTreeSet<String> = names.map(seed).into();
    assert_eq!(seeds_of_runs, seeds.map(str::to_owned).into());
}

#[test]
fn a_command_that_is_given_again_names_runs_that_have_not_finished() {
    let place = with_two_variants();
    let cut = place.path().join("runs/tiny-smoke");
    fs::create_dir_all(&cut).unwrap();
    fs::write(cut.join("recipe.toml"), "").unwrap();
    for _ in 0..2 {
        let text = stderr(place.path(), &["train", "tiny.toml", "--smoke"]);
        assert!(text.contains("`simile train --resume runs/tiny-smoke` goes on"), "{text}");
        assert!(!text.contains("--resume runs/tiny-smoke-2"), "{text}");
    }
}

#[test]
fn one_process_at_a_time_goes_on_with_a_run() {
    let place = with_two_variants();
    let mut child = start(place.path(), &["train", "tiny.toml", "--out", "whole"]);
    let run = place.path().join("whole");
    wait_until(&mut child, "a checkpoint", || iterations(&run, "SimCLR") > 0);
    let text = complaint(place.path(), &["train", "--resume", "whole"], 1);
    let holder = format!("process {} on ", child.id());
    let ended = child.try_wait().unwrap().is_some();
    assert!(ended || (text.contains(&holder) && text.contains("whole")), "{text}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output));

    // The lock is released when its process ends in any way.
    interrupt(place.path(), &["train", "tiny.toml", "--out", "cut"], "SimCLR");
    let child = start(place.path(), &["train", "--resume", "cut"]);
    end(child, "-KILL");
    simile(place.path(), &["train", "--resume", "cut"]).assert().success();
    assert_same_end(place.path(), "whole", "cut");
}

#[test]
fn vectors_that_a_signal_stops_leave_no_file_behind() {
    let place = with_two_variants();
    simile(place.path(), &["train", "tiny.toml", "--smoke", "--out", "run"]).assert().success();
    simile(place.path(), &["data", "preview", "digits", "--out", "a.png", "--count", "1"]).assert().success();
    fs::write(place.path().join("list.txt"), "a.png\n".repeat(1_000_000)).unwrap();
    let out = place.path().join("out");
    fs::create_dir(&out).unwrap();
    let files = || fs::read_dir(&out).unwrap().count();
    let embed = ["embed", "run", "--device", "cpu", "--list", "list.txt", "--out", "out/vectors.npy"];
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut child = start(place.path(), &embed);
        wait_until(&mut child, "a file in the making", || files() > 0);
        let (ended, text) = end(child, signal);
        assert_eq!(ended, Some(code), "{text}");
        for said in ["stopping after these pictures;", "interrupted; nothing is kept"] {
            assert!(text.contains(said), "{text}");
        }
        assert_eq!(files(), 0, "{text}");
    }
    // A second signal ends the process in the middle of its pictures, unless they are done by then. Two of a kind could be one.
    let mut child = start(place.path(), &embed);
    wait_until(&mut child, "a file in the making", || files() > 0);
    let script = format!("kill -TERM {0}; kill -INT {0}; true", child.id());
    Command::new("sh").args(["-c", &script]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = stderr_of(&output);
    assert!(matches!(output.status.code(), Some(130 | 143)), "{text}");
    assert_eq!(files(), 0, "{text}");
}
