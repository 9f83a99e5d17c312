//! A fault of a recipe is refused, with its line and what to write instead.

use std::path::Path;

use serde_json::{Value, json};

use super::{SMALL, load, usage_error};
use crate::config::{Changes, Recipe};

#[test]
fn an_unknown_key_names_its_line_and_the_nearest() {
    let text = usage_error(load(&SMALL.replace("iterations", "iteratons"), &[]));
    assert!(text.contains("line 9") && text.contains("did you mean `iterations`?"), "{text}");
    let text = usage_error(load(&SMALL.replace("temperature", "temprature"), &[]));
    assert!(text.contains("line 13"), "{text}");
    assert!(text.contains("did you mean `temperature`?"), "{text}");
    let text = usage_error(load(&format!("{SMALL}\n[optimizer]\nname = \"adam\"\nlearning_rte = 1\n"), &[]));
    assert!(text.contains("line 17") && text.contains("did you mean `learning_rate`?"), "{text}");
    let text = usage_error(load(&SMALL.replace("[train]", "[trian]"), &[]));
    assert!(text.contains("did you mean `train`?"), "{text}");
}

/// A word of the message does not tell the section: it may be part of a name.
#[test]
fn a_fault_of_an_objective_is_placed_there_although_there_is_a_method() {
    let with_method = SMALL.replace("\n[data]", "\n[method]\nname = \"single\"\n\n[data]");
    let message = |before: &str, after: &str| {
        let text = usage_error(load(&with_method.replace(before, after), &[]));
        assert_eq!(text.matches(", line ").count(), 1, "{text}");
        text
    };
    for name in ["max-margin", "nt-method", "nt-xnt"] {
        let text = message("\"fair-cclk\"\ntemperature = 0.5", &format!("\"{name}\""));
        assert!(text.contains("line 15") && text.contains(name), "{text}");
    }
    let text = message("temperature = 0.5", "variant = \"method-x\"");
    assert!(text.contains("line 16") && text.contains("method-x"), "{text}");
    let text = message("\"single\"", "\"byol\"");
    assert!(text.contains("line 3") && text.contains("byol"), "{text}");
    let second = "[[variant]]\nname = \"a\"\nobjective = { name = \"nt-xent\" }\n\n[[variant]]\nname = \"b\"\n\
                  objective = { name = \"max-margin\" }\n";
    let text = message("[objective]\nname = \"fair-cclk\"\ntemperature = 0.5\n", second);
    assert!(text.contains("line 20") && text.contains("variant `b`"), "{text}");
}

/// They became infinite in `f32`, so that the run ended with a loss that is no number, and without a line.
#[test]
fn a_rate_and_a_decay_that_no_f32_is_as_large_as_name_their_line() {
    let of_optimizer = |name: &str, line: &str| {
        usage_error(load(&format!("{SMALL}\n[optimizer]\nname = \"{name}\"\n{line}\n"), &[]))
    };
    for (name, key) in [
        ("adam", "learning_rate"),
        ("adamw", "weight_decay"),
        ("adam", "epsilon"),
        ("sgd", "weight_decay"),
        ("lars", "weight_decay"),
        ("lars", "eta"),
    ] {
        let text = of_optimizer(name, &format!("{key} = 1e99"));
        let expected = format!("line 17: `optimizer.{key}` is 1e99, expected a number from 0 to 3.4e38");
        assert!(text.contains(&expected), "{name}: {text}");
    }
    let text = usage_error(load(&format!("{SMALL}\n[probe.sgd]\nweight_decay = 1e99\n"), &[]));
    assert!(text.contains("line 16: `probe.sgd.weight_decay` is 1e99"), "{text}");
    assert!(load(&format!("{SMALL}\n[optimizer]\nname = \"sgd\"\nlearning_rate = 1e30\n"), &[]).is_ok());
}

#[test]
fn an_unknown_key_is_not_taken_for_that_of_another_section() {
    let optimizer = "[optimizer]\nname = \"adam\"\n\n[schedule]\nname = \"cosine\"\nbatch = 3\n";
    let text = usage_error(load(&format!("{SMALL}\n{optimizer}"), &[]));
    assert!(text.contains("line 20: unknown key `batch`"), "{text}");
    let variant = |name: &str, line: &str| {
        format!("[[variant]]\nname = \"{name}\"\n[variant.objective]\nname = \"nt-xent\"\n{line}\n")
    };
    let (rest, _) = SMALL.split_once("[objective]").unwrap();
    let of = |line: &str| {
        let variants = [variant("a", "temperature = 0.5"), variant("b", line)].concat();
        usage_error(load(&format!("{rest}{variants}"), &[]))
    };
    let text = of("iterations = 3");
    assert!(text.contains("line 20") && text.contains("unknown key `iterations`"), "{text}");
    let text = of("temperature = nan");
    assert!(text.contains("line 20: `variant.b.objective.temperature` is NaN"), "{text}");
    let constant = "[schedule]\nname = \"constant\"\nwarm_up = 0.05\n";
    let text = usage_error(load(&format!("{SMALL}\n{constant}"), &[]));
    assert!(text.contains("line 17: unknown key `warm_up`"), "{text}");
}

