//! `--set`: settings change what they name, in any order, and a wrong one says why.

use std::path::Path;

use simile_core::optim::OptimizerConfig;
use simile_core::optim::schedule::Schedule;

use super::{SMALL, load, usage_error};
use crate::config::keys::keys;
use crate::config::meanings::sections;
use crate::config::variant::VariantSection;
use crate::config::{Changes, Recipe};

#[test]
fn settings_change_what_they_name() {
    let set = [
        "train.batch=32",
        "objective.lambda = 0.1",
        "objective.kernel={name = \"rbf\", sigma = 3}",
        "name=9",
    ];
    let recipe = load(SMALL, &set).unwrap();
    assert_eq!(recipe.train.batch, 32);
    assert_eq!(recipe.name, "9", "a string is replaced by a string");
    let objective = recipe.objective.unwrap();
    assert_eq!(objective.parameters["lambda"].as_float(), Some(0.1));
    assert_eq!(objective.parameters["kernel"]["name"].as_str(), Some("rbf"));
}

#[test]
fn a_value_for_a_whole_section_is_told_the_key() {
    for (set, remedy) in [
        ("optimizer=adam", "write optimizer.name=adam"),
        ("method=byol", "write method.name=byol"),
        ("schedule=cosine", "write schedule.name=cosine"),
        ("encoder=resnet18", "write encoder.name=resnet18"),
        ("objective=nt-xent", "write objective.name=nt-xent"),
        ("train=5", "its keys are batch, "),
        ("augment.crop=0.5", "its keys are "),
    ] {
        let text = usage_error(load(SMALL, &[set]));
        assert!(text.starts_with(&format!("--set {set}: ")), "{text}");
        assert!(text.contains("expected a section") && text.contains(remedy), "{text}");
    }
    let text = usage_error(load(SMALL, &["data.table.conditions=hospital"]));
    assert!(text.contains("expected a section") && !text.contains(".name="), "{text}");
}

#[test]
fn no_section_is_refused_by_the_name_of_a_type() {
    let keys = keys().unwrap();
    let mut refused = 0;
    for section in sections(keys.iter().map(|key| key.key.as_str())) {
        let Err(error) = load(SMALL, &[&format!("{section}=x")]) else { continue };
        let text = error.to_string();
        assert!(!text.contains("struct ") && !text.contains("enum "), "{section}: {text}");
        refused += 1;
    }
    assert!(refused > 10, "{refused} sections");
}

#[test]
fn another_kind_of_a_section_drops_the_defaults_of_the_former_one() {
    let adam = |line: &str| format!("{SMALL}\n[optimizer]\nname = \"adam\"\nlearning_rate = 0.02\n{line}\n");
    for text in [SMALL.to_owned(), adam("")] {
        let changed = load(&text, &["optimizer.name=sgd"]).unwrap();
        assert!(matches!(changed.optimizer, OptimizerConfig::Sgd(_)), "{:?}", changed.optimizer);
        assert!(load(&text, &["optimizer.name=lars", "optimizer.name=adamw"]).is_ok());
    }
    assert_eq!(load(&adam(""), &["optimizer.name=sgd"]).unwrap().optimizer.learning_rate(), 0.02);
    let text = usage_error(load(&adam("beta1 = 0.5"), &["optimizer.name=sgd"]));
    assert!(text.contains("unknown key `beta1`"), "{text}");
    assert!(text.contains("--set 'optimizer={ name = \"sgd\" }'"), "{text}");
    let cosine = |line: &str| format!("{SMALL}\n[schedule]\nname = \"cosine\"\n{line}\n");
    let changed = load(&cosine(""), &["schedule.name=constant"]).unwrap();
    assert_eq!(changed.schedule, Schedule::default());
    assert!(usage_error(load(&cosine("warm_up = 0.1"), &["schedule.name=constant"])).contains("`warm_up`"));
    let text = usage_error(load(SMALL, &["optimizer.name=sdg"]));
    assert!(text.contains("unknown value `sdg`; known: sgd"), "{text}");
}

