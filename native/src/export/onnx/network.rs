//! The layers of an encoder in ONNX, one place for each kind.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use simile_core::nn::Operation;
use simile_core::nn::checkpoint::HostTensor;

use super::builder::{Builder, Setting};

/// What Simile's and PyTorch's batch norms add to a variance.
const EPSILON: f32 = 1e-5;

/// The tensors of a checkpoint, which become those of the graph when a layer needs them.
pub(super) struct Layers<'a> {
    pub(super) graph: &'a mut Builder,
    pub(super) tensors: &'a BTreeMap<String, HostTensor>,
}

impl Layers<'_> {
    /// Adds operations one after another, and returns the name of the last output.
    ///
    /// # Errors
    /// A tensor is missing.
    pub(super) fn all(&mut self, input: &str, operations: &[Operation]) -> Result<String> {
        operations.iter().try_fold(input.to_owned(), |input, operation| self.one(&input, operation))
    }

    fn one(&mut self, input: &str, operation: &Operation) -> Result<String> {
        Ok(match operation {
            Operation::Convolution { name, stride, padding } => {
                let inputs = self.with_tensors(input, name, &["weight"], &["bias"])?;
                let settings = [("strides", twice(*stride)), ("pads", pads(*padding))];
                self.graph.node("Conv", &names(&inputs), settings)
            }
            Operation::Normalisation { name } => {
                let tensors = ["weight", "bias", "running_mean", "running_var"];
                let inputs = self.with_tensors(input, name, &tensors, &[])?;
                let settings = [("epsilon", Setting::Float(EPSILON))];
                self.graph.node("BatchNormalization", &names(&inputs), settings)
            }
            Operation::Relu => self.graph.plain("Relu", &[input]),
            Operation::LeakyRelu { slope } => {
                self.graph.node("LeakyRelu", &[input], [("alpha", Setting::Float(*slope as f32))])
            }
            Operation::Tanh => self.graph.plain("Tanh", &[input]),
            Operation::Maximum { side, stride, padding } => {
                let settings =
                    [("kernel_shape", twice(*side)), ("strides", twice(*stride)), ("pads", pads(*padding))];
                self.graph.node("MaxPool", &[input], settings)
            }
            Operation::Mean { side } => {
                let settings = [("kernel_shape", twice(*side)), ("strides", twice(*side))];
                self.graph.node("AveragePool", &[input], settings)
            }
            Operation::GlobalMean => {
                let means = self.graph.plain("GlobalAveragePool", &[input]);
                self.graph.plain("Flatten", &[&means])
            }
            Operation::Flatten => self.graph.plain("Flatten", &[input]),
            Operation::Linear { name } => {
                let inputs = self.with_tensors(input, name, &["weight"], &["bias"])?;
                self.graph.node("Gemm", &names(&inputs), [("transB", Setting::Integer(1))])
            }
            Operation::Sum([one, other]) => {
                let (one, other) = (self.all(input, one)?, self.all(input, other)?);
                self.graph.plain("Add", &[&one, &other])
            }
        })
    }

    /// An input and the tensors of a layer: all of `needed`, and those of `optional` that there are.
    fn with_tensors(
        &mut self,
        input: &str,
        layer: &str,
        needed: &[&str],
        optional: &[&str],
    ) -> Result<Vec<String>> {
        let mut inputs = vec![input.to_owned()];
        for name in needed.iter().chain(optional).map(|tensor| format!("{layer}.{tensor}")) {
            if let Some(HostTensor { shape, values }) = self.tensors.get(&name) {
                inputs.push(self.graph.floats(&name, shape, values));
            } else {
                let is_optional = optional.iter().any(|of| name.ends_with(of));
                is_optional.then_some(()).with_context(|| format!("the model lacks the tensor {name}"))?;
            }
        }
        Ok(inputs)
    }
}

fn names(inputs: &[String]) -> Vec<&str> {
    inputs.iter().map(String::as_str).collect()
}

fn twice(value: usize) -> Setting {
    Setting::Integers(vec![value as i64; 2])
}

/// The same number of lines at all four sides.
fn pads(padding: usize) -> Setting {
    Setting::Integers(vec![padding as i64; 4])
}
