//! Documents in text: recipes of people and those in models, tables, cases of `simile loss`.

use std::path::Path;

use burn::tensor::{DType, Device};
use simile_core::requests::Request;

use super::{Target, file, said};
use crate::config::shipped::SHIPPED;
use crate::config::{Changes, Recipe};
use crate::reproduce::table::Table;
use crate::sweep::axis::Axis;

pub(super) fn targets() -> Vec<Target> {
    vec![
        Target {
            seeds: || SHIPPED.iter().map(|recipe| recipe.text.as_bytes().to_vec()).collect(),
            ..Target::new("recipe", TOML, run_recipe)
        },
        Target {
            seeds: recipes_of_models,
            ..Target::new("recipe-of-model", RECIPE_JSON, run_recipe_of_model)
        },
        Target::new("case", JSON, run_case),
    ]
}

const TOML: &[&[u8]] = &[
    b"[data]\n",
    b"[[variant]]\n",
    b"[[arm]]\n",
    b"[objective]\n",
    b"[train]\n",
    b"[augment]\n",
    b"[probe]\n",
    b"[selection]\n",
    b"name = \"",
    b"'''",
    b"\"\"\"",
    b"= { ",
    b"= [ ",
    b"[[[[[[[[[[[[[[[[",
    b"\\u0000",
    b"../../evil",
    b"true",
    b"= nan",
    b"= -inf",
    b"= 1979-05-27T07:32:00Z",
    b"0x7fffffffffffffff",
];

fn run_recipe(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let path = file("recipe.toml", text.as_bytes());
    let lines: Vec<String> = text.lines().take(3).map(String::from).collect();
    let loaded = Recipe::load(&path.display().to_string(), &Changes::default());
    said(loaded).iter().for_each(check_sound);
    let changes = Changes { set: &lines, smoke: true, ..Changes::default() };
    said(Recipe::load("fair-digits", &changes));
    said(Table::parse(&text));
    said(Axis::all(&lines));
}

/// Checks that a recipe that was accepted can be written, and has the parts that a run needs.
fn check_sound(recipe: &Recipe) {
    let written = recipe.to_toml().unwrap();
    let again = Recipe::resolved(&written, Path::new("recipe.toml")).unwrap();
    assert_eq!(again.to_toml().unwrap(), written, "a recipe reads back as another");
    said(recipe.normalisation());
    assert!(!recipe.variants().is_empty());
}

fn recipes_of_models() -> Vec<Vec<u8>> {
    let load = |name: &str| Recipe::load(name, &Changes::default()).unwrap();
    SHIPPED.iter().map(|recipe| serde_json::to_vec(&load(recipe.name)).unwrap()).collect()
}

const RECIPE_JSON: &[&[u8]] = &[
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"[-1]",
    b"\"data\":{",
    b"\"encoder\":{",
    b"\"variant\":[",
    b"\"arm\":[",
    b"\"objective\":{",
    b"\"probe\":{",
    b"\"input_size\":1000000,",
    b"\"side\":4096,",
    b"\"epochs\":",
    b"\"name\":\"../../evil\"",
    b"1e308",
    b"1e-320",
    b"4294967296",
    b"18446744073709551615",
];

fn run_recipe_of_model(bytes: &[u8]) {
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    said(Recipe::from_model(&document)).iter().for_each(check_sound);
}

const JSON: &[&[u8]] = &[
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"[[",
    b"]]",
    b"\"objective\":",
    b"\"variant\":\"released\"",
    b"\"variant\":\"paper\"",
    b"\"params\":{",
    b"\"temperature\":",
    b"\"lambda\":",
    b"\"sigma\":",
    b"\"kernel\":{\"name\":\"rbf\",\"sigma\":",
    b"\"inputs_normalised\":true",
    b"\"labels\":[0,1]",
    b"\"bias\":[0,1]",
    b"\"z\":[[0.0],[1.0]]",
    b"1e308",
    b"-1e308",
    b"1e-308",
    b"18446744073709551615",
];

fn run_case(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(case) = said(Request::parse(&text)) {
        let device = Device::flex();
        for (dtype, tile) in [(DType::F64, None), (DType::F32, Some(2))] {
            said(pollster::block_on(case.run(&device, dtype, tile)));
        }
    }
}