#[test]
fn a_variant_whose_name_has_points_is_reached() {
    let (rest, _) = SMALL.split_once("[objective]").unwrap();
    let variants = ["v1", "v1.5"]
        .map(|name| format!("[[variant]]\nname = \"{name}\"\nobjective = {{ name = \"nt-xent\" }}\n"));
    let text = format!("{rest}{}", variants.concat());
    for (at, name) in ["v1", "v1.5"].into_iter().enumerate() {
        let recipe = load(&text, &[&format!("variant.{name}.objective.temperature=0.25")]).unwrap();
        let changed = |variant: &VariantSection| variant.objective.parameters.contains_key("temperature");
        assert_eq!(recipe.written_variants.iter().position(changed), Some(at), "{name}");
    }
    let quoted = load(&text, &["variant.\"v1.5\".objective.temperature=0.25"]).unwrap();
    assert!(quoted.written_variants[1].objective.parameters.contains_key("temperature"));
    let text = usage_error(load(&text, &["variant.v2.5.objective.temperature=1"]));
    assert!(text.contains("`variant.v2.5.objective` does not begin with the name of a variant"), "{text}");
    assert!(text.contains("known: v1, v1.5"), "{text}");
}

#[test]
fn a_key_in_quotes_is_set_without_them() {
    let table = "[data.table]\ncsv = \"a.csv\"\nsplit = \"split\"\n";
    let text = format!("{}\n{table}", SMALL.replace("\"digits\"", "\"table\""));
    for quote in ['"', '\''] {
        let set = format!("data.table.conditions.{quote}dose (ml)/1.5{quote}=[\"dose\"]");
        let written = load(&text, &[&set]).unwrap().to_toml().unwrap();
        assert!(written.contains("\"dose (ml)/1.5\" = [\"dose\"]"), "{written}");
    }
    let text = usage_error(load(SMALL, &["probe.ridge.0=1"]));
    assert!(text.contains("`ridge` is a list"), "{text}");
}

#[test]
fn a_number_replaces_a_word_where_both_may_stand() {
    let kernel = r#"objective.kernel={name = "rbf", sigma = "median"}"#;
    let recipe = load(SMALL, &[kernel, "objective.kernel.sigma=5"]).unwrap();
    let kernel = &recipe.objective.unwrap().parameters["kernel"];
    assert_eq!(kernel["sigma"].as_integer(), Some(5));
}

#[test]
fn a_setting_reaches_one_variant_by_name() {
    for key in ["variant", "arm"] {
        let set = [format!("{key}.Fair-CCLK.objective.temperature=0.25")];
        let recipe = Recipe::load("fair-digits", &Changes { set: &set, ..Changes::default() }).unwrap();
        let temperature =
            |variant: usize| recipe.written_variants[variant].objective.parameters["temperature"].as_float();
        assert_eq!((temperature(0), temperature(1)), (Some(0.1), Some(0.25)));
    }
}

#[test]
fn settings_that_need_each_other_are_made_together() {
    let both = ["train.iterations=9", "train.accumulate=3"];
    for order in [both, [both[1], both[0]]] {
        let train = load(SMALL, &order).unwrap().train;
        assert_eq!((train.iterations, train.accumulate), (9, 3));
    }
    let text = usage_error(load(SMALL, &["train.accumulate=3", "train.batch=8"]));
    assert!(text.contains("--set train.accumulate=3") && text.contains("multiple"), "{text}");
    let jtt = SMALL.replace("fair-cclk\"\ntemperature = 0.5", "jtt\"");
    let staged = |first: u64| {
        load(&jtt, &["train.accumulate=2", &format!("method={{ name = 'jtt', first_steps = {first} }}")])
    };
    assert!(staged(4).is_ok());
    assert!(usage_error(staged(5)).contains("`method.first_steps` must be a multiple"));
    let rebias = SMALL.replace("fair-cclk\"\ntemperature = 0.5", "rebias-hsic\"");
    let of = |batch: usize| load(&rebias, &["method={ name = 'rebias' }", &format!("train.batch={batch}")]);
    assert!(of(4).is_ok());
    assert!(usage_error(of(3)).contains("`train.batch` must be at least 4"));
    let folders = SMALL.replace("\"digits\"", "\"folders\"");
    let features = load(&folders, &["data.features.file=a.npy", "data.features.paths=a.txt"]).unwrap();
    assert_eq!(features.data.features.unwrap().paths, Path::new("a.txt"));
    assert_eq!(load(SMALL, &["data.prior.model=a"]).unwrap().data.prior.unwrap().name, "prior");
    let text = usage_error(load(SMALL, &["variant.a.objective.lambda=1"]));
    assert!(text.contains("no variants"), "{text}");
}

