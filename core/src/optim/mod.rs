//! Optimisers and learning-rate schedules.
//!
//! An [`Optimizer`] stores its state under the names of the tensors it updates, so that a run can be continued in
//! another process; Burn uses parameter identities as keys, which are new for every module. The rules are those of
//! PyTorch: coupled weight decay in SGD and Adam, decoupled in AdamW, and a bias correction of Adam's moments that
//! counts the steps of each tensor, so that a tensor that joins later starts like one at the beginning.

mod accumulate;
pub mod lars;
pub mod rules;
pub mod schedule;

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{Result, positive};
use crate::nn::names::TensorPath;
use crate::stage::Stage;
use lars::Lars;
use rules::{Adam, Sgd};

/// Settings of an optimiser: `{"name": "lars", ...}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum OptimizerConfig {
    /// Stochastic gradient descent.
    Sgd(Sgd),
    /// Adam with coupled weight decay.
    Adam(Adam),
    /// Adam with decoupled weight decay.
    AdamW(Adam),
    /// Layer-wise adaptive rate scaling.
    Lars(Lars),
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self::Adam(Adam::default())
    }
}

impl OptimizerConfig {
    /// The base learning rate, which a [`Schedule`](schedule::Schedule) multiplies.
    pub fn learning_rate(&self) -> f64 {
        match self {
            Self::Sgd(rule) => rule.learning_rate,
            Self::Adam(rule) | Self::AdamW(rule) => rule.learning_rate,
            Self::Lars(rule) => rule.learning_rate,
        }
    }

    /// The maximum norm of the gradient of the whole model, which is clipped to it.
    pub fn clip_norm(&self) -> Option<f64> {
        match self {
            Self::Sgd(rule) => rule.clip_norm,
            Self::Adam(rule) | Self::AdamW(rule) => rule.clip_norm,
            Self::Lars(rule) => rule.clip_norm,
        }
    }

    /// The numbers of its state for each parameter: momentum, or two moments.
    pub fn slots(&self) -> u64 {
        match self {
            Self::Sgd(rule) if rule.momentum == 0.0 => 0,
            Self::Sgd(_) | Self::Lars(_) => 1,
            Self::Adam(_) | Self::AdamW(_) => 2,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::error::Error::Parameter) names the parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        positive("optimizer.learning_rate", self.learning_rate())?;
        if let Some(length) = self.clip_norm() {
            positive("optimizer.clip_norm", length)?;
        }
        match self {
            Self::Sgd(rule) => rule.validate(),
            Self::Adam(rule) | Self::AdamW(rule) => rule.validate(),
            Self::Lars(rule) => rule.validate(),
        }
    }
}

/// An optimiser of any module.
#[derive(Debug, Clone)]
pub struct Optimizer {
    config: OptimizerConfig,
    steps: u64,
    /// Number of gradients that are averaged for one step.
    accumulate: u64,
    /// Number of gradients accumulated so far, in the slots `gradient`.
    waiting: u64,
    /// Momentum and further state, flattened, by `<tensor name>.<slot>`.
    slots: BTreeMap<String, Tensor<1>>,
    /// Steps of Adam and AdamW by tensor name.
    counts: BTreeMap<String, u64>,
}

