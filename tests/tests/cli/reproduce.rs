//! `simile reproduce`.

use std::fs;

use super::{complaint, json, place};

#[test]
fn a_table_runs_is_not_run_twice_and_stands_beside_the_published_one() {
    let Some(data) = simile_tests::data().map(|data| data.join("mnist")) else {
        eprintln!("skipped: no MNIST (set SIMILE_DATA)");
        return;
    };
    let place = place();
    let data = data.display().to_string();
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
    assert!(cell(1)["p_value"].as_f64().unwrap() > 0.0);
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
}

#[test]
fn what_is_missing_is_said() {
    let place = place();
    let text = complaint(place.path(), &["reproduce", "du-table5", "--out", "table"], 2);
    assert!(text.contains("CheXpert"), "{text}");
    assert!(complaint(place.path(), &["reproduce", "cclk-tabel3"], 2).contains("`cclk-table3`"));
}
