//! Tests of [`super`].
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use simile_core::algorithm::{AlgorithmConfig, LffSettings};
use simile_core::augment::{Augmentation, Crop, Normalisation};
use simile_core::nn::head::HeadKind;
use simile_core::optim::OptimizerConfig;
use simile_core::optim::schedule::Progress;

use super::*;
use crate::config::sections::RecipeVariant;
use crate::config::shipped::{SHIPPED, names_of_files};
use crate::config::{Changes, Recipe};
use crate::data::DataSection;
use crate::data::settings::{Fit, Normalise};
use crate::data::source::Kind;
use crate::names::slug;
use crate::reproduce::row::Row;
use crate::reproduce::table::{FigureSection, NO_RECIPE, Scale};

const SCALES: [Scale; 2] = [Scale::Cpu, Scale::Full];

/// The rows of a table that can run, with their recipes at a scale.
fn recipes(name: &str, scale: Scale) -> Vec<(Row, Recipe)> {
    let table = ShippedTable::find(name).unwrap().read().unwrap();
    let rows = table.row.iter().filter(|row| table.missing(row).is_none());
    rows.map(|row| (row.clone(), table.recipe_of(row, scale, 0).unwrap())).collect()
}

/// The objective of a recipe of one variant.
fn objective(recipe: &Recipe) -> crate::config::objective::ObjectiveSection {
    recipe.variants().remove(0).objective
}

/// The views of the classifiers in ConTeX' release.
fn crops_and_flips(size: Option<usize>) -> Augmentation {
    let crop = Crop { scale: [0.2, 1.0], ..Crop::default() };
    Augmentation { size, crop: Some(crop), flip: 0.5, ..Augmentation::default() }
}

/// How often the rate has fallen to a tenth.
fn times_fallen(recipe: &Recipe, at: Progress) -> f64 {
    -recipe.schedule.factor(at).log10().round()
}

fn steps(recipe: &Recipe) -> [u64; 2] {
    let first = recipe.variants().remove(0).method().first_steps().unwrap_or(0);
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
    let of = |work: &str| names.iter().copied().filter(|name| name.starts_with(work)).collect::<Vec<_>>();
    let works = ["cclk-", "contex-", "difficulty-", "du-"].map(of);
    assert_eq!(names, works.concat());
    let digits = ["du-table1", "du-table2", "du-table3", "du-table4", "du-table5", "du-digits"];
    assert_eq!(works[3], digits);
    assert!(works[0][6..] == ["cclk-table8", "cclk-figure2", "cclk-figure3", "cclk-figure4"], "{works:?}");
    names.sort_unstable();
    assert_eq!(names, names_of_files("tables"));
}

#[test]
fn decoupled_uniformity_with_and_without_a_kernel_has_one_variant_and_one_t() {
    let mut count = 0;
    for (place, variant) in
        variants().into_iter().filter(|(_, variant)| variant.objective.name.ends_with("uniformity"))
    {
        let number = |key: &str| variant.objective.parameters.get(key).and_then(toml::Value::as_float);
        assert_eq!(
            (variant.objective.variant.as_deref(), number("t")),
            (Some("released"), Some(2.0)),
            "{place}"
        );
        let kernel = variant.objective.name.starts_with("kernel");
        assert_eq!(number("lambda"), kernel.then_some(0.01), "{place}");
        count += 1;
    }
    assert!(count > 20, "{count}");
    for shipped in TABLES.iter().filter(|table| table.name.starts_with("du-")) {
        assert!(shipped.read().unwrap().notes.contains("as released: t = 2"), "{}", shipped.name);
    }
}

#[test]
fn both_losses_of_two_encoders_are_of_one_variant_that_the_row_names() {
    for (place, variant) in variants() {
        let AlgorithmConfig::Difficulty(method) = variant.method() else { continue };
        let is_table2 = ["difficulty-table2", "waterbirds"].iter().any(|name| place.starts_with(name));
        let rate = if is_table2 { 1e-3 } else { 1e-2 };
        assert_eq!(method.biased_learning_rate, Some(rate), "{place}");
        let objective = (variant.objective.name.as_str(), variant.objective.variant.as_deref());
        let triplet = serde_json::to_value(method.triplet).unwrap()["variant"].clone();
        match objective {
            ("wcl-weighted-dcl", Some("released")) => {
                assert_eq!(triplet, "released", "{place}");
                assert!(place.contains("released") || place.starts_with("waterbirds"), "{place}");
            }
            ("wcl-weighted-infonce", Some("paper")) => {
                assert!(triplet == "paper" && place.contains("as printed"), "{place}");
            }
            other => unreachable!("{place}: {other:?}"),
        }
    }
}

