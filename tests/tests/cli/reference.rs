//! Compares the reference of the book, `docs/src/reference`, with the program's own texts. `SIMILE_WRITE_TABLES=1` writes
//! it anew; `tests/tests/objectives/described.rs` does the same for the pages of objectives.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use simile_core::nn::resnet::Stem;
use simile_core::nn::{Architecture, EncoderConfig};
use simile_tests::tables::cell;
use simile_tests::{place, repository};

use crate::support::help::helps;
use crate::support::program::json;

/// Compares a page with the texts of the program, or writes it.
fn assert_kept(page: &str, text: &str) {
    repository::assert_kept(&repository::root().join("docs/src/reference").join(page), text);
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Names as code, each once.
fn codes<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for name in names.map(|name| format!("`{name}`")) {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen.join(", ")
}

#[test]
fn commands_are_those_of_the_help() {
    let mut page =
        "# Commands\n\nThe help of every command, as `simile COMMAND --help` prints it.\n".to_owned();
    for (words, help) in helps() {
        let name = ["simile".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
        let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
    }
    for part in ["\n## simile train\n", "\n## simile data check\n", "\n## simile recipes show\n"] {
        assert!(page.contains(part), "no {part}");
    }
    assert_kept("commands.md", &page);
}

/// The values of a key: all names that it takes, or some in recipes that ship; nothing of one that is true or false.
fn values(key: &Value) -> String {
    let names = list(&key["names"]);
    if (1..=16).contains(&names.len()) {
        return format!("one of {}", codes(names.iter().filter_map(Value::as_str)));
    }
    let examples = list(&key["examples"]);
    if examples.iter().all(Value::is_boolean) {
        return String::new();
    }
    let shown = examples.iter().take(4).map(|value| format!("`{}`", cell(&value.to_string())));
    let rest = if examples.len() > 4 { ", ..." } else { "" };
    format!("such as {}{rest}", shown.collect::<Vec<_>>().join(", "))
}

/// True for a key of `[classified.augment]`, which are those of `[augment]`.
fn is_repeated(key: &str) -> bool {
    key.starts_with("classified.augment.")
}

#[test]
fn keys_are_those_of_the_program() {
    let place = place();
    let keys = json(place.path(), &["keys", "--json"]);
    let schema = json(place.path(), &["keys", "--schema"]);
    let mut page = "# Keys of recipes\n\nEvery key, as `--set KEY=VALUE` takes it, with its type, what it does, and the names that it takes \
                    or some of its values in the recipes that ship; `simile keys` prints the same. A name in brackets is a section \
                    within a section; its keys follow it (those of `[classified.augment]` are those of `[augment]`). A key of an objective \
                    also stands in each `[[variant]]`. [Write a recipe](../how-to/recipe.md) explains the most used ones, and \
                    `simile keys --schema` writes a JSON schema for editors, which show these sentences too.\n"
        .to_owned();
    let mut section = None;
    let mut named: BTreeSet<&str> = list(&keys).iter().map(|key| text(key, "key")).collect();
    let (within, top): (Vec<&Value>, Vec<&Value>) =
        list(&keys).iter().partition(|key| text(key, "key").contains('.'));
    for key in top.into_iter().chain(within) {
        let name = text(key, "key");
        let of = name.split_once('.').map_or("", |(section, _)| section);
        if section != Some(of) {
            let title = if of.is_empty() { "At the top".to_owned() } else { format!("[{of}]") };
            let _ = write!(page, "\n## {title}\n\n");
            if let Some(meaning) = schema["properties"][of]["description"].as_str() {
                let _ = write!(page, "{}\n\n", cell(meaning));
            }
            page += "| key | meaning, and values |\n|---|---|\n";
            section = Some(of);
        }
        for (end, _) in name.match_indices('.').skip(1) {
            let inner = &name[..end];
            if !is_repeated(inner) && named.insert(inner) {
                let pointer = format!("/properties/{}/description", inner.replace('.', "/properties/"));
                let meaning = schema.pointer(&pointer).and_then(Value::as_str);
                let meaning = meaning.unwrap_or_else(|| panic!("no meaning of {inner}"));
                let _ = writeln!(page, "| `[{inner}]`<br>table | {} |", cell(meaning));
            }
        }
        if is_repeated(name) {
            continue;
        }
        let below = [cell(text(key, "meaning")), values(key)];
        let below: Vec<&str> = below.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        let _ = writeln!(page, "| `{name}`<br>{} | {} |", text(key, "type"), below.join("<br>"));
    }
    assert_kept("keys.md", &page);
}

/// More than the side of a picture that any encoder takes.
const LARGEST_SIDE: usize = 1 << 13;

/// The encoder with pictures of each side that it takes.
fn encoders_by_side(name: Architecture) -> Vec<EncoderConfig> {
    let of_side = |input_size| EncoderConfig { name, input_size, ..EncoderConfig::default() };
    let taken: Vec<EncoderConfig> =
        (1..=LARGEST_SIDE).map(of_side).filter(|encoder| encoder.validate().is_ok()).collect();
    let most = taken.last().map_or(0, |encoder| encoder.input_size);
    assert!((1..LARGEST_SIDE).contains(&most), "{} takes {most} pixels", name.name());
    taken
}

/// The sides of the pictures of an encoder, those of equal distances by their ends.
fn sides(by_side: &[EncoderConfig]) -> String {
    let sides: Vec<usize> = by_side.iter().map(|encoder| encoder.input_size).collect();
    let step = sides.windows(2).map(|pair| pair[1] - pair[0]).reduce(|a, b| if a == b { a } else { 0 });
    match (sides.as_slice(), step) {
        ([first, _, .., last], Some(1)) => format!("{first} to {last}"),
        ([first, _, .., last], Some(step @ 2..)) => format!("{first} to {last} in steps of {step}"),
        _ => sides.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// The number of features of an encoder, with the sides of the pictures that decide it.
fn features(by_side: &[EncoderConfig]) -> String {
    let [first, last] = [&by_side[0], &by_side[by_side.len() - 1]];
    let [fewest, most] = [first, last].map(EncoderConfig::embedding_size);
    match fewest == most {
        true => most.to_string(),
        false => format!("{fewest} of {} pixels to {most} of {}", first.input_size, last.input_size),
    }
}

/// The keys of `[encoder]` that some encoders alone have.
fn keys_of_its_own(encoder: &EncoderConfig) -> String {
    let with = [
        ("stem", EncoderConfig { stem: Some(Stem::default()), ..encoder.clone() }),
        ("width", EncoderConfig { width: Some(1), ..encoder.clone() }),
        ("output", EncoderConfig { output: Some(1), ..encoder.clone() }),
    ];
    codes(with.iter().filter(|(_, encoder)| encoder.validate().is_ok()).map(|(key, _)| *key))
}

#[test]
fn encoders_are_those_of_the_library() {
    let mut page = "# Encoders\n\nThe networks for `encoder.name`, each with the sides of the square pictures that it takes \
                    (`encoder.input_size`, in pixels), the length of its vectors where no key changes it, the keys of `[encoder]` \
                    that others do not have, whether it can compute in 16 bits (`precision = \"bf16\"` of `[train]`), and whether \
                    `cached` can train it with batch norm's mean and variance of the whole batch (`statistics = \"batch\"` of \
                    `[method]`). [Write a recipe](../how-to/recipe.md) explains these keys; some take \
                    [weights of PyTorch](../how-to/weights.md).\n\n\
                    | name | | sides | vector | keys | `bf16` | `batch` |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for &name in Architecture::ALL {
        let by_side = encoders_by_side(name);
        let default = if name == Architecture::default() { " (default)" } else { "" };
        let [half, batch] =
            [name.computes_in_half(), name.divides_into_steps()].map(|can| if can { "yes" } else { "no" });
        let _ = writeln!(
            page,
            "| `{}`{default} | {} | {} | {} | {} | {half} | {batch} |",
            name.name(),
            cell(name.title()),
            sides(&by_side),
            features(&by_side),
            keys_of_its_own(&by_side[0]),
        );
    }
    assert_kept("encoders.md", &page);
}

#[test]
fn data_sets_are_those_of_the_program() {
    let place = place();
    let sets = json(place.path(), &["data", "list", "--json"]);
    let mut page = "# Data sets\n\nThe names for `data.dataset`. [Get published data sets](../how-to/data.md) says how to fetch and check \
                    them; `simile data list NAME` prints the same of one.\n"
        .to_owned();
    for set in list(&sets) {
        let _ = write!(page, "\n## {}\n\n| | |\n|---|---|\n", text(set, "name"));
        let home = match text(set, "home") {
            "" => String::new(),
            address => format!("<{address}>"),
        };
        let urls: Vec<&str> = list(&set["downloads"]).iter().map(|download| text(download, "url")).collect();
        let fetched = codes(urls.into_iter());
        for (title, value) in [
            ("files", cell(text(set, "files"))),
            ("classes", cell(text(set, "classes"))),
            ("attributes", cell(text(set, "variables"))),
            ("keys of its own", codes(list(&set["keys"]).iter().filter_map(Value::as_str))),
            ("home", home),
            ("licence", cell(text(set, "licence"))),
            ("get it", cell(text(set, "get"))),
            ("fetched from", fetched),
        ] {
            if !value.is_empty() {
                let _ = writeln!(page, "| {title} | {value} |");
            }
        }
    }
    assert_kept("data-sets.md", &page);
}

#[test]
fn recipes_and_tables_are_those_that_ship() {
    let place = place();
    let all = json(place.path(), &["recipes", "--json"]);
    let of = |kind: &str| list(&all).iter().filter(move |one| one["kind"] == kind).collect::<Vec<_>>();
    let mut page = "# Recipes and tables that ship\n\n`simile train NAME` trains a recipe, `simile reproduce NAME` runs a table or figure, \
                    `simile recipes show NAME` prints either.\n\n## Recipes\n\n| recipe | | objectives | data |\n|---|---|---|---|\n"
        .to_owned();
    let names = |value: &Value| codes(list(value).iter().filter_map(Value::as_str));
    for recipe in of("recipe") {
        let name = text(recipe, "name");
        let (title, objectives) = (cell(text(recipe, "title")), names(&recipe["objectives"]));
        let data = text(recipe, "dataset");
        let _ = writeln!(
            page,
            "| [`{name}`](#{name}) | {title} | {objectives} | [`{data}`](data-sets.md#{data}) |"
        );
    }
    for (kind, title) in [("table", "Published tables"), ("figure", "Published figures")] {
        let _ = write!(
            page,
            "\n## {title}\n\n| name | | rows | published budget | data |\n|---|---|---|---|---|\n"
        );
        for one in of(kind) {
            let rows = list(&one["rows"]).len();
            let (title, cost, data) =
                (cell(text(one, "title")), cell(text(one, "cost")), names(&one["datasets"]));
            let _ = writeln!(page, "| `{}` | {title} | {rows} | {cost} | {data} |", text(one, "name"));
        }
    }
    page += "\n### Rows that cannot be run\n\n";
    for one in of("table").into_iter().chain(of("figure")) {
        for row in list(&one["rows"]).iter().filter(|row| row["missing"].is_string()) {
            let (name, reason) = (cell(text(row, "name")), cell(text(row, "missing")));
            let _ = writeln!(page, "* `{}`, {name}: {reason}", text(one, "name"));
        }
    }
    for recipe in of("recipe") {
        let name = text(recipe, "name");
        let _ = write!(
            page,
            "\n### {name}\n\n```toml\n{{{{#include ../../../native/recipes/{name}.toml}}}}\n```\n"
        );
    }
    assert_kept("recipes.md", &page);
}
