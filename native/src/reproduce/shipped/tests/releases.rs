//! Rows and recipes have the budgets, rates, forms and pictures of the releases.

use std::collections::BTreeSet;

use simile_core::algorithm::AlgorithmConfig;
use simile_core::augment::Normalisation;
use simile_core::nn::head::HeadKind;
use simile_core::optim::OptimizerConfig;
use simile_core::optim::schedule::Progress;

use super::{ShippedTable, TABLES, objective, recipes, rows, steps, variants};
use crate::config::shipped::SHIPPED;
use crate::config::{Changes, Recipe};
use crate::data::DataSection;
use crate::data::keys::values::{Fit, Normalise};
use crate::data::source::Medium;
use crate::reproduce::row::Row;
use crate::reproduce::table::Scale;

#[test]
fn decoupled_uniformity_with_and_without_a_kernel_has_one_variant_and_one_t() {
    let mut count = 0;
    for (place, variant) in
        variants().into_iter().filter(|(_, variant)| variant.objective.name.ends_with("uniformity"))
    {
        let number = |key: &str| variant.objective.parameters.get(key).and_then(toml::Value::as_float);
        assert_eq!(
            (variant.objective.form.as_deref(), number("t")),
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
        let AlgorithmConfig::Difficulty(algorithm) = &variant.algorithm else { continue };
        let is_table2 = ["difficulty-table2", "waterbirds"].iter().any(|name| place.starts_with(name));
        let rate = if is_table2 { 1e-3 } else { 1e-2 };
        assert_eq!(algorithm.biased_learning_rate, Some(rate), "{place}");
        let objective = (variant.objective.name.as_str(), variant.objective.form.as_deref());
        let triplet = serde_json::to_value(&algorithm.triplet).unwrap()["variant"].clone();
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
        assert!(recipe.train.per_view_batch_norm, "{table}, {row}");
        if table.starts_with("difficulty") {
            // CIFAR-100 by the constants of CIFAR-10, too.
            let constants = if table == "difficulty-table1" { "cifar-10" } else { "imagenet" };
            assert_eq!(recipe.data.normalise, Some(Normalise::Named(constants.into())), "{table}, {row}");
            // CelebA's 20 epochs end before the rate of two encoders falls.
            let two = matches!(recipe.variants()[0].algorithm, AlgorithmConfig::Difficulty(_));
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
    let is_published = |recipe: &Recipe| !matches!(recipe.data.dataset.medium(), Medium::Drawn(_));
    let mut count = 0;
    for (place, recipe) in named.chain(rows).filter(|(_, recipe)| is_published(recipe)) {
        let is_digits = ["du-digits", "difficulty-digits"].iter().any(|table| place.starts_with(table));
        assert!(is_digits || recipe.train.drop_last.is_some(), "{place}");
        count += 1;
    }
    assert!(count > 150, "{count}");
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
            assert_eq!(objective.form.as_deref(), Some("released"), "{table}, {row}");
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
fn a_printed_bandwidth_is_that_of_the_released_kernel() {
    for (_, row, recipe) in rows().into_iter().filter(|(table, ..)| *table == "cclk-table7") {
        let kernel = recipe.variants()[0].objective.parameters["kernel"].clone();
        let printed: f64 = row.trim_start_matches("σ² = ").parse().unwrap();
        assert_eq!(kernel.get("temp_z").and_then(toml::Value::as_float), Some(printed), "{row}: {kernel}");
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

/// By data set: how pictures become squares, the side that is kept for crops, and the side of which evaluation takes the middle.
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