#[test]
fn heads_are_those_of_the_work() {
    for (table, row, recipe) in rows() {
        let expected = match table {
            "difficulty-table1" => HeadKind::MlpNormalised,
            "du-table1" | "du-table2" | "du-table3" | "du-table4" | "du-table5" | "du-digits" => {
                HeadKind::MlpActivated
            }
            _ => continue,
        };
        // Generative models and classifiers have no specific head.
        assert!(recipe.head.kind.is_none_or(|kind| kind == expected), "{table}, {row}");
        let projects =
            recipe.variants()[0].scores(10, 0).is_none() && recipe.variants()[0].objective.name != "vae";
        assert_eq!(recipe.head.kind.is_some(), projects, "{table}, {row}");
    }
}

#[test]
fn views_epochs_and_rates_are_those_of_the_release() {
    for (table, row, recipe) in rows() {
        let is_jtt = row.ends_with("JTT");
        let full_batches_alone = match table {
            "cclk-table2" | "cclk-table4" | "cclk-table6" | "cclk-table7" => false,
            "difficulty-table1" | "difficulty-table2" => !is_jtt,
            _ => continue,
        };
        assert_eq!(recipe.train.drop_last, Some(full_batches_alone), "{table}, {row}");
        assert!(recipe.train.views_apart, "{table}, {row}");
        if table.starts_with("difficulty") {
            // CIFAR-100 by the constants of CIFAR-10, too.
            let constants = if table == "difficulty-table1" { "cifar-10" } else { "imagenet" };
            assert_eq!(recipe.data.normalise, Some(Normalise::Named(constants.into())), "{table}, {row}");
            // CelebA's 20 epochs end before the rate of two encoders falls.
            let two = matches!(recipe.variants()[0].method(), AlgorithmConfig::Difficulty(_));
            let falls = serde_json::to_value(&recipe.schedule).unwrap()["name"] == "step";
            assert_eq!(falls, two && !row.starts_with("CelebA"), "{table}, {row}");
            let images = match row.split_once(", ") {
                Some(("Waterbirds", _)) => 4795,
                Some(("CelebA", _)) => 162_770,
                _ => 50_000,
            };
            let epoch = images / recipe.train.batch;
            let epochs = match row.split_once(", ") {
                Some(("Waterbirds", _)) => 400,
                Some(("CelebA", _)) => 20,
                Some(("CIFAR-100", _)) => 600,
                _ => 500,
            };
            assert!(is_jtt || recipe.train.iterations == epochs * epoch, "{table}, {row}");
            // The rate of two encoders falls after 350 epochs.
            let at = |step| Progress { step, steps: (epochs * epoch) as u64, steps_per_epoch: epoch as u64 };
            let fallen = [1, 0].map(|before| recipe.schedule.factor(at(350 * epoch as u64 - before)));
            assert!(!falls || (fallen[0] == 1.0 && fallen[1] < 0.2), "{table}, {row}: {fallen:?}");
        }
    }
}

