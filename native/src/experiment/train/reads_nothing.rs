//! Tests that a step of any recipe, and of any objective that a method trains, reads nothing from its device. On the CPU the recipes run
//! with networks of their own kind, and with each update beside each objective. A GPU compiles each new kernel, so fewer cases run there:
//! each method, setting of a method and update with LeNet-5, or with the network that the method needs, and one recipe of each other kind
//! of network but transformers, with accumulated gradients, the first with blurred views. Most objectives take the same way on any device.
//! Those that do not, because they solve for kernel weights or condition on representations, run on a GPU too, and so do those that no
//! other test runs there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use burn::tensor::Device;
use serde_json::Value;
use simile_core::algorithm::{AlgorithmConfig, BiasNetworkSettings, RebiasSettings};
use simile_core::augment::Augmentation;
use simile_core::data::resize::Interpolation;
use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::data::synthetic::digits::draw_digits;
use simile_core::data::{Condition, Dataset};
use simile_core::loss::spec::{BIAS, Spec};
use simile_core::loss::{self, Conditioning};
use simile_core::nn::{Architecture, EncoderConfig};
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::read;
use simile_core::train::Trainer;

use super::loader::DataLoader;
use super::trainer::trainer_config;
use crate::config::shipped::SHIPPED;
use crate::config::variant::RecipeVariant;
use crate::config::{Changes, Recipe};
use crate::devices::{DeviceName, testing};
use crate::reproduce::shipped::TABLES;
use crate::reproduce::table::Scale;

const SAMPLES: usize = 24;
const STEPS: usize = 2;
/// Pixels of a side of images for networks that take any: a GPU in software has a quarter of the work that 32 would give it.
const SIDE: usize = 16;

/// The recipes that ship, those of the rows of all tables that can run, and one of each objective that these lack.
static RECIPES: LazyLock<Vec<(String, Recipe)>> = LazyLock::new(|| {
    let changes = Changes { set: &[], variants: &[], seed: None, smoke: true };
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
    let in_recipes: BTreeSet<String> = recipes
        .iter()
        .flat_map(|(_, recipe)| recipe.variants())
        .map(|variant| variant.objective.name)
        .collect();
    let lacking = loss::specs().filter(|spec| !in_recipes.contains(spec.name));
    recipes.extend(lacking.filter_map(|spec| Some((spec.name.to_owned(), recipe_for(spec)?))));
    recipes
});

/// A recipe for an objective, with the first method that trains it; `None` if no method does.
fn recipe_for(spec: &Spec) -> Option<Recipe> {
    let (name, method) = (spec.name, spec.algorithms.first()?);
    let bias = if spec.needs(BIAS.name) { ", bias = \"palette\"" } else { "" };
    let set = [
        format!("variant.SimCLR.objective={{ name = \"{name}\"{bias} }}"),
        format!("variant.SimCLR.method={{ name = \"{method}\" }}"),
    ];
    let variants = ["SimCLR".to_owned()];
    let changes = Changes { set: &set, variants: &variants, seed: None, smoke: true };
    Some(Recipe::load("fair-digits", &changes).unwrap())
}

/// The files of the reference numbers with which `tests/tests/devices/vectors.rs` compares loss and gradient on GPUs: the first case of
/// each objective and form.
static COMPARED_ON_GPUS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with("__1.json")).collect()
});

/// The parts that a small run keeps from its recipe, beside objective and method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecipeParts {
    /// Nothing.
    Nothing,
    /// The kind of each network, the blur and the size of views.
    Kinds,
    /// The same, and the gradients of all steps are accumulated.
    KindsAccumulated,
}

/// A small network of the same kind, or LeNet-5.
fn small_network(config: &EncoderConfig, parts: RecipeParts) -> EncoderConfig {
    use Architecture::{Dcgan, LeNet5, ResNet18, ResNet34, ResNet50, ResNet101, Vae, VitB16, VitS16};
    let EncoderConfig { name, output, .. } = *config;
    let output = output.map(|_| 16);
    let of = |name| EncoderConfig { name, input_size: SIDE, output, ..EncoderConfig::default() };
    let residual = |name| EncoderConfig { width: Some(8), ..of(name) };
    match name {
        // Their methods need them.
        Vae | Dcgan => EncoderConfig { input_size: SIDE, ..config.clone() },
        _ if parts == RecipeParts::Nothing => EncoderConfig::default(),
        ResNet18 | ResNet34 | ResNet50 | ResNet101 => residual(ResNet18),
        VitS16 | VitB16 => of(VitS16),
        // Takes 32 pixels.
        LeNet5 => EncoderConfig { output, ..EncoderConfig::default() },
        name => of(name),
    }
}

