//! The path of a newcomer: from a folder of pictures to a verdict.

use std::fs;
use std::time::{Duration, Instant};

use simile_tests::place;

use crate::support::program::{complaint, json, json_of, simile, stderr, stderr_of, stdout, stdout_of};
use crate::support::scans::scans;

#[test]
fn a_recipe_for_ones_own_pictures_runs_as_it_is_written() {
    let place = place();
    scans(place.path(), 120);
    let said = stdout(place.path(), &["init", "scans", "--hide", "hospital", "--keep", "age"]);
    assert!(said.contains("simile train scans.toml --data scans"), "{said}");
    let recipe = fs::read_to_string(place.path().join("scans.toml")).unwrap();
    for line in [
        "# Written by  simile init scans --hide hospital --keep age",
        "# Time        about ",
        "csv = \"images.csv\"",
        "# 3 values: north",
        "kernel = { name = \"exact-match\" }",
        "kernel = { name = \"rbf\", sigma = 2",
        "temperature = 0.5",
        "learning_rate = 4e-3",
        "condition = \"hospital\"",
        "also = [\"age\"]",
    ] {
        assert!(recipe.contains(line), "no `{line}` in\n{recipe}");
    }
    assert!(!recipe.contains("patient ="), "a value of its own for each picture is no attribute:\n{recipe}");
    let checked = stdout(place.path(), &["data", "check", "scans.toml", "--data", "scans"]);
    assert!(checked.contains("is sound"), "{checked}");
    let smoke = ["train", "scans.toml", "--data", "scans", "--smoke", "--json"];
    let smoke = simile(place.path(), &smoke).assert().success();
    let said = stderr_of(smoke.get_output());
    assert!(!said.contains("all are taken"), "the smoke test asks for 256 images, and not the user: {said}");
    let smoke = json_of(smoke.get_output());
    let variants: Vec<&str> =
        smoke["arms"].as_array().unwrap().iter().map(|variant| variant["name"].as_str().unwrap()).collect();
    assert_eq!(variants, ["plain", "hide hospital", "keep age"]);
    assert!(smoke["arms"][0]["metrics"]["age_r2"].is_number(), "{smoke}");

    let again = complaint(place.path(), &["init", "scans"], 2);
    assert!(again.contains("scans.toml exists") && again.contains("--out"), "{again}");
    let unknown = complaint(place.path(), &["init", "scans", "--hide", "hopsital", "--out", "b.toml"], 2);
    assert!(unknown.contains("did you mean `hospital`"), "{unknown}");
    let identity = complaint(place.path(), &["init", "scans", "--hide", "patient", "--out", "b.toml"], 2);
    assert!(identity.contains("shared by few rows"), "{identity}");
    let elsewhere = complaint(place.path(), &["train", "fair-digits", "--hide", "colour"], 2);
    assert!(elsewhere.contains("folder of pictures"), "{elsewhere}");
    let nowhere = complaint(place.path(), &["train", "scan", "--hide", "hospital"], 2);
    assert!(nowhere.contains("there is no folder `scan`; did you mean `scans`?"), "{nowhere}");
    for command in [&["train", "scan"][..], &["data", "check", "scan"]] {
        let text = complaint(place.path(), command, 2);
        assert!(text.contains("; did you mean `scans`?") && !text.contains("known:"), "{text}");
    }
    // The folder would be trained on with a new draft, without the edits of the recipe.
    for (command, near, code) in [
        (&["train", "scan.toml", "--data", "scans"][..], "scans.toml", 2),
        (&["train", "scans.tml"], "scans.toml", 2),
        (&["data", "check", "scans.tom"], "scans.toml", 2),
        (&["sweep", "scan", "--grid", "train.batch=16,32"], "scans.toml", 2),
        (&["init", "scan"], "scans", 2),
        (&["data", "check", "scan", "--label", "label"], "scans", 2),
        (&["train", "scans.toml", "--data", "scan"], "scans", 1),
    ] {
        let text = complaint(place.path(), command, code);
        assert!(text.contains(&format!("; did you mean `{near}`?")), "{command:?}: {text}");
    }
    for command in
        [&["train", "scans/images.csv", "--hide", "age"][..], &["data", "check", "scans/images.csv"]]
    {
        let table = complaint(place.path(), command, 2);
        assert!(table.contains("`scans/images.csv` is a table; name its folder"), "{table}");
    }
    let several = complaint(place.path(), &["train", "scans", "--hide", "hospital,age"], 2);
    assert!(several.contains("; give --hide once for each: --hide hospital --hide age"), "{several}");
}

