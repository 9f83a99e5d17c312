//! Runs that end and go on, with the state of every method, and states of other runs.

use serde_json::Value;

use super::*;
use crate::algorithm::{
    Algorithm, AlgorithmConfig, DcganSettings, ModelConfig, Single, StateReader, StateWriter, VaeSettings,
    Views,
};
use crate::loss::{NtXent, ObjectiveConfig};
use crate::nn::checkpoint::{CheckpointError, Metadata};
use crate::nn::head::HeadConfig;
use crate::nn::{Architecture, EncoderConfig, Model};
use crate::optim::Optimizer;
use crate::optim::lars::Lars;
use crate::optim::rules::{Adam, Sgd};

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
fn a_resumed_run_equals_an_uninterrupted_one() {
    for optimizer in [
        OptimizerConfig::Lars(Lars::default()),
        OptimizerConfig::Adam(Adam { clip_norm: Some(0.5), ..Adam::default() }),
        OptimizerConfig::Sgd(Sgd::default()),
    ] {
        assert_resumes(&config(optimizer), 2);
    }
}

/// Methods whose networks take seconds for it: `resumed_generative_networks_equal_uninterrupted_ones` has them.
const GENERATIVE: [&str; 2] = ["vae", "dcgan"];

/// The run of an example of a method: its settings, its objective and its encoder.
fn of_example(name: &str, [settings, objective, encoder]: [&str; 3]) -> TrainerConfig {
    let mut method: Value = serde_json::from_str(settings).unwrap();
    method["name"] = name.into();
    let algorithm: AlgorithmConfig = serde_json::from_value(method).unwrap();
    let output = algorithm.scores(objective, 3, 2).unwrap_or(128);
    let head = HeadConfig { output, ..HeadConfig::default() };
    let architecture: Architecture = serde_json::from_value(encoder.into()).unwrap();
    let encoder = EncoderConfig { name: architecture, ..EncoderConfig::default() };
    let objective = ObjectiveConfig::named(objective);
    TrainerConfig { algorithm, objective, encoder, head, ..config(OptimizerConfig::Adam(Adam::default())) }
}

#[test]
fn a_resumed_run_of_every_method_equals_an_uninterrupted_one() {
    for (name, examples) in AlgorithmConfig::examples().filter(|(name, _)| !GENERATIVE.contains(name)) {
        for example in examples {
            assert_resumes(&of_example(name, *example), 2);
        }
    }
    // Within the second stage, and at its beginning.
    for steps in [3, 4] {
        let jtt = of_example("jtt", [r#"{"first_steps": 3}"#, "jtt", "lenet5"]);
        assert_resumes(&TrainerConfig { optimizer: OptimizerConfig::default(), ..jtt }, steps);
    }
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
