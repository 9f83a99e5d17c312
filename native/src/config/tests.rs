//! Tests of [`super`].
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write as _;

use super::*;

fn load(text: &str, set: &[&str]) -> Result<Recipe> {
    let mut file = tempfile::Builder::new().prefix("mine").suffix(".toml").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    Recipe::load(file.path().to_str().unwrap(), &Changes { set: &set, ..Changes::default() })
}

const SMALL: &str = r#"
[data]
dataset = "digits"
train = 512
test = 128

[train]
batch = 64
iterations = 10

[objective]
name = "fair-cclk"
temperature = 0.5
"#;

/// The message, which must be that of a usage error.
fn usage_error(outcome: Result<Recipe>) -> String {
    let error = outcome.unwrap_err();
    assert!(error.is::<crate::exit::Usage>(), "{error:#} is no usage error");
    format!("{error:#}")
}

#[test]
fn every_shipped_recipe_is_sound_and_says_what_it_is() {
    for recipe in SHIPPED {
        let loaded = Recipe::load(recipe.name, &Changes::default()).unwrap();
        assert_eq!(loaded.name, recipe.name);
        let header: Vec<&str> = recipe.header().collect();
        for promise in ["Paper", "Command", "Time", "Result"] {
            assert!(header.iter().any(|line| line.starts_with(promise)), "{}: no {promise}", recipe.name);
        }
        let command = format!("simile train {}", recipe.name);
        assert!(recipe.text.contains(&command), "{}: the header's command is not `{command}`", recipe.name);
    }
}

#[test]
fn a_resolved_recipe_reads_back_as_itself() {
    for recipe in SHIPPED {
        let loaded = Recipe::load(recipe.name, &Changes::default()).unwrap();
        assert_eq!(Recipe::resolved(&loaded.to_toml().unwrap(), Path::new("recipe.toml")).unwrap(), loaded);
    }
}

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
fn names_of_variants_leave_the_file_of_the_last_encoder_alone() {
    let (rest, _) = SMALL.split_once("[objective]").unwrap();
    let of = |names: [&str; 2]| {
        let variants = names
            .map(|name| format!("[[variant]]\nname = \"{name}\"\nobjective = {{ name = \"nt-xent\" }}\n"));
        load(&format!("{rest}{}", variants.concat()), &[])
    };
    assert!(of(["plain", "the-last"]).is_ok());
    for names in [["Last", "plain"], ["plain", "plain last"]] {
        let text = usage_error(of(names));
        assert!(text.contains("the last encoder"), "{names:?}: {text}");
    }
}

/// Keys of `[data]` that belong to one data set are as any others.
#[test]
fn keys_of_a_data_set_are_read_set_and_refused_by_line() {
    let with = |section: &str, set: &[&str]| load_set("chexpert", section, set);
    let edema = "[data.chexpert]\ntarget = \"edema\"\nuncertain = \"absent\"\n";
    let recipe = with(edema, &[]).unwrap();
    assert!(recipe.to_toml().unwrap().contains(edema), "{}", recipe.to_toml().unwrap());
    let set = ["data.chexpert.uncertain=absent", "data.chexpert.target=edema"];
    assert_eq!(with("", &set).unwrap().data, recipe.data);
    assert_ne!(with("", &set[..1]).unwrap().data, recipe.data);
    let fault = |section: &str| usage_error(with(section, &[]));
    let text = fault(&edema.replace("absent", "abcent"));
    assert!(text.contains("line 17: unknown value `abcent`; did you mean `absent`?"), "{text}");
    let text = fault(&edema.replace("uncertain", "uncertan"));
    assert!(text.contains("line 17: unknown key `uncertan`; did you mean `uncertain`?"), "{text}");
    let text = fault(&edema.replace("\"edema\"", "3"));
    assert!(text.contains("line 16: invalid type: integer `3`, expected a string"), "{text}");
    let text = fault(&edema.replace("chexpert", "chexprt"));
    assert!(text.contains("line 15: unknown key `chexprt`; did you mean `chexpert`?"), "{text}");
    assert!(text.contains("known: dataset, colours, train"), "{text}");
    let text = usage_error(with("", &["data.chexpert.traget=edema"]));
    assert!(text.contains("--set data.chexpert.traget=edema: unknown key `traget`; did you"), "{text}");
    let table =
        "[data.table]\ncsv = \"a.csv\"\n\n[data.table.conditions]\nsite = [\"site\"]\nage = \"age\"\n";
    let text = usage_error(load_set("table", table, &[]));
    assert!(text.contains("line 20: invalid type: string \"age\", expected a sequence"), "{text}");
}

