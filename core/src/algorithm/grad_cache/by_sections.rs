//! A forward and backward pass of both views, where the backward pass goes section by section, from the last to the first. The
//! gradients of a section are complete when it is done, so they can be summed over processes while earlier sections are differentiated.
//!
//! ```text
//! forward    x_0 = images,  y_s = section_s(x_s),  x_{s+1} = y_s as a constant with a gradient of its own
//! backward   g = dL/dy of the last;  for s from the last: the gradients of sum(y_s * g);  g = that of x_s
//! ```
//!
//! The operations are those of the plain pass, but each section has a graph of its own, because Burn 0.22 returns gradients only
//! once a whole graph is differentiated.

use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use crate::algorithm::Views;
use crate::algorithm::passes::{self, ViewOutputs};
use crate::error::Result;
use crate::nn::{Flow, Model};
use crate::step_stage::StepStage;

/// The forward passes of all sections, with their graphs, the first section first.
#[derive(Debug)]
pub(super) struct BySections(Vec<SectionPass>);

/// The inputs and outputs of a section: of one pass of both views together, or of one pass for each view.
#[derive(Debug)]
struct SectionPass {
    inputs: Vec<Tensor<4>>,
    outputs: Vec<Tensor<4>>,
}

impl BySections {
    /// The forward pass.
    pub(super) fn forward(model: &Model, views: &Views) -> Self {
        let mut inputs = passes::images(views);
        let mut sections = Vec::new();
        for section in model.sections() {
            let _span = StepStage::Forward.enter();
            let outputs: Vec<Tensor<4>> = inputs.iter().map(|input| section.forward(input.clone())).collect();
            let next = outputs.iter().map(leaf).collect();
            sections.push(SectionPass { inputs: std::mem::replace(&mut inputs, next), outputs });
        }
        Self(sections)
    }

    /// The inputs of the head.
    pub(super) fn embeddings(&self) -> ViewOutputs {
        ViewOutputs(self.0.last().map(|head| rows(&head.inputs)).unwrap_or_default())
    }

    /// The outputs of the head for each view.
    pub(super) fn projections(&self) -> [Tensor<2>; 2] {
        ViewOutputs(self.0.last().map(|head| rows(&head.outputs)).unwrap_or_default()).split()
    }

    /// Computes the gradients of the parameters from those of the projections of each view, and hands them over section by section,
    /// the last section first. Sections without a gradient are left out.
    ///
    /// # Errors
    /// The loss depends on no network.
    pub(super) fn backward(
        mut self,
        model: &Model,
        grad_projections: [Option<Tensor<2>>; 2],
        mut hand_over: impl FnMut(GradientsParams),
    ) -> Result<()> {
        let mut loss = passes::surrogate_loss(self.projections().into_iter().zip(grad_projections));
        while let (Some(section_loss), Some(SectionPass { inputs, .. })) = (loss.take(), self.0.pop()) {
            let mut gradients = passes::backward(section_loss)?;
            hand_over(GradientsParams::from_module(&mut gradients, model));
            if let Some(before) = self.0.last() {
                let outputs = before.outputs.iter().cloned();
                let upstream = inputs.iter().map(|input| input.grad_remove(&mut gradients));
                loss = passes::surrogate_loss(outputs.zip(upstream));
            }
        }
        Ok(())
    }
}

/// Cuts the graph: the same values as a new leaf, which collects a gradient if the original needs one.
fn leaf(output: &Tensor<4>) -> Tensor<4> {
    let constant = output.clone().detach();
    if output.is_tracked() { constant.require_grad() } else { constant }
}

