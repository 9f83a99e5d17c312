//! The loss lab, as a visitor would use it.

use serde_json::{Value, json};

use crate::{Where, is_ready, largest_difference, run, screenshots, workspace};

#[test]
fn a_visitor_can_use_the_loss_lab() {
    if !is_ready() {
        return;
    }
    let screenshots = screenshots();
    let site = workspace().join("www/dist");
    let result = run("lab.mjs", Where::Cpu.job(), json!({ "site": site, "screenshots": screenshots }));
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["overflow"], false, "the lab is wider than a phone");
    assert_eq!(result["failures"], json!([]));
    assert_eq!(result["embedded"], json!({ "header": false, "overflow": false }));
    let numbers = |value: &Value| -> Vec<f64> { serde_json::from_value(value.clone()).unwrap() };

    let (before, after) = (&result["before"], &result["after"]);
    for side in 0..2 {
        assert!(numbers(&after["loss"])[side] < numbers(&before["loss"])[side] - 0.1, "{before} {after}");
    }
    let (started, shared) = (numbers(&before["shared"]), numbers(&after["shared"]));
    assert_eq!(started[0], started[1]);
    assert!(shared[1] < shared[0] - 0.2, "{after}");

    let shown = |motion: &str| result["shown"][motion].as_u64().unwrap();
    assert!(shown("still") >= 1 && shown("still") * 3 < shown("moving"), "{}", result["shown"]);

    let frames = &result["frames"];
    assert!(frames["shown"].as_u64().unwrap() > 1 && frames["asked"] == frames["shown"], "{frames}");

    let spoken = &result["spoken"];
    assert_eq!(
        spoken["during"],
        json!(["off", "off", "off"]),
        "a screen reader is told of the steps of a run"
    );
    assert_eq!(spoken["after"], json!(["polite", "polite", "polite"]));
    assert!(spoken["texts"].as_array().unwrap().len() == 3, "the text follows a run: {spoken}");
    assert!(result["focus"].as_str().unwrap().contains("Sample 1, first view"), "{}", result["focus"]);
    assert_eq!(result["drag"]["tops"], json!([1, 1]), "both sides move the point that is dragged");
    let loss = numbers(&result["drag"]["loss"]);
    assert!((loss[0] - loss[1]).abs() > 1e-4, "{loss:?}");
    assert_eq!(result["painted"], json!([0.6]));

    let restored = &result["restored"];
    assert_eq!(restored["state"], true, "{}", result["address"]);
    assert_eq!(restored["kernel"], "laplacian");
    assert!(restored["farthest"].as_f64().unwrap() < 1e-4, "{restored}");
    let loss: Vec<Vec<f64>> = serde_json::from_value(restored["loss"].clone()).unwrap();
    assert!(largest_difference(&loss[..1], &loss[1..]) < 1e-2, "{restored}");
    let pair = result["pair"].as_str().unwrap();
    assert!(pair.contains("first view) and sample") && pair.contains("left -"), "a pair attracts: {pair}");
    is_laplacian(result["cell"].as_str().unwrap(), &numbers(&restored["hues"]));

    let columns = numbers(&result["csv"]);
    assert_eq!(columns, vec![9.0; 1 + 2 * 2 * 16], "a line for each point of each view and side");
    assert_eq!(result["svg"]["error"], "");
    assert!(result["svg"]["shapes"].as_u64().unwrap() > 64);
    for (language, expected) in
        [("rust", "loss::build"), ("recipe", "[variant.objective]"), ("torch", "def fair_cclk")]
    {
        let code = result["code"][language].as_str().unwrap();
        let is_expected = code.contains(expected) || (language == "torch" && code.contains("def nt_xent"));
        assert!(is_expected, "{language}: {code}");
    }

    crate::snippets::are_kept(&result["snippets"]);
    let presets = result["presets"].as_object().unwrap();
    for (title, shown) in presets {
        assert_eq!(shown["status"], "", "{title}");
        assert!(shown["story"].as_str().unwrap().len() > 40, "{title}");
    }
    let gradients = numbers(&presets["No ridge, no gradient"]["gradient"]);
    assert!(gradients[0] < gradients[1] / 20.0, "{gradients:?}");
    assert!((numbers(&presets["No ridge, no gradient"]["loss"])[0] - 16.0_f64.ln()).abs() < 0.02);
    let clipped = numbers(&presets["What clipping does"]["gradient"]);
    assert!(clipped[0] < clipped[1] / 2.0, "{clipped:?}");

    assert_eq!(result["weights"], "paper", "the map shows other weights than those of the objective");
    let forced = &result["forced"];
    assert_ne!(forced["ground"], forced["sphere"], "a figure of one colour: {forced}");
    assert!(result["unmarked"].as_str().unwrap().starts_with("Point at a cell"), "{}", result["unmarked"]);

    let own = result["variants"][0].as_str().unwrap();
    assert!(own == "as normalised (default)", "the form that is evaluated is named: {}", result["variants"]);

    let objectives: Vec<String> = serde_json::from_value(result["objectives"].clone()).unwrap();
    assert!(objectives.len() >= 18, "{objectives:?}");
    let refused = result["refused"].as_array().unwrap().len();
    assert_eq!(objectives.len() + refused, simile_core::loss::names().count());
}

/// Asserts that the text under a heat map states the Laplacian kernel of the two samples' hues.
fn is_laplacian(cell: &str, hues: &[f64]) {
    let numbers: Vec<f64> = cell
        .split(|c: char| !(c.is_ascii_digit() || ".e-".contains(c)))
        .filter_map(|v| v.parse().ok())
        .collect();
    let [i, j, value, ..] = numbers[..] else { panic!("{cell}") };
    let turns = hues[i as usize - 1] - hues[j as usize - 1];
    let distance = 2.0 * (std::f64::consts::PI * turns).sin().abs();
    assert!((value - (-distance / 0.5).exp()).abs() < 2e-3, "{cell}: distance {distance}");
}