/// The recipe for small digits and few steps: small networks, small queues.
fn small(mut recipe: Recipe, variant: &mut RecipeVariant, parts: RecipeParts) -> Recipe {
    recipe.encoder.config = small_network(&recipe.encoder.config, parts);
    match &mut variant.algorithm {
        AlgorithmConfig::Moco(moco) => moco.queue = 64,
        AlgorithmConfig::Swav(swav) => (swav.prototypes, swav.queue) = (16, swav.queue.min(16)),
        AlgorithmConfig::GradCache(cached) => cached.chunk = 3,
        AlgorithmConfig::Rebias(RebiasSettings { encoder: Some(encoder), .. })
        | AlgorithmConfig::BiasNetwork(BiasNetworkSettings { encoder, .. }) => {
            *encoder = small_network(encoder, parts);
        }
        _ => {}
    }
    if let Some(first_steps) = variant.algorithm.first_steps_mut() {
        *first_steps = 1;
    }
    variant.objective.clusters = variant.objective.clusters.map(|_| 4);
    variant.objective.neighbourhoods = variant.objective.neighbourhoods.map(|_| 2);
    let side = recipe.encoder.config.input_size;
    let views = |augment: &mut Augmentation| {
        augment.size = augment.size.filter(|_| parts != RecipeParts::Nothing).map(|_| side);
        augment.centre_crop &= augment.size.is_some();
        augment.blur = augment.blur.take().filter(|_| parts != RecipeParts::Nothing);
    };
    views(&mut recipe.augment);
    if let Some(classified) = &mut recipe.classified {
        classified.batch = 4;
        views(&mut classified.augment);
    }
    recipe.data.normalise = None;
    recipe.train.batch = if parts == RecipeParts::Nothing { 8 } else { 4 };
    recipe.train.iterations = STEPS;
    recipe.train.accumulate = if parts == RecipeParts::KindsAccumulated { STEPS } else { 1 };
    recipe
}

/// Digits of the side that a network takes, with the attributes that a variant names.
fn digits(variant: &RecipeVariant, side: usize) -> Dataset {
    let mut digits = draw_digits(SAMPLES, Colours::Palette, 3).unwrap();
    digits.images = digits.images.resized(side, side, Interpolation::Bilinear).unwrap();
    digits.labels = (0..SAMPLES).map(|i| i % 2).collect();
    let attributes = Matrix::from_fn(SAMPLES, 128, |i, j| ((i / (j % 5 + 1) + j) % 2) as f64);
    digits.conditions.insert(variant.objective.attribute_or_default(), Condition::Numeric(attributes.into()));
    if let Some(bias) = &variant.objective.bias {
        let domains = variant.objective.parameters.get("domains").and_then(toml::Value::as_integer);
        let count = domains.map_or(2, |domains| domains as usize);
        let names = (0..count).map(|value| format!("place {value}")).collect();
        let values = (0..SAMPLES).map(|i| i / 3 % count).collect();
        digits.conditions.insert(bias.clone(), Condition::Categorical { values, names });
    }
    digits
}