/// A recipe of the data set of a name in place of `digits`.
fn load_set(dataset: &str, section: &str, set: &[&str]) -> Result<Recipe> {
    load(&format!("{}\n{section}", SMALL.replace("\"digits\"", &format!("\"{dataset}\""))), set)
}

#[test]
fn keys_of_another_data_set_are_refused() {
    let text = usage_error(load_set("chexpert", "[data.split]\ntest = 0.2\n", &[]));
    assert!(text.contains("line 15: `data.split` belongs to `") && text.contains("`utkface`"), "{text}");
    let text = usage_error(load(SMALL, &["data.correlation=0.5"]));
    assert!(text.contains("`data.correlation` belongs to `biased-mnist`"), "{text}");
    for setting in ["data.dataset=mnist", "data.dataset=chexpert"] {
        let text = usage_error(load(SMALL, &["data.colours=uniform", setting]));
        assert!(text.contains("`data.colours` has no effect on this data set"), "{setting}: {text}");
    }
    assert!(load(SMALL, &["data.colours=uniform"]).is_ok());
    let wrong = ["data.correlation=2".to_owned()];
    let text = usage_error(Recipe::load("biased-mnist", &Changes { set: &wrong, ..Changes::default() }));
    assert!(text.contains("`data.correlation` must be from 0 to 1"), "{text}");
}

#[test]
fn what_a_form_or_a_view_cannot_take_is_refused() {
    let fair = ["objective.name=fair-cclk", "objective.kernel={ name = \"rbf\", sigma = 1 }"];
    let with = |more: &[&'static str]| load(SMALL, &[&fair[..], more].concat());
    let text = usage_error(with(&["objective.clip_threshold=0.1"]));
    assert!(text.contains("`objective.clip_threshold` has no effect: the form `released`"), "{text}");
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
    ] {
        assert!(set(objective).is_ok(), "{objective}: {:?}", set(objective).err());
    }
    let classifier = "method={ name = \"with-classifier\" }";
    assert!(load(SMALL, &["objective={ name = \"nt-xent\", clusters = 5 }", classifier]).is_ok());
    // A run of a program before this one.
    let text =
        SMALL.replace("fair-cclk", "nt-xent").replace("temperature", "condition = \"colour\"\ntemperature");
    assert!(Recipe::resolved(&format!("name = \"mine\"\n{text}"), Path::new("recipe.toml")).is_ok());
}

#[test]
fn keys_of_faces_and_splits_are_refused_where_they_have_no_effect() {
    let faces = |dataset: &str, set: &[&str]| load_set(dataset, "", set);
    let text = usage_error(faces("utkface", &["data.split.test=0.2"]));
    assert!(text.contains("`data.split`") && text.contains("data.faces.sampling"), "{text}");
    assert!(faces("utkface", &["data.split.test=0.2", "data.faces.sampling=all"]).is_ok());
    assert!(faces("utkface", &["data.faces.correlation=0.8"]).is_ok());
    let text = usage_error(faces("utkface", &["data.faces.sampling=all", "data.faces.correlation=0.8"]));
    assert!(text.contains("--set data.faces.correlation=0.8") && text.contains("on all faces"), "{text}");
    for dataset in ["utkface", "celeba"] {
        assert!(faces(dataset, &["data.faces.seed=1"]).is_ok());
        let text = usage_error(faces(dataset, &["data.faces.sampling=all", "data.faces.seed=1"]));
        assert!(text.contains("`data.faces.seed` has no effect on all faces"), "{dataset}: {text}");
    }
    assert!(faces("utkface", &["data.split.seed=1", "data.faces.sampling=all"]).is_ok());
    assert!(faces("caltech-101", &["data.split.per_class=30", "data.split.seed=1"]).is_ok());
    let text = usage_error(faces("caltech-101", &["data.split.per_class=30", "data.split.test=0.2"]));
    assert!(text.contains("`data.split.test` has no effect beside `data.split.per_class`"), "{text}");
    let text = usage_error(faces("celeba", &["data.faces.correlation=0.8"]));
    assert!(text.contains("`data.faces.correlation` has no effect on this data set"), "{text}");
}

