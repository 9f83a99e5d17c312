//! The rows of ConTeX' tables have the views, rates and steps of its release.

use simile_core::algorithm::{AlgorithmConfig, LffSettings};
use simile_core::augment::{Augmentation, Crop};
use simile_core::optim::schedule::Progress;

use super::{TABLES, objective, recipes, steps};
use crate::config::Recipe;
use crate::data::keys::values::Normalise;
use crate::reproduce::table::Scale;

const SCALES: [Scale; 2] = [Scale::Cpu, Scale::Full];

/// The views of the classifiers in ConTeX' release.
fn crops_and_flips(size: Option<usize>) -> Augmentation {
    let crop = Crop { scale: [0.2, 1.0], ..Crop::default() };
    Augmentation { size, crop: Some(crop), flip: 0.5, ..Augmentation::default() }
}

/// How often the rate has fallen to a tenth.
fn times_fallen(recipe: &Recipe, at: Progress) -> f64 {
    -recipe.schedule.factor(at).log10().round()
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
            let algorithm = recipe.variants().remove(0).algorithm;
            assert_eq!(algorithm.takes_images_to_classify(), contrasts, "{}", row.name);
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
                assert_eq!(algorithm, AlgorithmConfig::Lff(LffSettings { ema_alpha: Some(0.7) }));
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
fn every_row_of_contex_names_its_variant_and_has_both() {
    for shipped in TABLES.iter().filter(|table| table.name.starts_with("contex")) {
        let mut counts = [0, 0];
        for (row, recipe) in recipes(shipped.name, Scale::Full) {
            let objective = objective(&recipe);
            if objective.name != "contex" {
                continue;
            }
            let variant = objective.form.unwrap();
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
