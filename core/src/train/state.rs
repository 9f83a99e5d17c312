//! The state of a run in bytes, so that it can resume with identical results.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::trainer::PendingLoss;
use super::{TrainError, Trainer, TrainerConfig};
use crate::algorithm::{StateReader, StateWriter, TrainingSet};
use crate::nn::checkpoint::{Archive, CheckpointError, Flat, STATE_KEY, metadata};
use crate::numeric::read;
use crate::optim::StepCounts;

/// The version that this program writes.
const STATE_VERSION: u32 = 2;
const OPTIMIZER: &str = "optimizer";
const LOSS: &str = "loss";
/// The one setting that may change between states.
const STEPS: &str = "steps";

/// All state that is not a tensor. Random numbers need no entry: each step draws from its own stream.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    version: u32,
    config: String,
    step: u64,
    optimizer_steps: u64,
    #[serde(default)]
    waiting_gradients: u64,
    /// Steps of the optimiser by tensor, if it counts them; absent in states of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tensor_steps: Option<BTreeMap<String, u64>>,
    losses: u64,
    slots: Vec<String>,
    algorithm: Map<String, Value>,
}

impl Trainer {
    /// Networks and further state of the algorithm, optimiser and position, as the bytes of a safetensors file.
    ///
    /// Asynchronous because a page cannot wait for its GPU; elsewhere [`read_sync`](burn::tensor::read_sync) waits for the result.
    ///
    /// # Errors
    /// A value is not finite, or the device failed.
    pub async fn to_bytes(&self) -> Result<Vec<u8>, CheckpointError> {
        let mut archive = Archive::default();
        let StateWriter { tensors, values } = self.on_device()?;
        for Flat { name, shape, values } in tensors {
            archive.add(name, shape, values).await?;
        }
        let StepCounts { steps, accumulated_gradients, by_tensor } = self.optimizer.step_counts();
        let state = State {
            version: STATE_VERSION,
            config: to_json(&self.config)?,
            step: self.step,
            optimizer_steps: steps,
            waiting_gradients: accumulated_gradients,
            tensor_steps: by_tensor,
            losses: self.loss.count,
            slots: self.optimizer.slots().keys().cloned().collect(),
            algorithm: values,
        };
        archive.into_bytes(STATE_KEY, to_json(&state)?)
    }

    /// True if [`to_bytes`](Self::to_bytes) would find a state that is finite, as long as no sum of its values overflows. It
    /// takes a fraction of the time: one number is read from the device.
    ///
    /// Asynchronous because a page cannot wait for its GPU; elsewhere [`read_sync`](burn::tensor::read_sync) waits for the result.
    ///
    /// # Errors
    /// The device failed.
    pub async fn is_finite(&self) -> Result<bool, CheckpointError> {
        let sums = self.on_device()?.tensors.into_iter().map(|tensor| tensor.values.abs().sum());
        let Some(sum) = sums.reduce(|sum, next| sum + next) else { return Ok(true) };
        let failed = |reason| CheckpointError::Device { name: "state".into(), reason };
        let sum = read::values(sum).await.map_err(failed)?;
        Ok(sum.iter::<f32>().all(f32::is_finite))
    }

    /// The state on its device.
    fn on_device(&self) -> Result<StateWriter, CheckpointError> {
        let mut state = StateWriter::default();
        self.algorithm.save(&mut state)?;
        if let Some(average) = &self.average {
            average.save(&mut state);
        }
        let flat = |name: String, values: &Tensor<1>| Flat {
            name,
            shape: values.dims().to_vec(),
            values: values.clone(),
        };
        let slots = self.optimizer.slots().iter();
        state.tensors.extend(slots.map(|(name, slot)| flat(format!("{OPTIMIZER}.{name}"), slot)));
        state.tensors.extend(self.loss.sum.as_ref().map(|loss| flat(LOSS.into(), loss)));
        Ok(state)
    }

    /// Resumes a run from the bytes of its state. `steps` may differ from the original number, if it is not less
    /// than the number of completed steps: from here on the schedule is that of a run of `steps`.
    ///
    /// # Errors
    /// The bytes are damaged, or belong to a run with other settings; the error names the first that differs.
    pub fn resume(
        config: TrainerConfig,
        training: &TrainingSet,
        device: &Device,
        bytes: &[u8],
    ) -> Result<Self, TrainError> {
        Self::new(config, training, device)?.restore(device, bytes)
    }

