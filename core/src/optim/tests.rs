#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use burn::module::{Module, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor};

use super::lars::Lars;
use super::rules::{Adam, Sgd};
use super::{Optimizer, OptimizerConfig, StepCounts};

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
w.grad = [[0.3, -0.1], [0.2, 1.5]] * (t + 1) * (-1)**t, b.grad = [2, -0.7] * (1 + 0.5 * t); the last one of SGD
calls clip_grad_norm_([w, b], 1) before each step.
*/
#[test]
fn four_steps_of_sgd_equal_pytorch() {
    assert_after_four_steps(&[
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
    ]);
}

#[test]
fn four_steps_of_adam_equal_pytorch() {
    assert_after_four_steps(&[
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
    ]);
}

fn assert_after_four_steps(cases: &[(OptimizerConfig, [f64; 6])]) {
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
                let (counts, slots) = (optimizer.step_counts(), optimizer.slots().clone());
                assert_eq!(counts.by_tensor.as_ref().unwrap()["bias"], 1);
                optimizer = Optimizer::new(config.clone()).unwrap();
                optimizer.resume(counts, slots);
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
    resumed.resume(StepCounts { by_tensor: None, ..optimizer.step_counts() }, optimizer.slots().clone());
    assert_eq!(resumed.step_counts(), optimizer.step_counts());
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
        resumed.resume(optimizer.step_counts(), optimizer.slots().clone());
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
    assert_eq!((optimizer.steps(), optimizer.accumulated_gradients()), (0, 2));
    // Resumed in another process, where the parameters have different identities.
    let mut resumed = Optimizer::new(optimizer.config().clone()).unwrap().accumulating(3);
    resumed.resume(optimizer.step_counts(), optimizer.slots().clone());
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
    assert_eq!((resumed.steps(), resumed.accumulated_gradients(), resumed.slots().len()), (1, 0, 0));
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
