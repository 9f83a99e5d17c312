//! Layers with the tensor names, shapes and default initialisation of PyTorch, so that a checkpoint needs no
//! translation.

use burn::module::{Flag, Module, Param, RunningState};
use burn::tensor::{DType, Device, Tensor};
use simile_kernels::{
    Epilogue, Norm, Statistics, Windows, convolve, convolve_normalised, convolve_normalised_by, is_half,
};

use super::initial::{InitialValues, Normal, Uniform};

/// A value of `torch.nn.Linear` and `torch.nn.Conv2d` at initialisation: uniform in `±1/√fan_in`.
pub(crate) fn uniform_fan_in<const D: usize>(
    shape: [usize; D],
    fan_in: usize,
    device: &Device,
    initial: &mut impl InitialValues,
) -> Param<Tensor<D>> {
    let bound = 1.0 / (fan_in.max(1) as f32).sqrt();
    initial.parameter(shape, device, Uniform { bound })
}

/// A tensor in `f32` instead of half precision, which has too few digits for sums.
pub(crate) fn widen<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    if is_half(tensor.dtype()) { tensor.cast(DType::F32) } else { tensor }
}

/// The weight of a convolution `[out, in, k, k]` of a residual network at initialisation: normal with variance `2 /
/// (k² out)` (He et al., *Delving Deep into Rectifiers*, 2015, fan-out).
pub(crate) fn normal_fan_out(
    shape: [usize; 4],
    device: &Device,
    initial: &mut impl InitialValues,
) -> Param<Tensor<4>> {
    let [outputs, _, height, width] = shape;
    let deviation = (2.0 / (outputs * height * width).max(1) as f64).sqrt();
    initial.parameter(shape, device, Normal { mean: 0.0, deviation })
}

/// A parameter in the float type of the input. Parameters are `f32`; if images are in half precision, layers
/// compute in it, and the gradients of their parameters are `f32` again.
pub(crate) fn in_type_of<const D: usize, const E: usize>(
    parameter: &Param<Tensor<D>>,
    input: &Tensor<E>,
) -> Tensor<D> {
    let value = parameter.val();
    if value.dtype() == input.dtype() { value } else { value.cast(input.dtype()) }
}

/// The parameters of a convolution: `weight` `[out, in, k, k]` and `bias` `[out]`.
#[derive(Module, Debug)]
pub struct Convolution {
    /// `[out, in, k, k]`.
    pub weight: Param<Tensor<4>>,
    /// `[out]`.
    pub bias: Param<Tensor<1>>,
}

impl Convolution {
    /// A convolution of `inputs` to `outputs` channels with a square kernel.
    pub fn new(
        inputs: usize,
        outputs: usize,
        kernel: usize,
        device: &Device,
        initial: &mut impl InitialValues,
    ) -> Self {
        let fan_in = inputs * kernel * kernel;
        Self {
            weight: uniform_fan_in([outputs, inputs, kernel, kernel], fan_in, device, initial),
            bias: uniform_fan_in([outputs], fan_in, device, initial),
        }
    }
}

impl Convolution {
    /// The convolution of maps `[n, h, w, channels]` without its bias.
    pub(super) fn unbiased(&self, maps: Tensor<4>, windows: Windows) -> Tensor<4> {
        let weight = in_type_of(&self.weight, &maps);
        convolve(maps, weight, None, windows)
    }

    /// The convolution of maps `[n, h, w, channels]`.
    pub(super) fn forward(&self, maps: Tensor<4>, windows: Windows) -> Tensor<4> {
        let (weight, bias) = (in_type_of(&self.weight, &maps), in_type_of(&self.bias, &maps));
        convolve(maps, weight, Some(bias), windows)
    }

    /// The convolution of maps `[n, h, w, channels]`, normalised and rectified.
    pub(super) fn normalised(&self, norm: &BatchNorm, maps: Tensor<4>, windows: Windows) -> Tensor<4> {
        let weight = in_type_of(&self.weight, &maps);
        norm.after_convolution(maps, (weight, Some(self.bias.val())), windows, Epilogue::rectified())
    }
}

