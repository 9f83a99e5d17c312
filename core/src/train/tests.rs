#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;

use burn::tensor::{DType, Device, Tensor, TensorData};
use rand::RngExt;

use super::*;
use crate::algorithm::{
    Algorithm, AlgorithmConfig, DcganSettings, JttSettings, ModelConfig, Single, StateReader, StateWriter,
    TrainingSet, VaeSettings, Views,
};
use crate::error::Error;
use crate::loss::batch::Batch;
use crate::loss::{NtXent, ObjectiveConfig};
use crate::nn::checkpoint::{Checkpoint, CheckpointError, Metadata, Weights};
use crate::nn::head::HeadConfig;
use crate::nn::{Architecture, EncoderConfig, Model};
use crate::numeric::rows::Rows as _;
use crate::optim::lars::Lars;
use crate::optim::rules::{Adam, Sgd};
use crate::optim::schedule::Schedule;
use crate::optim::{Optimizer, OptimizerConfig};

const SAMPLES: usize = 12;

fn config(optimizer: OptimizerConfig) -> TrainerConfig {
    TrainerConfig {
        optimizer,
        schedule: Schedule::Cosine { warm_up: 0.2 },
        steps: 20,
        steps_per_epoch: 3,
        seed: 9,
        ..TrainerConfig::default()
    }
}

fn new(config: TrainerConfig) -> Trainer {
    Trainer::new(config, &training_set(), &Device::flex()).unwrap()
}

fn trainer(optimizer: OptimizerConfig) -> Trainer {
    new(config(optimizer))
}

fn training_set() -> TrainingSet {
    TrainingSet { labels: (0..SAMPLES).map(|i| i % 3).collect(), bias_count: 2 }
}

fn resume(config: TrainerConfig, state: &[u8]) -> Result<Trainer, TrainError> {
    Trainer::resume(config, &training_set(), &Device::flex(), state)
}

/// Stripes with a different period for each sample, with noise drawn from the trainer's generator.
fn views(trainer: &Trainer) -> (Tensor<4>, Tensor<4>) {
    let mut rng = trainer.rng();
    let mut view = || {
        let stripe = |at: usize| ((at % 1024) as f32 * (0.3 + (at / 3072) as f32 * 0.4)).sin();
        let pixels =
            (0..SAMPLES * 3072).map(|at| stripe(at) + rng.random_range(-0.3..0.3_f32)).collect::<Vec<_>>();
        Tensor::from_data(TensorData::new(pixels, [SAMPLES, 3, 32, 32]), &Device::flex())
    };
    (view(), view())
}

fn advance(trainer: &mut Trainer, steps: usize) {
    for _ in 0..steps {
        let (view_a, view_b) = views(trainer);
        if trainer.awaits_scores() {
            assert!(trainer.step(view_a.clone(), view_b.clone(), Batch::default()).is_err());
            let images = |range: std::ops::Range<usize>| Ok::<_, Error>(view_a.clone().slice([range]));
            let scores = pollster::block_on(score(trainer.model(), SAMPLES, 5, images)).unwrap();
            trainer.begin_training_stage(&scores).unwrap();
        }
        let context = Batch::default()
            .with_indices("labels", training_set().labels)
            .with_indices("bias", (0..SAMPLES).map(|i| i % 2).collect())
            .with_indices("samples", (0..SAMPLES).collect());
        trainer.step(view_a, view_b, context).unwrap();
    }
}

fn mean_loss(trainer: &mut Trainer) -> f64 {
    pollster::block_on(trainer.mean_loss()).unwrap().unwrap()
}

#[test]
fn the_loss_falls() {
    let mut trainer = trainer(OptimizerConfig::Adam(Adam { learning_rate: 5e-3, ..Adam::default() }));
    advance(&mut trainer, 2);
    let first = mean_loss(&mut trainer);
    advance(&mut trainer, 16);
    mean_loss(&mut trainer);
    advance(&mut trainer, 2);
    let last = mean_loss(&mut trainer);
    assert!(last < first - 0.5, "{first} {last}");
    assert!(trainer.is_finished());
    assert_eq!(pollster::block_on(trainer.mean_loss()).unwrap(), None);
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    for optimizer in [
        OptimizerConfig::Lars(Lars::default()),
        OptimizerConfig::Adam(Adam { clip_norm: Some(0.5), ..Adam::default() }),
        OptimizerConfig::Sgd(Sgd::default()),
    ] {
        assert_resumes(&config(optimizer), 2);
    }
}