/// Trains some steps and counts the reads of each.
fn reads(recipe: &Recipe, variant: &RecipeVariant, device: &Device) -> Vec<u64> {
    let digits = digits(variant, recipe.encoder.config.input_size);
    let mut loader = DataLoader::new(variant, recipe, &digits, device).unwrap();
    let settings = trainer_config(variant, recipe, loader.context(), &digits, 3).unwrap();
    let mut trainer = Trainer::new(settings, &loader.context().training_set(), device).unwrap();
    let mut counts = Vec::new();
    while !trainer.is_finished() {
        if trainer.awaits_scores() {
            trainer.begin_training_stage(&Matrix::zeros(SAMPLES, 2)).unwrap();
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

/// A variant of a recipe, with its name.
struct Case {
    name: String,
    recipe: Recipe,
    variant: RecipeVariant,
}

impl Case {
    /// Objective, with the kind of its kernel, and method: other numbers of them are read no differently.
    fn loss(&self) -> String {
        let RecipeVariant { objective, algorithm, .. } = &self.variant;
        let kernel = objective.parameters.get("kernel").map(|kernel| kernel["name"].clone());
        let algorithm = serde_json::to_value(algorithm).unwrap()["name"].clone();
        serde_json::to_string(&(&objective.name, &objective.form, kernel, algorithm)).unwrap()
    }

    /// The kind of the optimiser, whether it clips gradients, and what batch norm and a moving average add to an update.
    fn update(&self) -> String {
        let Recipe { optimizer, train, .. } = &self.recipe;
        let (clips, averages) = (optimizer.clip_norm().is_some(), train.ema.is_some());
        let name = &serde_json::to_value(optimizer).unwrap()["name"];
        format!("{name}, clips: {clips}, views apart: {}, averages: {averages}", train.per_view_batch_norm)
    }

    /// The settings of the method. Numbers of them are read no differently, but for 0.
    fn settings(&self) -> String {
        without_numbers(serde_json::to_value(&self.variant.algorithm).unwrap()).to_string()
    }

    /// The parts that decide on the way of a step on a GPU: the method with its settings, and the update; the objective too, if its
    /// way depends on the device, or if no other test runs it on a GPU. Of a network other than LeNet-5, whose method needs it, the
    /// method alone: each further case has kernels of its own to compile.
    fn on_gpu(&self) -> Vec<String> {
        if self.network() != Architecture::LeNet5.name() {
            return vec![self.settings()];
        }
        let mut texts = vec![self.update(), self.settings()];
        if self.depends_on_device() || !self.is_compared_on_gpus() {
            texts.push(self.loss());
        }
        texts
    }

    /// True if the step of the objective may ask where its embeddings lie: it solves for kernel weights, or conditions on
    /// representations. `tests/src/reads.rs` lists the files that ask.
    fn depends_on_device(&self) -> bool {
        let spec = loss::spec(&self.variant.objective.name).unwrap();
        spec.solves() || spec.conditioning() == Conditioning::Representation
    }

    fn is_compared_on_gpus(&self) -> bool {
        let objective = &self.variant.objective;
        let form = loss::spec(&objective.name).unwrap().form(objective.form.as_deref());
        // The files of an objective without forms have a name in place of one.
        let start = match form {
            Some(form) => format!("{}__{}__", objective.name, form.name),
            None => format!("{}__", objective.name),
        };
        COMPARED_ON_GPUS.iter().any(|file| file.starts_with(&start))
    }

    fn network(&self) -> &'static str {
        self.recipe.encoder.config.name.name()
    }

    fn is_blurred(&self) -> bool {
        self.recipe.augment.blur.is_some()
    }

    /// The path of images: the kind of network, the method, and the views.
    fn path(&self) -> String {
        let algorithm = serde_json::to_value(&self.variant.algorithm).unwrap();
        let size = self.recipe.augment.size.is_some();
        format!("{} {} {} {size}", self.network(), algorithm["name"], self.is_blurred())
    }

    fn assert_no_reads(&self, device: &Device) {
        let Self { name, recipe, variant } = self;
        assert_eq!(reads(recipe, variant, device), [0; STEPS], "{name}");
    }
}

/// Settings in which each number is replaced by whether it differs from 0.
fn without_numbers(settings: Value) -> Value {
    match settings {
        Value::Number(number) => Value::Bool(number.as_f64() != Some(0.0)),
        Value::Array(parts) => parts.into_iter().map(without_numbers).collect(),
        Value::Object(parts) => parts.into_iter().map(|(key, part)| (key, without_numbers(part))).collect(),
        other => other,
    }
}

/// The variants of all recipes of which some text is new.
fn different(parts: RecipeParts, texts: impl Fn(&Case) -> Vec<String>) -> Vec<Case> {
    let (mut seen, mut cases) = (BTreeSet::new(), Vec::new());
    for (name, recipe) in RECIPES.iter() {
        for mut variant in recipe.variants() {
            let recipe = small(recipe.clone(), &mut variant, parts);
            let case = Case { name: format!("{name}, {}", variant.name), recipe, variant };
            // All texts of a case are seen with it, not only the first new one.
            let new = texts(&case).into_iter().filter(|text| seen.insert(text.clone())).count();
            if new > 0 {
                cases.push(case);
            }
        }
    }
    cases
}

/// The first variant of a recipe that ships, with settings that none has.
fn made(name: &str, set: &[&str], parts: RecipeParts) -> Case {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let changes = Changes { set: &set, variants: &[], seed: None, smoke: true };
    let recipe = Recipe::load(name, &changes).unwrap();
    let mut variant = recipe.variants().remove(0);
    let recipe = small(recipe, &mut variant, parts);
    Case { name: format!("{name}, {}", set.join(", ")), recipe, variant }
}

/// Settings that no recipe has: a method with batch norm over the whole batch, and the average of a network with clipped gradients.
fn changed() -> [Case; 2] {
    let cached = ["method={ name = \"cached\", chunk = 3, statistics = \"batch\" }"];
    let averaged = ["train.ema=0.9", "optimizer.clip_norm=0.5"];
    [&cached[..], &averaged[..]].map(|set| made("fair-digits", set, RecipeParts::Nothing))
}

/// Fails unless each of the objectives is in some case.
fn assert_have(cases: &[Case], objectives: &[&str]) {
    for objective in objectives {
        let has = cases.iter().any(|case| case.variant.objective.name == *objective);
        assert!(has, "{objective} is in no case");
    }
}

/// The other objectives run in the next test, whose count is the same on a GPU. `match_on_gpus` of `tests/tests/devices/vectors.rs`
/// proves that they compute there: it compares their losses and gradients.
#[test]
fn a_step_of_any_method_and_update_reads_nothing_on_a_gpu() {
    let mut cases = different(RecipeParts::Nothing, Case::on_gpu);
    assert_have(&cases, &["hardneg-cclk", "kernel-decoupled-uniformity"]);
    for update in ["lars", "sgd", "adam", "views apart: true"] {
        assert!(cases.iter().any(|case| case.update().contains(update)), "{update} is in no recipe");
    }
    for network in [Architecture::Vae, Architecture::Dcgan].map(Architecture::name) {
        assert!(cases.iter().any(|case| case.network() == network), "{network} is in no recipe");
    }
    cases.extend(changed());
    let Some(device) = testing::needed(DeviceName::Wgpu) else { return };
    cases.iter().for_each(|case| case.assert_no_reads(&device));
}

/// Every objective with every update and method that a recipe has for it.
fn every_objective_and_update() -> Vec<Case> {
    let together = |case: &Case| vec![[case.loss(), case.update(), case.settings()].join(" ")];
    let mut cases = different(RecipeParts::Nothing, together);
    let trained = loss::specs().filter(|spec| !spec.algorithms.is_empty());
    assert_have(&cases, &trained.map(|spec| spec.name).collect::<Vec<_>>());
    cases.extend(changed());
    cases
}

#[test]
fn a_step_of_any_update_of_an_objective_reads_nothing_on_the_cpu() {
    let mut cases = every_objective_and_update();
    // LeNet-5 computes in `f32` alone.
    cases.push(made("cifar-10", &["train.precision=\"bf16\""], RecipeParts::Kinds));
    let device = testing::present(DeviceName::Cpu).unwrap();
    cases.iter().for_each(|case| case.assert_no_reads(&device));
}

#[test]
#[ignore = "a GPU in software compiles its kernels for minutes; CONTRIBUTING.md has its command"]
fn a_step_of_any_update_of_an_objective_reads_nothing_on_a_gpu() {
    let Some(device) = testing::needed(DeviceName::Wgpu) else { return };
    every_objective_and_update().iter().for_each(|case| case.assert_no_reads(&device));
}

#[test]
fn a_step_of_any_network_and_views_reads_nothing_on_the_cpu() {
    let cases = different(RecipeParts::Kinds, |case| vec![case.path()]);
    let networks: BTreeSet<_> = cases.iter().map(Case::network).collect();
    assert!(networks.len() > 4 && cases.iter().any(Case::is_blurred), "{networks:?}");
    let device = testing::present(DeviceName::Cpu).unwrap();
    cases.iter().for_each(|case| case.assert_no_reads(&device));
}

/// One recipe of each kind of network but LeNet-5 and transformers, the first with blurred views, all with accumulated gradients.
#[test]
fn a_step_of_a_kind_of_network_reads_nothing_on_a_gpu() {
    let mut cases = different(RecipeParts::KindsAccumulated, |case| vec![case.path()]);
    cases.sort_by_key(|case| !case.is_blurred());
    // The kernels of a transformer take a GPU in software half a minute to compile.
    let mut seen = BTreeSet::from([Architecture::LeNet5.name(), Architecture::VitS16.name()]);
    cases.retain(|case| seen.insert(case.network()));
    assert!(cases.first().is_some_and(Case::is_blurred) && cases.len() > 3);
    let Some(device) = testing::needed(DeviceName::Wgpu) else { return };
    cases.iter().for_each(|case| case.assert_no_reads(&device));
}