/// Training images, batch and epochs at the published scale, of rows whose epochs are printed or released.
fn budget(table: &str, row: &str) -> Option<[usize; 3]> {
    let (cifar, shoes, birds) = (50_000, 35_017, 5_994);
    // CCL-K has 100 classes of its own.
    let (hundred, hundred_of_cclk, imagenet) = (126_689, 128_783, 1_281_167);
    let is_of = |name: &str| row.contains(name);
    let tuned = is_of(" to ");
    Some(match table {
        "cclk-table2" if is_of("UT-Zappos") => [shoes, 152, 1000],
        "cclk-table2" if is_of("ImageNet-100") => [hundred_of_cclk, 128, 200],
        "cclk-table2" | "cclk-table7" => [birds, 128, 1000],
        "cclk-table4" if is_of("ImageNet-100") => [hundred_of_cclk, 512, 200],
        "cclk-table5" if !is_of("CIFAR-10") => return None,
        "cclk-table4" | "cclk-table5" => [cifar, 256, 400],
        "cclk-table6" => [cifar, 512, 1000],
        "cclk-figure3" if is_of("UT-Zappos") => [shoes, 152, 1000],
        "contex-table1" | "contex-table6" if is_of("ImageNet") => [imagenet, 1440, 100],
        "contex-table1" if is_of("Cross-entropy") => [cifar, 256, 500],
        "contex-table7" if is_of("Caltech-101") => [30 * 101, 256, 100],
        "contex-table7" if is_of("Caltech-256") => [60 * 256, 256, 100],
        "contex-table7" if !tuned => [imagenet, 1440, 100],
        "contex-table7" => [cifar, 256, 100],
        "contex-figure5" if tuned => [cifar, 256, 100],
        "contex-table1" | "contex-table6" | "contex-figure5" => [cifar, 2048, 1000],
        "contex-table8" => [cifar, 2048, 100],
        // 5,000 images are held out.
        "contex-figure6" => [cifar - 5000, 32, 100],
        "contex-table9" => [cifar, row.rsplit(' ').next()?.parse().ok()?, 100],
        "du-table1" | "du-table2" | "du-table4" if table == "du-table2" || is_of("ImageNet-100") => {
            [hundred, 256, 400]
        }
        "du-table1" | "du-table3" => [cifar, 256, 400],
        "du-table4" if is_of("CUB") => [birds, 256, 1000],
        "du-table4" => [shoes, 256, 1000],
        _ => return None,
    })
}

#[test]
fn iterations_are_whole_epochs_of_the_published_batches() {
    let mut count = 0;
    for (table, row, recipe) in rows() {
        let Some([images, batch, epochs]) = budget(table, &row) else { continue };
        let expected = (batch, images.div_ceil(batch) * epochs);
        assert_eq!((recipe.train.batch, recipe.train.iterations), expected, "{table}, {row}");
        let is_whole = images.is_multiple_of(batch) || recipe.train.drop_last == Some(false);
        assert!(is_whole, "{table}, {row}: a GPU would train more epochs");
        count += 1;
    }
    assert!(count > 150, "{count}");
}