#[test]
fn what_a_form_or_a_view_cannot_take_is_refused() {
    let fair = ["objective.name=fair-cclk", "objective.kernel={ name = \"rbf\", sigma = 1 }"];
    let with = |more: &[&'static str]| load(SMALL, &[&fair[..], more].concat());
    let text = usage_error(with(&["objective.clip_threshold=0.1"]));
    assert!(text.contains("`objective.clip_threshold` has no effect: only the form `released`"), "{text}");
    assert!(text.contains("or set its `variant` to \"released\""), "{text}");
    assert!(with(&["objective.clip_threshold=0.1", "objective.variant=released"]).is_ok());
    let text = usage_error(load(SMALL, &["augment.blur={ kernel = 99 }"]));
    assert!(text.contains("blur.kernel is 99") || text.contains("`blur.kernel` is 99"), "{text}");
}

#[test]
fn a_key_that_no_part_of_an_objective_reads_is_refused() {
    let set = |objective: &str| load(SMALL, &[&format!("objective={{ {objective} }}")]);
    for (objective, key) in [
        ("name = \"nt-xent\", condition = \"nonsense\"", "condition"),
        ("name = \"nt-xent\", condition = \"colour\", one_cluster = true", "condition"),
        ("name = \"supcon\", condition = \"colour\"", "condition"),
        ("name = \"nt-xent\", clusters = 5", "clusters"),
        ("name = \"fair-cclk\", clusters = 5", "clusters"),
        ("name = \"dcl\", top_attributes = 5", "top_attributes"),
        ("name = \"nt-xent\", bias = \"palette\"", "bias"),
        ("name = \"supcon\", bias = \"palette\"", "bias"),
        ("name = \"fair-info-nce\", condition = \"colour\", clusters = 5, bias = \"palette\"", "bias"),
    ] {
        let text = usage_error(set(objective));
        assert!(text.contains(&format!("`objective.{key}` has no effect")), "{objective}: {text}");
    }
    for objective in [
        "name = \"nt-xent\", condition = \"colour\", neighbourhoods = 4",
        "name = \"nt-xent\", condition = \"colour\", clusters = 5, one_cluster = true",
        "name = \"hardneg-cclk\", condition = \"colour\"",
        "name = \"fair-info-nce\", condition = \"colour\", clusters = 5",
        "name = \"supcon\", top_attributes = 5",
        "name = \"nt-xent\", bias = \"palette\", oversample = 10.0",
        "name = \"contex\", bias = \"palette\"",
        "name = \"cross-entropy\", bias = \"palette\"",
        "name = \"gce\", bias = \"palette\"",
    ] {
        assert!(set(objective).is_ok(), "{objective}: {:?}", set(objective).err());
    }
    let classifier = "method={ name = \"with-classifier\" }";
    for objective in ["name = \"nt-xent\", clusters = 5", "name = \"supcon\", bias = \"palette\""] {
        assert!(load(SMALL, &[&format!("objective={{ {objective} }}"), classifier]).is_ok(), "{objective}");
    }
    // A run of a program before this one.
    let text =
        SMALL.replace("fair-cclk", "nt-xent").replace("temperature", "condition = \"colour\"\ntemperature");
    assert!(Recipe::resolved(&format!("name = \"mine\"\n{text}"), Path::new("recipe.toml")).is_ok());
}

/// It was followed as if the setting were absent.
#[test]
fn a_setting_of_the_bias_amplifying_loss_that_its_form_does_not_read_is_refused() {
    let with = |triplet: &str| {
        let method = format!("\n[method]\nname = \"difficulty\"\ntriplet = {{ {triplet} }}\n\n[data]");
        SMALL.replace("\n[data]", &method).replace("fair-cclk", "wcl-weighted-dcl")
    };
    let reason = "`method.triplet.tau_plus` has no effect: only the form `released` of wcl-triplet reads it";
    for triplet in ["tau_plus = 0.3", "variant = \"paper\", tau_plus = 0.3"] {
        let text = usage_error(load(&with(triplet), &[]));
        assert!(text.contains(&format!("line 4: {reason}")), "{triplet}: {text}");
        assert!(text.contains("`method.triplet.variant = \"released\"`"), "{triplet}: {text}");
    }
    let set = "method.triplet.tau_plus=0.3";
    let text = usage_error(load(&with(""), &[set]));
    assert!(text.contains(&format!("--set {set}: {reason}")), "{text}");
    assert!(load(&with("variant = \"released\""), &[set]).is_ok());
    // A run writes every setting into its recipe, which may be trained again.
    let written = load(&with(""), &[]).unwrap().to_toml().unwrap();
    assert!(written.contains("tau_plus = 0.1"), "{written}");
    assert!(load(&written, &[]).is_ok());
    // A run of a program before this one.
    let text = format!("name = \"mine\"\n{}", with("tau_plus = 0.3"));
    assert!(Recipe::resolved(&text, Path::new("recipe.toml")).is_ok());
}

/// Files of reference numbers state these keys, and `simile loss` takes them. A kernel of `rebias-hsic` was taken, and had no effect.
#[test]
fn a_key_that_requests_only_state_is_unknown_in_a_recipe() {
    for (method, objective, line, key) in [
        ("single", "info-nce", "similarity = \"cosine\"", "similarity"),
        ("single", "kernel-decoupled-uniformity", "lambda_effective = 0.01", "lambda_effective"),
        ("moco", "moco", "K = 64", "K"),
        ("rebias", "rebias-hsic", "kernel = \"laplacian\"", "kernel"),
        ("swav", "swav", "nmb_crops = 2", "nmb_crops"),
        ("single", "fair-cclk", "kernel = { name = \"cosine\", formula = \"k\" }", "formula"),
    ] {
        let with = |line: &str| {
            let sections = format!("\"{objective}\"\n{line}\n\n[method]\nname = \"{method}\"");
            load(&SMALL.replace("\"fair-cclk\"\ntemperature = 0.5", &sections), &[])
        };
        assert!(with("").is_ok(), "{objective}");
        let text = usage_error(with(line));
        assert!(text.contains(&format!("unknown key `{key}`")), "{objective}: {text}");
    }
}

#[test]
fn an_unknown_objective_names_the_nearest() {
    let text = usage_error(load(&SMALL.replace("fair-cclk", "fair-clk"), &[]));
    assert!(text.contains("did you mean `fair-cclk`?"), "{text}");
}

#[test]
fn a_recipe_that_is_no_text_names_the_line() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    std::fs::write(&file, b"[data]\n# K\xf6ln\n").unwrap();
    let error = Recipe::load(file.to_str().unwrap(), &Changes::default()).unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("mine.toml") && text.contains("line 2 is not text in UTF-8; save"), "{text}");
}