/// The counters of an optimiser.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of completed steps.
    pub steps: u64,
    /// Number of gradients accumulated for the next step.
    pub waiting: u64,
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
        Ok(Self { config, steps: 0, accumulate: 1, waiting: 0, slots, counts })
    }

    /// The same, but only each `count`-th call of [`step`](Self::step) updates the module, with the mean of the
    /// gradients since the last update.
    #[must_use]
    pub fn accumulating(self, count: u64) -> Self {
        Self { accumulate: count.max(1), ..self }
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
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// The state on the device, flattened, by `<tensor name>.<slot>`.
    pub fn slots(&self) -> &BTreeMap<String, Tensor<1>> {
        &self.slots
    }

    /// The tensor of the slot `name`, if this optimiser has such slots.
    pub fn tensor_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        let (tensor, slot) = name.rsplit_once('.')?;
        let known: &[&str] = match self.config {
            OptimizerConfig::Sgd(_) => &["momentum"],
            OptimizerConfig::Adam(_) | OptimizerConfig::AdamW(_) => &["first", "second"],
            OptimizerConfig::Lars(_) => &["velocity"],
        };
        (known.contains(&slot) || slot == accumulate::SLOT).then_some(tensor)
    }

    /// Its counters.
    pub fn count(&self) -> Count {
        let by_tensor = (!self.counts.is_empty()).then(|| self.counts.clone());
        Count { steps: self.steps, waiting: self.waiting, by_tensor }
    }

    /// Continues from the state of another optimiser of the same settings.
    pub fn resume(&mut self, count: Count, slots: BTreeMap<String, Tensor<1>>) {
        let Count { steps, waiting, by_tensor } = count;
        let moved = || {
            let name = |slot: &String| slot.strip_suffix(".first").map(|tensor| (tensor.to_owned(), steps));
            slots.keys().filter_map(name).collect()
        };
        self.counts = by_tensor.unwrap_or_else(moved);
        (self.steps, self.waiting, self.slots) = (steps, waiting, slots);
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
        let _span = Stage::Update.enter();
        if self.accumulate > 1 {
            match self.accumulated(&module, gradients) {
                Some(mean) => gradients = mean,
                None => return module,
            }
        }
        let scale = self.config.clip_norm().and_then(|length| {
            let mut sum = SquareSum { gradients: &gradients, total: None };
            module.visit(&mut sum);
            // As PyTorch's clip_grad_norm_.
            sum.total.map(|total| (total.sqrt() + 1e-6).recip().mul_scalar(length).clamp_max(1.0))
        });
        self.steps += 1;
        module.map(&mut Update {
            path: TensorPath::default(),
            optimizer: self,
            gradients: &mut gradients,
            rate_of,
            scale,
        })
    }

    fn updated(
        &mut self,
        name: &str,
        learning_rate: f64,
        weight: Tensor<1>,
        gradient: Tensor<1>,
        vector: bool,
    ) -> Tensor<1> {
        let key = |slot: &str| format!("{name}.{slot}");
        match &self.config {
            OptimizerConfig::Lars(rule) => {
                let before = self.slots.remove(&key("velocity"));
                let velocity = rule.velocity(learning_rate, &weight, gradient, before, vector);
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

/// Adds up the squares of all gradients.
struct SquareSum<'a> {
    gradients: &'a GradientsParams,
    total: Option<Tensor<1>>,
}

impl ModuleVisitor for SquareSum<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let squares = gradient.square().sum();
            self.total = Some(match self.total.take() {
                Some(total) => total + squares,
                None => squares,
            });
        }
    }
}

/// Updates each tensor that has a gradient.
struct Update<'a> {
    path: TensorPath,
    optimizer: &'a mut Optimizer,
    gradients: &'a mut GradientsParams,
    rate_of: &'a dyn Fn(&str) -> f64,
    scale: Option<Tensor<1>>,
}

impl ModuleMapper for Update<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, container: &str) {
        self.path.exit(container);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(gradient) = self.gradients.remove::<D>(param.id) else { return param };
        let (id, tensor, mapper) = param.consume();
        let (shape, count) = (tensor.shape(), tensor.shape().num_elements());
        let (tracked, required) = (tensor.is_autodiff(), tensor.is_require_grad());
        let strategy = tensor.gradient_checkpointing_strategy();

        let gradient = gradient.reshape([count]);
        let gradient = match &self.scale {
            Some(scale) => gradient * scale.clone(),
            None => gradient,
        };
        let weight = tensor.without_autodiff().reshape([count]);
        let name = self.path.name();
        let learning_rate = (self.rate_of)(&name);
        // One bias is a row of two dimensions.
        let vector = D == 1 || name.ends_with("bias");
        let updated: Tensor<D> =
            self.optimizer.updated(&name, learning_rate, weight, gradient, vector).reshape(shape);

        let updated = if tracked { updated.autodiff() } else { updated };
        let updated = match strategy {
            Some(strategy) => updated.with_gradient_checkpointing_strategy(strategy),
            None => updated,
        };
        Param::from_mapped_value(id, updated.set_require_grad(required), mapper)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use burn::module::ParamId;
    use burn::tensor::{DType, Device};