/// `y = x Wᵀ + b` with `weight` stored `[out, in]` as PyTorch does (Burn's own layer stores the transpose).
#[derive(Module, Debug)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// `[out]`.
    pub bias: Option<Param<Tensor<1>>>,
}

impl Linear {
    /// A layer of `inputs` to `outputs` features. Its weight is drawn before its bias.
    pub fn new(inputs: usize, outputs: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let layer = Self::without_bias(inputs, outputs, device, initial);
        Self { bias: Some(uniform_fan_in([outputs], inputs, device, initial)), ..layer }
    }

    /// The same without a bias.
    pub fn without_bias(
        inputs: usize,
        outputs: usize,
        device: &Device,
        initial: &mut impl InitialValues,
    ) -> Self {
        Self { weight: uniform_fan_in([outputs, inputs], inputs, device, initial), bias: None }
    }

    /// `[n, in]` to `[n, out]`.
    pub fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let weight = in_type_of(&self.weight, &input);
        let output = input.matmul(weight.transpose());
        match &self.bias {
            Some(bias) => {
                let bias = in_type_of(bias, &output);
                output + bias.unsqueeze()
            }
            None => output,
        }
    }
}

/// Batch normalisation of `[n, features]` or `[n, features, ...]` (Ioffe & Szegedy, 2015).
///
/// In training it uses the statistics of the batch and updates the running ones. It trains if and only if the input
/// is on an autodiff device and the module is in training mode; `Module::valid` gives the evaluating module. The
/// running variance is the unbiased one, as in PyTorch; Burn's own layer keeps the biased one.
#[derive(Module, Debug)]
pub struct BatchNorm {
    /// Gain `γ`, absent if the layer has no affine part.
    pub weight: Option<Param<Tensor<1>>>,
    /// Shift `β`, absent if the layer has no affine part.
    pub bias: Option<Param<Tensor<1>>>,
    /// Running mean.
    pub running_mean: RunningState<Tensor<1>>,
    /// Running unbiased variance.
    pub running_var: RunningState<Tensor<1>>,
    training: Param<Flag>,
    features: usize,
    epsilon: f64,
    momentum: f64,
}

impl BatchNorm {
    /// PyTorch's defaults: `ε = 1e-5`, momentum 0.1, `γ = 1`, `β = 0`.
    pub fn new(features: usize, device: &Device) -> Self {
        Self {
            weight: Some(Param::from_tensor(Tensor::ones([features], device))),
            bias: Some(Param::from_tensor(Tensor::zeros([features], device))),
            ..Self::without_affine(features, device)
        }
    }

    /// The same without gain and shift.
    pub fn without_affine(features: usize, device: &Device) -> Self {
        Self {
            weight: None,
            bias: None,
            running_mean: RunningState::new(Tensor::zeros([features], device)),
            running_var: RunningState::new(Tensor::ones([features], device)),
            training: Param::from_bool(true),
            features,
            epsilon: 1e-5,
            momentum: 0.1,
        }
    }