#[test]
fn categories_of_a_table_are_columns_that_a_condition_reads_alone() {
    let codes = "[data.table]\ncsv = \"a.csv\"\nsplit = \"split\"\ncategories = [\"site\"]\n";
    let of_table = |conditions: &str| load_set("table", &format!("{codes}{conditions}"), &[]);
    assert!(of_table("conditions = { site = [\"site\"] }").is_ok());
    for conditions in ["", "conditions = { site = [\"a\", \"b\"] }"] {
        let text = usage_error(of_table(conditions));
        assert!(text.contains("`data.table.categories` names `site`"), "{conditions}: {text}");
    }
}

/// Programs before this one took them.
#[test]
fn keys_that_are_ignored_do_not_spoil_a_run() {
    let of = |dataset: &str, keys: &str| {
        SMALL.replace("dataset = \"digits\"", &format!("dataset = \"{dataset}\"\n{keys}"))
    };
    for (dataset, keys) in [
        ("mnist", "colours = \"uniform\""),
        ("celeba", "faces = { correlation = 0.8 }"),
        ("utkface", "split = { test = 0.2 }"),
        ("utkface", "faces = { sampling = \"all\", correlation = 0.8 }"),
        ("celeba", "faces = { sampling = \"all\", seed = 1 }"),
        ("caltech-101", "split = { test = 0.2, per_class = 30 }"),
        ("table", "table = { csv = \"a.csv\", categories = [\"site\"] }"),
    ] {
        let text = of(dataset, keys);
        assert!(usage_error(load(&text, &[])).contains("line 4"), "{dataset}: {keys}");
        let of_run = format!("name = \"small\"\n{text}");
        let run = Recipe::resolved(&of_run, Path::new("recipe.toml")).unwrap();
        assert!(run.with(&["train.iterations=20".to_owned()]).is_ok(), "{dataset}: {keys}");
        assert!(usage_error(run.with(&["train.batch=1".to_owned()])).contains("at least 2"));
    }
}

#[test]
fn an_unknown_objective_names_the_nearest() {
    let text = usage_error(load(&SMALL.replace("fair-cclk", "fair-clk"), &[]));
    assert!(text.contains("did you mean `fair-cclk`?"), "{text}");
}

#[test]
fn a_recipe_that_is_not_there_names_the_nearest() {
    let text = usage_error(Recipe::load("fair-digit", &Changes::default()));
    assert!(text.contains("did you mean `fair-digits`?"), "{text}");
}

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
    assert_eq!(recipe.name, "9", "what replaces a string is a string");
    let objective = recipe.objective.unwrap();
    assert_eq!(objective.parameters["lambda"].as_float(), Some(0.1));
    assert_eq!(objective.parameters["kernel"]["name"].as_str(), Some("rbf"));
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
        let changed = |variant: &RecipeVariant| variant.objective.parameters.contains_key("temperature");
        assert_eq!(recipe.variants.iter().position(changed), Some(at), "{name}");
    }
    let quoted = load(&text, &["variant.\"v1.5\".objective.temperature=0.25"]).unwrap();
    assert!(quoted.variants[1].objective.parameters.contains_key("temperature"));
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
fn views_start_from_a_preset() {
    let with = |section: &str| load(&format!("{SMALL}\n[augment]\n{section}"), &[]);
    let views = with("preset = \"contex\"\nflip = 0.0").unwrap().augment;
    let preset = Augmentation::preset("contex").unwrap();
    assert_eq!(views, Augmentation { flip: 0.0, ..preset });
    let text = usage_error(with("preset = \"contx\""));
    assert!(text.contains("line 16") && text.contains("did you mean `contex`?"), "{text}");
    let text = usage_error(with("preset = \"contex\"\nflop = 0.0"));
    assert!(text.contains("did you mean `flip`?"), "{text}");
    let written = load(SMALL, &["augment.flip=0.25"]).unwrap();
    assert_eq!(written.augment.flip, 0.25);
    let set = load(SMALL, &["augment.flip=0.25", "augment.preset=contex"]).unwrap();
    assert_eq!(set.augment, Augmentation::preset("contex").unwrap());
}

