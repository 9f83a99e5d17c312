//! The optimiser of a module: its state by the names of tensors, and its steps.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use super::config::OptimizerConfig;
use super::rules;
use super::update::{Flattened, Update, clip_factor};
use crate::error::Result;
use crate::nn::names::TensorPath;
use crate::step_stage::StepStage;

/// Slot of the accumulated gradient of a tensor.
pub(super) const ACCUMULATED: &str = "gradient";

/// An optimiser of any module.
#[derive(Debug, Clone)]
pub struct Optimizer {
    config: OptimizerConfig,
    steps: u64,
    /// Number of gradients that are averaged for one step.
    pub(super) accumulate: u64,
    /// Number of gradients accumulated so far, in the slots `gradient`.
    pub(super) accumulated_gradients: u64,
    /// Momentum and further state, flattened, by `<tensor name>.<slot>`.
    pub(super) slots: BTreeMap<String, Tensor<1>>,
    /// Steps of Adam and AdamW by tensor name.
    counts: BTreeMap<String, u64>,
}

/// The counters of an optimiser.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// Number of completed steps.
    pub steps: u64,
    /// Number of gradients accumulated for the next step.
    pub accumulated_gradients: u64,
    /// Steps of each tensor by its name, if the rule counts them; `None` if all tensors were updated in each step.
    pub by_tensor: Option<BTreeMap<String, u64>>,
}

impl Optimizer {
    /// An optimiser in its initial state.
    ///
    /// # Errors
    /// As [`OptimizerConfig::validate`].
    pub fn new(config: OptimizerConfig) -> Result<Self> {
        config.validate()?;
        let (slots, counts) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { config, steps: 0, accumulate: 1, accumulated_gradients: 0, slots, counts })
    }

    /// The same, but only each `count`-th call of [`step`](Self::step) updates the module, with the mean of the
    /// gradients since the last update.
    #[must_use]
    pub fn accumulating(self, count: u64) -> Self {
        Self { accumulate: count.max(1), ..self }
    }

    /// True if a step takes the mean of several gradients.
    pub fn accumulates(&self) -> bool {
        self.accumulate > 1
    }

    /// The settings.
    pub fn config(&self) -> &OptimizerConfig {
        &self.config
    }

    /// Number of completed steps.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Number of gradients accumulated for the next step.
    pub fn accumulated_gradients(&self) -> u64 {
        self.accumulated_gradients
    }

    /// The state on the device, flattened, by `<tensor name>.<slot>`.
    pub fn slots(&self) -> &BTreeMap<String, Tensor<1>> {
        &self.slots
    }

    /// The tensor of the slot `name`, if this optimiser has such slots.
    pub fn tensor_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        let (tensor, slot) = name.rsplit_once('.')?;
        let own_slots: &[&str] = match self.config {
            OptimizerConfig::Sgd(_) => &["momentum"],
            OptimizerConfig::Adam(_) | OptimizerConfig::AdamW(_) => &["first", "second"],
            OptimizerConfig::Lars(_) => &["velocity"],
        };
        (own_slots.contains(&slot) || slot == ACCUMULATED).then_some(tensor)
    }

    /// Its counters.
    pub fn step_counts(&self) -> StepCounts {
        let by_tensor = (!self.counts.is_empty()).then(|| self.counts.clone());
        StepCounts { steps: self.steps, accumulated_gradients: self.accumulated_gradients, by_tensor }
    }

    /// Continues from the state of another optimiser of the same settings.
    pub fn resume(&mut self, counts: StepCounts, slots: BTreeMap<String, Tensor<1>>) {
        let StepCounts { steps, accumulated_gradients, by_tensor } = counts;
        // Without counts, every tensor was updated in each step.
        let same_for_all = || {
            let name = |slot: &String| slot.strip_suffix(".first").map(|tensor| (tensor.to_owned(), steps));
            slots.keys().filter_map(name).collect()
        };
        self.counts = by_tensor.unwrap_or_else(same_for_all);
        (self.steps, self.accumulated_gradients, self.slots) = (steps, accumulated_gradients, slots);
    }

    /// One step. `learning_rate` is the rate itself, not a factor; tensors without a gradient keep their values.
    pub fn step<M: Module>(&mut self, learning_rate: f64, module: M, gradients: GradientsParams) -> M {
        self.step_at(&|_: &str| learning_rate, module, gradients)
    }

    /// One step with separate learning rates for parts of the module: `rate_of` gives the rate of a tensor by its
    /// name.
    pub fn step_at<M: Module>(
        &mut self,
        rate_of: &dyn Fn(&str) -> f64,
        module: M,
        mut gradients: GradientsParams,
    ) -> M {
        let _span = StepStage::Update.enter();
        if self.accumulates() {
            match self.accumulated(&module, gradients) {
                Some(mean) => gradients = mean,
                None => return module,
            }
        }
        let scale = self.config.clip_norm().and_then(|length| clip_factor(&module, &gradients, length));
        self.steps += 1;
        module.map(&mut Update {
            path: TensorPath::default(),
            gradients: &mut gradients,
            scale,
            updated: &mut |tensor| self.updated(rate_of(tensor.name), tensor),
        })
    }

    /// The values of a tensor after a step.
    fn updated(&mut self, learning_rate: f64, tensor: Flattened<'_>) -> Tensor<1> {
        let Flattened { name, weight, gradient, is_vector } = tensor;
        let key = |slot: &str| format!("{name}.{slot}");
        match &self.config {
            OptimizerConfig::Lars(rule) => {
                let before = self.slots.remove(&key("velocity"));
                let velocity = rule.velocity(learning_rate, &weight, gradient, before, is_vector);
                self.slots.insert(key("velocity"), velocity.clone());
                weight - velocity
            }
            OptimizerConfig::Sgd(rule) => {
                let before = self.slots.remove(&key("momentum"));
                let (direction, momentum) = rule.direction(&weight, gradient, before);
                if let Some(momentum) = momentum {
                    self.slots.insert(key("momentum"), momentum);
                }
                weight - direction * learning_rate
            }
            OptimizerConfig::Adam(rule) | OptimizerConfig::AdamW(rule) => {
                let decoupled = matches!(self.config, OptimizerConfig::AdamW(_));
                let moments = self.slots.remove(&key("first")).zip(self.slots.remove(&key("second")));
                let shrunk = if decoupled { 1.0 - learning_rate * rule.weight_decay } else { 1.0 };
                let gradient =
                    if decoupled { gradient } else { rules::decayed(gradient, &weight, rule.weight_decay) };
                let count = self.counts.entry(name.to_owned()).or_default();
                *count += 1;
                let (direction, first, second) = rule.direction(gradient, moments, *count);
                self.slots.insert(key("first"), first);
                self.slots.insert(key("second"), second);
                weight * shrunk - direction * learning_rate
            }
        }
    }
}