    use super::*;

    #[derive(Module, Debug)]
    struct Layer {
        weight: Param<Tensor<2>>,
        bias: Param<Tensor<1>>,
    }

    fn layer() -> Layer {
        let options = (&Device::flex(), DType::F64);
        Layer {
            weight: Param::from_tensor(Tensor::from_data([[1.0, -2.0], [0.5, 3.0]], options)),
            bias: Param::from_tensor(Tensor::from_data([0.25, -1.0], options)),
        }
    }

    fn step(optimizer: &mut Optimizer, layer: Layer, t: usize) -> Layer {
        step_with(optimizer, layer, t, true)
    }

    fn step_with(optimizer: &mut Optimizer, layer: Layer, t: usize, with_bias: bool) -> Layer {
        let options = (&Device::flex(), DType::F64);
        let weight = Tensor::<2>::from_data([[0.3, -0.1], [0.2, 1.5]], options);
        let bias = Tensor::<1>::from_data([2.0, -0.7], options);
        let sign = if t.is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut gradients = GradientsParams::new();
        gradients.register(layer.weight.id, weight * (sign * (t + 1) as f64));
        if with_bias {
            gradients.register(layer.bias.id, bias * (1.0 + 0.5 * t as f64));
        }
        let rate = optimizer.config().learning_rate();
        optimizer.step(rate, layer, gradients)
    }

    fn values(layer: &Layer) -> Vec<f64> {
        let weight = layer.weight.val().into_data();
        weight.iter::<f64>().chain(layer.bias.val().into_data().iter::<f64>()).collect()
    }

    #[derive(Module, Debug)]
    struct Row {
        bias: Param<Tensor<2>>,
    }

    /// LARS in SimCLR's form neither adapts nor decays a bias, whatever its shape.
    #[test]
    fn a_bias_that_is_a_row_moves_as_others_do() {
        let (options, config) = ((&Device::flex(), DType::F64), OptimizerConfig::Lars(Lars::default()));
        let mut optimizer = Optimizer::new(config.clone()).unwrap();
        let moved = step(&mut optimizer, layer(), 0).bias.val().into_data();
        let bias = Param::from_tensor(Tensor::from_data([[0.25, -1.0]], options));
        let mut gradients = GradientsParams::new();
        gradients.register(bias.id, Tensor::<2>::from_data([[2.0, -0.7]], options));
        let rate = config.learning_rate();
        let row = Optimizer::new(config).unwrap().step(rate, Row { bias }, gradients).bias.val().into_data();
        assert_eq!(row.iter::<f64>().collect::<Vec<_>>(), moved.iter::<f64>().collect::<Vec<_>>());
    }