#[test]
fn images_are_normalised_by_name_or_by_numbers() {
    let of = |value: &str| load(SMALL, &[&format!("data.normalise={value}")]);
    assert_eq!(of("imagenet").unwrap().normalisation().unwrap().mean, [0.485, 0.456, 0.406]);
    let own = of("{ mean = [0.1, 0.2, 0.3], std = [1.0, 1.0, 2.0] }").unwrap();
    assert_eq!(own.normalisation().unwrap().std, [1.0, 1.0, 2.0]);
    assert_eq!(load(SMALL, &[]).unwrap().normalisation().unwrap(), Normalisation::identity(3));
    for (value, reason) in [
        ("imagnet", "did you mean `imagenet`?"),
        ("{ mean = [0.5], std = [0.5] }", "needs 3 means"),
        ("{ mean = [0, 0, 0], std = [1.0, 0.0, 1.0] }", "expected above 0"),
    ] {
        let text = usage_error(of(value));
        assert!(text.contains(reason), "{value}: {text}");
    }
}

#[test]
fn a_setting_reaches_one_variant_by_name() {
    for key in ["variant", "arm"] {
        let set = [format!("{key}.Fair-CCLK.objective.temperature=0.25")];
        let recipe = Recipe::load("fair-digits", &Changes { set: &set, ..Changes::default() }).unwrap();
        let temperature =
            |variant: usize| recipe.variants[variant].objective.parameters["temperature"].as_float();
        assert_eq!((temperature(0), temperature(1)), (Some(0.1), Some(0.25)));
    }
}

#[test]
fn variants_are_read_by_their_former_name_and_written_by_theirs() {
    let now = Shipped::find("fair-digits").unwrap().text;
    let former = now.replace("[[variant]]", "[[arm]]").replace("[variant.", "[arm.");
    assert!(former != now && !former.contains("[variant"), "{former}");
    let read = |text: &str| Recipe::from_text(text, "r.toml", "r", &Changes::default()).unwrap();
    assert_eq!(read(&former), read(now));
    let written = read(&former).to_toml().unwrap();
    assert!(written.contains("[[variant]]") && !written.contains("[[arm]]"), "{written}");
    // An error names the line, whatever the name.
    for text in [now.replace("\"SimCLR\"", "\"a/b\""), former.replace("\"SimCLR\"", "\"a/b\"")] {
        let error = usage_error(Recipe::from_text(&text, "r.toml", "r", &Changes::default()));
        assert!(error.contains("r.toml, line 43"), "{error}");
    }
}

#[test]
fn variants_are_kept_by_name() {
    let load = |name: &str| {
        Recipe::load("fair-digits", &Changes { variants: &[name.to_owned()], ..Changes::default() })
    };
    let names: Vec<String> =
        load("Fair-CCLK").unwrap().variants().into_iter().map(|variant| variant.name).collect();
    assert_eq!(names, ["Fair-CCLK"]);
    assert!(usage_error(load("CCLK")).contains("known: SimCLR, Fair-CCLK"));
}

