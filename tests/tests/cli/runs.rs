//! Training from the first command to the report, interrupted and continued.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

#[cfg(unix)]
use crate::support::process::interrupt;
use crate::support::program::{ALONE, complaint, json, simile, stderr, stdout};
use crate::support::recipes::with_two_variants;
#[cfg(unix)]
use crate::support::run::assert_same_end;
use crate::support::run::{assert_share_of, metrics, result};

#[test]
fn a_run_writes_its_folder_and_answers_with_its_result() {
    let place = with_two_variants();
    let answer = json(place.path(), &["train", "tiny.toml", "--out", "run", "--seed", "3", "--json"]);
    let run = place.path().join("run");
    for file in ["recipe.toml", "metrics.jsonl", "model.safetensors", "result.json", "report.html", "state"] {
        assert!(run.join(file).exists(), "{file} is missing");
    }
    assert_eq!(answer, result(&run));
    assert_eq!((&answer["seed"], &answer["recipe"]), (&3.into(), &"tiny".into()));
    for variant in answer["arms"].as_array().unwrap() {
        assert_share_of(&variant["metrics"]["top1"], 48);
        assert!(variant["metrics"]["condition_mse"].as_f64().unwrap() > 0.0);
        assert!(variant["metrics"]["condition_r2"].as_f64().unwrap() <= 1.0);
        for probe in ["class", "condition", "condition_nonlinear"] {
            assert!(variant["probes"][probe]["ridge"].as_f64().unwrap() > 0.0, "{}", variant["probes"]);
        }
    }
    let before = &answer["untrained"]["metrics"];
    assert!(before["top1"].as_f64().is_some() && before["condition_r2"].as_f64().is_some());
    assert_ne!(before, &answer["arms"][0]["metrics"]);
    assert_eq!(answer["base_rates"]["condition_r2"], 0.0);
    assert!(answer["base_rates"]["condition_mse"].as_f64().unwrap() > 0.0);
    assert_eq!(fs::read_to_string(run.join("metrics.jsonl")).unwrap().lines().count(), 80);

    let html = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(html.len() < 3 << 20, "{} bytes", html.len());
    for outside in ["src=\"http", "href=\"http", "@import", "url(http", "<script src", "fetch("] {
        assert!(!html.contains(outside), "the report loads something: {outside}");
    }
    assert!(html.contains("Fair") && html.contains("data:image/png") && html.contains("<svg"));
    for part in
        ["Confusion matrix and groups", "Neighbours", "t-SNE", "Kernel and weights", "Accuracy against leak"]
    {
        assert!(html.contains(part), "no `{part}`");
    }

    let resolved = fs::read_to_string(run.join("recipe.toml")).unwrap();
    assert!(resolved.contains("seed = 3") && resolved.contains("learning_rate"), "{resolved}");
}

#[test]
fn a_smoke_test_says_that_it_is_one_and_what_the_whole_run_takes() {
    let place = with_two_variants();
    let answer = json(place.path(), &["train", "tiny.toml", "--smoke", "--json"]);
    let run = place.path().join("runs/tiny-smoke");
    assert_eq!(answer, result(&run));
    assert_eq!((&answer["smoke"]["iterations"], &answer["smoke"]["batch"]), (&40.into(), &16.into()));
    let seconds = answer["smoke"]["expected_seconds"].as_f64().unwrap();
    assert!(seconds > 0.0 && seconds < 600.0, "{seconds}");
    let html = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(html.contains("This was a smoke test") && html.contains("2 variants of 40 iterations of 16"));
    let text = stdout(place.path(), &["train", "tiny.toml", "--smoke", "--out", "other"]);
    let last = text.lines().last().unwrap();
    assert!(last.contains("smoke test") && last.contains("takes about"), "{text}");
    // A smoke test has its own folder: the run itself takes another one, and the next steps of the guide open that.
    let whole = json(place.path(), &["train", "tiny.toml", "--json"]);
    assert!(whole["smoke"].is_null() && place.path().join("runs/tiny/result.json").exists());
}