fn rows(maps: &[Tensor<4>]) -> Vec<Tensor<2>> {
    maps.iter().map(|maps| Flow::from(maps.clone()).rows()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashMap;

    use burn::module::list_param_ids;
    use burn::tensor::{DType, Device, TensorData};

    use super::super::testing::{numbers, parameter_gradients, running_statistics};
    use super::*;
    use crate::algorithm::ModelConfig;
    use crate::algorithm::testing::{largest_difference, rng};
    use crate::nn::head::{HeadConfig, HeadKind};
    use crate::nn::initial::{InitialValues, Zeros};
    use crate::nn::resnet::Stem;
    use crate::nn::{Architecture, EncoderConfig};

    fn model(encoder: &EncoderConfig, initial: &mut impl InitialValues) -> Model {
        let network = ModelConfig {
            encoder: encoder.clone(),
            head: HeadConfig { kind: HeadKind::Released, hidden: Some(7), output: 5 },
            ..ModelConfig::default()
        };
        network.init(&Device::flex(), initial).unwrap()
    }

    fn waves<const D: usize>(shape: [usize; D], pace: f32) -> Tensor<D> {
        let values: Vec<f32> =
            (0..shape.iter().product::<usize>()).map(|i| (i as f32 * pace).sin()).collect();
        Tensor::from_data(TensorData::new(values, shape), (&Device::flex(), DType::F32))
    }

    /// Embeddings, projections, gradients and running statistics of a step.
    fn outcome(
        model: &Model,
        embeddings: ViewOutputs,
        [a, b]: [Tensor<2>; 2],
        grads: &[GradientsParams],
    ) -> Vec<Vec<f32>> {
        let [of_a, of_b] = embeddings.split();
        let outputs = [of_a, of_b, a, b].map(numbers).into_iter();
        outputs.chain(parameter_gradients(model, grads)).chain(running_statistics(model)).collect()
    }

    /// The largest difference relative to the largest number of its tensor. Numbers that are 0 up to rounding are compared
    /// absolutely.
    fn off(tensors: &[Vec<f32>], expected: &[Vec<f32>]) -> f32 {
        assert_eq!(tensors.len(), expected.len());
        let of_tensor = |(tensor, expected): (&Vec<f32>, &Vec<f32>)| {
            let largest = expected.iter().fold(1e-2_f32, |most, value| most.max(value.abs()));
            largest_difference(tensor, expected) / largest
        };
        tensors.iter().zip(expected).map(of_tensor).fold(0.0, f32::max)
    }

    #[test]
    fn sections_give_what_one_backward_pass_gives() {
        let residual = |input_size, stem| EncoderConfig {
            name: Architecture::ResNet18,
            input_size,
            stem: Some(stem),
            width: Some(8),
            ..EncoderConfig::default()
        };
        let cases = [
            (EncoderConfig::default(), 3),
            (residual(8, Stem::Cifar), 12),
            (residual(33, Stem::Imagenet), 12),
        ];
        for (encoder, sections) in cases {
            let (name, side) = (encoder.name, encoder.input_size);
            for (apart, is_whole) in [(false, true), (true, true), (false, false), (true, false)] {
                let [a, b] = [0.37, 0.61].map(|pace| waves([3, 3, side, side], pace));
                let views = Views::new(a, b * 0.5 + 0.7).unwrap().with_per_view_batch_norm(apart);
                // An objective may give gradients of one view alone.
                let grad_projections = [Some(waves([3, 5], 1.3)), is_whole.then(|| waves([3, 5], 0.9))];

                let plain = model(&encoder, &mut rng(1));
                let embeddings = passes::embed(&plain, &views);
                let projections = embeddings.project(&plain).split();
                let loss =
                    passes::surrogate_loss(projections.clone().into_iter().zip(grad_projections.clone()));
                let gradients = passes::gradients(&plain, loss.unwrap()).unwrap();
                let expected = outcome(&plain, embeddings, projections, &[gradients]);

                let by_sections = model(&encoder, &mut rng(1));
                let pass = BySections::forward(&by_sections, &views);
                let (embeddings, projections) = (pass.embeddings(), pass.projections());
                let mut grads = Vec::new();
                pass.backward(&by_sections, grad_projections, |grad_section| grads.push(grad_section))
                    .unwrap();
                assert_eq!(grads.len(), sections);
                let tensors = outcome(&by_sections, embeddings, projections, &grads);
                let off = off(&tensors, &expected);
                assert!(off < 1e-5, "{} apart: {apart}, whole: {is_whole}: {off}", name.name());
            }
        }
    }

    #[test]
    fn every_parameter_is_in_one_section() {
        for &name in Architecture::ALL {
            let model = model(&EncoderConfig { name, ..EncoderConfig::default() }, &mut Zeros);
            let mut times = HashMap::new();
            let sections = model.sections();
            for id in sections.iter().flat_map(|section| section.parameters()) {
                *times.entry(*id).or_insert(0) += 1;
            }
            let expected: HashMap<_, _> = list_param_ids(&model).into_iter().map(|id| (id, 1)).collect();
            assert_eq!(times, expected, "{}", name.name());
        }
    }
}
