//! The cost of a training step: `cargo bench --bench steps`. One training step of the recipe `colour-mnist` from images
//! in memory to updated weights, its two views alone, one objective with its gradient, `d = 128`, and the solve for the
//! condition of a large batch: `cargo bench --bench steps -- solve_of_4096`.
#![allow(missing_docs, clippy::expect_used)]

#[path = "../src/allocator.rs"]
mod allocator;

use burn::tensor::{Device, Tensor, TensorData};
use divan::Bencher;
use rand::RngExt;
use serde_json::json;
use simile_core::algorithm::TrainingSet;
use simile_core::augment::{Augmentation, Crop, ImageStore};
use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::data::synthetic::digits::draw_digits;
use simile_core::loss;
use simile_core::loss::batch::Batch;
use simile_core::numeric::matrix::Matrix;
use simile_core::optim::OptimizerConfig;
use simile_core::optim::rules::Adam;
use simile_core::train::{Purpose, Trainer, TrainerConfig, stream};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 256;
const WIDTH: usize = 128;

fn main() {
    allocator::keep_freed_memory();
    divan::main();
}

#[divan::bench(args = ["nt-xent", "fair-cclk"], sample_count = 40)]
fn training_step(bencher: Bencher<'_, '_>, objective: &str) {
    let device = Device::flex();
    let digits = draw_digits(BATCH, Colours::Palette, 0).expect("digits can be drawn");
    let store = ImageStore::new(&digits.images, &device).expect("the images are in memory");
    let samples: Vec<usize> = (0..BATCH).collect();
    let crop = Crop { scale: [0.3, 1.0], ..Crop::default() };
    let augmentation = Augmentation { crop: Some(crop), ..Augmentation::default() };
    let condition = digits.conditions["colour"].to_matrix();
    let mut settings = json!({ "name": objective, "temperature": 0.5 });
    if objective == "fair-cclk" {
        settings["kernel"] = json!({ "name": "rbf", "sigma": 20.0 });
    }
    let config = TrainerConfig {
        objective: serde_json::from_value(settings).expect("the settings are sound"),
        optimizer: OptimizerConfig::Adam(Adam::default()),
        steps: u64::MAX,
        steps_per_epoch: 235,
        ..TrainerConfig::default()
    };
    let set = TrainingSet { labels: digits.labels.clone(), ..TrainingSet::default() };
    let mut trainer = Trainer::new(config, &set, &device).expect("the settings are sound");
    bencher.bench_local(|| {
        let images = store.batch(&samples).expect("the images are there");
        let mut rng = trainer.rng();
        let view_a = augmentation.view(images.clone(), &mut rng).expect("a view");
        let view_b = augmentation.view(images, &mut rng).expect("a view");
        let context = Batch::default().with_condition("z", (*condition).clone());
        trainer.step(view_a, view_b, context).expect("a step").into_data()
    });
}

/// Two views of the batch by the named presets.
#[divan::bench(args = ["crop", "cclk-colour-mnist", "cclk", "contex", "biased-mnist", "difficulty-cifar", "du"], sample_count = 40)]
fn two_views(bencher: Bencher<'_, '_>, preset: &str) {
    let digits = draw_digits(BATCH, Colours::Palette, 0).expect("digits can be drawn");
    let store = ImageStore::new(&digits.images, &Device::flex()).expect("the images are in memory");
    let samples: Vec<usize> = (0..BATCH).collect();
    let augmentation = Augmentation::preset(preset).expect("the preset is known");
    let mut rng = stream(0, Purpose::Augmentation, 0);
    bencher.bench_local(|| {
        let images = store.batch(&samples).expect("the images are there");
        [images.clone(), images]
            .map(|images| augmentation.view(images, &mut rng).expect("a view").into_data())
    });
}

#[divan::bench(
    args = [
        ("nt-xent", 256), ("nt-xent", 512), ("nt-xent", 1024),
        ("fair-cclk", 256), ("fair-cclk", 512), ("fair-cclk", 1024),
    ],
    sample_count = 20,
)]
fn objective_step(bencher: Bencher<'_, '_>, (name, b): (&str, usize)) {
    let device = Device::flex();
    let view = |phase: f32| {
        let values: Vec<f32> = (0..b * WIDTH).map(|i| (i as f32 * 0.37 + phase).sin()).collect();
        Tensor::<2>::from_data(TensorData::new(values, [b, WIDTH]), &device)
    };
    let colour = Matrix::from_fn(b, 3, |i, j| ((i * 37 + j * 101) % 256) as f64);
    let parameters = if name == "fair-cclk" { json!({ "kernel": { "name": "cosine" } }) } else { json!({}) };
    let objective = loss::build(name, None, parameters).expect("the objective is known");
    let batch = Batch::views(view(0.0), view(0.2)).with_condition("z", colour);
    bencher.bench_local(|| {
        let evaluation = objective.evaluate(&batch).expect("the batch is sound");
        let gradients = evaluation.gradients.into_values().map(Tensor::into_data);
        (evaluation.loss.into_data(), gradients.collect::<Vec<_>>())
    });
}

/// The solve for the condition of a batch of 4096, which a thread does ahead of its step.
#[divan::bench(
    args = [
        ("fair-cclk", r#"{ "name": "rbf", "sigma": 20 }"#),
        ("fair-cclk", r#"{ "name": "rbf", "sigma": "median" }"#),
        ("fair-cclk", r#"{ "name": "laplacian", "sigma": "median" }"#),
        ("fair-cclk", r#"{ "name": "exact-match" }"#),
        ("fair-cclk", PRODUCT),
        ("kernel-decoupled-uniformity", r#"{ "name": "rbf", "sigma": 20 }"#),
        ("kernel-decoupled-uniformity", r#"{ "name": "rbf", "sigma": "median" }"#),
        ("kernel-decoupled-uniformity", r#"{ "name": "laplacian", "sigma": "median" }"#),
        ("kernel-decoupled-uniformity", r#"{ "name": "exact-match" }"#),
        ("kernel-decoupled-uniformity", PRODUCT),
    ],
    sample_count = 10,
    sample_size = 1,
)]
fn solve_of_4096(bencher: Bencher<'_, '_>, (objective, kernel): (&str, &str)) {
    let kernel: serde_json::Value = serde_json::from_str(kernel).expect("the kernel is sound");
    let is_exact = kernel["name"] == "exact-match";
    let objective =
        loss::build(objective, None, json!({ "kernel": kernel })).expect("the objective is known");
    let mut rng = stream(0, Purpose::Objective, 0);
    let z = Matrix::from_fn(4096, 4, |i, j| match is_exact || j == 3 {
        true => (i % 10) as f64,
        false => 255.0 * rng.random::<f64>(),
    });
    let weights = objective.conditioned_by_kernel().expect("it weighs by a kernel");
    bencher.bench_local(|| weights.solve(&z, &Device::flex()).expect("the condition is sound"));
}

/// A colour and a class.
const PRODUCT: &str = r#"{ "name": "product", "factors": [
    { "start": 0, "end": 3, "kernel": { "name": "rbf", "sigma": 20 } },
    { "start": 3, "end": 4, "kernel": { "name": "exact-match" } } ] }"#;
