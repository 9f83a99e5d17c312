//! `simile train --profile`: the time of a step by stage, and its cost by formula.

use std::fs;

use serde_json::Value;
use simile_tests::place;

use crate::support::program::{complaint, json, json_of, simile, stdout, stdout_of};
use crate::support::recipes::with_two_variants;

#[test]
fn a_profile_has_the_stages_of_every_variant_and_a_trace_and_trains_nothing() {
    let place = with_two_variants();
    let answer = json(place.path(), &["train", "tiny.toml", "--profile", "2", "--out", "p", "--json"]);
    let variants = answer["arms"].as_array().unwrap();
    assert_eq!(variants.iter().map(|variant| &variant["name"]).collect::<Vec<_>>(), ["SimCLR", "Fair"]);
    for variant in variants {
        let stages = variant["stages"].as_array().unwrap();
        let names: Vec<&str> = stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["data", "views", "forward", "loss", "backward", "update", "waiting", "other"]);
        for stage in &stages[..6] {
            assert!(stage["ms"].as_f64().unwrap() > 0.0, "{stage}");
        }
        let shares: f64 = stages.iter().map(|stage| stage["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9 && variant["images_per_second"].as_f64().unwrap() > 0.0);
        assert_eq!(variant["launches"], Value::Array(vec![]), "a CPU starts no kernel");
        // The images lie on the device; one of the two has a kernel to solve.
        assert!(variant["waiting"]["images_ms"].is_null());
        assert_eq!(variant["waiting"]["solves_ms"].is_number(), variant["name"] == "Fair", "{variant}");
        assert_eq!(stages[6]["ms"].as_f64().unwrap() > 0.0, variant["name"] == "Fair", "{variant}");
        let [host, step] = ["host_ms", "step_ms"].map(|key| variant[key].as_f64().unwrap());
        assert!(host > 0.0 && host <= step, "{host} of {step}");
    }

    let trace = fs::read(place.path().join("p/trace.json")).unwrap();
    let trace: Value = serde_json::from_slice(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let steps = events.iter().filter(|event| event["name"] == "step").collect::<Vec<_>>();
    assert_eq!(steps.len(), 2 * variants.len());
    // A stage lies inside its step.
    let time = |event: &Value, key: &str| event[key].as_f64().unwrap();
    let end = |event: &Value| time(event, "ts") + time(event, "dur");
    let forward = events.iter().find(|event| event["name"] == "forward").unwrap();
    assert!(time(forward, "ts") >= time(steps[0], "ts") && end(forward) <= end(steps[0]));
    assert!(!place.path().join("p/result.json").exists());

    // A step of fewer images than a batch has is not said to be of a whole one.
    let few = ["train", "tiny.toml", "--profile", "1", "--out", "p", "--set", "train.batch=4096"];
    let text = stdout(place.path(), &few);
    assert!(text.contains("images on average, where train.batch is 4096"), "{text}");

    let error = complaint(place.path(), &["train", "tiny.toml", "--profile", "100001"], 2);
    assert!(error.contains("--profile"), "{error}");
}

#[test]
fn a_profile_says_how_long_steps_wait_and_what_other_threads_do_meanwhile() {
    let place = with_two_variants();
    let profiled = ["train", "tiny.toml", "--profile", "4", "--out", "p"];
    let mut command = simile(place.path(), &[&profiled[..], &["--json"]].concat());
    let answer = json_of(command.env("SIMILE_RESIDENT", "0").assert().success().get_output());
    for variant in answer["arms"].as_array().unwrap() {
        let waiting = &variant["waiting"];
        assert!(waiting["images_ms"].as_f64().unwrap() > 0.0, "{variant}");
        assert_eq!(waiting["solves_ms"].is_number(), variant["name"] == "Fair", "{variant}");
        let row = &variant["stages"].as_array().unwrap()[6];
        assert!(row["name"] == "waiting" && row["ms"].as_f64().unwrap() > 0.0, "{row}");
    }

    let trace = fs::read(place.path().join("p/trace.json")).unwrap();
    let trace: Value = serde_json::from_slice(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let threads = |pid: u64| {
        let of = events.iter().filter(|event| event["name"] == "thread_name" && event["pid"] == pid);
        let mut threads: Vec<_> = of
            .map(|event| (event["args"]["name"].as_str().unwrap(), event["tid"].as_u64().unwrap()))
            .collect();
        threads.sort_unstable();
        threads
    };
    let names = |pid| threads(pid).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(1), ["images", "training"]);
    assert_eq!(names(2), ["images", "solves", "training"]);
    let done_by = |name: &str| -> Vec<u64> {
        let of = events.iter().filter(|event| event["name"] == name && event["pid"] == 2);
        let mut threads: Vec<u64> = of.map(|event| event["tid"].as_u64().unwrap()).collect();
        threads.dedup();
        threads
    };
    let number = |name: &str| threads(2).into_iter().find(|(known, _)| *known == name).unwrap().1;
    for (work, thread) in [("read", "images"), ("solve", "solves"), ("waiting", "training")] {
        assert_eq!(done_by(work), [number(thread)], "{work}");
    }

    let mut command = simile(place.path(), &profiled);
    let printed = stdout_of(command.env("SIMILE_RESIDENT", "0").assert().success().get_output());
    assert!(printed.contains("waiting") && printed.contains(" for images)"), "{printed}");
    assert!(printed.contains(" for images, ") && printed.contains(" for solves)"), "{printed}");
}

/// The costs of a batch that no machine here could hold, of a set that is not here.
#[test]
fn a_profile_of_no_steps_counts_by_formula_without_data() {
    let place = place();
    let of = |batch: &str| {
        let set = format!("train.batch={batch}");
        let answer = ["train", "imagenet-100", "--set", &set, "--profile", "0", "--json"];
        json(place.path(), &answer)["arms"][0]["cost"].clone()
    };
    let [small, large] = [of("256"), of("4096")];
    let number = |cost: &Value, part: &str, key: &str| cost[part][key].as_f64().unwrap();
    // The encoder's 4,087,136,256 multiply-adds and its last layer, and the head's; two views; forward and twice back.
    let products = 4_087_136_256.0 + 2.0 * 2048.0 * 2048.0 + 2048.0 * 256.0;
    assert_eq!(number(&large, "networks", "flops"), 4096.0 * 2.0 * 3.0 * 2.0 * products);
    assert_eq!(number(&large, "networks", "flops"), 16.0 * number(&small, "networks", "flops"));
    assert_eq!(number(&large, "loss", "flops"), 256.0 * number(&small, "loss", "flops"));
    assert_eq!(number(&large, "update", "bytes"), number(&small, "update", "bytes"));
    assert_eq!(number(&large, "uploads", "pictures"), 4096.0 * 3.0 * 500.0 * 500.0);
    let memory = |cost: &Value| cost["memory"].as_f64().unwrap();
    assert!(memory(&small) > 512.0 * 4.0 * 21e6 && memory(&large) > 15.0 * memory(&small));
    assert!(fs::read_dir(place.path()).unwrap().next().is_none(), "no run folder is made");
}

#[cfg(unix)]
#[test]
fn a_profile_ends_where_the_user_asks() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Command;

    use crate::support::process::start;

    let place = with_two_variants();
    let mut child = start(place.path(), &["train", "tiny.toml", "--profile", "100000"]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("measuring 100000 steps")));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let told: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told:?}");
    assert!(told.iter().any(|line| line.contains("interrupted")), "{told:?}");
    let left = fs::read_dir(place.path().join("runs/tiny-profile")).unwrap().count();
    assert_eq!(left, 0, "a trace that is no whole document is no trace");
}
