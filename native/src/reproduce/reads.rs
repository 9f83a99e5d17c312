//! A step of any recipe reads nothing from its device.

use std::collections::BTreeSet;

use burn::tensor::Device;
use simile_core::algorithm::AlgorithmConfig;
use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::data::synthetic::digits::draw_digits;
use simile_core::data::{Condition, Dataset};
use simile_core::nn::EncoderConfig;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::read;
use simile_core::train::Trainer;

use super::shipped::TABLES;
use super::table::Scale;
use crate::config::sections::Arm;
use crate::config::shipped::SHIPPED;
use crate::config::{Changes, Recipe};
use crate::devices::DeviceName;
use crate::experiment::train::loader::DataLoader;
use crate::experiment::train::trainer::trainer_config;

const SAMPLES: usize = 24;
const STEPS: usize = 3;

/// The recipes that ship, and those of the rows of all tables that can run.
fn recipes() -> Vec<(String, Recipe)> {
    let changes = Changes { set: &[], arms: &[], seed: None, smoke: true };
    let shipped = SHIPPED
        .iter()
        .map(|shipped| (shipped.name.to_owned(), Recipe::load(shipped.name, &changes).unwrap()));
    let mut recipes: Vec<(String, Recipe)> = shipped.collect();
    for shipped in TABLES {
        let table = shipped.read().unwrap();
        for row in table.row.iter().filter(|row| table.missing(row).is_none()) {
            let recipe = table.recipe_of(row, Scale::Smoke, 0).unwrap();
            recipes.push((format!("{}, {}", shipped.name, row.name), recipe));
        }
    }
    recipes
}

/// The recipe for small digits and few steps: a small encoder where the method does not need its own, small queues.
fn small(mut recipe: Recipe, arm: &mut Arm) -> Recipe {
    let mut method = arm.method();
    if !matches!(method, AlgorithmConfig::Vae {} | AlgorithmConfig::Dcgan {}) {
        recipe.encoder.config = EncoderConfig::default();
    }
    match &mut method {
        AlgorithmConfig::Moco { queue, .. } => *queue = 64,
        AlgorithmConfig::Swav { prototypes, queue, .. } => {
            *prototypes = 16;
            *queue = (*queue).min(16);
        }
        AlgorithmConfig::Cached { chunk, .. } => *chunk = 3,
        AlgorithmConfig::Rebias { encoder: Some(encoder), .. } => *encoder = EncoderConfig::default(),
        AlgorithmConfig::BiasNetwork { encoder, first_steps, .. } => {
            *encoder = EncoderConfig::default();
            *first_steps = 1;
        }
        AlgorithmConfig::Jtt { first_steps } => *first_steps = 1,
        _ => {}
    }
    arm.method = Some(method);
    arm.objective.clusters = arm.objective.clusters.map(|_| 4);
    arm.objective.neighbourhoods = arm.objective.neighbourhoods.map(|_| 2);
    recipe.augment.size = None;
    recipe.augment.blur = None;
    if let Some(classified) = &mut recipe.classified {
        classified.batch = 8;
        classified.augment.size = None;
        classified.augment.blur = None;
    }
    recipe.data.normalise = None;
    (recipe.train.batch, recipe.train.iterations, recipe.train.accumulate) = (8, STEPS, 1);
    recipe
}

/// Digits with the variables that an arm names.
fn digits(arm: &Arm) -> Dataset {
    let mut digits = draw_digits(SAMPLES, Colours::Palette, 3).unwrap();
    digits.labels = (0..SAMPLES).map(|i| i % 2).collect();
    let attributes = Matrix::from_fn(SAMPLES, 128, |i, j| ((i / (j % 5 + 1) + j) % 2) as f64);
    digits.conditions.insert(arm.objective.variable(), Condition::Numeric(attributes));
    if let Some(bias) = &arm.objective.bias {
        let names = ["left", "right"].map(String::from).to_vec();
        let values = (0..SAMPLES).map(|i| i / 3 % 2).collect();
        digits.conditions.insert(bias.clone(), Condition::Categorical { values, names });
    }
    digits
}

/// Trains some steps and counts the reads of each.
fn reads(recipe: &Recipe, arm: &Arm, device: &Device) -> Vec<u64> {
    let digits = digits(arm);
    let mut loader = DataLoader::new(arm, recipe, &digits, device).unwrap();
    let settings = trainer_config(arm, recipe, loader.context(), (&digits, 3), None).unwrap();
    let mut trainer = Trainer::new(settings, &loader.context().training_set(), device).unwrap();
    let mut counts = Vec::new();
    while !trainer.is_finished() {
        if trainer.awaits_scores() {
            trainer.begin_stage(&Matrix::zeros(SAMPLES, 2)).unwrap();
        }
        let before = read::count();
        loader.step(&mut trainer).unwrap();
        counts.push(read::count() - before);
    }
    let before = read::count();
    assert!(pollster::block_on(trainer.mean_loss()).is_ok());
    assert_eq!(read::count() - before, 1, "the loss is read once");
    counts
}

#[test]
fn a_step_of_any_recipe_reads_nothing_from_the_device() {
    let mut seen = BTreeSet::new();
    for (name, recipe) in recipes() {
        for mut arm in recipe.arms() {
            let recipe = small(recipe.clone(), &mut arm);
            let kernel = arm.objective.parameters.get("kernel").map(ToString::to_string);
            let method = serde_json::to_string(&arm.method).unwrap();
            let kind = (arm.objective.name.clone(), arm.objective.variant.clone(), kernel, method);
            if !seen.insert(kind) {
                continue;
            }
            for name_of_device in [DeviceName::Cpu, DeviceName::Wgpu] {
                for present in name_of_device.present().into_iter().take(1) {
                    let counts = reads(&recipe, &arm, &present.device);
                    assert_eq!(counts, [0; STEPS], "{name}, {}, on {name_of_device}", arm.name);
                }
            }
        }
    }
    let has = |objective: &str| seen.iter().any(|(name, ..)| name == objective);
    for objective in
        ["hardneg-cclk", "lff", "softcon", "rubi", "learned-mixin", "kernel-decoupled-uniformity"]
    {
        assert!(has(objective), "{objective} is in no recipe");
    }
}
