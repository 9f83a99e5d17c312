//! The report of a run, opened as the file that it is.

use std::process::Command;

use serde_json::json;
use simile_tests::program;

use crate::{Where, is_ready, run, succeed};

#[test]
fn a_reader_can_ask_the_report_what_a_point_is() {
    if !is_ready() {
        return;
    }
    let place = simile_tests::place();
    let few =
        ["train.iterations=6", "train.log_every=2", "train.batch=32", "data.train=256", "data.test=128"];
    let few = few.iter().flat_map(|few| ["--set", few]);
    let train = ["train", "fair-digits", "--out", "run", "--device", "cpu"];
    succeed(Command::new(program()).current_dir(&place).args(train).args(few));
    let report = place.path().join("run/report.html");
    let result = run("report.mjs", Where::Cpu, json!({ "report": report }));
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["requests"], 1, "the page is whole in itself");
    assert_eq!(result["overflow"], false, "the report is wider than a phone");

    // The page shows the stored data of the point: class, attribute, and its place in the sheet of images.
    let (at, facts) = (result["point"].as_u64().unwrap() as usize, &result["facts"]);
    let class = facts["classes"][at].as_u64().unwrap() as usize;
    let mut words = result["said"].as_str().unwrap().split(" \u{b7} ");
    assert_eq!(words.next(), facts["names"][class].as_str());
    for attribute in facts["attributes"].as_array().unwrap() {
        let said = words.next().unwrap();
        assert!(said.starts_with(&format!("{} ", attribute["name"].as_str().unwrap())), "{said}");
    }
    let columns = facts["sheet"]["columns"].as_u64().unwrap() as usize;
    let position = format!("-{}px -{}px", 72 * (at % columns), 72 * (at / columns)).replace("-0px", "0px");
    assert_eq!(
        result["thumbnail"],
        json!({ "isPicture": true, "backgroundPosition": position, "width": "72px" })
    );
    for so in ["hiddenBefore", "isWithin", "hiddenAfter", "isRecoloured"] {
        assert_eq!(result[so], true, "{so}: {result}");
    }

    let steps = ["first", "last"].map(|end| result[end].as_str().unwrap().split_once(": ").unwrap());
    assert!(steps[0].0.parse::<u32>().unwrap() < steps[1].0.parse::<u32>().unwrap(), "{steps:?}");
    assert!(result["hovered"].as_str().unwrap().contains(": "), "{}", result["hovered"]);
}
