//! Resuming a run: variants that were not begun or not finished, data and recipes that were changed, files that were damaged.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use simile_tests::place;
use simile_tests::schema::violations;

use crate::support::pictures::picture;
#[cfg(unix)]
use crate::support::process::{end, interrupt, start, wait_until};
use crate::support::program::{complaint, simile, stderr_of, stdout, train};
use crate::support::recipes::{Edited as _, with_one, with_two_variants};
use crate::support::run::{assert_same_end, result, result_schema};
#[cfg(unix)]
use crate::support::run::{iterations, standing};
use crate::support::scans::scans;

#[cfg(unix)]
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &place),
            false => assert!(fs::copy(entry.path(), place).is_ok()),
        }
    }
}

#[test]
fn data_that_have_changed_are_named() {
    let place = place();
    scans(place.path(), 120);
    stdout(place.path(), &["init", "scans", "--hide", "hospital"]);
    train(place.path(), &["scans.toml", "--data", "scans", "--smoke", "--out", "run"]);
    let table = place.path().join("scans/images.csv");
    let rows = fs::read_to_string(&table).unwrap();
    fs::write(&table, rows.lines().take(101).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let on = ["train", "--resume", "run", "--set", "train.iterations=4"];
    let text = complaint(place.path(), &on, 2);
    assert!(text.contains("the data of run have changed") && text.contains("training and"), "{text}");
    // As many pictures, two of which have changed places.
    let mut swapped: Vec<&str> = rows.lines().collect();
    swapped.swap(1, 2);
    fs::write(&table, swapped.join("\n")).unwrap();
    assert!(complaint(place.path(), &on, 2).contains("in another order"));
    // The same pictures, one of which comes from another hospital.
    let hospital = |row: &str| row.split(',').nth(2).unwrap().to_owned();
    let mut moved: Vec<String> = rows.lines().map(str::to_owned).collect();
    let from = hospital(&moved[1]);
    let to = moved[2..].iter().map(|row| hospital(row)).find(|other| *other != from).unwrap();
    moved[1] = moved[1].edited(&from, &to);
    fs::write(&table, moved.join("\n")).unwrap();
    let text = complaint(place.path(), &on, 2);
    assert!(text.contains("the images have other values of `hospital`"), "{text}");
    // The same names, and another picture under one of them.
    let changed = place.path().join("scans").join(swapped[1].split(',').next().unwrap());
    let kept = fs::read(&changed).unwrap();
    picture(&changed, [20, 30], |_, _| [0; 3]);
    fs::write(&table, rows).unwrap();
    let text = complaint(place.path(), &on, 2);
    assert!(text.contains("pictures have the same names, but files of other sizes"), "{text}");
    fs::write(&changed, kept).unwrap();
    simile(place.path(), &on).assert().success();
}

#[test]
fn a_run_finds_its_data_from_another_folder_and_says_where_they_were() {
    let (place, elsewhere) = (place(), place());
    scans(place.path(), 60);
    stdout(place.path(), &["init", "scans", "--hide", "hospital"]);
    train(place.path(), &["scans.toml", "--data", "scans", "--smoke", "--out", "run"]);
    let run = place.path().join("run").display().to_string();
    train(elsewhere.path(), &["--resume", &run, "--set", "train.iterations=4"]);
    simile(elsewhere.path(), &["evaluate", &run]).assert().success();
    fs::rename(place.path().join("scans"), place.path().join("moved")).unwrap();
    let longer = ["train", "--resume", "run", "--set", "train.iterations=5"];
    for command in [&longer[..], &["evaluate", "run"]] {
        let text = stderr_of(simile(place.path(), command).assert().failure().get_output());
        assert!(text.contains("scans") && text.contains("--data DIR"), "{text}");
    }
    simile(place.path(), &[&longer[..], &["--data", "moved"]].concat()).assert().success();
    simile(elsewhere.path(), &["evaluate", &run]).assert().success();
}

#[test]
fn a_run_that_was_not_begun_begins() {
    let place = with_one();
    train(place.path(), &["one.toml", "--out", "whole"]);
    let cut = place.path().join("cut");
    // Killed after its recipe was written, before or after anything else.
    for state in [None, Some("lock"), Some(".tmp-simile-abc")] {
        fs::create_dir_all(cut.join("state")).unwrap();
        fs::copy(place.path().join("whole/recipe.toml"), cut.join("recipe.toml")).unwrap();
        if let Some(name) = state {
            fs::write(cut.join("state").join(name), "").unwrap();
        }
        assert!(complaint(place.path(), &["report", "cut"], 1).contains("--resume cut"));
        assert!(complaint(place.path(), &["train", "one.toml", "--out", "cut"], 2).contains("--resume cut"));
        train(place.path(), &["--resume", "cut"]);
        assert_same_end(place.path(), "whole", "cut");
        assert!(!cut.join("state/.tmp-simile-abc").exists());
        fs::remove_dir_all(&cut).unwrap();
    }
    // Killed before that: there is nothing to resume, and nothing blocks a new run.
    fs::create_dir_all(cut.join("state")).unwrap();
    fs::write(cut.join("state/lock"), "").unwrap();
    fs::write(cut.join(".tmp-simile-abc"), "name = ").unwrap();
    train(place.path(), &["one.toml", "--out", "cut"]);
    assert_same_end(place.path(), "whole", "cut");
}

#[test]
fn a_run_that_diverges_at_once_has_a_state_and_a_result() {
    let place = with_one();
    let wild = ["--set", "optimizer={ name = \"sgd\", learning_rate = 1e30 }"];
    let arguments = [&["train", "one.toml", "--out", "run"], &wild[..]].concat();
    let text = complaint(place.path(), &arguments, 1);
    assert!(text.contains("finite") && text.contains("iteration 0"), "{text}");
    let run = place.path().join("run");
    assert_eq!(result(&run)["arms"][0]["stopped"]["why"], "diverged");
    assert!(stdout(place.path(), &["report", "run"]).contains("report.html"));
    // Its loss is the first one, and no number where it has none.
    let unlogged = ["--out", "unlogged", "--set", "train.log_every=6"];
    complaint(place.path(), &[&["train", "one.toml"], &wild[..], &unlogged].concat(), 1);
    let first = |run: &Path| {
        let lines = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        let line = lines.lines().next().map(|line| serde_json::from_str::<Value>(line).unwrap());
        line.and_then(|line| line["loss"].as_f64())
    };
    for (run, is_logged) in [(run, true), (place.path().join("unlogged"), false)] {
        let result = result(&run);
        assert_eq!(violations(&result_schema(), &result), [""; 0]);
        let variant = &result["arms"][0];
        assert_eq!(
            (variant["iterations"].as_u64(), variant.get("final_loss").is_some()),
            (Some(0), is_logged)
        );
        let off = variant["final_loss"].as_f64().zip(first(&run)).map(|(loss, first)| loss - first);
        assert!(off.is_none_or(|off| off.abs() < 1e-9) && off.is_some() == is_logged, "{off:?}");
    }
    // Of several seeds, the numbers are said before the failure.
    let seeds = [&["train", "one.toml"], &wild[..], &["--out", "seeds", "--seeds", "2"]].concat();
    let text = complaint(place.path(), &seeds, 1);
    for said in ["Untrained network", "2 seeds, without variants that diverged", "; seed 1: "] {
        assert!(text.contains(said), "no `{said}` in {text}");
    }
    // The selected network does not depend on the times of checkpoints by the clock.
    let often = ["--out", "often", "--set", "train.checkpoint_minutes=1e-9"];
    let arguments = [&["train", "one.toml"], &wild[..], &often].concat();
    complaint(place.path(), &arguments, 1);
    for key in ["metrics", "stopped", "iterations"] {
        let of = |run: &str| result(&place.path().join(run))["arms"][0][key].clone();
        assert_eq!(of("run"), of("often"), "{key}");
    }
}

#[test]
fn a_run_without_its_result_is_finished() {
    let place = with_two_variants();
    train(place.path(), &["tiny.toml", "--smoke", "--out", "run"]);
    let run = place.path().join("run");
    let files = ["result.json", "report.html", "figures.json", "model.safetensors"];
    let before = files.map(|file| fs::read(run.join(file)).unwrap());
    // Files that are written in another second have the date of the run all the same.
    let second = || SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let written = second();
    while second() == written {
        sleep(Duration::from_millis(10));
    }
    for missing in [&["result.json", "report.html"][..], &["result.json"], &["report.html"]] {
        for file in missing {
            fs::remove_file(run.join(file)).unwrap();
        }
        if missing.contains(&"result.json") {
            assert!(complaint(place.path(), &["report", "run"], 1).contains("--resume run"));
        }
        train(place.path(), &["--resume", "run"]);
        assert!(before == files.map(|file| fs::read(run.join(file)).unwrap()), "without {missing:?}");
    }
    fs::write(run.join("result.json"), "{").unwrap();
    let text = complaint(place.path(), &["report", "run"], 1);
    assert!(text.contains("--resume run` writes it again"), "{text}");
    train(place.path(), &["--resume", "run"]);
    assert!(before == files.map(|file| fs::read(run.join(file)).unwrap()));
    let text = complaint(place.path(), &["train", "--resume", "run"], 2);
    assert!(text.contains("has finished") && text.contains("train.iterations"), "{text}");
    // The state knows the figures by their digest alone.
    fs::write(run.join("figures.json"), "{").unwrap();
    let text = complaint(place.path(), &["report", "run"], 1);
    assert!(text.contains("cannot read figures.json of run; put it back from a copy"), "{text}");
    let text = complaint(place.path(), &["train", "--resume", "run"], 1);
    assert!(text.contains("figures.json is damaged") && text.contains("put it back from a copy"), "{text}");
    fs::write(run.join("figures.json"), &before[2]).unwrap();
    // Without its state it still counts as a finished run.
    fs::remove_dir_all(run.join("state")).unwrap();
    assert!(complaint(place.path(), &["train", "--resume", "run"], 2).contains("has finished"));
    train(place.path(), &["tiny.toml", "--smoke", "--out", "again"]);
}

#[cfg(unix)]
#[test]
fn the_average_and_the_accumulation_resume() {
    let place = with_one();
    // An update takes four steps, so that the first checkpoints, of the steps 41, 82 and 123, lie between two updates.
    let long = ["train.accumulate=4", "train.iterations=164", "train.checkpoint_every=41"];
    let set = |more: &[&'static str]| -> Vec<&'static str> {
        long.iter().chain(more).copied().flat_map(|setting| ["--set", setting]).collect()
    };
    let averaged = set(&["train.ema=0.9"]);
    train(place.path(), &[&["one.toml", "--out", "whole"], &averaged[..]].concat());
    let cut = place.path().join("cut");
    let mut child = start(place.path(), &[&["train", "one.toml", "--out", "cut"], &averaged[..]].concat());
    wait_until(&mut child, "a checkpoint", || iterations(&cut, "nt-xent") > 0);
    assert_eq!(end(child, "-KILL").0, None);
    let done = iterations(&cut, "nt-xent");
    assert_ne!(done % 4, 0, "the last checkpoint, after {done} steps, has no accumulated gradients");
    train(place.path(), &["--resume", "cut"]);
    assert_same_end(place.path(), "whole", "cut");

    train(place.path(), &[&["one.toml", "--out", "plain"], &set(&[])[..]].concat());
    let model = |run: &str| fs::read(place.path().join(run).join("model.safetensors")).unwrap();
    assert!(model("whole") != model("plain"), "the average of the weights is the model");
}

#[test]
fn an_edited_recipe_is_refused_by_the_key_in_one_line() {
    let place = with_one();
    train(place.path(), &["one.toml", "--out", "run"]);
    let run = place.path().join("run");
    fs::remove_file(run.join("result.json")).unwrap();
    let recipe = fs::read_to_string(run.join("recipe.toml")).unwrap();
    for (was, is, key) in [
        (
            "temperature = 0.5",
            "temperature = 0.7",
            "`objective.temperature` is 0.7, and the run was begun with 0.5",
        ),
        ("batch = 16", "batch = 8", "`train.batch` is 8, and the run was begun with 16"),
        ("iterations = 6", "iterations = 8", "--set train.iterations=8"),
        ("iterations = 6\nseed = 0", "iterations = 6\nseed = 1", "`train.seed` is 1"),
    ] {
        fs::write(run.join("recipe.toml"), recipe.edited(was, is)).unwrap();
        let text = complaint(place.path(), &["train", "--resume", "run"], 2);
        assert!(text.contains(key) && text.lines().count() == 1 && text.len() < 400, "{text}");
    }
    // The interval of checkpoints changes no result.
    let other = recipe.edited("checkpoint_every = 200", "checkpoint_every = 7");
    fs::write(run.join("recipe.toml"), format!("# mine\n{other}")).unwrap();
    train(place.path(), &["--resume", "run"]);
}

#[test]
fn what_a_killed_process_left_is_cleared_away() {
    let place = with_one();
    train(place.path(), &["one.toml", "--out", "run"]);
    let run = place.path().join("run");
    let left = [
        ".tmp-simile-1",
        "state/.tmp-simile-2",
        "state/arm-0-iteration-3.safetensors",
        "state/figures-0.json",
    ];
    let notes = ["notes.txt", "state/notes.txt"];
    let leave = || left.iter().chain(&notes).for_each(|name| fs::write(run.join(name), "left").unwrap());
    let are_cleared = || {
        assert_eq!(left.map(|name| run.join(name).exists()), [false; 4]);
        assert_eq!(notes.map(|name| run.join(name).exists()), [true; 2], "the user's files stay");
    };

    // Killed after its last state, before it removed the files of the one before.
    leave();
    let error = complaint(place.path(), &["train", "--resume", "run"], 2);
    assert!(error.contains("has finished"), "{error}");
    are_cleared();

    // Killed before its report.
    leave();
    fs::remove_file(run.join("report.html")).unwrap();
    train(place.path(), &["--resume", "run"]);
    are_cleared();
}

#[cfg(unix)]
#[test]
fn files_of_a_run_are_believed_only_as_they_were_written() {
    let place = with_two_variants();
    interrupt(place.path(), &["train", "tiny.toml", "--out", "cut"], "Fair");
    let (cut, again) = (place.path().join("cut"), place.path().join("again"));
    let state: Vec<String> = fs::read_dir(cut.join("state"))
        .unwrap()
        .map(|entry| format!("state/{}", entry.unwrap().file_name().to_string_lossy()))
        .filter(|name| name != "state/lock")
        .collect();
    assert!(standing(&cut).is_some() && state.len() >= 3, "{state:?}");
    for name in
        state.iter().map(String::as_str).chain(["model-simclr.safetensors", "metrics.jsonl", "recipe.toml"])
    {
        let whole = fs::read(cut.join(name)).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 3] ^= 4;
        let half = whole[..whole.len() / 2].to_vec();
        for (damage, bytes) in [("flipped", Some(flipped)), ("half", Some(half)), ("missing", None)] {
            let starts_anew = name == "state/state.json" && damage == "missing";
            if starts_anew {
                continue;
            }
            copy(&cut, &again);
            match bytes {
                Some(bytes) => fs::write(again.join(name), bytes).unwrap(),
                None => fs::remove_file(again.join(name)).unwrap(),
            }
            let output = simile(place.path(), &["train", "--resume", "again"]).output().unwrap();
            let text = stderr_of(&output);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{name} {damage}: {text}");
            let file = name.rsplit('/').next().unwrap();
            assert!(text.contains(file) && !text.contains("panicked"), "{name} {damage}: {text}");
            fs::remove_dir_all(&again).unwrap();
        }
    }
}