/// Where the recipe is silent, the device decides, and epochs are shorter on a GPU.
#[test]
fn epochs_of_published_data_are_as_long_on_every_device() {
    let recipes = SHIPPED.iter().map(|shipped| Recipe::load(shipped.name, &Changes::default()).unwrap());
    let named = recipes.map(|recipe| (recipe.name.clone(), recipe));
    let rows = rows().into_iter().map(|(table, row, recipe)| (format!("{table}, {row}"), recipe));
    let is_published = |recipe: &Recipe| !matches!(recipe.data.dataset.kind(), Kind::Drawn(_));
    let mut count = 0;
    for (place, recipe) in named.chain(rows).filter(|(_, recipe)| is_published(recipe)) {
        let is_digits = ["du-digits", "difficulty-digits"].iter().any(|table| place.starts_with(table));
        assert!(is_digits || recipe.train.drop_last.is_some(), "{place}");
        count += 1;
    }
    assert!(count > 150, "{count}");
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
fn fair_rows_decay_as_the_released_script_for_them_and_the_others_as_that_for_simclr() {
    let mut counts = [0, 0];
    for (table, row, recipe) in rows() {
        if !matches!(table, "cclk-table3" | "cclk-table5" | "cclk-table8") {
            continue;
        }
        let OptimizerConfig::Lars(lars) = &recipe.optimizer else { continue };
        let fair = recipe.variants()[0].objective.name.starts_with("fair");
        assert_eq!(lars.weight_decay, if fair { 1e-4 } else { 1e-6 }, "{table}, {row}");
        counts[usize::from(fair)] += 1;
    }
    assert_eq!(counts, [4, 18]);
}

#[test]
fn what_a_note_calls_released_has_the_released_form() {
    let names = ["biascon-total", "softcon", "end", "lff", "supcon", "jtt"];
    let mut released = BTreeSet::new();
    for (table, row, recipe) in rows() {
        let objective = objective(&recipe);
        if let Some(name) = names.iter().find(|name| **name == objective.name) {
            assert_eq!(objective.variant.as_deref(), Some("released"), "{table}, {row}");
            released.insert(*name);
        }
    }
    assert_eq!(released, BTreeSet::from(names));
}

#[test]
fn the_share_of_false_negatives_is_given_by_the_row_or_named_in_the_note() {
    let mut count = 0;
    for (table, row, recipe) in rows() {
        let objective = objective(&recipe);
        if !matches!(objective.name.as_str(), "dcl" | "hcl") {
            continue;
        }
        let share = objective.parameters.get("tau_plus").and_then(toml::Value::as_float);
        let notes = ShippedTable::find(table).unwrap().read().unwrap().notes;
        let is_named = ["tau_plus", "τ⁺"].iter().any(|name| notes.contains(name));
        assert!(share.is_some() || is_named, "{table}, {row}");
        // ImageNet-100 has 100 classes.
        assert!(table != "du-table2" || share == Some(0.01), "{table}, {row}: {share:?}");
        count += 1;
    }
    assert!(count > 10, "{count}");
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
fn a_printed_bandwidth_is_that_of_the_released_kernel() {
    for (_, row, recipe) in rows().into_iter().filter(|(table, ..)| *table == "cclk-table7") {
        let kernel = recipe.variants()[0].objective.parameters["kernel"].clone();
        let printed: f64 = row.trim_start_matches("σ² = ").parse().unwrap();
        assert_eq!(kernel.get("temp_z").and_then(toml::Value::as_float), Some(printed), "{row}: {kernel}");
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
        let placed = |row: &crate::reproduce::row::Row| row.series.is_some();
        assert!(!lines || table.row.iter().all(placed), "{}", shipped.name);
        assert_eq!(shipped.name.contains("figure"), table.figure.is_some(), "{}", shipped.name);
    }
}

#[test]
fn a_table_that_is_not_there_names_the_nearest() {
    assert!(ShippedTable::find("cclk-tabel3").unwrap_err().to_string().contains("`cclk-table3`"));
}

#[test]
fn the_main_network_of_every_row_has_the_steps_of_the_base() {
    for (scale, first, main) in [(Scale::Cpu, [469, 469], 1175), (Scale::Full, [2340, 37_440], 37_440)] {
        let rows = recipes("contex-table5", scale);
        for (row, recipe) in &rows {
            let expected = match row.series.as_deref().unwrap() {
                "LearnedMixin" | "RUBi" => first[0],
                "SoftCon" => first[1],
                _ => 0,
            };
            assert_eq!(steps(recipe), [expected, main], "{}", row.name);
        }
        assert_eq!(rows.len(), 6 * 8);
    }
}

#[test]
fn just_train_twice_has_its_published_epochs_after_those_that_find_the_errors() {
    // 4,795 and 162,770 images by 64.
    let expected = [("Waterbirds, JTT", 75, [60, 300]), ("CelebA, JTT", 2544, [1, 50])];
    let (full, small) = (recipes("difficulty-table2", Scale::Full), recipes("difficulty-table2", Scale::Cpu));
    let of = |rows: &[(Row, Recipe)], name| {
        rows.iter().find(|(row, _)| row.name == name).map(|(_, recipe)| steps(recipe)).unwrap()
    };
    for (name, epoch, epochs) in expected {
        assert_eq!(of(&full, name), epochs.map(|count| count * epoch), "{name}");
        assert_eq!(of(&small, name), [100, 200], "{name}");
    }
}

#[test]
fn a_table_without_bias_labels_reads_none() {
    for scale in SCALES {
        for (row, recipe) in recipes("contex-table5", scale) {
            let objective = objective(&recipe);
            assert_eq!((objective.bias, objective.oversample), (None, None), "{}", row.name);
        }
    }
}

#[test]
fn biased_digits_are_seen_as_the_release_sees_them() {
    let plain = Augmentation::default();
    for (table, scale) in
        ["contex-table2", "contex-table5"].into_iter().flat_map(|name| SCALES.map(|scale| (name, scale)))
    {
        for (row, recipe) in recipes(table, scale) {
            let line = row.series.as_deref().unwrap();
            // 80 epochs that end with their last full batch of 128.
            let [_, main] = steps(&recipe);
            assert!(scale == Scale::Cpu || main == 80 * (60_000 / 128), "{}: {main}", row.name);
            assert_eq!(recipe.train.drop_last, Some(scale == Scale::Full), "{}", row.name);
            let contrasts = ["BiasCon", "SoftCon", "ConTeX, paper", "ConTeX, released"].contains(&line);
            let objective = objective(&recipe);
            let drawn = (table == "contex-table2" && contrasts).then_some(10.0);
            assert_eq!(objective.oversample, drawn, "{}", row.name);
            let method = recipe.variants().remove(0).method();
            assert_eq!(method.takes_classified(), contrasts, "{}", row.name);
            if contrasts {
                let views = Augmentation::preset("biased-mnist").unwrap();
                assert_eq!((&recipe.augment, recipe.train.batch), (&views, 64), "{}", row.name);
                let beside = recipe.classified.as_ref().unwrap();
                assert_eq!((&beside.augment, beside.batch), (&plain, 128), "{}", row.name);
            } else {
                assert_eq!((&recipe.augment, recipe.train.batch), (&plain, 128), "{}", row.name);
                assert!(recipe.classified.is_none(), "{}", row.name);
            }
            if line == "LfF" {
                assert_eq!(method, AlgorithmConfig::Lff(LffSettings { ema_alpha: Some(0.7) }));
            }
        }
    }
}

#[test]
fn faces_have_the_epochs_the_rates_and_the_draws_of_the_release_for_their_target() {
    let plain = Augmentation { flip: 0.5, ..Augmentation::default() };
    let views = Augmentation::preset("contex").unwrap();
    for (row, recipe) in recipes("contex-table4", Scale::Full) {
        // The steps of an epoch, the epochs, those after which the rate falls, the largest ratio of two weights.
        let (epoch, epochs, milestones, most): (u64, u64, [u64; 2], f64) = match row.block.as_deref() {
            Some("blond hair") => (583, 10, [3, 6], 30.0),
            Some("heavy make-up") => (1018, 40, [13, 26], 50.0),
            other => unreachable!("{other:?}"),
        };
        assert_eq!(recipe.train.iterations as u64, epochs * epoch, "{}", row.name);
        let at = |step| Progress { step, steps: epochs * epoch, steps_per_epoch: epoch };
        let around =
            |milestone: u64| [1, 0].map(|before| times_fallen(&recipe, at(milestone * epoch - before)));
        assert_eq!(milestones.map(around), [[0.0, 1.0], [1.0, 2.0]], "{}", row.name);
        let line = row.series.as_deref().unwrap();
        let contrasts = ["BiasCon", "ConTeX, paper", "ConTeX, released"].contains(&line);
        let objective = objective(&recipe);
        assert_eq!(objective.oversample, contrasts.then_some(most), "{}", row.name);
        let seen = (&recipe.augment, recipe.train.batch);
        if contrasts {
            assert_eq!(objective.bias.as_deref(), Some("bias"), "{}", row.name);
            let beside = recipe.classified.as_ref().unwrap();
            assert_eq!(
                (seen, (&beside.augment, beside.batch)),
                ((&views, 64), (&plain, 128)),
                "{}",
                row.name
            );
        } else {
            assert_eq!((seen, &recipe.classified), ((&plain, 128), &None), "{}", row.name);
        }
    }
}

#[test]
fn cross_entropy_on_cifar_has_the_views_and_the_rates_of_its_release() {
    let mut count = 0;
    for (row, recipe) in recipes("contex-table1", Scale::Full) {
        if !row.name.starts_with("Cross-entropy, CIFAR") {
            continue;
        }
        assert_eq!(recipe.augment, crops_and_flips(None), "{}", row.name);
        let rate = serde_json::to_value(&recipe.optimizer).unwrap()["learning_rate"].clone();
        assert_eq!(rate, 0.2, "{}", row.name);
        let at = |epoch: u64| Progress { step: 196 * epoch, steps: 98_000, steps_per_epoch: 196 };
        let fallen = [0, 349, 350, 400, 450].map(|epoch| times_fallen(&recipe, at(epoch)));
        assert_eq!(fallen, [0.0, 0.0, 1.0, 2.0, 3.0], "{}", row.name);
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn fine_tuning_sees_crops_and_flips_alone_by_the_constants_of_its_own_images() {
    let mut count = 0;
    for name in ["contex-figure5", "contex-table7"] {
        for (row, recipe) in recipes(name, Scale::Full) {
            if row.from.is_none() {
                continue;
            }
            let (own, size) = match recipe.data.dataset.name() {
                cifar if cifar.starts_with("cifar") => (cifar, None),
                _ => ("imagenet", Some(224)),
            };
            assert_eq!(recipe.augment, crops_and_flips(size), "{name}, {}", row.name);
            let constants = Some(Normalise::Named(own.to_owned()));
            assert_eq!(recipe.data.normalise, constants, "{name}, {}", row.name);
            count += 1;
        }
    }
    assert_eq!(count, 18);
}

#[test]
fn decoupled_uniformity_normalises_each_data_set_by_its_released_constants() {
    let mut sets = BTreeSet::new();
    for (table, row, recipe) in rows().into_iter().filter(|(table, ..)| table.starts_with("du-table")) {
        let set = recipe.data.dataset.name();
        let (mean, std) = match set {
            "cifar-10" | "cifar-100" => ([0.5; 3], [0.5; 3]),
            "imagenet-100" => ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            "cub-200-2011" => ([0.4863, 0.4999, 0.4312], [0.2070, 0.2018, 0.2428]),
            "ut-zappos50k" => ([0.8342, 0.8142, 0.8081], [0.2804, 0.3014, 0.3072]),
            "chexpert" => ([0.5024; 3], [0.2898; 3]),
            other => unreachable!("{table}, {row}: {other}"),
        };
        let released = Normalisation { mean: mean.to_vec(), std: std.to_vec() };
        assert_eq!(recipe.normalisation(), Ok(released), "{table}, {row}");
        sets.insert(set);
    }
    assert_eq!(sets.len(), 6);
}

/// How pictures become squares, from how many pixels crops are taken, and of how many evaluation takes the middle, in releases that
/// crop the files.
#[test]
fn crops_are_taken_of_about_as_many_pixels_as_in_the_releases() {
    let mut sets = BTreeSet::new();
    let of_tables = rows().into_iter().map(|(table, row, recipe)| (format!("{table}, {row}"), recipe));
    let alone = SHIPPED
        .iter()
        .map(|shipped| (shipped.name.to_owned(), Recipe::load(shipped.name, &Changes::default()).unwrap()));
    for (place, recipe) in alone.chain(of_tables) {
        let set = recipe.data.dataset.name();
        let expected = match set {
            "imagenet" | "caltech-101" | "caltech-256" => (Fit::Aspect, 400, Some(256)),
            "imagenet-100" | "cub-200-2011" => (Fit::Aspect, 500, Some(256)),
            "utkface" => (Fit::Aspect, 200, Some(72)),
            "chexpert" => (Fit::Crops, 390, None),
            "waterbirds" if recipe.augment.centre_crop => (Fit::Whole, 256, Some(256)),
            "waterbirds" => (Fit::Crops, 320, Some(256)),
            _ => continue,
        };
        let DataSection { fit, side, .. } = recipe.data;
        assert_eq!((fit, side.unwrap_or_default(), recipe.data.resize()), expected, "{place}");
        sets.insert(set);
    }
    assert_eq!(sets.len(), 8, "{sets:?}");
}

#[test]
fn every_row_of_contex_names_its_variant_and_has_both() {
    for shipped in TABLES.iter().filter(|table| table.name.starts_with("contex")) {
        let mut counts = [0, 0];
        for (row, recipe) in recipes(shipped.name, Scale::Full) {
            let objective = objective(&recipe);
            if objective.name != "contex" {
                continue;
            }
            let variant = objective.variant.unwrap();
            assert!(row.name.contains(&variant), "{}, {}", shipped.name, row.name);
            counts[usize::from(variant == "released")] += 1;
        }
        assert!(counts[0] == counts[1] && counts[0] > 0, "{}: {counts:?}", shipped.name);
    }
}

#[test]
fn own_classifiers_are_compared_with_own_classifiers() {
    for name in ["contex-table2", "contex-table3", "contex-table4", "contex-table5"] {
        for (row, recipe) in recipes(name, Scale::Full) {
            let variant = recipe.variants().remove(0);
            assert!(variant.scores(10, 10).is_some(), "{name}, {}: no classifier of its own", row.name);
            assert_eq!(row.published.keys().collect::<Vec<_>>(), ["classifier_unbiased"], "{name}");
        }
    }
}
