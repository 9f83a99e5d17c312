//! Tests of [`super`]: of whole recipes here, and beside this file of the faults that they may have, of `[data]`, and of `--set`.
#![allow(clippy::unwrap_used)]

mod data;
mod faults;
mod settings;

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use simile_core::augment::Augmentation;

use super::shipped::{SHIPPED, Shipped};
use super::{Changes, Recipe};

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
        assert_eq!(Recipe::from_model(&serde_json::to_value(&loaded).unwrap()).unwrap(), loaded);
    }
}

#[test]
fn names_of_variants_leave_the_file_of_the_last_encoder_alone() {
    let (rest, _) = SMALL.split_once("[objective]").unwrap();
    let of = |names: &[&str]| {
        let variants = names
            .iter()
            .map(|name| format!("[[variant]]\nname = \"{name}\"\nobjective = {{ name = \"nt-xent\" }}\n"));
        load(&format!("{rest}{}", variants.collect::<String>()), &[])
    };
    assert!(of(&["plain", "the-last"]).is_ok());
    for (names, owner) in [
        (&["Last", "plain"][..], "the run"),
        (&["last"][..], "the run"),
        (&["plain", "plain last"][..], "variant `plain`"),
    ] {
        let text = usage_error(of(names));
        let reason = format!("is the file of the last encoder of {owner}, so no variant can be called `");
        assert!(text.contains(&reason), "{names:?}: {text}");
    }
}

#[test]
fn an_official_split_is_for_data_sets_of_pictures() {
    let text = usage_error(load(SMALL, &["selection.official=true"]));
    assert!(text.contains("`selection.official` needs") && text.contains("which `digits` is not"), "{text}");
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
fn an_objective_stands_alone_or_in_variants() {
    let both = format!("{SMALL}\n[[variant]]\nname = \"a\"\nobjective = {{ name = \"nt-xent\" }}\n");
    assert!(usage_error(load(&both, &[])).contains("move it into a [[variant]]"));
    let none = SMALL.split("[objective]").next().unwrap();
    assert!(usage_error(load(none, &[])).contains("write [objective] or [[variant]]"));
}

#[test]
fn variants_whose_files_would_have_the_same_name_or_none_are_refused() {
    let (rest, _) = SMALL.split_once("[objective]").unwrap();
    let variant =
        |name: &str| format!("[[variant]]\nname = \"{name}\"\nobjective = {{ name = \"nt-xent\" }}\n");
    let refusal = |names: &[&str]| {
        let variants: String = names.iter().copied().map(variant).collect();
        usage_error(load(&format!("{rest}{variants}"), &[]))
    };
    for (names, one, other) in [(["a", "a"], "a", "a"), (["plain", "PLAIN!"], "plain", "PLAIN!")] {
        let text = refusal(&names);
        assert!(
            text.contains(&format!("variants `{one}` and `{other}` would have the same file name")),
            "{text}"
        );
        assert!(text.contains(&format!("model-{one}.safetensors; rename one")), "{text}");
    }
    for names in [&["年龄"][..], &["plain", "年龄"]] {
        let text = refusal(names);
        assert!(
            text.contains("the letters a to z and the digits of its name, and `年龄` has none"),
            "{text}"
        );
    }
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