/// Two steps after `steps` of them equal two steps after saving and resuming, bit for bit.
fn assert_resumes(config: &TrainerConfig, steps: u64) {
    let mut whole = new(config.clone());
    advance(&mut whole, steps as usize);
    let state = pollster::block_on(whole.to_bytes()).unwrap();
    advance(&mut whole, 2);
    let mut resumed = resume(config.clone(), &state).unwrap();
    assert_eq!(resumed.step_number(), steps);
    advance(&mut resumed, 2);
    assert_eq!(mean_loss(&mut whole), mean_loss(&mut resumed));
    let states = [&whole, &resumed].map(|trainer| pollster::block_on(trainer.to_bytes()).unwrap());
    assert!(states[0] == states[1], "{:?} ends elsewhere", config.algorithm);
}

#[test]
fn a_resumed_run_of_every_method_equals_an_uninterrupted_one() {
    let algorithm = |json: &str| serde_json::from_str::<AlgorithmConfig>(json).unwrap();
    for (json, objective, output) in [
        (r#"{"name": "cached", "chunk": 5}"#, "nt-xent", 128),
        (r#"{"name": "moco", "queue": 30}"#, "moco", 128),
        (r#"{"name": "byol"}"#, "byol", 128),
        (r#"{"name": "swav", "prototypes": 5, "frozen_steps": 3}"#, "swav", 128),
        (r#"{"name": "difficulty"}"#, "wcl-weighted-infonce", 128),
        (r#"{"name": "lff", "ema_alpha": 0.7}"#, "lff", 3),
        (r#"{"name": "rebias"}"#, "rebias-hsic", 3),
        (r#"{"name": "lnl"}"#, "lnl", 3),
        (r#"{"name": "jtt", "first_steps": 3}"#, "jtt", 3),
        (r#"{"name": "with-classifier"}"#, "biascon-total", 3),
        (
            r#"{"name": "bias-network", "encoder": {"name": "simple-conv-1x1", "input_size": 8}, "first_steps": 1}"#,
            "rubi",
            3,
        ),
    ] {
        let head = HeadConfig { output, ..HeadConfig::default() };
        let objective = ObjectiveConfig::named(objective);
        let adam = config(OptimizerConfig::Adam(Adam::default()));
        let config = TrainerConfig { algorithm: algorithm(json), objective, head, ..adam };
        assert_resumes(&config, 2);
    }
    // Within the second stage, and at its beginning.
    for steps in [3, 4] {
        let head = HeadConfig { output: 3, ..HeadConfig::default() };
        let algorithm = algorithm(r#"{"name": "jtt", "first_steps": 3}"#);
        let objective = ObjectiveConfig::named("jtt");
        let config = TrainerConfig { algorithm, objective, head, ..config(OptimizerConfig::default()) };
        assert_resumes(&config, steps);
    }
}

/// [`Single`] with a number of its own in the state.
#[derive(Debug)]
struct Counted {
    single: Single,
    steps: u64,
}

impl Algorithm for Counted {
    fn name(&self) -> &'static str {
        "counted"
    }

    fn model(&self) -> &Model {
        self.single.model()
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>, Error> {
        self.single.loss(views, context)
    }

    fn descend(
        &mut self,
        loss: Tensor<1>,
        optimizer: &mut Optimizer,
        learning_rate: f64,
    ) -> Result<(), Error> {
        self.steps += 1;
        self.single.descend(loss, optimizer, learning_rate)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.value("counted", &self.steps)?;
        self.single.save(state)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.steps = state.value("counted")?;
        self.single.restore(state)
    }
}

#[test]
fn an_algorithm_of_ones_own_trains_and_resumes() {
    let config = config(OptimizerConfig::default());
    let begun = || {
        let network = ModelConfig { head: config.head.clone(), ..ModelConfig::default() };
        let mut rng = stream(config.seed, Purpose::Initialisation, 0);
        let single = Single::new(&network, Box::new(NtXent::default()), &Device::flex(), &mut rng).unwrap();
        let counted = Box::new(Counted { single, steps: 0 });
        Trainer::with_algorithm(config.clone(), counted, &Device::flex()).unwrap()
    };
    let (mut own, mut registered) = (begun(), new(config.clone()));
    advance(&mut own, 2);
    advance(&mut registered, 2);
    let state = pollster::block_on(own.to_bytes()).unwrap();
    assert_eq!(mean_loss(&mut own), mean_loss(&mut registered));

    // Restored into a run that has gone on: nothing of its own state stays.
    let mut resumed = begun();
    advance(&mut resumed, 1);
    let mut resumed = resumed.restore(&Device::flex(), &state).unwrap();
    assert_eq!(resumed.step_number(), 2);
    assert!(pollster::block_on(resumed.to_bytes()).unwrap() == state);
    advance(&mut resumed, 1);
    let after_reading = pollster::block_on(own.to_bytes()).unwrap();
    let resumed = resumed.restore(&Device::flex(), &after_reading).unwrap();
    assert!(pollster::block_on(resumed.to_bytes()).unwrap() == after_reading);
}

#[test]
fn resumed_generative_networks_equal_uninterrupted_ones() {
    let encoder = EncoderConfig { name: Architecture::Vae, output: Some(6), ..EncoderConfig::default() };
    let (algorithm, objective) = (AlgorithmConfig::Vae(VaeSettings {}), ObjectiveConfig::named("vae"));
    assert_resumes(&TrainerConfig { encoder, algorithm, objective, ..config(OptimizerConfig::default()) }, 2);

    let encoder = EncoderConfig { name: Architecture::Dcgan, ..EncoderConfig::default() };
    let head = HeadConfig { output: 1, ..HeadConfig::default() };
    let algorithm = AlgorithmConfig::Dcgan(DcganSettings {});
    let objective = ObjectiveConfig::named("cross-entropy");
    let adam = config(OptimizerConfig::Adam(Adam::default()));
    assert_resumes(&TrainerConfig { encoder, head, algorithm, objective, ..adam }, 2);
}

#[test]
fn a_resumed_run_with_average_and_accumulation_equals_an_uninterrupted_one() {
    for steps in [2, 3] {
        let config = TrainerConfig {
            ema: Some(0.9),
            accumulate: 2,
            optimizer: OptimizerConfig::Sgd(Sgd::default()),
            ..config(OptimizerConfig::default())
        };
        assert_resumes(&config, steps);
    }
    let wrong = TrainerConfig { ema: Some(1.5), ..config(OptimizerConfig::default()) };
    let error = Trainer::new(wrong, &training_set(), &Device::flex()).unwrap_err();
    assert!(error.to_string().contains("train.ema"), "{error}");
}

#[test]
fn half_precision_learns_what_single_precision_does() {
    for name in [Architecture::SimpleConv1x1, Architecture::Mlp] {
        let losses = [Precision::F32, Precision::Bf16].map(|precision| {
            let encoder = EncoderConfig { name, ..EncoderConfig::default() };
            let mut trainer = new(TrainerConfig { encoder, precision, ..config(OptimizerConfig::default()) });
            advance(&mut trainer, 1);
            let first = mean_loss(&mut trainer);
            advance(&mut trainer, 3);
            let tensors = crate::nn::checkpoint::flattened("", trainer.model());
            assert!(tensors.iter().all(|tensor| tensor.values.dtype() == DType::F32));
            [first, mean_loss(&mut trainer)]
        });
        for (single, half) in losses[0].iter().zip(losses[1]) {
            assert!(*single != half && (single - half).abs() < 0.05 * single.abs(), "{name:?}: {losses:?}");
        }
    }
    let lenet = TrainerConfig { precision: Precision::Bf16, ..config(OptimizerConfig::default()) };
    let error = Trainer::new(lenet, &training_set(), &Device::flex()).unwrap_err().to_string();
    assert!(error.contains("train.precision") && error.contains("lenet5"), "{error}");
}

fn first_weight(model: &Model) -> f64 {
    let weights = crate::nn::checkpoint::flattened("", model).remove(0).values;
    f64::from(weights.slice([0..1]).into_scalar::<f32>())
}

#[test]
fn the_average_follows_each_update_by_its_formula() {
    let sgd = OptimizerConfig::Sgd(Sgd { learning_rate: 1.0, ..Sgd::default() });
    let mut trainer = new(TrainerConfig { ema: Some(0.75), accumulate: 2, ..config(sgd) });
    let mut expected = first_weight(trainer.algorithm.model());
    for _ in 0..3 {
        advance(&mut trainer, 1);
        assert!((first_weight(trainer.model()) - expected).abs() < 1e-6, "no update, no average");
        advance(&mut trainer, 1);
        let online = first_weight(trainer.algorithm.model());
        assert!((online - expected).abs() > 1e-6);
        expected = 0.75 * expected + 0.25 * online;
        assert!((first_weight(trainer.model()) - expected).abs() < 1e-6);
    }
}

#[test]
fn a_run_starts_from_given_weights() {
    let mut before = trainer(OptimizerConfig::default());
    advance(&mut before, 2);
    let metadata = Metadata::new(EncoderConfig::default(), vec![0.0; 3], vec![1.0; 3]);
    let file = pollster::block_on(before.checkpoint(metadata).to_bytes()).unwrap();
    let (weights, _) = Weights::from_encoder_file(&file, &EncoderConfig::default()).unwrap();
    let started =
        TrainerConfig { weights: Some(Arc::new(weights)), seed: 77, ..config(OptimizerConfig::default()) };
    let trainer = new(started.clone());
    let values = |trainer: &Trainer| -> Vec<f32> {
        let tensors = crate::nn::checkpoint::flattened("", trainer.encoder());
        tensors
            .into_iter()
            .flat_map(|tensor| tensor.values.into_data().iter::<f32>().collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(values(&trainer), values(&before));
    let wide = EncoderConfig { channels: 1, ..EncoderConfig::default() };
    assert!(Weights::from_encoder_file(&file, &wide).unwrap_err().to_string().contains("channels"));
    let unfit = TrainerConfig { encoder: wide, ..started };
    let error = Trainer::new(unfit, &training_set(), &Device::flex()).unwrap_err();
    assert!(error.to_string().contains("conv1.weight"), "{error}");
}

/// The file had the settings that the caller named, and could not be read.
#[test]
fn a_checkpoint_has_the_settings_of_the_run() {
    let trainer = trainer(OptimizerConfig::default());
    let other = EncoderConfig { name: Architecture::Mlp, input_size: 28, ..EncoderConfig::default() };
    let mut metadata = Metadata::new(other, vec![0.0; 3], vec![1.0; 3]);
    metadata.head = Some(HeadConfig { output: 7, ..HeadConfig::default() });
    let file = pollster::block_on(trainer.checkpoint(metadata).to_bytes()).unwrap();
    let read = Checkpoint::from_bytes(&file, &Device::flex()).unwrap().metadata;
    let TrainerConfig { encoder, head, .. } = trainer.config();
    assert_eq!((read.embedding_size, read.input_size), (84, 32));
    assert_eq!((&read.encoder, read.head.as_ref()), (encoder, Some(head)));
}

#[test]
fn each_stage_runs_through_the_schedule() {
    let head = HeadConfig { output: 3, ..HeadConfig::default() };
    let algorithm = AlgorithmConfig::Jtt(JttSettings { first_steps: 4 });
    let objective = ObjectiveConfig::named("jtt");
    let config = TrainerConfig { algorithm, objective, head, ..config(OptimizerConfig::default()) };
    let mut trainer = new(config);
    let first = trainer.learning_rate();
    advance(&mut trainer, 3);
    assert!(trainer.learning_rate() < first);
    advance(&mut trainer, 1);
    assert!(trainer.awaits_scores() && !trainer.is_in_last_training_stage());
    advance(&mut trainer, 1);
    assert!(!trainer.awaits_scores() && trainer.is_in_last_training_stage());
    assert!(trainer.learning_rate() <= trainer.config().optimizer.learning_rate());
    for _ in 0..15 {
        let rate = trainer.learning_rate();
        advance(&mut trainer, 1);
        assert_eq!(trainer.last_learning_rate(), rate);
    }
    assert!(trainer.is_finished() && !trainer.awaits_scores());
}

#[test]
fn milestones_are_counted_within_the_steps_of_the_main_network() {
    let json = r#"{"name": "bias-network", "encoder": {"name": "simple-conv-1x1", "input_size": 8}, "first_steps": 6}"#;
    let head = HeadConfig { output: 3, ..HeadConfig::default() };
    let config = TrainerConfig {
        algorithm: serde_json::from_str(json).unwrap(),
        objective: ObjectiveConfig::named("rubi"),
        head,
        schedule: Schedule::Step { milestones: vec![0.5], factor: 0.1 },
        steps: 10,
        ..config(OptimizerConfig::default())
    };
    let (base, mut trainer) = (config.optimizer.learning_rate(), new(config));
    for step in 0..10 {
        // The biased network's six steps are at the base rate, and so are two of the four steps of the main
        // network.
        let expected = if step < 8 { base } else { 0.1 * base };
        assert!((trainer.learning_rate() - expected).abs() < 1e-12, "step {step}");
        assert!(!trainer.awaits_scores());
        assert_eq!(
            trainer.is_in_last_training_stage(),
            step > 6,
            "step {step}: the main network has taken no step"
        );
        advance(&mut trainer, 1);
    }
    assert!(trainer.is_in_last_training_stage());
}

#[test]
fn a_state_of_other_settings_or_with_damage_is_an_error() {
    let mut before = trainer(OptimizerConfig::default());
    advance(&mut before, 1);
    let state = pollster::block_on(before.to_bytes()).unwrap();
    let resume = |config, state: &[u8]| resume(config, state).unwrap_err();
    let other = TrainerConfig { seed: 10, ..config(OptimizerConfig::default()) };
    let TrainError::State(CheckpointError::Field { field, found, expected }) = resume(other, &state) else {
        unreachable!("another seed is another run")
    };
    assert_eq!((&field[..], &found[..], &expected[..]), ("config.seed", "9", "10"));
    for length in (0..state.len()).step_by(state.len() / 50) {
        let error = resume(config(OptimizerConfig::default()), &state[..length]);
        assert!(matches!(error, TrainError::State(CheckpointError::Format { .. })), "{error}");
    }
    let checkpoint = before.checkpoint(Metadata::new(EncoderConfig::default(), vec![0.0; 3], vec![1.0; 3]));
    let checkpoint = pollster::block_on(checkpoint.to_bytes()).unwrap();
    let error = resume(config(OptimizerConfig::default()), &checkpoint);
    assert!(matches!(error, TrainError::State(CheckpointError::Metadata { .. })), "{error}");
}

/// The cause was named for any other number of batches.
#[test]
fn a_state_with_one_batch_more_an_epoch_is_said_to_be_of_an_earlier_version() {
    let state = pollster::block_on(trainer(OptimizerConfig::default()).to_bytes()).unwrap();
    let message = |steps_per_epoch| {
        let config = TrainerConfig { steps_per_epoch, ..config(OptimizerConfig::default()) };
        resume(config, &state).unwrap_err().to_string()
    };
    let text = message(2);
    assert!(text.contains("a last batch of one image is left out, which earlier versions took"), "{text}");
    for other in [0, 1, 4] {
        let text = message(other);
        assert!(text.contains("`config.steps_per_epoch` in the header is 3"), "{text}");
        assert!(!text.contains("earlier versions"), "{text}");
    }
}

#[test]
fn a_state_that_is_taken_for_a_model_is_named() {
    let state = pollster::block_on(trainer(OptimizerConfig::default()).to_bytes()).unwrap();
    let error = Metadata::from_bytes(&state).unwrap_err().to_string();
    assert!(error.contains("the state of a run") && error.contains("`model.safetensors`"), "{error}");
    assert!(!error.contains("simile import"), "{error}");
}

#[test]
fn a_run_can_become_longer_and_no_shorter_than_it_is() {
    let mut before = trainer(OptimizerConfig::default());
    advance(&mut before, 20);
    assert!(before.is_finished());
    let state = pollster::block_on(before.to_bytes()).unwrap();
    let of = |steps| TrainerConfig { steps, ..config(OptimizerConfig::default()) };
    let mut longer = resume(of(40), &state).unwrap();
    assert_eq!((longer.step_number(), longer.is_finished()), (20, false));
    assert!(longer.learning_rate() > before.learning_rate(), "the schedule is that of the longer run");
    advance(&mut longer, 1);
    let error = resume(of(19), &state).unwrap_err();
    assert!(error.to_string().contains("at most 19"), "{error}");
}

#[test]
fn a_seed_gives_the_same_run() {
    let run = |seed| {
        let config = TrainerConfig { seed, ..config(OptimizerConfig::default()) };
        let mut trainer = new(config);
        advance(&mut trainer, 2);
        mean_loss(&mut trainer)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_run_that_diverges_says_between_which_steps() {
    let config = TrainerConfig {
        optimizer: OptimizerConfig::Sgd(Sgd { learning_rate: 1e38, ..Sgd::default() }),
        schedule: Schedule::Constant {},
        ..config(OptimizerConfig::default())
    };
    let mut trainer = new(config);
    assert!(pollster::block_on(trainer.is_finite()).unwrap());
    advance(&mut trainer, 1);
    mean_loss(&mut trainer);
    advance(&mut trainer, 3);
    let error = pollster::block_on(trainer.mean_loss()).unwrap_err();
    assert_eq!(error, TrainError::Diverged { from: 1, to: 4 });
    assert!(!pollster::block_on(trainer.is_finite()).unwrap());
    assert!(matches!(pollster::block_on(trainer.to_bytes()), Err(CheckpointError::NotFinite { .. })));
}

#[test]
fn views_that_do_not_fit_leave_the_network_as_it_was() {
    let mut trainer = trainer(OptimizerConfig::default());
    let before = pollster::block_on(trainer.to_bytes()).unwrap();
    let zeros = |shape| Tensor::<4>::zeros(shape, &Device::flex());
    for (a, b) in
        [([4, 3, 32, 32], [3, 3, 32, 32]), ([4, 1, 32, 32], [4, 1, 32, 32]), ([0, 3, 32, 32], [0, 3, 32, 32])]
    {
        let error = trainer.step(zeros(a), zeros(b), Batch::default()).unwrap_err();
        assert!(matches!(error, TrainError::Input(Error::Shape { .. })), "{error}");
    }
    assert_eq!(pollster::block_on(trainer.to_bytes()).unwrap(), before);
}

#[test]
fn embedding_in_batches_equals_embedding_at_once() {
    let mut trainer = trainer(OptimizerConfig::default());
    advance(&mut trainer, 1);
    let (images, _) = views(&trainer);
    let run = |batch| {
        let images = |range: std::ops::Range<usize>| Ok::<_, Error>(images.clone().slice([range]));
        pollster::block_on(embed(trainer.encoder(), SAMPLES, batch, images)).unwrap()
    };
    let (whole, parts) = (run(SAMPLES), run(5));
    assert_eq!((whole.rows(), whole.columns()), (SAMPLES, 84));
    assert!(whole.values().iter().zip(parts.values()).all(|(a, b)| (a - b).abs() < 1e-6));
    let images_of = |range: std::ops::Range<usize>| Ok::<_, Error>(images.clone().slice([range]));
    let scores = pollster::block_on(score(trainer.model(), SAMPLES, 5, images_of)).unwrap();
    assert_eq!((scores.rows(), scores.columns()), (SAMPLES, 128));
    let wrong = pollster::block_on(embed(trainer.encoder(), SAMPLES, 5, |_| Ok::<_, Error>(images.clone())));
    assert!(matches!(wrong, Err(Error::Shape { .. })));
}
