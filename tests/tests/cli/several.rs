//! Runs that are listed, run one by one, and collected: `--list`, `--task`, and parts of `simile embed`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json as value};
use simile_tests::{data, place};

use crate::support::pictures::picture;
#[cfg(unix)]
use crate::support::process::{end, start, wait_until};
use crate::support::program::{complaint, json, json_of, simile, stderr_of, stdout};
use crate::support::recipes::with_two_variants;
#[cfg(unix)]
use crate::support::run::{assert_same_end, iterations};

/// A sweep of four runs, two a seed.
fn sweep<'a>(out: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    let sweep =
        ["sweep", "fair-digits", "--device", "cpu", "--variant", "Fair-CCLK", "--seeds", "2", "--smoke"];
    let set = ["--set", "data.validation=32", "--grid", "optimizer.learning_rate=1e-3,1e-2", "--out", out];
    [&sweep[..], &set, rest].concat()
}

#[test]
fn an_array_of_tasks_gives_the_table_of_one_command() {
    let place = place();
    let listed = json(place.path(), &sweep("tasks", &["--list", "--json"]));
    assert_eq!(
        listed[3],
        value!({ "index": 3, "folder": "tasks/optimizer.learning_rate=1e-2/seed-1",
            "row": "optimizer.learning_rate=1e-2", "seed": 1, "after": null, "done": false })
    );
    assert!(!place.path().join("tasks").exists(), "a list begins nothing");

    for task in ["2", "0"] {
        let ended = json(place.path(), &sweep("tasks", &["--task", task, "--json"]));
        assert_eq!((ended["index"].to_string().as_str(), &ended["diverged"]), (task, &Value::Null));
    }
    assert!(complaint(place.path(), &sweep("tasks", &["--task", "4"]), 2).contains("there are 4 runs"));
    let text = stdout(place.path(), &sweep("tasks", &["--list"]));
    let last: Vec<&str> = text.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert_eq!(last, ["done", "missing", "done", "missing"]);

    // The collector of an array with failed tasks prints a table of the finished runs, and the indices that failed.
    let collected = simile(place.path(), &sweep("tasks", &["--json"])).assert().code(1).get_output().clone();
    let text = stderr_of(&collected);
    assert!(text.contains("2 of 4 runs are missing: 1,3;") && text.contains("--task INDEX"), "{text}");
    assert!(text.contains("missing: 3, tasks/optimizer.learning_rate=1e-2/seed-1: not begun"), "{text}");
    let answer = json_of(&collected);
    assert_eq!((answer["points"].as_array().unwrap().len(), &answer["missing"][1]["index"]), (1, &value!(3)));
    assert!(!place.path().join("tasks/optimizer.learning_rate=1e-2").exists(), "a collector begins nothing");

    simile(place.path(), &sweep("tasks", &["--task", "1"])).assert().success();
    json(place.path(), &sweep("tasks", &["--jobs", "1", "--json"]));
    json(place.path(), &sweep("whole", &["--json"]));
    // Both read from the files of the runs.
    let points = |out| {
        let mut answer = json(place.path(), &sweep(out, &["--json"]));
        assert!(answer["missing"].is_null());
        let points = answer["points"].as_array_mut().unwrap();
        points.iter_mut().for_each(|point| point["folder"] = Value::Null);
        points.clone()
    };
    assert_eq!(points("tasks"), points("whole"));
}

/// Two rows with the encoder of a third as their prior.
fn table<'a>(data: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    let table =
        ["reproduce", "du-digits", "--scale", "smoke", "--device", "cpu", "--out", "table", "--data", data];
    let rows = [
        "--row",
        "kernel-decoupled-uniformity-with-colour",
        "--row",
        "kernel-decoupled-uniformity-without-colour",
    ];
    [&table[..], &rows, rest].concat()
}