/// The numbers around the arrow of a part of a sentence.
fn arrow(sentence: &str, part: &str) -> [f64; 2] {
    let text = sentence.split_once(part).ok_or_else(|| format!("no `{part}` in {sentence}")).unwrap().1;
    let (before, after) = text.split_once(" \u{2192} ").unwrap();
    let number = |text: &str| text.split_whitespace().next().unwrap().parse::<f64>().unwrap();
    [number(before), number(after)]
}

#[test]
fn one_line_trains_both_variants_and_says_the_verdict() {
    let place = place();
    scans(place.path(), 160);
    let few = ["--set", "train.iterations=4", "--set", "train.batch=16", "--set", "probe.steps=10"];
    let answer =
        json(place.path(), &[&["train", "scans", "--hide", "hospital", "--json"], &few[..]].concat());
    let said: Vec<&str> =
        answer["verdict"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    let shown = answer["arms"][1]["metrics"]["condition_top1"].as_f64().unwrap();
    let [_, after] = arrow(said[0], "hospital can be named ");
    assert!((after - 100.0 * shown).abs() <= 0.5 && said[0].contains("untrained network"), "{said:?}");
    assert!(said.iter().any(|one| one.contains("`--seeds 5`")), "{said:?}");
    let html = fs::read_to_string(place.path().join("runs/scans/report.html")).unwrap();
    let (verdict, table) =
        (html.find("hospital can be named").unwrap(), html.find("id=\"results\"").unwrap());
    assert!(verdict < table, "the verdict stands on top");

    let seeds = [&["train", "scans", "--hide", "hospital", "--seeds", "2"], &few[..]].concat();
    let text = stdout(place.path(), &seeds);
    assert!(text.contains("2 seeds") && text.contains(", p ") && text.contains(" \u{b1} "), "{text}");
    assert!(text.starts_with("hide hospital: hospital can be named "), "{text}");
    assert!(place.path().join("runs/scans-seeds/seed-1/result.json").exists());
    // The second run of the same command reads the results.
    assert!(stderr(place.path(), &seeds).contains("seed-1: done before"));
    let html = fs::read_to_string(place.path().join("runs/scans-seeds/report.html")).unwrap();
    assert!(html.contains("hospital can be named"));

    // A variant is named, and which one was taken is said.
    let embed = |arguments: &[&str]| {
        let embed = [&["embed", "runs/scans", "scans/0.png"], arguments].concat();
        let embed = simile(place.path(), &embed).assert().success();
        (stdout_of(embed.get_output()), stderr_of(embed.get_output()))
    };
    let (last, said) = embed(&[]);
    assert!(said.contains("`hide hospital`, the last variant; --variant names another: plain"), "{said}");
    let (plain, said) = embed(&["--variant", "plain"]);
    assert!(said.contains("the model of `plain`") && plain != last, "{said}");
    // The former name of the option.
    assert_eq!(embed(&["--arm", "hide hospital"]).0, last);
    let unknown = complaint(place.path(), &["evaluate", "runs/scans", "--variant", "plane"], 2);
    assert!(unknown.contains("did you mean `plain`"), "{unknown}");
}

/// `cargo test --workspace --test cli -- --ignored newcomer`, on a machine that does nothing else.
#[test]
#[ignore = "trains for minutes; the same path at a small scale is the test above"]
fn three_thousand_pictures_have_a_better_verdict_within_ten_minutes() {
    let place = place();
    scans(place.path(), 3000);
    let began = Instant::now();
    let mut train = simile(place.path(), &["train", "scans", "--hide", "hospital"]);
    let output = train.timeout(Duration::from_secs(600)).assert().success();
    let text = stdout_of(output.get_output());
    let seconds = began.elapsed().as_secs_f64();
    eprintln!("{seconds:.0} s\n{text}");
    let sentence = text.lines().next().unwrap();
    let [leak_before, leak] = arrow(sentence, "hospital can be named ");
    let [top1_before, top1] = arrow(sentence, "class accuracy ");
    assert!(leak < leak_before - 5.0 && top1 > top1_before + 5.0, "{sentence}");
}
