//! Every method by its section in a recipe.

use std::fs;

use simile_tests::place;

#[cfg(unix)]
use crate::support::process::interrupt;
#[cfg(unix)]
use crate::support::program::simile;
use crate::support::program::{complaint, json, stderr};
use crate::support::recipes::{Edited as _, SMALL, place_with};
#[cfg(unix)]
use crate::support::run::assert_same_end;
use crate::support::run::{assert_share_of, result};

/// A recipe without objective and method, with checkpoints of the states of methods.
fn base() -> String {
    SMALL.edited("log_every = 1", "log_every = 1\ncheckpoint_every = 2")
}

/// Name, method, objective.
const VARIANTS: [(&str, &str, &str); 10] = [
    ("Plain", r#"{ name = "single" }"#, r#"{ name = "cross-entropy" }"#),
    ("Balanced", r#"{ name = "single" }"#, r#"{ name = "biasbal", bias = "palette" }"#),
    ("MoCo", r#"{ name = "moco", queue = 32 }"#, r#"{ name = "moco" }"#),
    ("BYOL", r#"{ name = "byol" }"#, r#"{ name = "byol" }"#),
    ("SwAV", r#"{ name = "swav", prototypes = 10, frozen_steps = 2, queue = 32 }"#, r#"{ name = "swav" }"#),
    ("Difficulty", r#"{ name = "difficulty" }"#, r#"{ name = "wcl-weighted-dcl" }"#),
    ("LfF", r#"{ name = "lff", ema_alpha = 0.7 }"#, r#"{ name = "lff" }"#),
    ("ReBias", r#"{ name = "rebias" }"#, r#"{ name = "rebias-hsic" }"#),
    ("LNL", r#"{ name = "lnl" }"#, r#"{ name = "lnl", bias = "palette" }"#),
    ("JTT", r#"{ name = "jtt", first_steps = 3 }"#, r#"{ name = "jtt" }"#),
];

fn recipe(variants: &[(&str, &str, &str)]) -> String {
    variants.iter().fold(base(), |text, (name, method, objective)| {
        text + &format!("\n[[variant]]\nname = \"{name}\"\nmethod = {method}\nobjective = {objective}\n")
    })
}

#[test]
fn one_command_trains_every_method() {
    let place = place_with("all.toml", &recipe(&VARIANTS));
    let text = stderr(place.path(), &["train", "all.toml", "--out", "run"]);
    assert!(text.contains("of 64 training images; the next stage begins"), "{text}");
    let result = result(&place.path().join("run"));
    let variants = result["arms"].as_array().unwrap();
    assert_eq!(variants.len(), VARIANTS.len());
    for (variant, (name, ..)) in variants.iter().zip(VARIANTS) {
        assert_eq!(variant["name"], name);
        assert!(variant["final_loss"].as_f64().unwrap().is_finite());
        assert_share_of(&variant["metrics"]["top1"], 32);
    }
}

/// It was measured on weights with which that network had not begun.
#[test]
fn the_network_beside_a_bias_amplifying_one_is_that_one_before_its_first_step() {
    let place = place();
    let still = base().edited(
        "name = \"adam\"",
        "name = \"sgd\"\nlearning_rate = 1e-30\nmomentum = 0.0\nweight_decay = 0.0",
    );
    for (evaluated, name) in
        [("bias-amplifying", "Untrained bias-amplifying network"), ("debiased", "Untrained network")]
    {
        let method = format!("{{ name = \"difficulty\", evaluated = \"{evaluated}\" }}");
        let variant = format!(
            "[[variant]]\nname = \"a\"\nmethod = {method}\nobjective = {{ name = \"wcl-weighted-dcl\" }}\n"
        );
        fs::write(place.path().join("still.toml"), format!("{still}\n{variant}")).unwrap();
        let answer = json(place.path(), &["train", "still.toml", "--out", evaluated, "--json"]);
        assert_eq!(answer["untrained"]["name"], name);
        assert_eq!(answer["untrained"]["metrics"], answer["arms"][0]["metrics"], "{evaluated}");
    }
}

#[test]
fn a_classifier_learns_beside_contrast_from_a_batch_of_its_own() {
    let guide = r#"{ name = "simple-conv-1x1", input_size = 8 }"#;
    let softcon =
        format!(r#"{{ name = "bias-network", encoder = {guide}, first_steps = 3, ce_weight = 0.01 }}"#);
    let drawn = r#"{ name = "biascon-total", bias = "palette", oversample = 10.0 }"#;
    let variants = [
        ("BiasCon", r#"{ name = "with-classifier" }"#, drawn),
        ("ConTeX", r#"{ name = "with-classifier" }"#, r#"{ name = "contex", variant = "paper" }"#),
        ("SoftCon", &softcon, r#"{ name = "softcon" }"#),
    ];
    let text = recipe(&variants) + "\n[classified]\nbatch = 24\n";
    let place = place_with("beside.toml", &text);
    let result = json(place.path(), &["train", "beside.toml", "--json"]);
    for (variant, (name, ..)) in result["arms"].as_array().unwrap().iter().zip(variants) {
        assert_eq!(variant["name"], name);
        assert_share_of(&variant["metrics"]["classifier_top1"], 32);
    }
    let nobody = recipe(&VARIANTS[..1]) + "\n[classified]\nbatch = 24\n";
    fs::write(place.path().join("nobody.toml"), nobody).unwrap();
    assert!(complaint(place.path(), &["train", "nobody.toml"], 2).contains("with-classifier"));
}

#[cfg(unix)]
#[test]
fn interrupted_runs_with_a_state_continue_to_the_same_end() {
    let text = recipe(&[VARIANTS[2], VARIANTS[4], VARIANTS[9]]).edited("iterations = 6", "iterations = 40");
    let place = place_with("three.toml", &text.edited("first_steps = 3", "first_steps = 20"));
    simile(place.path(), &["train", "three.toml", "--out", "whole"]).assert().success();
    let mut arguments = vec!["train", "three.toml", "--out", "cut"];
    for variant in ["MoCo", "SwAV", "JTT"] {
        interrupt(place.path(), &arguments, variant);
        arguments = vec!["train", "--resume", "cut"];
    }
    simile(place.path(), &arguments).assert().success();
    assert_same_end(place.path(), "whole", "cut");
}

#[test]
fn a_section_serves_every_variant_and_shrinks_for_a_smoke_test() {
    let text = base() + "\n[method]\nname = \"jtt\"\nfirst_steps = 4\n\n[objective]\nname = \"jtt\"\n";
    let place = place_with("jtt.toml", &text);
    let answer = json(place.path(), &["train", "jtt.toml", "--smoke", "--json"]);
    assert_eq!(answer["arms"][0]["iterations"], 2);
}

#[test]
fn what_does_not_go_together_is_said() {
    let place = place();
    let complain = |method: &str, objective: &str| {
        fs::write(place.path().join("wrong.toml"), recipe(&[("Wrong", method, objective)])).unwrap();
        complaint(place.path(), &["train", "wrong.toml"], 2)
    };
    for (method, objective, reason) in [
        (r#"{ name = "mocco" }"#, r#"{ name = "moco" }"#, "did you mean `moco`?"),
        (r#"{ name = "moco", qeue = 3 }"#, r#"{ name = "moco" }"#, "did you mean `queue`?"),
        (r#"{ name = "moco" }"#, r#"{ name = "byol" }"#, "`byol` is trained by `byol`"),
        (r#"{ name = "moco", queue = 0 }"#, r#"{ name = "moco" }"#, "`method.queue` is 0"),
        (r#"{ name = "jtt" }"#, r#"{ name = "jtt" }"#, "first_steps"),
        (r#"{ name = "jtt", first_steps = 6 }"#, r#"{ name = "jtt" }"#, "`method.first_steps` is 6"),
        (r#"{ name = "lnl" }"#, r#"{ name = "lnl" }"#, "objective.bias"),
        (r#"{ name = "lnl", predictor = { output = 10 } }"#, r#"{ name = "lnl" }"#, "set `objective.bias`"),
        (r#"{ name = "lnl" }"#, r#"{ name = "lnl", bias = "colour" }"#, "known: palette"),
        (r#"{ name = "single" }"#, r#"{ name = "biasbal" }"#, "objective.bias"),
        (r#"{ name = "single" }"#, r#"{ name = "biascon" }"#, "objective.bias"),
        (r#"{ name = "single" }"#, r#"{ name = "end" }"#, "wrong.toml, line"),
        (
            r#"{ name = "single" }"#,
            r#"{ name = "di", bias = "palette", domains = 2 }"#,
            "`objective.domains` is 2, and `palette` has",
        ),
        (r#"{ name = "single" }"#, r#"{ name = "biascon", bias = "hue" }"#, "known: palette"),
        (r#"{ name = "single" }"#, r#"{ name = "nt-xent", oversample = 10.0 }"#, "objective.bias"),
        (
            r#"{ name = "single" }"#,
            r#"{ name = "biascon", bias = "palette", oversample = 0.5 }"#,
            "objective.oversample",
        ),
        (
            r#"{ name = "single" }"#,
            r#"{ name = "biascon", bias = "palette", oversample = 10.0, neighbourhoods = 2 }"#,
            "leave one out",
        ),
        (
            r#"{ name = "single" }"#,
            r#"{ name = "nt-xent", clusters = 2, one_cluster = true, neighbourhoods = 2 }"#,
            "`objective.neighbourhoods` and `objective.one_cluster`",
        ),
        (r#"{ name = "with-classifier" }"#, r#"{ name = "byol" }"#, "`method.name` is with-classifier"),
        (r#"{ name = "single" }"#, r#"{ name = "moco" }"#, "`moco` is trained by `moco`"),
        (
            r#"{ name = "with-classifier", ce_weight = 0.1 }"#,
            r#"{ name = "biascon-total", bias = "palette" }"#,
            "method.ce_weight",
        ),
    ] {
        let text = complain(method, objective);
        assert!(text.contains(reason), "{method} {objective}: {text}");
        assert!(!place.path().join("runs").exists(), "{method} {objective}");
    }
}

/// The line was that of the objective, or of the variant.
#[test]
fn a_wrong_key_of_a_method_is_named_with_its_line() {
    let method = r#"{ name = "lnl", predictor = { output = 7 } }"#;
    let objective = r#"{ name = "lnl", bias = "palette" }"#;
    let own = recipe(&[("Wrong", method, objective)]);
    let shared = own
        .replace(&format!("method = {method}\n"), "")
        .replace("[[variant]]", "[method]\nname = \"lnl\"\n\n[method.predictor]\noutput = 7\n\n[[variant]]");
    for (text, begins) in [(own, "method = "), (shared, "output = 7")] {
        let line = 1 + text.lines().position(|line| line.starts_with(begins)).unwrap();
        let place = place_with("wrong.toml", &text);
        let said = complaint(place.path(), &["train", "wrong.toml"], 2);
        let expected = format!("wrong.toml, line {line}: variant `Wrong`: `method.predictor.output` is 7");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn the_width_of_projections_is_not_the_number_of_scores() {
    let place = place();
    let variants = [
        ("Scores", r#"{ name = "single" }"#, r#"{ name = "cross-entropy" }"#),
        ("Projections", r#"{ name = "single" }"#, r#"{ name = "nt-xent" }"#),
    ];
    for width in ["8", "128"] {
        let text = recipe(&variants) + &format!("\n[head]\noutput = {width}\n");
        fs::write(place.path().join("both.toml"), text).unwrap();
        let text = stderr(place.path(), &["train", "both.toml", "--out", width]);
        let note = format!("Scores: its network gives 10 scores; `head.output`, {width}, is the width");
        assert!(text.contains(&note) && !text.contains("Projections: its network gives"), "{text}");
        let result = result(&place.path().join(width));
        assert!(result["arms"][0]["metrics"]["classifier_top1"].is_number(), "{result}");
    }
}

#[test]
fn what_a_longer_run_still_ends_before_is_said_when_it_resumes() {
    let method = r#"{ name = "swav", prototypes = 10, frozen_steps = 9, queue = 32 }"#;
    let place = place_with("frozen.toml", &recipe(&[("SwAV", method, r#"{ name = "swav" }"#)]));
    let said = |arguments: &[&str]| stderr(place.path(), arguments);
    let warning = |iterations: usize| {
        format!("warning: SwAV: the prototypes are not trained in its {iterations} iterations, because")
    };
    let in_result = || result(&place.path().join("run"))["arms"][0]["warnings"].to_string();
    // The recipe has no [augment]. This warning does not depend on the length, and stays.
    let assert_views_are_equal = || {
        let warnings = in_result();
        assert!(warnings.contains("the two views of an image are equal"), "{warnings}");
    };
    let text = said(&["train", "frozen.toml", "--out", "run"]);
    assert!(text.contains(&warning(6)), "{text}");
    assert!(in_result().contains("not trained in its 6 iterations"), "{}", in_result());
    assert_views_are_equal();
    let longer = |set| ["train", "--resume", "run", "--set", set];
    let text = said(&longer("train.iterations=8"));
    assert!(text.contains(&warning(8)), "{text}");
    // That of the shorter run is not beside it.
    let kept = in_result();
    assert!(kept.contains("in its 8 iterations") && !kept.contains("in its 6 iterations"), "{kept}");
    assert_views_are_equal();
    assert!(!said(&longer("train.iterations=12")).contains("warning: SwAV: the prototypes"));
    assert!(!in_result().contains("the prototypes"), "{}", in_result());
    assert_views_are_equal();
}