    /// Continues a run from the bytes of its state, as [`resume`](Self::resume) does, also one of
    /// [`with_algorithm`](Self::with_algorithm). `self` has the same settings and computes on `device`; its own state is replaced.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn restore(mut self, device: &Device, bytes: &[u8]) -> Result<Self, TrainError> {
        let state = self.state_of(bytes)?;
        let mut reader = StateReader::new(Archive::parse(bytes)?, state.algorithm);
        self.algorithm.restore(&mut reader)?;
        if let Some(average) = &mut self.average {
            average.restore(&mut reader)?;
        }
        let sizes = self.slot_sizes(&state.slots, &reader)?;
        let mut archive = reader.into_archive();
        let device = device.clone().without_autodiff();
        let mut slots = BTreeMap::new();
        for (name, size) in state.slots.into_iter().zip(sizes) {
            let slot = take(&mut archive, format!("{OPTIMIZER}.{name}"), size, &device)?;
            slots.insert(name, slot);
        }
        self.loss = match state.losses {
            0 => PendingLoss::default(),
            count => PendingLoss { sum: Some(take(&mut archive, LOSS.into(), 1, &device)?), count },
        };
        archive.finish()?;
        let counts = StepCounts {
            steps: state.optimizer_steps,
            accumulated_gradients: state.waiting_gradients,
            by_tensor: state.tensor_steps,
        };
        self.optimizer.resume(counts, slots);
        self.step = state.step;
        Ok(self)
    }

    /// The state that is not a tensor, if it is of a run of these settings.
    fn state_of(&self, bytes: &[u8]) -> Result<State, CheckpointError> {
        let unreadable = |e: serde_json::Error| CheckpointError::Metadata {
            key: STATE_KEY,
            reason: format!("is not readable: {e}"),
        };
        let state: State = serde_json::from_str(&metadata(bytes, STATE_KEY)?).map_err(unreadable)?;
        if state.version != STATE_VERSION {
            return Err(CheckpointError::Version { found: state.version, known: STATE_VERSION });
        }
        same_settings(&state.config, &to_json(&self.config)?)?;
        if state.step > self.config.steps {
            let (found, expected) = (state.step.to_string(), format!("at most {}", self.config.steps));
            return Err(CheckpointError::Field { field: "step".into(), found, expected });
        }
        Ok(state)
    }

    /// The number of values in each slot of the optimiser.
    fn slot_sizes(&self, slots: &[String], reader: &StateReader) -> Result<Vec<usize>, CheckpointError> {
        let size_of = |slot: &String| {
            let size = self.optimizer.tensor_of(slot).and_then(|tensor| reader.trained_size(tensor));
            size.ok_or_else(|| CheckpointError::UnknownTensor { name: format!("{OPTIMIZER}.{slot}") })
        };
        slots.iter().map(size_of).collect()
    }
}

/// The tensor of a name, which has `size` values.
fn take(
    archive: &mut Archive,
    name: String,
    size: usize,
    device: &Device,
) -> Result<Tensor<1>, CheckpointError> {
    let Some(tensor) = archive.tensors.remove(&name) else {
        return Err(CheckpointError::MissingTensor { name });
    };
    if tensor.shape != [size] {
        return Err(CheckpointError::Shape { name, expected: vec![size], found: tensor.shape });
    }
    let data = TensorData::new(tensor.values, tensor.shape);
    Ok(Tensor::from_data(data, (device, DType::F32)))
}

fn to_json(value: &impl Serialize) -> Result<String, CheckpointError> {
    serde_json::to_string(value)
        .map_err(|e| CheckpointError::Metadata { key: STATE_KEY, reason: format!("cannot be written: {e}") })
}

/// Checks that two documents of settings differ only in the number of steps.
fn same_settings(config: &str, expected: &str) -> Result<(), CheckpointError> {
    let read = |text: &str| {
        let unreadable =
            |e| CheckpointError::Metadata { key: STATE_KEY, reason: format!("is not readable: {e}") };
        serde_json::from_str::<Map<String, Value>>(text).map_err(unreadable)
    };
    let (mut config, mut expected) = (read(config)?, read(expected)?);
    config.remove(STEPS);
    expected.remove(STEPS);
    match difference("config", &Value::Object(config), &Value::Object(expected)) {
        None => Ok(()),
        Some((field, found, expected)) => {
            let reason = left_out(&field, &found, &expected);
            let expected = expected + reason;
            Err(CheckpointError::Field { field, found, expected })
        }
    }
}

/// The end of the message about an epoch of one batch more, which states of earlier versions have.
fn left_out(field: &str, found: &str, expected: &str) -> &'static str {
    let number = |text: &str| text.parse::<u64>().ok();
    let one_more = number(expected).and_then(|batches| batches.checked_add(1));
    match field == "config.steps_per_epoch" && one_more.is_some() && number(found) == one_more {
        true => {
            "; a last batch of one image is left out, which earlier versions took: such a run cannot go on, begin it anew"
        }
        false => "",
    }
}

/// The first entry in which two documents differ: its path and both values.
fn difference(path: &str, document: &Value, expected: &Value) -> Option<(String, String, String)> {
    match (document, expected) {
        (Value::Object(entries), Value::Object(expected)) => {
            let keys = entries.keys().chain(expected.keys().filter(|key| !entries.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let value = |of: &Map<String, Value>| of.get(key).cloned().unwrap_or_default();
                difference(&format!("{path}.{key}"), &value(entries), &value(expected))
            })
        }
        _ if document == expected => None,
        _ => Some((path.into(), document.to_string(), expected.to_string())),
    }
}
