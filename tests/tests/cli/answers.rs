//! Help, listings and other answers that need no training.

use simile_tests::place;
use simile_tests::schema::violations;

use crate::support::help::helps;
use crate::support::program::{complaint, json, stderr_of, stdout};

#[test]
fn every_level_has_help_with_examples() {
    let helps = helps();
    for level in ["", "train", "data", "data check", "recipes show"] {
        assert!(helps.iter().any(|(words, _)| words.join(" ") == level), "no command `{level}` was found");
    }
    for (words, help) in helps {
        let is_whole = help.contains("\nExamples:\n") && help.contains("Usage: simile");
        assert!(is_whole, "help of `simile {}`:\n{help}", words.join(" "));
    }
}

#[test]
fn a_typing_mistake_is_a_usage_error() {
    let place = place();
    assert!(complaint(place.path(), &["trian"], 2).contains("train"));
    assert!(complaint(place.path(), &["train", "fair-digits", "--sed", "1"], 2).contains("--seed"));
    complaint(place.path(), &["train"], 2);
    complaint(place.path(), &["loss", "a.json", "--tile", "0"], 2);
}

#[test]
fn recipes_are_listed_and_printed() {
    let place = place();
    let listed = json(place.path(), &["recipes", "--json"]);
    let named = |kind: &str| -> Vec<&str> {
        let rows = listed.as_array().unwrap().iter().filter(|row| row["kind"] == kind);
        rows.map(|row| row["name"].as_str().unwrap()).collect()
    };
    let (recipes, tables) = (named("recipe"), named("table"));
    assert!(recipes.contains(&"fair-digits") && recipes.contains(&"colour-mnist-released"), "{recipes:?}");
    assert!(tables.contains(&"cclk-table3") && tables.contains(&"du-table5"), "{tables:?}");
    // `the_keys_of_recipes_are_listed_and_have_a_schema` has all recipes printed.
    for name in tables {
        assert!(stdout(place.path(), &["recipes", "show", name]).contains("[[metric]]"), "{name}");
    }
    assert!(complaint(place.path(), &["recipes", "show", "fair-digit"], 2).contains("`fair-digits`"));
}

#[test]
fn devices_say_what_is_built_in_and_what_is_present() {
    let place = place();
    let answer = json(place.path(), &["devices", "--json"]);
    let rows = answer["devices"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(row("cpu")["built_in"], true);
    assert_eq!(row("cpu")["present"][0]["kind"], "cpu");
    assert!(answer["auto"].is_string());
    assert!(stdout(place.path(), &["devices"]).contains("--device auto"));
}

#[test]
fn completions_know_the_commands_of_every_shell() {
    let place = place();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(place.path(), &["completions", shell]);
        assert!(script.contains("train") && script.contains("resume"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let place = place();
    let mut child = std::process::Command::new(simile_tests::program())
        .args(["completions", "bash"])
        .current_dir(place.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}: {}", output.status, stderr_of(&output));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_device_that_is_not_built_in_names_its_feature() {
    let place = place();
    let answer = json(place.path(), &["devices", "--json"]);
    let missing = answer["devices"].as_array().unwrap().iter().find(|row| row["built_in"] == false).cloned();
    let Some(row) = missing else {
        simile_tests::skipped::note("every backend is built in");
        return;
    };
    let (name, feature) = (row["name"].as_str().unwrap(), row["feature"].as_str().unwrap());
    let text = complaint(place.path(), &["train", "fair-digits", "--smoke", "--device", name], 2);
    assert!(text.contains(&format!("--features {feature}")), "{text}");
    complaint(place.path(), &["train", "fair-digits", "--device", "tpu"], 2);
}

#[test]
fn objectives_are_listed_by_what_one_has() {
    let place = place();
    let names = |arguments: &[&str]| -> Vec<String> {
        let listed = json(place.path(), &[&["objectives", "--json"], arguments].concat());
        listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = names(&[]);
    let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
    let of_attribute = names(&["--have", "attribute"]);
    assert!(
        has(&of_attribute, "fair-cclk") && has(&of_attribute, "nt-xent") && !has(&of_attribute, "supcon")
    );
    let of_nothing = names(&["--have", "nothing"]);
    assert!(has(&of_nothing, "nt-xent") && !has(&of_nothing, "fair-cclk") && all.len() > of_nothing.len());
    assert!(
        has(&names(&["--have", "labels"]), "supcon")
            && has(&names(&["--have", "labels", "--have", "bias"]), "biascon")
    );
    let page = stdout(place.path(), &["objectives", "fair-cclk"]);
    assert!(page.contains("Fair-CCLK") && page.contains("lambda"), "{page}");
}

#[test]
fn the_keys_of_recipes_are_listed_and_have_a_schema() {
    let place = place();
    let text = stdout(place.path(), &["keys", "train"]);
    assert!(
        text.contains("train.iterations") && text.contains("integer") && !text.contains("optimizer."),
        "{text}"
    );
    assert!(complaint(place.path(), &["keys", "trian"], 2).contains("simile keys"));
    for shown in ["Images of an iteration", "one of f32, bf16", "such as 256"] {
        assert!(text.contains(shown), "no {shown:?} beside its key: {text}");
    }
    let listed = json(place.path(), &["keys", "encoder", "--json"]);
    let stem = listed.as_array().unwrap().iter().find(|key| key["key"] == "encoder.stem").unwrap();
    assert!(stem["meaning"].as_str().unwrap().contains("224 pixels"), "{stem}");
    let schema = json(place.path(), &["keys", "--schema"]);
    let of = |path: &str| schema.pointer(path).ok_or(path).unwrap().clone();
    assert_eq!(of("/properties/train/properties/iterations/type"), "integer");
    assert_eq!(of("/properties/optimizer/properties/learning_rate/type"), "number");
    assert_eq!(of("/properties/encoder/properties/stem/description"), stem["meaning"]);
    let objectives = of("/properties/variant/items/properties/objective/properties/name/enum");
    assert!(objectives.as_array().unwrap().iter().any(|name| name == "fair-cclk"));
    let recipe = |text: &str| serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    let listed = json(place.path(), &["recipes", "--json"]);
    for listed in listed.as_array().unwrap().iter().filter(|listed| listed["kind"] == "recipe") {
        let name = listed["name"].as_str().unwrap();
        let recipe = recipe(&stdout(place.path(), &["recipes", "show", name]));
        assert!(recipe["data"].is_object(), "{name} has no section [data]: {recipe}");
        let faults = violations(&schema, &recipe);
        assert!(faults.is_empty(), "{name}: {faults:?}");
    }
    assert!(of("/properties/objective/properties/oversample").is_object());
    assert!(of("/properties/objective/properties/kernel/properties/gamma").is_object());
    let measured = recipe("[[probe.objectives]]\nname = \"nt-xent\"\nof = \"projection\"\nbatch = 64\n");
    assert!(violations(&schema, &measured).is_empty());
    assert!(of("/properties/probe/properties/objectives/items/properties/batch").is_object());
    let wrong = "nmae = \"a\"\n[train]\nbatch = 4\niteratons = 3\n[probe]\nridgge = 1.0\n";
    let faults = violations(&schema, &recipe(wrong));
    assert_eq!(faults.len(), 3, "an editor underlines what a run refuses: {faults:?}");
}