#[test]
fn a_wrong_setting_says_why() {
    for (setting, reason) in [
        ("train.batch", "expected KEY=VALUE"),
        ("train.bach=3", "did you mean `batch`?"),
        ("trian.batch=3", "did you mean `train`?"),
        ("train.batch=many", "invalid type: string"),
        ("train.batch=1", "at least 2"),
        ("train.batch.size=1", "is a value, not a section"),
        ("objective.lamda=1", "did you mean `lambda`?"),
        ("objective.temperature=-1", "temperature"),
    ] {
        let text = usage_error(load(SMALL, &[setting]));
        assert!(text.contains(reason), "--set {setting}: {text}");
    }
    let set = ["variant.Fair-CLK.objective.temperature=1".to_owned()];
    let text = usage_error(Recipe::load("fair-digits", &Changes { set: &set, ..Changes::default() }));
    assert!(text.contains("known: SimCLR, Fair-CCLK"), "{text}");
    for key in ["objective.temperature", "objective.kernel.sigma"] {
        let set = [format!("{key}=0.3")];
        let text = usage_error(Recipe::load("fair-digits", &Changes { set: &set, ..Changes::default() }));
        let remedy = format!("write `variant.NAME.{key}`; known: SimCLR, Fair-CCLK");
        assert!(text.contains(&format!("--set {key}=0.3: the recipe has variants")), "{text}");
        assert!(text.contains(&remedy), "{text}");
    }
}

#[test]
fn of_settings_that_need_each_other_the_wrong_one_is_named() {
    for (set, message) in [
        (
            ["method.name=cached", "method.chunk=a"],
            "--set method.chunk=a: invalid type: string \"a\", expected an integer, 0 or more",
        ),
        (
            ["schedule.name=step", "schedule.milestones=5"],
            "--set schedule.milestones=5: invalid type: integer `5`, expected an array",
        ),
        (["method.name=cached", "method.chunks=8"], "--set method.chunks=8: unknown key `chunks`"),
        (["data.features.file=a.npy", "data.features.paths=3"], "--set data.features.paths=3: invalid type"),
        (["optimizer=adam", "optimizer.beta1=0.9"], "--set optimizer=adam: invalid type"),
        (["method.name=cached", "train.batch=32"], "--set method.name=cached: missing key `chunk`"),
    ] {
        let text = usage_error(load(SMALL, &set));
        assert!(text.starts_with(message), "{text}");
    }
    // The first one was said to lack the key that the last one gives.
    let text = usage_error(load(SMALL, &["method.name=cached", "train.batch=a", "method.chunk=8"]));
    assert!(text.starts_with("--set train.batch=a: invalid type"), "{text}");
    let between = load(SMALL, &["method.name=cached", "optimizer.name=sgd", "method.chunk=8"]);
    assert!(between.is_ok(), "{between:?}");
}

#[test]
fn settings_that_go_together_may_come_in_any_order() {
    let three = [
        "classified={ batch = 8 }",
        "method={ name = \"with-classifier\" }",
        "objective={ name = \"biascon-total\", bias = \"colour\", oversample = 10.0 }",
    ];
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]] {
        let recipe = load(SMALL, &order.map(|at| three[at])).unwrap();
        assert_eq!((recipe.variants().len(), recipe.classified.unwrap().batch), (1, 8));
    }
    // An invalid combination is reported for the setting that makes it invalid.
    let text = usage_error(load(SMALL, &["train.seed=4", three[0], "train.batch=16"]));
    assert!(text.contains("--set classified") && text.contains("with-classifier"), "{text}");
    for (section, reason) in [
        ("classified={ batch = 1 }", "classified.batch"),
        ("classified={ batch = 8, augment = { size = 16 } }", "classified.augment.size"),
        ("classified={ batch = 8, augment = { flip = 2.0 } }", "classified.augment"),
    ] {
        let text = usage_error(load(SMALL, &[three[1], section, three[2]]));
        assert!(text.contains(reason), "{section}: {text}");
    }
}

#[test]
fn a_key_without_its_section_is_found_in_it() {
    let text = usage_error(load(SMALL, &["iterations=3"]));
    assert!(text.contains("did you mean `train.iterations`?"), "{text}");
}
