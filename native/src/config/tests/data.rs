//! `[data]`: keys that belong to one data set, and the pixels that an encoder takes.

use std::path::Path;

use anyhow::Result;
use simile_core::augment::Normalisation;

use super::{SMALL, load, usage_error};
use crate::config::{Changes, Recipe};

/// A recipe of the data set of a name in place of `digits`.
fn load_set(dataset: &str, section: &str, set: &[&str]) -> Result<Recipe> {
    load(&format!("{}\n{section}", SMALL.replace("\"digits\"", &format!("\"{dataset}\""))), set)
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
    assert!(text.contains("line 20: invalid type: string \"age\", expected an array"), "{text}");
}

#[test]
fn keys_of_another_data_set_are_refused() {
    let text = usage_error(load_set("chexpert", "[data.split]\ntest = 0.2\n", &[]));
    assert!(text.contains("line 15: `data.split` is a key of `") && text.contains("`utkface`"), "{text}");
    let text = usage_error(load(SMALL, &["data.correlation=0.5"]));
    assert!(
        text.contains("`data.correlation` is a key of `biased-mnist`, and the data set is `digits`"),
        "{text}"
    );
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

#[test]
fn two_roles_of_one_column_that_exclude_each_other_are_refused_by_line() {
    // The columns of file and class are `file` and `label`, unless the recipe names others.
    let of_table = |roles: &str, set: &[&str]| {
        load_set("table", &format!("[data.table]\ncsv = \"a.csv\"\nmissing = \"skip\"\n{roles}"), set)
    };
    for (roles, keys, column, line) in [
        ("label = \"file\"", ["label", "file"], "file", 18),
        ("file = \"label\"", ["label", "file"], "label", 18),
        ("split = \"file\"", ["split", "file"], "file", 18),
        ("split = \"label\"", ["split", "label"], "label", 18),
        ("subject = \"label\"", ["subject", "label"], "label", 18),
        ("split = \"part\"\nsubject = \"label\"", ["subject", "label"], "label", 19),
        ("split = \"part\"\nsubject = \"part\"", ["subject", "split"], "part", 18),
    ] {
        let text = usage_error(of_table(roles, &[]));
        let [one, other] = keys;
        let named = format!("`data.table.{one}` and `data.table.{other}` are both the column `{column}`");
        assert!(text.contains(&named) && text.contains(&format!(", line {line}: ")), "{roles}: {text}");
    }
    let text = usage_error(of_table("file = \"image\"", &["data.table.label=image"]));
    assert!(text.contains("--set data.table.label=image: `data.table.label` and"), "{text}");
    for sound in [
        "split = \"part\"\nsubject = \"patient\"\nconditions = { class = [\"label\"], patient = [\"patient\"] }",
        "subject = \"file\"",
    ] {
        assert!(of_table(sound, &[]).is_ok(), "{sound}");
    }
}

/// Programs before this one took them.
#[test]
fn keys_that_are_refused_in_a_given_recipe_do_not_spoil_a_run() {
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
        ("table", "table = { csv = \"a.csv\", label = \"file\" }"),
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
fn images_are_normalised_by_name_or_by_numbers() {
    let of = |value: &str| load(SMALL, &[&format!("data.normalise={value}")]);
    assert_eq!(of("imagenet").unwrap().normalisation().unwrap().mean, [0.485, 0.456, 0.406]);
    let own = of("{ mean = [0.1, 0.2, 0.3], std = [1.0, 1.0, 2.0] }").unwrap();
    assert_eq!(own.normalisation().unwrap().std, [1.0, 1.0, 2.0]);
    assert_eq!(load(SMALL, &[]).unwrap().normalisation().unwrap(), Normalisation::identity(3));
    let grey = usage_error(load(SMALL, &["data.normalise=imagenet", "encoder.channels=1"]));
    assert!(grey.contains("has 3 means and 3 standard deviations, and `encoder.channels` is 1"), "{grey}");
    for (value, reason) in [
        ("imagnet", "did you mean `imagenet`?"),
        ("{ mean = [0.5], std = [0.5] }", "has 1 mean and 1 standard deviation, and `encoder.channels` is 3"),
        ("{ mean = [0, 0, 0], std = [1.0, 0.0, 1.0] }", "expected above 0"),
    ] {
        let text = usage_error(of(value));
        assert!(text.contains(reason), "{value}: {text}");
    }
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
