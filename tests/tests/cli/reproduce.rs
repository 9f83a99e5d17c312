//! `simile reproduce`.

use std::fs;

use serde_json::Value;
use simile_tests::{data, place};

use crate::support::mnist::mnist;
use crate::support::program::{complaint, json, stdout};

#[test]
fn a_table_runs_is_not_run_twice_and_stands_beside_the_published_one() {
    let place = place();
    let data = data().display().to_string();
    let arguments = [
        ["reproduce", "cclk-table3", "--scale", "smoke", "--seeds", "2", "--json"].as_slice(),
        &[
            "--row",
            "InfoNCE",
            "--row",
            "fair-cclk-ours",
            "--device",
            "cpu",
            "--out",
            "table",
            "--data",
            &data,
        ],
    ]
    .concat();
    let table = json(place.path(), &arguments);
    let cell = |row: usize| &table["rows"][row]["cells"][0];
    assert_eq!(cell(0)["published"], 84.1);
    assert_eq!(cell(1)["values"].as_array().unwrap().len(), 2);
    assert!(cell(1)["against"].is_null(), "the numbers of a few steps are compared with nothing");
    assert!(cell(1)["published"].is_null());
    let out = place.path().join("table");
    for name in ["table.md", "table.json", "table.html"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    let csv = fs::read_to_string(out.join("table.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 3 * 2, "two rows of three metrics, two seeds");

    let written = || fs::metadata(out.join("infonce/seed-0/model.safetensors")).unwrap().modified().unwrap();
    let before = written();
    let again = json(place.path(), &arguments);
    assert_eq!(again["rows"][1]["cells"][0], *cell(1));
    assert_eq!(written(), before);

    // A further seed, for which there are no data any more, takes nothing away.
    let without_data = |word: &&str| match *word {
        "2" => "3".to_owned(),
        word if word == data => ".".to_owned(),
        word => word.to_owned(),
    };
    let more: Vec<String> = arguments.iter().map(without_data).collect();
    let more = json(place.path(), &more.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(more["rows"][1]["cells"][0]["values"], cell(1)["values"]);
    let text = fs::read_to_string(out.join("table.md")).unwrap();
    assert!(text.contains("Run with fewer seeds: InfoNCE, 2 of 3: ") && !text.contains("Not run"), "{text}");
}

#[test]
fn what_is_missing_is_said() {
    let place = place();
    let text = complaint(place.path(), &["reproduce", "du-table5", "--out", "table"], 2);
    let (absent, stated) = text.split_once("cannot be run with any data").unwrap();
    assert!(
        absent.contains("chexpert has files")
            && absent.contains("then run `simile reproduce du-table5 --data DIR --scale cpu --seeds 1`"),
        "{text}"
    );
    assert!(stated.contains("a network of images and reports") && !absent.contains("a network"), "{text}");
    let text = complaint(place.path(), &["reproduce", "du-table5", "--scale", "smoke", "--out", "table"], 2);
    assert!(text.contains("`simile reproduce du-table5 --data DIR --scale smoke --seeds 1`"), "{text}");
    assert!(complaint(place.path(), &["reproduce", "cclk-tabel3"], 2).contains("`cclk-table3`"));
}

#[test]
fn only_rows_that_data_can_mend_are_told_a_command() {
    let place = place();
    let told = |row: &str| {
        complaint(place.path(), &["reproduce", "contex-table1", "--row", row, "--out", "table"], 2)
    };
    let never = told("Max-margin");
    assert!(never.contains("contex-table1 --row max-margin cannot be run: neither its margin"), "{never}");
    assert!(!never.contains("simile reproduce"), "{never}");
    let without_data = told("SimCLR");
    let command = "then run `simile reproduce contex-table1 --data DIR --scale cpu --seeds 1 --row simclr`";
    assert!(without_data.contains(command), "{without_data}");
}

#[test]
fn every_fixed_name_is_listed_with_its_command() {
    let place = place();
    let listed = json(place.path(), &["recipes", "--json"]);
    let of_kind = |kind: &str| {
        let named = listed.as_array().unwrap().iter().filter(|one| one["kind"] == kind);
        named.map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let numbered = |work: &str, what: &str, numbers: std::ops::RangeInclusive<u32>| {
        numbers.map(|number| format!("{work}-{what}{number}")).collect::<Vec<_>>()
    };
    let tables = [("cclk", 2..=8), ("contex", 1..=9), ("difficulty", 1..=2), ("du", 1..=5)];
    let expected: Vec<String> =
        tables.into_iter().flat_map(|(work, all)| numbered(work, "table", all)).collect();
    // The others compare a method on digits, for which the paper prints no table.
    let (ours, printed): (Vec<_>, Vec<_>) =
        of_kind("table").into_iter().partition(|name| name.ends_with("-digits"));
    assert_eq!(printed, expected);
    assert_eq!(ours, ["difficulty-digits", "du-digits"]);
    let figures = [numbered("cclk", "figure", 2..=4), numbered("contex", "figure", 4..=7)].concat();
    let listed_figures = of_kind("figure");
    assert!(figures.iter().all(|name| listed_figures.contains(name)), "{listed_figures:?}");
    for one in listed.as_array().unwrap().iter().filter(|one| one["kind"] != "recipe") {
        let command = format!("simile reproduce {} --scale full --data DIR", one["name"].as_str().unwrap());
        assert_eq!(one["command"], command);
        assert!(!one["rows"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_figure_of_kernels_needs_no_training() {
    let place = place();
    let data = data().display().to_string();
    let drawn =
        json(place.path(), &["reproduce", "cclk-figure2", "--data", &data, "--out", "figure", "--json"]);
    let panels = drawn["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 7);
    for panel in panels {
        let of = |matrix: &str, number: &str| panel[matrix][number].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&of("weights", "own")) && of("kernel", "others") <= 96.0, "{panel}");
    }
    let html = fs::read_to_string(place.path().join("figure/cclk-figure2.html")).unwrap();
    assert!(html.len() < 3 << 20 && html.matches("Heat map of").count() == 14);
    let csv = fs::read_to_string(place.path().join("figure/cclk-figure2.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 7 * 96 * 96);

    stdout(place.path(), &["reproduce", "cclk-figure4", "--data", &data, "--out", "samples"]);
    let html = fs::read_to_string(place.path().join("samples/cclk-figure4.html")).unwrap();
    assert_eq!(html.matches("data:image/png").count(), 2);
}

#[test]
fn the_command_of_a_figure_that_trains_nothing_has_its_data_and_rows() {
    let place = place();
    let data = data().display().to_string();
    let command = |row: &[&str]| {
        let figure = ["reproduce", "cclk-figure4", "--data", &data, "--out", "samples", "--json"];
        let drawn = json(place.path(), &[&figure[..], row].concat());
        drawn["command"].as_str().unwrap().to_owned()
    };
    let whole = command(&[]);
    assert!(whole.starts_with("simile reproduce cclk-figure4 --data ") && whole.contains(&data), "{whole}");
    let alone = command(&["--row", "Uniform colours (paper)"]);
    assert_eq!(alone, format!("{whole} --row uniform-colours-paper"));
    let text = fs::read_to_string(place.path().join("samples/cclk-figure4.md")).unwrap();
    assert!(text.contains(&alone), "{text}");
}

#[test]
fn a_figure_draws_its_rows_and_names_those_that_cannot_run() {
    let place = place();
    let data = data().display().to_string();
    let arguments = ["reproduce", "--scale", "smoke", "--device", "cpu", "--data", &data, "--out", "runs"];
    let with = |rest: &[&'static str]| [&arguments[..1], rest, &arguments[1..]].concat();
    let rows = ["--row", "fair-infonce-3-attributes", "--row", "Fair-CCLK"];
    stdout(place.path(), &with(&[&["cclk-figure3"], &rows[..]].concat()));
    let html = fs::read_to_string(place.path().join("runs/cclk-figure3.html")).unwrap();
    assert!(html.contains("attributes that a cluster agrees in") && html.matches("<svg").count() == 2);

    // A biased network first, and then the other: on few images, because these networks have no strides.
    mnist(&place.path().join("few"), 40, |at| at % 10);
    let rubi = ["reproduce", "contex-table5", "--row", "rubi-0.999", "--scale", "smoke", "--device", "cpu"];
    let table = json(place.path(), &[&rubi[..], &["--data", "few", "--out", "runs", "--json"]].concat());
    assert_eq!(table["rows"][0]["seeds"], 1);
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    let own = cells.iter().find(|cell| cell["metric"] == "classifier_unbiased").unwrap();
    assert!(own["published"] == 10.6 && own["mean"].is_number(), "{own}");
    let alone = with(&["difficulty-table1", "--row", "jtt"]);
    assert!(complaint(place.path(), &alone, 2).contains("is not stated"));
}

#[test]
fn what_lies_in_a_folder_is_said_for_every_recipe_and_row() {
    let place = place();
    let listed = |arguments: &[&str]| json(place.path(), &[&["recipes", "--json"], arguments].concat());
    let one = |all: &Value, name: &str| {
        all.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let nowhere = listed(&[]);
    assert_eq!(one(&nowhere, "fair-digits")["data"], "none-needed");
    assert_eq!(one(&nowhere, "colour-mnist")["data"], "not-looked-for");
    assert_eq!(one(&nowhere, "colour-mnist")["objectives"][3], "fair-cclk");
    assert!(one(&nowhere, "colour-mnist")["cost"].as_str().unwrap().contains("minutes"));
    fs::create_dir(place.path().join("data")).unwrap();
    let empty = listed(&["--data", "data"]);
    let row = one(&empty, "contex-table4")["rows"][0].clone();
    assert_eq!((&row["dataset"], &row["data"]), (&"celeba".into(), &"absent".into()));
    assert!(row["lacks"].as_str().unwrap().contains("simile data list celeba"), "{row}");
    let lacks = one(&empty, "cclk-table3")["rows"][0]["lacks"].clone();
    assert!(lacks.as_str().unwrap().contains("simile data fetch colour-mnist"), "{lacks}");
    assert!(complaint(place.path(), &["recipes", "--data", "nowhere"], 2).contains("not a folder"));
    let data = data().display().to_string();
    let full = listed(&["--data", &data]);
    assert_eq!(one(&full, "cclk-table3")["rows"][0]["data"], "present");
    assert_eq!(
        one(&full, "utkface")["lacks"].as_str().unwrap_or_default().contains("simile import"),
        one(&full, "utkface")["data"] == "present"
    );
    let text = stdout(place.path(), &["recipes", "--data", &data]);
    assert!(text.contains("present") && text.contains("Data are looked for in"), "{text}");
}

#[test]
fn rows_whose_data_are_not_there_stop_no_other() {
    let place = place();
    let text = complaint(place.path(), &["reproduce", "du-table2", "--data", ".", "--out", "table"], 2);
    assert!(text.contains("simile data list imagenet-100") && text.contains("memory banks"), "{text}");
    let text = complaint(place.path(), &["train", "utkface", "--data", "."], 1);
    assert!(text.contains("simile import FILE --encoder resnet18 --input-size 64"), "{text}");
}
