//! Tests of [`super`]: every table is sound, complete and says what it is. The settings of its rows are tested beside this file.
#![allow(clippy::unwrap_used)]

mod contex;
mod releases;

use std::collections::BTreeSet;

use super::{ShippedTable, TABLES};
use crate::config::objective::ObjectiveSection;
use crate::config::shipped::{SHIPPED, names_of_files};
use crate::config::variant::RecipeVariant;
use crate::config::{Changes, Recipe};
use crate::names::slug;
use crate::reproduce::row::Row;
use crate::reproduce::table::{FigureSection, NO_RECIPE, Scale};

/// The rows of a table that can run, with their recipes at a scale.
fn recipes(name: &str, scale: Scale) -> Vec<(Row, Recipe)> {
    let table = ShippedTable::find(name).unwrap().read().unwrap();
    let rows = table.row.iter().filter(|row| table.missing(row).is_none());
    rows.map(|row| (row.clone(), table.recipe_of(row, scale, 0).unwrap())).collect()
}

/// The objective of a recipe of one variant.
fn objective(recipe: &Recipe) -> ObjectiveSection {
    recipe.variants().remove(0).objective
}

fn steps(recipe: &Recipe) -> [u64; 2] {
    let first = recipe.variants().remove(0).algorithm.first_steps().unwrap_or(0);
    [first, recipe.train.iterations as u64 - first]
}

/// Every row that can run at the published scale, with its table's name.
fn rows() -> Vec<(&'static str, String, Recipe)> {
    let of_table = |shipped: &ShippedTable| {
        let name = shipped.name;
        recipes(name, Scale::Full).into_iter().map(move |(row, recipe)| (name, row.name, recipe))
    };
    TABLES.iter().flat_map(of_table).collect()
}

/// The variants of every row and of every recipe, with where they stand.
fn variants() -> Vec<(String, RecipeVariant)> {
    let recipes = SHIPPED
        .iter()
        .map(|shipped| (shipped.name.to_owned(), Recipe::load(shipped.name, &Changes::default()).unwrap()));
    let rows = rows().into_iter().map(|(table, row, recipe)| (format!("{table}, {row}"), recipe));
    let of = |(place, recipe): (String, Recipe)| {
        recipe.variants().into_iter().map(move |variant| (format!("{place}, {}", variant.name), variant))
    };
    recipes.chain(rows).flat_map(of).collect()
}

#[test]
fn every_file_is_a_table_and_those_of_a_work_stand_together_by_number() {
    let mut names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    // Of a work tables come first, then figures, then the rest, each kind by its number.
    let place_of = |name: &'static str| {
        let (work, item) = name.split_once('-').unwrap();
        let kinds = ["table", "figure", ""];
        let kind = kinds.iter().position(|kind| item.starts_with(kind)).unwrap();
        (work, kind, item[kinds[kind].len()..].parse().unwrap_or(u32::MAX))
    };
    let places: Vec<(&str, usize, u32)> = TABLES.iter().map(|table| place_of(table.name)).collect();
    assert!(places.is_sorted(), "{names:?}");
    names.sort_unstable();
    assert_eq!(names, names_of_files("tables"));
}

#[test]
fn the_columns_of_a_printed_table_are_all_there() {
    let (cifar, both) = ("CIFAR-10", ["CIFAR-10", "CIFAR-100"]);
    let columns: [(&str, &[&str]); 9] = [
        ("cclk-table2", &["UT-Zappos", "CUB", "ImageNet-100"]),
        ("cclk-table4", &[cifar, "ImageNet-100"]),
        ("contex-table1", &[both[0], both[1], "ImageNet"]),
        ("contex-table6", &[both[0], both[1], "ImageNet"]),
        ("difficulty-table1", &both),
        ("difficulty-table2", &["Waterbirds", "CelebA"]),
        ("du-table1", &[both[0], both[1], "ImageNet-100"]),
        ("du-table3", &both),
        ("du-table4", &["CUB", "ImageNet-100", "UT-Zappos"]),
    ];
    for (name, columns) in columns {
        let table = ShippedTable::find(name).unwrap().read().unwrap();
        let of = |column: &str| {
            let is_of = |row: &&Row| row.block.as_deref() == Some(column);
            table.row.iter().filter(is_of).collect::<Vec<_>>()
        };
        for column in columns {
            assert!(of(column).iter().all(|row| !row.published.is_empty()), "{name}, {column}");
            assert_eq!(of(column).len(), of(columns[0]).len(), "{name}, {column}");
        }
        assert_eq!(of(columns[0]).len() * columns.len(), table.row.len(), "{name}");
    }
}