    /*
    Equivalent PyTorch, float64: w = [[1, -2], [0.5, 3]], b = [0.25, -1], four steps with
    w.grad = [[0.3, -0.1], [0.2, 1.5]] * (t + 1) * (-1)**t, b.grad = [2, -0.7] * (1 + 0.5 * t); the last one calls
    clip_grad_norm_([w, b], 1) before each step.
    */
    #[test]
    fn four_steps_equal_pytorch() {
        let cases = [
            // SGD(lr=0.1, momentum=0.9, weight_decay=0.01)
            (
                OptimizerConfig::Sgd(Sgd { weight_decay: 0.01, ..Sgd::default() }),
                [
                    0.999527612331,
                    -1.984783909612,
                    0.501190937671,
                    3.015708415053,
                    -2.509714233975,
                    -0.025855419371,
                ],
            ),
            // SGD(lr=0.1, momentum=0.8, nesterov=True)
            (
                OptimizerConfig::Sgd(Sgd { momentum: 0.8, nesterov: true, ..Sgd::default() }),
                [1.072672, -2.024224, 0.548448, 3.36336, -3.18392, 0.201872],
            ),
            // SGD(lr=0.1)
            (
                OptimizerConfig::Sgd(Sgd { momentum: 0.0, ..Sgd::default() }),
                [1.06, -2.02, 0.54, 3.3, -1.15, -0.51],
            ),
            // Adam(lr=0.05, weight_decay=0.1)
            (
                OptimizerConfig::Adam(Adam { learning_rate: 0.05, weight_decay: 0.1, ..Adam::default() }),
                [
                    0.940939718794,
                    -1.855551762106,
                    0.446923218419,
                    2.949469766237,
                    0.051624678554,
                    -0.801124282699,
                ],
            ),
            // AdamW(lr=0.05, weight_decay=0.1, betas=(0.8, 0.95))
            (
                OptimizerConfig::AdamW(Adam {
                    learning_rate: 0.05,
                    weight_decay: 0.1,
                    beta1: 0.8,
                    beta2: 0.95,
                    ..Adam::default()
                }),
                [
                    0.946971989692,
                    -1.927121492970,
                    0.456897240043,
                    2.907270989881,
                    0.046032667927,
                    -0.781144794757,
                ],
            ),
            (
                OptimizerConfig::Sgd(Sgd { momentum: 0.0, clip_norm: Some(1.0), ..Sgd::default() }),
                [
                    1.002505443433,
                    -2.000835147811,
                    0.501670295622,
                    3.012527217165,
                    -0.018978484423,
                    -0.905857530452,
                ],
            ),
        ];
        for (config, expected) in cases {
            let mut optimizer = Optimizer::new(config.clone()).unwrap();
            let after = (0..4).fold(layer(), |layer, t| step(&mut optimizer, layer, t));
            for (parameter, expected) in values(&after).iter().zip(expected) {
                assert!((parameter - expected).abs() < 1e-11, "{config:?}: {parameter} {expected}");
            }
        }
    }

    /*
    Equivalent PyTorch, float64: as above with Adam(lr=0.05, weight_decay=0.1) and AdamW of the same settings, five steps;
    b.grad is None at the first three of them.
    */
    #[test]
    fn a_tensor_that_joins_later_counts_its_own_steps_as_in_pytorch() {
        let adam = Adam { learning_rate: 0.05, weight_decay: 0.1, ..Adam::default() };
        let cases = [
            (
                OptimizerConfig::Adam(adam.clone()),
                [
                    0.925352086550,
                    -1.823350546887,
                    0.432561359065,
                    2.935531790439,
                    0.149967785047,
                    -0.899959358848,
                ],
            ),
            (
                OptimizerConfig::AdamW(adam),
                [
                    0.927709806702,
                    -1.902958562797,
                    0.440085430884,
                    2.878207311756,
                    0.147725594461,
                    -0.890244344814,
                ],
            ),
        ];
        for (config, expected) in cases {
            let mut optimizer = Optimizer::new(config.clone()).unwrap();
            let mut layer = layer();
            for t in 0..5 {
                if t == 4 {
                    // Another process resumes.
                    let (count, slots) = (optimizer.count(), optimizer.slots().clone());
                    assert_eq!(count.by_tensor.as_ref().unwrap()["bias"], 1);
                    optimizer = Optimizer::new(config.clone()).unwrap();
                    optimizer.resume(count, slots);
                }
                layer = step_with(&mut optimizer, layer, t, t >= 3);
            }
            for (parameter, expected) in values(&layer).iter().zip(expected) {
                assert!((parameter - expected).abs() < 1e-11, "{config:?}: {parameter} {expected}");
            }
        }
    }

    #[test]
    fn a_state_without_counts_is_one_in_which_all_have_moved() {
        let mut optimizer = Optimizer::new(OptimizerConfig::default()).unwrap();
        let moved = (0..3).fold(layer(), |layer, t| step(&mut optimizer, layer, t));
        let mut resumed = Optimizer::new(OptimizerConfig::default()).unwrap();
        resumed.resume(Count { by_tensor: None, ..optimizer.count() }, optimizer.slots().clone());
        assert_eq!(resumed.count(), optimizer.count());
        let both = [&mut optimizer, &mut resumed].map(|one| values(&step(one, moved.clone(), 3)));
        assert_eq!(both[0], both[1]);
    }