#[test]
fn tasks_that_share_a_run_begin_once_it_is_there() {
    let place = place();
    let data = data().display().to_string();
    let table = |rest: &[&'static str]| table(&data, rest);
    let listed = json(place.path(), &table(&["--list", "--json"]));
    let after: Vec<&Value> = listed.as_array().unwrap().iter().map(|run| &run["after"]).collect();
    assert_eq!(after, [&Value::Null, &value!(0), &value!(0)]);
    let text = complaint(place.path(), &table(&["--task", "1"]), 1);
    assert!(
        text.contains("run 0, table/vae/seed-0, must be there first") && text.contains("--task 0"),
        "{text}"
    );

    #[cfg(unix)]
    {
        // Begun while the run that they share is in work, and beside each other.
        let mut shared = start(place.path(), &table(&["--task", "0"]));
        let holder = place.path().join("table/vae/seed-0/state/holder.json");
        wait_until(&mut shared, "the lock of the shared run", || holder.exists());
        let tasks = ["1", "2"].map(|task| start(place.path(), &table(&["--task", task])));
        for child in [shared].into_iter().chain(tasks) {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", stderr_of(&output));
        }
        let table = json(place.path(), &table(&["--json"]));
        assert_eq!((&table["rows"][0]["seeds"], &table["rows"][1]["seeds"]), (&value!(1), &value!(1)));
    }
}

#[test]
fn an_index_does_not_depend_on_the_data_of_a_machine_and_collecting_takes_none() {
    let place = place();
    let data = data().display().to_string();
    let list = |data: &str| {
        let table = ["reproduce", "cclk-table3", "--scale", "smoke", "--device", "cpu", "--out", "table"];
        let rest = ["--row", "InfoNCE", "--seeds", "2", "--data", data];
        [&table[..], &rest].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |data: &str, rest: &[&str]| {
        let words = list(data);
        let words: Vec<&str> = words.iter().map(String::as_str).chain(rest.iter().copied()).collect();
        simile(place.path(), &words).output().unwrap()
    };
    assert_eq!(run(&data, &["--list"]).stdout, run(".", &["--list"]).stdout);
    assert!(run(&data, &["--task", "1"]).status.success());
    let collected = run(".", &["--json"]);
    let text = stderr_of(&collected);
    assert!(collected.status.code() == Some(1) && text.contains("1 of 2 runs are missing: 0;"), "{text}");
    let table = json_of(&collected);
    assert_eq!((&table["rows"][0]["seeds"], &table["missing"][0]["index"]), (&value!(1), &value!(0)));
}

#[cfg(unix)]
#[test]
fn processes_of_one_sweep_leave_each_other_their_runs_and_a_task_ends_with_143() {
    let place = place();
    let long =
        ["--set", "train.iterations=200", "--set", "train.checkpoint_every=2", "--set", "data.train=96"];
    let arguments = |out, rest: &[&'static str]| {
        let without_smoke = sweep(out, &[]).into_iter().filter(|word| *word != "--smoke").collect::<Vec<_>>();
        let small = ["--set", "data.test=40", "--set", "train.batch=16", "--set", "probe.steps=5"];
        let mut all = [&without_smoke[..], &long, &small, rest].concat();
        let seeds = all.iter().position(|word| *word == "--seeds").unwrap();
        all[seeds + 1] = "1";
        all
    };
    let first = place.path().join("swept/optimizer.learning_rate=1e-3/seed-0");
    let begun = || iterations(&first, "Fair-CCLK");
    let mut task = start(place.path(), &arguments("swept", &["--task", "0"]));
    wait_until(&mut task, "a checkpoint", || begun() > 0);
    // The same task again, and all tasks: the run is left to the process that has it.
    let text = complaint(place.path(), &arguments("swept", &["--task", "0"]), 1);
    let holder = format!("process {} on ", task.id());
    assert!(task.try_wait().unwrap().is_some() || text.contains(&holder), "{text}");
    let (code, text) = end(task, "-TERM");
    assert_eq!(code, Some(143), "{text}");
    assert!(!first.join("state/holder.json").exists() && !first.join("result.json").exists());

    let mut task = start(place.path(), &arguments("swept", &["--task", "0"]));
    let before = begun();
    wait_until(&mut task, "a further checkpoint", || begun() > before);
    let both = simile(place.path(), &arguments("swept", &["--jobs", "1"])).output().unwrap();
    let text = stderr_of(&both);
    assert!(both.status.success() || text.contains("1 of 2 runs are missing: 0;"), "{text}");
    assert!(task.wait_with_output().unwrap().status.success());
    simile(place.path(), &arguments("swept", &[])).assert().success();
    simile(place.path(), &arguments("whole", &[])).assert().success();
    for rate in ["1e-3", "1e-2"] {
        let run = |out: &str| format!("{out}/optimizer.learning_rate={rate}/seed-0");
        assert_same_end(place.path(), &run("swept"), &run("whole"));
    }
}

/// So many small pictures, and their list.
fn pictures(place: &Path, count: u8) -> String {
    let name = |number: u8| format!("pictures/{number}.png");
    for number in 0..count {
        picture(&place.join(name(number)), [12, 12], |x, y| [number, (x * 20) as u8, (y * 20) as u8]);
    }
    let list: String = (0..count).map(|number| name(number) + "\n").collect();
    fs::write(place.join("list.txt"), &list).unwrap();
    list
}

#[test]
fn the_parts_of_a_list_are_the_rows_of_one_run() {
    let place = with_two_variants();
    simile(place.path(), &["train", "tiny.toml", "--smoke", "--out", "run"]).assert().success();
    let list = pictures(place.path(), 150);
    let embed = |rest: &[&str]| {
        json(place.path(), &[&["embed", "run", "--json", "--device", "cpu"][..], rest].concat())
    };
    let whole = embed(&["--list", "list.txt", "--out", "whole.npy"]);
    assert_eq!(whole["images"], 150);
    embed(&["--list", "list.txt", "--out", "whole.csv"]);
    let read = |name: &str| fs::read(place.path().join(name)).unwrap();
    let rows = |name: &str| {
        let bytes = read(name);
        let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        bytes[10 + header..].to_vec()
    };
    for count in [2, 5] {
        let (mut numbers, mut lines, mut images) = (Vec::new(), Vec::new(), 0);
        for index in 0..count {
            let (shard, npy, csv) =
                (format!("{index}/{count}"), format!("{index}.npy"), format!("{index}.csv"));
            let part = embed(&["--list", "list.txt", "--shard", &shard, "--out", &npy]);
            assert_eq!(part["dimensions"], whole["dimensions"]);
            images += part["images"].as_u64().unwrap();
            numbers.extend(rows(&npy));
            embed(&["--list", "list.txt", "--shard", &shard, "--out", &csv]);
            let text = read(&csv);
            let head = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
            lines.extend_from_slice(if index == 0 { &text[..] } else { &text[head..] });
        }
        assert_eq!(images, 150);
        assert!(numbers == rows("whole.npy") && lines == read("whole.csv"), "{count} parts differ");
    }

    let mut piped =
        simile(place.path(), &["embed", "run", "--device", "cpu", "--list", "-", "--out", "piped.npy"]);
    piped.write_stdin(list.as_str()).assert().success();
    assert!(read("piped.npy") == read("whole.npy"));
    fs::write(place.path().join("list.txt"), format!("{list}pictures/none.png\n")).unwrap();
    let text = complaint(place.path(), &["embed", "run", "--list", "list.txt", "--out", "broken.npy"], 1);
    assert!(text.contains("pictures/none.png") && !place.path().join("broken.npy").exists(), "{text}");
    assert!(
        complaint(place.path(), &["embed", "run", "--list", "a", "--shard", "3/3"], 2).contains("0 to N - 1")
    );
}