#[test]
fn notes_say_where_rows_differ_from_their_release() {
    let best = "the best test accuracy of all epochs";
    let said: [(&[&str], &str); 8] = [
        (&["contex-table2", "contex-table3", "contex-table4"], "each batch takes two steps"),
        (
            &["contex-table3", "contex-table4"],
            "LNL's linear predictor of the bias reads the features at the end",
        ),
        (&["contex-table1", "contex-table6", "contex-table7", "contex-table8", "contex-table9"], best),
        (&["contex-figure5", "contex-figure6", "contex-figure7"], best),
        (
            &["contex-table5"],
            "LearnedMixin and RUBi are trained; in ReBias' release they keep their random values",
        ),
        (&["du-table4", "du-table5"], "of a number of GPUs that is not stated"),
        (&["difficulty-figure-negatives"], "SimCLR, DCL and HCL have no w"),
        (&["difficulty-table1"], "400 for SimCLR and HCL"),
    ];
    for (tables, words) in said {
        for name in tables {
            let notes = ShippedTable::find(name).unwrap().read().unwrap().notes;
            assert!(notes.contains(words), "{name}: {words}");
        }
    }
}

#[test]
fn every_table_names_its_work() {
    let works = [
        ("cclk-", "Tsai et al., Conditional Contrastive Learning with Kernel, ICLR 2022, "),
        (
            "difficulty-",
            "Jang and Wang, Difficulty-Based Sampling for Debiased Contrastive Representation Learning, CVPR 2023",
        ),
        (
            "du-",
            "Dufumier et al., Integrating Prior Knowledge in Contrastive Learning with Kernel, ICML 2023",
        ),
    ];
    for shipped in TABLES {
        let work = works.iter().find(|(prefix, _)| shipped.name.starts_with(prefix));
        let named = work.is_none_or(|(_, work)| shipped.read().unwrap().paper.starts_with(work));
        assert!(named, "{}", shipped.name);
    }
}

#[test]
fn every_table_is_sound_and_what_can_run_resolves_at_every_scale() {
    for shipped in TABLES {
        let table = shipped.read().unwrap();
        let metrics: Vec<&str> = table.metric.iter().map(|metric| metric.name.as_str()).collect();
        assert!(!table.row.is_empty(), "{}: nothing to run", shipped.name);
        let folders: BTreeSet<String> = table.row.iter().map(|row| slug(&row.name)).collect();
        assert_eq!(folders.len(), table.row.len(), "{}: two rows would share a folder", shipped.name);
        for row in &table.row {
            let needs = row.from.is_some() || row.prior.is_some();
            assert!(!(row.from.is_some() && row.prior.is_some()), "{}, {}", shipped.name, row.name);
            assert_eq!(table.parent(row).is_some(), needs, "{}, {}", shipped.name, row.name);
            assert!(table.lineage(row).len() <= 3, "{}, {}: a circle", shipped.name, row.name);
            let unknown = row.published.keys().find(|name| !metrics.contains(&name.as_str()));
            assert_eq!(unknown, None, "{}, {}", shipped.name, row.name);
            if let Some(missing) = table.missing(row) {
                assert_ne!(missing, NO_RECIPE, "{} says nothing of what is missing", shipped.name);
                continue;
            }
            for scale in [Scale::Smoke, Scale::Cpu, Scale::Full] {
                let recipe = table.recipe_of(row, scale, 0);
                assert!(recipe.is_ok(), "{}, {}: {recipe:?}", shipped.name, row.name);
                let recipe = recipe.unwrap();
                if let Some(parent) = row.from.as_ref().and(table.parent(row)) {
                    let encoder = table.recipe_of(parent, scale, 0).unwrap().encoder;
                    assert_eq!(recipe.encoder, encoder, "{}, {}", shipped.name, row.name);
                }
            }
        }
    }
}

#[test]
fn the_rows_of_a_figure_say_where_they_are_drawn() {
    for shipped in TABLES {
        let table = shipped.read().unwrap();
        let lines = matches!(table.figure, Some(FigureSection::Lines { .. } | FigureSection::Spread { .. }));
        let placed = |row: &Row| row.series.is_some();
        assert!(!lines || table.row.iter().all(placed), "{}", shipped.name);
        assert_eq!(shipped.name.contains("figure"), table.figure.is_some(), "{}", shipped.name);
    }
}

#[test]
fn a_table_that_is_not_there_names_the_nearest() {
    assert!(ShippedTable::find("cclk-tabel3").unwrap_err().to_string().contains("`cclk-table3`"));
}