    /// Normalises each feature: `γ (x − mean) / sqrt(var + ε) + β`, with the mean and the biased variance of the batch in training.
    /// Shape and float type stay the same, but statistics are never in half precision.
    pub fn forward<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        let (device, dtype) = (input.device(), input.dtype());
        let statistics = if is_half(dtype) { DType::F32 } else { dtype };
        let options = (&device, statistics);
        let gain = self.weight.as_ref().map_or_else(|| Tensor::ones([self.features], options), Param::val);
        let shift = self.bias.as_ref().map_or_else(|| Tensor::zeros([self.features], options), Param::val);
        if !self.uses_batch_statistics(&device) {
            let (mean, variance) = (self.running_mean.value_sync(), self.running_var.value_sync());
            let input = input.cast(statistics);
            return burn::tensor::module::batch_norm(input, gain, shift, mean, variance, self.epsilon)
                .cast(dtype);
        }
        let samples = input.shape().num_elements() / self.features.max(1);
        let (output, mean, variance) = simile_kernels::batch_norm_train(input, gain, shift, self.epsilon);
        self.update_running_statistics(mean, variance, samples);
        output
    }

    /// Normalises a convolution of maps `[n, h, w, channels]`, together with the next steps of its block, as one
    /// operation.
    ///
    /// A bias of the convolution cancels with the mean of a batch: it only shifts the running mean, and has no
    /// gradient.
    pub(super) fn after_convolution(
        &self,
        maps: Tensor<4>,
        (weight, bias): (Tensor<4>, Option<Tensor<1>>),
        windows: Windows,
        epilogue: Epilogue,
    ) -> Tensor<4> {
        let device = maps.device();
        let dtype = if is_half(maps.dtype()) { DType::F32 } else { maps.dtype() };
        let gain = self.weight.as_ref().map(Param::val);
        let shift = self.bias.as_ref().map(Param::val);
        let norm = Norm {
            gain: gain.unwrap_or_else(|| Tensor::ones([self.features], (&device, dtype))),
            shift: shift.unwrap_or_else(|| Tensor::zeros([self.features], (&device, dtype))),
            epsilon: self.epsilon,
        };
        if !self.uses_batch_statistics(&device) {
            let (mean, variance) = (self.running_mean.value_sync(), self.running_var.value_sync());
            let mean = match bias {
                Some(bias) => mean - bias,
                None => mean,
            };
            let running = Statistics { mean, variance };
            return convolve_normalised_by(maps, weight, windows, norm, running, epilogue);
        }
        let (output, batch) = convolve_normalised(maps, weight, windows, norm, epilogue);
        let [n, height, width, _] = output.dims();
        let mean = match bias {
            Some(bias) => batch.mean + bias,
            None => batch.mean,
        };
        self.update_running_statistics(mean, batch.variance, n * height * width);
        output
    }

    /// Normalises maps `[n, h, w, channels]` by statistics, mean and biased variance, through which gradients pass.
    pub(super) fn normalise_by(
        &self,
        maps: Tensor<4>,
        Statistics { mean, variance }: &Statistics,
    ) -> Tensor<4> {
        let (dtype, row) = (maps.dtype(), [1, 1, 1, self.features]);
        let maps = widen(maps);
        let mut scale = (variance.clone() + self.epsilon).sqrt().recip();
        if let Some(gain) = &self.weight {
            scale = scale * gain.val();
        }
        let normalised = (maps - mean.clone().reshape(row)) * scale.reshape(row);
        match &self.bias {
            Some(shift) => (normalised + shift.val().reshape(row)).cast(dtype),
            None => normalised.cast(dtype),
        }
    }

    /// True if an input on this device is normalised by the statistics of its batch.
    fn uses_batch_statistics(&self, device: &Device) -> bool {
        device.is_autodiff() && self.training.is_enabled()
    }

    /// Number of channels.
    pub(super) fn channels(&self) -> usize {
        self.running_mean.value_sync().dims()[0]
    }

    /// The device of its numbers, without autodiff.
    pub(super) fn device(&self) -> Device {
        self.running_mean.value_sync().device().inner()
    }

    /// Updates the running statistics with the mean and the biased variance over `samples` samples.
    pub(super) fn update_running_statistics(&self, mean: Tensor<1>, variance: Tensor<1>, samples: usize) {
        let samples = samples as f64;
        let unbiased = samples / (samples - 1.0).max(1.0);
        self.track(&self.running_mean, mean);
        self.track(&self.running_var, variance * unbiased);
    }

    fn track(&self, running: &RunningState<Tensor<1>>, batch: Tensor<1>) {
        let decayed_average = running.value_sync() * (1.0 - self.momentum);
        running.update((decayed_average + batch.detach() * self.momentum).detach());
    }
}
