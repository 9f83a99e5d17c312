//! Steps: their loss, precision, average, schedule and stages.

use burn::tensor::DType;

use super::*;
use crate::algorithm::{AlgorithmConfig, JttSettings};
use crate::loss::ObjectiveConfig;
use crate::nn::checkpoint::CheckpointError;
use crate::nn::head::HeadConfig;
use crate::nn::{Architecture, EncoderConfig, Model};
use crate::optim::rules::{Adam, Sgd};

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
