//! Projection heads: layers between an encoder and a contrastive objective, which are discarded after training.

use burn::module::Module;
use burn::tensor::{Device, Tensor, activation::relu};
use serde::{Deserialize, Serialize};

use super::initial::InitialValues;
use super::layers::{BatchNorm, Linear};
use super::norm_steps::{Flow, Segment, Step};
use super::work::{Layers, Work};
use crate::error::{Error, Result};
use crate::step_stage::StepStage;

/// The layers of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadKind {
    /// As in the released code of CCL-K: linear without bias, batch norm, ReLU, linear without bias, batch norm without affine. The
    /// paper has widths of 2048, 2048 and 128 with batch norm after each 2048, and on ColorMNIST a linear head of two layers.
    #[default]
    Released,
    /// Linear with bias, ReLU, linear with bias (SimCLR's paper; ConTeX). SimCLR's code has three layers.
    Mlp,
    /// Linear without bias, batch norm, ReLU, linear with bias (HCL; difficulty-based).
    MlpNormalised,
    /// ReLU, linear with bias, ReLU, linear with bias (Decoupled Uniformity).
    MlpActivated,
    /// One linear layer with bias.
    Linear,
}

/// Settings of a projection head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadConfig {
    /// The layers.
    #[serde(default)]
    pub kind: HeadKind,
    /// Width of the hidden layer, 1 to 65,536; the embedding size if absent, as released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<usize>,
    /// Width of the output, 1 to 65,536. Default: 128.
    #[serde(default = "default_output")]
    pub output: usize,
}

fn default_output() -> usize {
    128
}

impl Default for HeadConfig {
    fn default() -> Self {
        Self { kind: HeadKind::default(), hidden: None, output: default_output() }
    }
}

/// More than any head of the literature; a limit, because a checkpoint's header determines how much memory is
/// allocated.
const WIDEST: usize = 65_536;

impl HeadConfig {
    /// Checks the widths.
    ///
    /// # Errors
    /// [`Error::Parameter`] names `head.hidden` or `head.output`.
    pub fn validate(&self) -> Result<()> {
        for (name, width) in [("head.hidden", self.hidden.unwrap_or(1)), ("head.output", self.output)] {
            if !(1..=WIDEST).contains(&width) {
                return Err(Error::parameter(name, width, "expected 1 to 65536"));
            }
        }
        Ok(())
    }

    /// A lower bound of the number of parameters, as [`EncoderConfig::min_parameters`](super::EncoderConfig).
    pub(crate) fn min_parameters(&self, embedding_size: usize) -> u64 {
        let [from, output] = [embedding_size, self.output].map(|width| width as u64);
        match self.kind {
            HeadKind::Linear => from * output,
            _ => self.hidden.map_or(from, |width| width as u64) * (from + output),
        }
    }

    /// The numbers of one embedding that a training step keeps: those before and after each layer.
    pub(crate) fn activations(&self, embedding_size: usize) -> u64 {
        let hidden = self.hidden.unwrap_or(embedding_size) as u64;
        match self.kind {
            HeadKind::Linear => self.output as u64,
            HeadKind::Mlp | HeadKind::MlpActivated => 2 * hidden + self.output as u64,
            HeadKind::Released | HeadKind::MlpNormalised => 3 * hidden + 2 * self.output as u64,
        }
    }

    /// The forward pass of one embedding.
    pub(crate) fn work(&self, embedding_size: usize) -> Work {
        let (hidden, embedding) = (self.hidden.unwrap_or(embedding_size), Layers::from_row(embedding_size));
        let layers = match self.kind {
            HeadKind::Linear => embedding.linear(self.output),
            HeadKind::Mlp => embedding.linear(hidden).activated().linear(self.output),
            HeadKind::MlpActivated => embedding.activated().linear(hidden).activated().linear(self.output),
            HeadKind::Released => {
                embedding.linear(hidden).normalised().activated().linear(self.output).normalised()
            }
            HeadKind::MlpNormalised => embedding.linear(hidden).normalised().activated().linear(self.output),
        };
        layers.work
    }

    /// A head for embeddings of `embedding_size`.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn init(
        &self,
        embedding_size: usize,
        device: &Device,
        initial: &mut impl InitialValues,
    ) -> Result<ProjectionHead> {
        self.validate()?;
        let hidden = self.hidden.unwrap_or(embedding_size);
        Ok(match self.kind {
            HeadKind::Released => ProjectionHead {
                w1: Some(Linear::without_bias(embedding_size, hidden, device, initial)),
                bn1: Some(BatchNorm::new(hidden, device)),
                w2: Linear::without_bias(hidden, self.output, device, initial),
                bn2: Some(BatchNorm::without_affine(self.output, device)),
                activated: false,
            },
            HeadKind::MlpNormalised => ProjectionHead {
                w1: Some(Linear::without_bias(embedding_size, hidden, device, initial)),
                bn1: Some(BatchNorm::new(hidden, device)),
                w2: Linear::new(hidden, self.output, device, initial),
                bn2: None,
                activated: false,
            },
            HeadKind::Mlp | HeadKind::MlpActivated => ProjectionHead {
                w1: Some(Linear::new(embedding_size, hidden, device, initial)),
                bn1: None,
                w2: Linear::new(hidden, self.output, device, initial),
                bn2: None,
                activated: self.kind == HeadKind::MlpActivated,
            },
            HeadKind::Linear => ProjectionHead {
                w1: None,
                bn1: None,
                w2: Linear::new(embedding_size, self.output, device, initial),
                bn2: None,
                activated: false,
            },
        })
    }
}