#[test]
fn a_recipe_that_is_not_there_names_the_nearest() {
    let text = usage_error(Recipe::load("fair-digit", &Changes::default()));
    assert!(text.contains("did you mean `fair-digits`?"), "{text}");
}

/// It was followed as it stood: a size ended the program, and a number of epochs kept it busy without end.
#[test]
fn the_recipe_in_a_model_is_checked() {
    let sound = serde_json::to_value(load(SMALL, &[]).unwrap()).unwrap();
    assert!(Recipe::from_model(&sound).is_ok());
    let refusal = |place: &str, value: Value| {
        let mut changed = sound.clone();
        *changed.pointer_mut(place).unwrap() = value;
        Recipe::from_model(&changed).unwrap_err()
    };
    for (place, value, words) in [
        (
            "/encoder/input_size",
            json!(4_294_967_296_u64),
            "`encoder.input_size` is 4294967296, lenet5 takes 32",
        ),
        (
            "/encoder/channels",
            json!(1_u64 << 62),
            "`encoder.channels` is 4611686018427387904, expected at most",
        ),
        ("/data/train", json!(u64::MAX), "it cannot be written as TOML"),
        ("/probe/sgd/epochs", json!(1_u64 << 40), "`probe.sgd.epochs` is 1099511627776, expected at most"),
        ("/probe/ridge", json!([-1.0]), "`probe.ridge` is -1; expected 0 or more"),
        ("/probe/ridge", json!([]), "`probe.ridge` is an empty list"),
        ("/probe", json!({ "solvr": "sgd" }), "unknown key `solvr`; did you mean `solver`?"),
    ] {
        let text = refusal(place, value);
        assert!(text.contains(words), "{place}: {text}");
    }
}