#[test]
fn the_time_of_all_variants_is_said_before_the_first_step() {
    let place = with_two_variants();
    // So many that their time is said on any machine; the first line of progress comes within ten seconds.
    let mut command = Command::new(simile_tests::program());
    command.args(["train", "tiny.toml", "--set", "train.iterations=100000"]);
    command.current_dir(place.path()).env("SIMILE_CACHE", "off").envs(ALONE);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(run.stderr.take().unwrap()).lines() {
        said.push(line.unwrap());
        if said.last().is_some_and(|line| line.contains("left")) {
            break;
        }
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let expected = said.iter().position(|line| line.contains("training 2 variants of 100000 iterations"));
    let first = said.iter().position(|line| line.contains("SimCLR: training on"));
    assert!(expected.is_some() && expected < first, "{said:#?}");
    assert!(said.last().unwrap().contains("left for all variants"), "{said:#?}");
}

#[test]
fn the_same_seed_gives_the_same_metrics_and_another_does_not() {
    let place = with_two_variants();
    let run = |out: &str, seed: &str| {
        let set = ["--set", "train.iterations=6"];
        let arguments = [&["train", "tiny.toml", "--out", out, "--seed", seed], &set[..]].concat();
        simile(place.path(), &arguments).assert().success();
        fs::read(place.path().join(out).join("metrics.jsonl")).unwrap()
    };
    let first = run("a", "1");
    assert_eq!(first, run("b", "1"));
    assert_eq!(metrics(&place.path().join("a")), metrics(&place.path().join("b")));
    assert_ne!(first, run("c", "2"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_continues_to_the_same_end() {
    let place = with_two_variants();
    simile(place.path(), &["train", "tiny.toml", "--out", "whole"]).assert().success();

    // Stopped once in each variant, which is long enough for a signal to arrive.
    let mut arguments = vec!["train", "tiny.toml", "--out", "cut"];
    for variant in ["SimCLR", "Fair"] {
        interrupt(place.path(), &arguments, variant);
        arguments = vec!["train", "--resume", "cut"];
    }
    // The model of the first variant does not stand for the run.
    let export = ["export", "cut", "--to", "pytorch"];
    let text = complaint(place.path(), &export, 1);
    assert!(text.contains("`simile train --resume cut`") && text.contains("done: model-simclr."), "{text}");
    let text = complaint(place.path(), &["evaluate", "cut"], 1);
    assert!(text.contains("cut/model-fair.safetensors is not there"), "{text}");
    simile(place.path(), &arguments).assert().success();
    let text = stderr(place.path(), &export);
    assert!(
        text.contains("cut: the model of `Fair`, the last variant; --variant names another: SimCLR"),
        "{text}"
    );

    assert_same_end(place.path(), "whole", "cut");
    assert!(complaint(place.path(), &["train", "--resume", "cut"], 2).contains("has finished"));
}

/// One unreadable picture ended the output, after hours.
fn skipped_pictures_cost_no_others(place: &Path) {
    let skip = ["embed", "run", "a.png", "tiny.toml", "a.png", "--broken", "skip", "--json"];
    let answer = json(place, &skip);
    assert_eq!((answer["images"].as_array().unwrap().len(), &answer["skipped"]), (2, &1.into()));
    let written = |out: &str| json(place, &[&skip[..], &["--out", out]].concat());
    for (out, rows) in [("gap.csv", 2), ("gap.parquet", 2), ("gap.npy", 3)] {
        let answer = written(out);
        assert_eq!((&answer["images"], &answer["skipped"]), (&rows.into(), &1.into()), "{out}");
    }
    let bytes = fs::read(place.join("gap.npy")).unwrap();
    let rows: Vec<&[u8]> = bytes[bytes.len() - 3 * 84 * 4..].chunks_exact(84 * 4).collect();
    let is_nan = |value: &[u8]| f32::from_le_bytes(value.try_into().unwrap()).is_nan();
    assert!(rows[0] == rows[2] && !rows[0].chunks_exact(4).any(is_nan));
    assert!(rows[1].chunks_exact(4).all(is_nan), "rows follow the names");
    assert_eq!(fs::read_to_string(place.join("gap.csv")).unwrap().lines().count(), 3);
    let said = stderr(place, &skip);
    assert!(said.contains("tiny.toml") && said.contains("skipped: 1 of 3 pictures"), "{said}");
    let none = ["embed", "run", "tiny.toml", "--broken", "skip", "--out", "none.npy"];
    assert!(complaint(place, &none, 1).contains("none of 1 pictures"));
    assert!(!place.join("none.npy").exists());
    let own = ["embed", "run", "--broken", "skip", "--out", "own.parquet"];
    assert!(complaint(place, &own, 2).contains("data.broken"));
}

#[test]
fn a_trained_encoder_embeds_and_is_evaluated() {
    let place = with_two_variants();
    simile(place.path(), &["train", "tiny.toml", "--smoke", "--out", "run"]).assert().success();
    stdout(place.path(), &["data", "preview", "digits", "--out", "a.png", "--count", "1"]);

    let text = stdout(place.path(), &["embed", "run", "a.png", "a.png"]);
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(
        (rows.len(), rows[1].split(',').count()),
        (3, 85),
        "a header and two rows of a name and 84 values"
    );
    assert_eq!(rows[1], rows[2]);
    let same = stdout(place.path(), &["embed", "run/model.safetensors", "a.png", "a.png", "--out", "a.csv"]);
    assert!(same.contains("a.csv"));
    assert_eq!(fs::read_to_string(place.path().join("a.csv")).unwrap(), text);
    let answer = json(place.path(), &["embed", "run", "a.png", "--json"]);
    assert_eq!(answer["vectors"][0].as_array().unwrap().len(), 84);
    stdout(place.path(), &["embed", "run", "a.png", "--out", "a.npy"]);
    assert!(fs::read(place.path().join("a.npy")).unwrap().starts_with(b"\x93NUMPY"));
    complaint(place.path(), &["embed", "run", "a.png", "--out", "a.txt"], 2);
    let refused = complaint(place.path(), &["embed", "run", "a.png", "tiny.toml"], 1);
    assert!(refused.contains("tiny.toml") && refused.contains("--broken skip"), "{refused}");
    skipped_pictures_cost_no_others(place.path());

    let evaluated = json(place.path(), &["evaluate", "run", "--json"]);
    assert_eq!(
        evaluated["metrics"],
        metrics(&place.path().join("run"))[1],
        "the model is that of the last variant"
    );
    let by_neighbours = json(place.path(), &["evaluate", "run", "--probe", "knn", "--json"]);
    assert!(by_neighbours["metrics"]["top1"].as_f64().is_some());
}

#[test]
fn runs_of_other_settings_are_no_repeats_of_each_other() {
    let place = with_two_variants();
    for (out, seed, batch) in [("1", "1", "16"), ("2", "2", "24")] {
        let set = ["--set", &format!("train.batch={batch}"), "--variant", "Fair"];
        let arguments = [&["train", "tiny.toml", "--smoke", "--seed", seed, "--out", out], &set[..]].concat();
        simile(place.path(), &arguments).assert().success();
    }
    stdout(place.path(), &["report", "1", "2", "--out", "both.html"]);
    let html = fs::read_to_string(place.path().join("both.html")).unwrap();
    assert!(html.contains("train.batch = 16") && html.contains("train.batch = 24"));
    let over = html.split("Over the runs").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(over.contains("Differs in"), "{over}");
    let of_variants = over.split("Untrained network").next().unwrap();
    assert!(!of_variants.contains(" ± ") && !of_variants.contains(", p "), "{of_variants}");
}

#[test]
fn a_folder_of_several_runs_is_told_from_one() {
    let place = with_two_variants();
    simile(place.path(), &["train", "tiny.toml", "--smoke", "--seeds", "2", "--out", "sd"])
        .assert()
        .success();
    for command in [
        &["report", "sd"][..],
        &["export", "sd", "--to", "onnx"],
        &["embed", "sd", "a.png"],
        &["evaluate", "sd"],
    ] {
        let text = complaint(place.path(), command, 2);
        assert!(text.contains("`sd` holds several runs: seed-0, seed-1; name one"), "{text}");
    }
}

#[test]
fn runs_are_compared_in_one_report() {
    let place = with_two_variants();
    for seed in ["1", "2"] {
        simile(place.path(), &["train", "tiny.toml", "--smoke", "--seed", seed, "--out", seed])
            .assert()
            .success();
    }
    let answer = json(place.path(), &["report", "1", "2", "--out", "both.html", "--json"]);
    assert_eq!(answer["report"], "both.html");
    let html = fs::read_to_string(place.path().join("both.html")).unwrap();
    assert!(html.len() < 3 << 20 && html.matches("class=\"maps\"").count() == 2);
    assert!(html.contains("Over the runs") && html.contains(" ± "));
}