/// A projection head. Tensor names are those of the released code: `w1`, `bn1`, `w2`, `bn2`.
///
/// The output is not normalised: the objective does that.
#[derive(Module, Debug)]
pub struct ProjectionHead {
    w1: Option<Linear>,
    bn1: Option<BatchNorm>,
    w2: Linear,
    bn2: Option<BatchNorm>,
    /// True if the embedding goes through a ReLU first.
    activated: bool,
}

impl ProjectionHead {
    /// The layers in steps between batch norms, from maps of one place to such maps.
    pub(crate) fn segment(&self) -> Segment<'_> {
        let entered = |flow: Flow| if self.activated { relu(flow.rows()) } else { flow.rows() };
        let ended = |hidden: Tensor<2>| Flow::from_rows(self.w2.forward(hidden));
        let mut steps = match (&self.w1, &self.bn1) {
            (None, _) => vec![Step::of(move |flow| ended(entered(flow)))],
            (Some(w1), None) => vec![Step::of(move |flow| ended(relu(w1.forward(entered(flow)))))],
            (Some(w1), Some(bn1)) => vec![
                Step::of(move |flow| Flow::from_rows(w1.forward(entered(flow)))),
                Step::of(move |flow| ended(relu(flow.rows()))).after(bn1),
            ],
        };
        steps.extend(self.bn2.as_ref().map(|bn2| Step::of(|flow| flow).after(bn2)));
        steps
    }

    /// `[n, embedding_size]` to `[n, output]`.
    pub fn forward(&self, embedding: Tensor<2>) -> Tensor<2> {
        let _span = StepStage::Forward.enter();
        let embedding = if self.activated { relu(embedding) } else { embedding };
        let hidden = match &self.w1 {
            None => embedding,
            Some(w1) => {
                let hidden = w1.forward(embedding);
                relu(match &self.bn1 {
                    Some(bn1) => bn1.forward(hidden),
                    None => hidden,
                })
            }
        };
        let projection = self.w2.forward(hidden);
        match &self.bn2 {
            Some(bn2) => bn2.forward(projection),
            None => projection,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use burn::module::{Param, RunningState};
    use burn::tensor::{DType, TensorData};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn wave<const D: usize>(shape: [usize; D], step: f64, phase: f64, device: &Device) -> Tensor<D> {
        let data: Vec<f64> = (0..shape.iter().product()).map(|i| (step * i as f64 + phase).sin()).collect();
        Tensor::from_data(TensorData::new(data, shape), (device, DType::F64))
    }

    fn assert_values<const D: usize>(tensor: Tensor<D>, expected: &[f64]) {
        let values: Vec<f64> = tensor.into_data().iter::<f64>().collect();
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-9, "{value} {expected}");
        }
    }

    /*
    Equivalent PyTorch, float64, w1: Linear(4, 3, bias=False), bn1: BatchNorm1d(3), w2: Linear(3, 2, bias=False),
    bn2: BatchNorm1d(2, affine=False):

    w1.weight.data = torch.sin(1.3 * torch.arange(12)).reshape(3, 4)
    w2.weight.data = torch.sin(1.3 * torch.arange(6) + 0.7).reshape(2, 3)
    bn1.weight.data, bn1.bias.data = torch.tensor([0.5, 1.0, 1.5]), torch.tensor([0.1, -0.2, 0.3])
    e = torch.sin(0.9 * torch.arange(20)).reshape(5, 4)
    y = bn2(w2(relu(bn1(w1(e)))))
    (y * torch.cos(0.5 * torch.arange(10)).reshape(5, 2)).sum().backward()
    then the running statistics, then bn1.eval(), bn2.eval() and the output again
    */
    fn of_waves(device: &Device) -> ProjectionHead {
        let config = HeadConfig { hidden: Some(3), output: 2, ..HeadConfig::default() };
        let mut head = config.init(4, device, &mut ChaCha8Rng::seed_from_u64(0)).unwrap();
        head.w1.as_mut().unwrap().weight = Param::from_tensor(wave([3, 4], 1.3, 0.0, device));
        head.w2.weight = Param::from_tensor(wave([2, 3], 1.3, 0.7, device));
        let vector = |values: [f64; 3]| {
            Param::from_tensor(Tensor::<1>::from_data(TensorData::from(values), (device, DType::F64)))
        };
        let bn1 = head.bn1.as_mut().unwrap();
        let settled = |value, features: usize| {
            RunningState::new(Tensor::<1>::full([features], value, (device, DType::F64)))
        };
        (bn1.running_mean, bn1.running_var) = (settled(0.0, 3), settled(1.0, 3));
        bn1.weight = Some(vector([0.5, 1.0, 1.5]));
        bn1.bias = Some(vector([0.1, -0.2, 0.3]));
        let bn2 = head.bn2.as_mut().unwrap();
        (bn2.running_mean, bn2.running_var) = (settled(0.0, 2), settled(1.0, 2));
        head
    }

    #[test]
    fn released_head_equals_pytorch_in_training_and_in_evaluation() {
        let device = Device::flex().autodiff();
        let head = of_waves(&device);
        let embedding = wave([5, 4], 0.9, 0.0, &device).require_grad();
        let output = head.forward(embedding.clone());
        assert_values(
            output.clone(),
            &[
                1.750_492_150_4,
                -0.637_615_901_4,
                -1.339_428_595_8,
                0.766_466_992_4,
                0.084_817_94,
                -1.005_735_924_6,
                -0.172_799_095,
                1.580_795_988_4,
                -0.323_082_399_5,
                -0.703_911_154_8,
            ],
        );
        let weights = wave([5, 2], 0.5, std::f64::consts::FRAC_PI_2, &device);
        let grads = (output * weights).sum().backward();
        assert_values(
            head.w2.weight.val().grad(&grads).unwrap(),
            &[
                -0.280_743_460_7,
                0.008_821_406,
                -1.096_153_335_8,
                -0.188_223_929_3,
                0.752_373_690_7,
                0.118_746_910_7,
            ],
        );
        let bn1 = head.bn1.as_ref().unwrap();
        let gain = bn1.weight.as_ref().unwrap().val();
        assert_values(gain.grad(&grads).unwrap(), &[0.060_422_677, -0.409_682_395_3, 0.065_309_864_5]);
        let embedding_grad = embedding.grad(&grads).unwrap().slice([0..1]);
        assert_values(
            embedding_grad,
            &[-1.363_756_828_5, -0.136_336_399_6, 1.290_817_174_1, 0.826_920_563_7],
        );

        assert_evaluated_as_pytorch(&head.valid(), embedding.inner());
    }

    fn assert_evaluated_as_pytorch(head: &ProjectionHead, embedding: Tensor<2>) {
        let (bn1, bn2) = (head.bn1.as_ref().unwrap(), head.bn2.as_ref().unwrap());
        assert_values(bn1.running_mean.value(), &[0.012_371_164_9, -0.001_921_328_4, -0.014_171_513_7]);
        assert_values(bn1.running_var.value(), &[1.077_294_478_4, 1.035_578_368_8, 1.235_030_072_8]);
        assert_values(bn2.running_var.value(), &[0.922_941_174_9, 0.999_694_150_9]);
        let expected = [
            1.229_740_186_4,
            -0.469_725_046_4,
            -0.270_976_222,
            1.089_689_643_3,
            0.494_634_954_8,
            -0.817_315_893_9,
            0.155_283_057_7,
            2.295_573_801_3,
            0.285_919_670_7,
            -0.507_982_659_2,
        ];
        assert_values(head.forward(embedding.clone()), &expected);
        // A second pass: evaluation must not have changed the statistics.
        assert_values(head.forward(embedding), &expected);
    }

    #[test]
    fn every_kind_has_its_layers_and_a_width_of_zero_is_an_error() {
        let device = Device::flex();
        let count = |kind| {
            let config = HeadConfig { kind, hidden: Some(5), output: 2 };
            config.init(4, &device, &mut ChaCha8Rng::seed_from_u64(0)).unwrap().num_params()
        };
        // Running statistics count as parameters of the module.
        assert_eq!(count(HeadKind::Released), (4 * 5 + 5 * 2) + 4 * 5 + 2 * 2);
        assert_eq!(count(HeadKind::Mlp), (4 * 5 + 5) + (5 * 2 + 2));
        assert_eq!(count(HeadKind::MlpNormalised), 4 * 5 + 4 * 5 + (5 * 2 + 2));
        assert_eq!(count(HeadKind::MlpActivated), count(HeadKind::Mlp));
        assert_eq!(count(HeadKind::Linear), 4 * 2 + 2);
        // Negative values are lost before the first layer.
        let of = |kind, value: f32| {
            let config = HeadConfig { kind, hidden: Some(5), output: 2 };
            let head = config.init(4, &device, &mut ChaCha8Rng::seed_from_u64(0)).unwrap();
            head.forward(Tensor::full([1, 4], value, &device)).into_data()
        };
        assert_eq!(of(HeadKind::MlpActivated, -3.0), of(HeadKind::MlpActivated, 0.0));
        assert_eq!(of(HeadKind::MlpActivated, 3.0), of(HeadKind::Mlp, 3.0));
        assert_ne!(of(HeadKind::Mlp, -3.0), of(HeadKind::Mlp, 0.0));
        let config = HeadConfig { output: 0, ..HeadConfig::default() };
        let error = config.init(4, &device, &mut ChaCha8Rng::seed_from_u64(0)).unwrap_err();
        assert!(error.to_string().contains("head.output"), "{error}");
    }
}