    #[test]
    fn a_resumed_optimizer_steps_as_if_it_had_never_stopped() {
        for config in [
            OptimizerConfig::Sgd(Sgd::default()),
            OptimizerConfig::Adam(Adam::default()),
            OptimizerConfig::AdamW(Adam::default()),
            OptimizerConfig::Lars(Lars::default()),
        ] {
            let mut optimizer = Optimizer::new(config.clone()).unwrap();
            let half = (0..3).fold(layer(), |layer, t| step(&mut optimizer, layer, t));
            let mut resumed = Optimizer::new(config).unwrap();
            resumed.resume(optimizer.count(), optimizer.slots().clone());
            // Another process has different parameter identities.
            let other = Layer {
                weight: Param::initialized(ParamId::new(), half.weight.val()),
                bias: Param::initialized(ParamId::new(), half.bias.val()),
            };
            assert_eq!(values(&step(&mut optimizer, half, 3)), values(&step(&mut resumed, other, 3)));
        }
    }

    #[test]
    fn several_gradients_make_one_step_along_their_mean() {
        let sgd = OptimizerConfig::Sgd(Sgd { momentum: 0.0, ..Sgd::default() });
        let mut optimizer = Optimizer::new(sgd).unwrap().accumulating(3);
        let start = layer();
        let two = (0..2).fold(start.clone(), |layer, t| step(&mut optimizer, layer, t));
        assert_eq!(values(&two), values(&start));
        assert_eq!((optimizer.steps(), optimizer.waiting()), (0, 2));
        // Resumed in another process, where the parameters have different identities.
        let mut resumed = Optimizer::new(optimizer.config().clone()).unwrap().accumulating(3);
        resumed.resume(optimizer.count(), optimizer.slots().clone());
        let other = Layer {
            weight: Param::initialized(ParamId::new(), two.weight.val()),
            bias: Param::initialized(ParamId::new(), two.bias.val()),
        };
        let moved = values(&step(&mut resumed, other, 2));
        // The factors of `step` add up to 1 - 2 + 3 = 2 and 1 + 1.5 + 2 = 4.5.
        let gradients =
            [0.3, -0.1, 0.2, 1.5].map(|g| g * 2.0 / 3.0).into_iter().chain([2.0, -0.7].map(|g| g * 1.5));
        for ((moved, start), gradient) in moved.iter().zip(values(&start)).zip(gradients) {
            assert!((moved - (start - 0.1 * gradient)).abs() < 1e-12);
        }
        assert_eq!((resumed.steps(), resumed.waiting(), resumed.slots().len()), (1, 0, 0));
    }

    #[test]
    fn an_updated_parameter_still_requires_its_gradient() {
        let device = Device::flex().autodiff();
        let weight = Param::from_tensor(Tensor::<2>::ones([2, 2], &device));
        let layer = Layer { weight, bias: Param::from_tensor(Tensor::ones([2], &device)) };
        let mut optimizer = Optimizer::new(OptimizerConfig::default()).unwrap();
        let grads = layer.weight.val().sum().backward();
        let gradients = GradientsParams::from_grads(grads, &layer);
        let layer = optimizer.step(0.1, layer, gradients);
        assert!(layer.weight.val().is_require_grad());
        assert!(layer.weight.val().square().sum().backward().grad_of(&layer));
    }

    trait GradOf {
        fn grad_of(&self, layer: &Layer) -> bool;
    }

    impl GradOf for burn::tensor::Gradients {
        fn grad_of(&self, layer: &Layer) -> bool {
            layer.weight.val().grad(self).is_some() && layer.bias.val().grad(self).is_none()
        }
    }

    #[test]
    fn a_recipe_reads_as_it_is_written_and_unknown_keys_are_errors() {
        let config: OptimizerConfig =
            serde_json::from_str(r#"{"name":"lars","variant":"released","learning_rate":0.5}"#).unwrap();
        assert!(matches!(config, OptimizerConfig::Lars(Lars { learning_rate: 0.5, .. })));
        assert!(serde_json::from_str::<OptimizerConfig>(r#"{"name":"adamw","beta":0.5}"#).is_err());
        assert!(serde_json::from_str::<OptimizerConfig>(r#"{"name":"rmsprop"}"#).is_err());
        let wrong = OptimizerConfig::Adam(Adam { beta1: 1.0, ..Adam::default() });
        assert!(Optimizer::new(wrong).unwrap_err().to_string().contains("optimizer.beta1"));
    }
}