#[test]
fn a_seed_that_no_recipe_can_hold_is_refused() {
    let changes = Changes { seed: Some(u64::MAX), ..Changes::default() };
    assert!(usage_error(Recipe::load("fair-digits", &changes)).contains("18446744073709551615"));
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
fn an_objective_stands_alone_or_in_variants() {
    let both = format!("{SMALL}\n[[variant]]\nname = \"a\"\nobjective = {{ name = \"nt-xent\" }}\n");
    assert!(usage_error(load(&both, &[])).contains("move it into a [[variant]]"));
    let none = SMALL.split("[objective]").next().unwrap();
    assert!(usage_error(load(none, &[])).contains("write [objective] or [[variant]]"));
    let variant = "\n[[variant]]\nname = \"a\"\nobjective = { name = \"nt-xent\" }\n";
    assert!(usage_error(load(&format!("{none}{variant}{variant}"), &[])).contains("same name"));
    let near = variant.replace("\"a\"", "\"A!\"");
    assert!(usage_error(load(&format!("{none}{variant}{near}"), &[])).contains("no letter or digit"));
}

#[test]
fn smoke_makes_everything_small() {
    let changes = Changes { smoke: true, seed: Some(7), ..Changes::default() };
    let recipe = Recipe::load("colour-mnist", &changes).unwrap();
    assert_eq!((recipe.train.iterations, recipe.train.seed), (2, 7));
    assert_eq!((recipe.data.train, recipe.data.test), (Some(256), Some(128)));
}

#[test]
fn weights_are_a_file_and_other_keys_of_the_encoder_are_still_known() {
    let with = |line: &str| load(&format!("{SMALL}\n[encoder]\n{line}\n"), &[]);
    let recipe = with("name = \"resnet18\"\nweights = \"a.safetensors\"").unwrap();
    assert_eq!(recipe.encoder.weights.as_deref(), Some(Path::new("a.safetensors")));
    let again = Recipe::resolved(&recipe.to_toml().unwrap(), Path::new("recipe.toml")).unwrap();
    assert_eq!(again, recipe);
    assert!(usage_error(with("weights = 3")).contains("in quotes"));
    let text = usage_error(with("wieghts = \"a\""));
    assert!(text.contains("line 16") && text.contains("unknown key `wieghts`"), "{text}");
}

#[test]
fn a_middle_is_taken_of_something_larger() {
    let folders = "[data]\ndataset = \"folders\"\nside = 40\ncentre_crop = true\n\n[augment]\nsize = 32\n";
    let rest = &SMALL[SMALL.find("[train]").unwrap()..];
    let recipe = load(&format!("{folders}{rest}"), &[]).unwrap();
    assert_eq!(recipe.data.resize(), Some(40));
    let text = usage_error(load(&format!("{folders}{rest}"), &["data.side=24"]));
    assert!(text.contains("data.centre_crop") && text.contains("32"), "{text}");
    let of_views = ["data.centre_crop=false", "augment.centre_crop=true"];
    let recipe = load(&format!("{folders}{rest}"), &of_views).unwrap();
    assert!(recipe.augment.centre_crop && recipe.data.resize().is_none());
    let text = usage_error(load(&format!("{folders}{rest}"), &[&of_views[..], &["data.side=24"]].concat()));
    assert!(text.contains("augment.centre_crop") && text.contains("32"), "{text}");
    let text = usage_error(load(SMALL, &["data.centre_crop=true"]));
    assert!(text.contains("centre_crop"), "{text}");
}

/// Pictures may be kept larger than evaluation sees them, so that crops are taken of more pixels.
#[test]
fn evaluation_may_take_the_middle_of_less_than_is_kept() {
    let rest = &SMALL[SMALL.find("[train]").unwrap()..];
    let text = format!(
        "[data]\ndataset = \"folders\"\nside = 100\ncentre_crop = 40\n\n[augment]\nsize = 32\n{rest}"
    );
    let recipe = load(&text, &[]).unwrap();
    assert_eq!((recipe.data.side, recipe.data.resize()), (Some(100), Some(40)));
    assert_eq!(Recipe::resolved(&recipe.to_toml().unwrap(), Path::new("recipe.toml")).unwrap(), recipe);
    let json = serde_json::to_value(&recipe).unwrap();
    assert_eq!(json["data"]["centre_crop"], 40);
    assert_eq!(serde_json::from_value::<Recipe>(json).unwrap().data, recipe.data, "a checkpoint has it so");
    let of_stored = load(&text, &["data.centre_crop=true"]).unwrap();
    assert_eq!(of_stored.data.resize(), Some(100), "as recipes of former programs mean it");
    assert_eq!(load(&text, &["data.centre_crop=false"]).unwrap().data.resize(), None);
    for (set, reason) in [
        ("data.centre_crop=31", "from 32"),
        ("data.centre_crop=101", "to 100"),
        ("data.centre_crop=\"yes\"", "true, false, or the side"),
        ("augment={ size = 32, centre_crop = true }", "make both the same"),
    ] {
        let text = usage_error(load(&text, &[set]));
        assert!(text.contains("centre_crop") && text.contains(reason), "{set}: {text}");
    }
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
