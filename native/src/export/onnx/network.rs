//! The layers of an encoder in ONNX, one place for each kind.

use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

use anyhow::{Context as _, Result, bail};
use simile_core::nn::Operation;
use simile_core::nn::checkpoint::HostTensor;

use super::builder::{Builder, Setting};

/// The constant that batch norms of Simile and PyTorch add to the variance.
const EPSILON: f32 = 1e-5;

/// Adds layers to a graph. A tensor of the checkpoint is copied to the graph when a layer needs it.
pub(super) struct Layers<'a> {
    pub(super) graph: &'a mut Builder,
    pub(super) tensors: &'a BTreeMap<String, HostTensor>,
}

impl<'a> Layers<'a> {
    /// Adds operations one after another, and returns the name of the last output.
    ///
    /// # Errors
    /// A tensor is missing.
    pub(super) fn all(&mut self, input: &str, operations: &[Operation]) -> Result<String> {
        operations.iter().try_fold(input.to_owned(), |input, operation| self.one(&input, operation))
    }

    /// Adds an operation, and returns the name of its output.
    fn one(&mut self, input: &str, operation: &Operation) -> Result<String> {
        Ok(match operation {
            Operation::Convolution { name, stride, padding } => {
                let inputs = self.with_tensors(input, name, &["weight"], &["bias"])?;
                let settings = [("strides", twice(*stride)), ("pads", pads(*padding))];
                self.graph.node("Conv", &names(&inputs), settings)
            }
            Operation::BatchNorm { name } => {
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
            Operation::MaxPool { side, stride, padding } => {
                let settings =
                    [("kernel_shape", twice(*side)), ("strides", twice(*stride)), ("pads", pads(*padding))];
                self.graph.node("MaxPool", &[input], settings)
            }
            Operation::AvgPool { side } => {
                let settings = [("kernel_shape", twice(*side)), ("strides", twice(*side))];
                self.graph.node("AveragePool", &[input], settings)
            }
            Operation::GlobalAvgPool => {
                let means = self.graph.plain("GlobalAveragePool", &[input]);
                self.graph.plain("Flatten", &[&means])
            }
            Operation::Flatten => self.graph.plain("Flatten", &[input]),
            Operation::Linear { name } => {
                let inputs = self.with_tensors(input, name, &["weight"], &["bias"])?;
                self.graph.node("Gemm", &names(&inputs), [("transB", Setting::Integer(1))])
            }
            Operation::Tokens { class, positions } => self.tokens(input, class, positions)?,
            Operation::LayerNorm { name, epsilon } => {
                let inputs = self.with_tensors(input, name, &["weight", "bias"], &[])?;
                let settings = [("axis", Setting::Integer(-1)), ("epsilon", Setting::Float(*epsilon as f32))];
                self.graph.node("LayerNormalization", &names(&inputs), settings)
            }
            Operation::Attention { name, heads, tokens } => self.attention(input, name, *heads, *tokens)?,
            Operation::Gelu => self.gelu(input),
            Operation::FirstToken { tokens } => self.first_token(input, *tokens),
            Operation::Sum([one, other]) => {
                let (one, other) = (self.all(input, one)?, self.all(input, other)?);
                self.graph.plain("Add", &[&one, &other])
            }
        })
    }

    /// `x (1 + erf(x / √2)) / 2`, for which this version of ONNX has no operation.
    fn gelu(&mut self, input: &str) -> String {
        let [root, one, half] = [SQRT_2, 1.0, 0.5].map(|value| self.graph.number(value));
        let scaled = self.graph.plain("Div", &[input, &root]);
        let error = self.graph.plain("Erf", &[&scaled]);
        let twice = self.graph.plain("Add", &[&error, &one]);
        let below = self.graph.plain("Mul", &[&twice, &half]);
        self.graph.plain("Mul", &[input, &below])
    }

    /// One row of each `tokens`.
    fn first_token(&mut self, rows: &str, tokens: usize) -> String {
        let window = [0, i64::MAX, 0, tokens as i64].map(|value| self.graph.integers(&[value]));
        let inputs: Vec<&str> = std::iter::once(rows).chain(window.iter().map(String::as_str)).collect();
        self.graph.plain("Slice", &inputs)
    }

    fn tokens(&mut self, maps: &str, class: &str, positions: &str) -> Result<String> {
        let width = self.width(class)?;
        let [class, positions] = [self.tensor(class)?, self.tensor(positions)?];
        let (places, one, rows) = (
            self.graph.integers(&[0, 0, -1]),
            self.graph.integers(&[1, 1]),
            self.graph.integers(&[-1, width]),
        );
        let flat = self.graph.plain("Reshape", &[maps, &places]);
        let flat = self.graph.node("Transpose", &[&flat], [("perm", Setting::Integers(vec![0, 2, 1]))]);
        let images = self.graph.node("Shape", &[maps], [("end", Setting::Integer(1))]);
        let shape = self.graph.node("Concat", &[&images, &one], [("axis", Setting::Integer(0))]);
        let class = self.graph.plain("Expand", &[&class, &shape]);
        let tokens = self.graph.node("Concat", &[&class, &flat], [("axis", Setting::Integer(1))]);
        let placed = self.graph.plain("Add", &[&tokens, &positions]);
        Ok(self.graph.plain("Reshape", &[&placed, &rows]))
    }

    fn attention(&mut self, rows: &str, name: &str, heads: usize, tokens: usize) -> Result<String> {
        let linear = |part: &str| Operation::Linear { name: format!("{name}.{part}") };
        let all = self.one(rows, &linear("qkv"))?;
        let width = self.width(&format!("{name}.proj.weight"))?;
        let each = width / heads.max(1) as i64;
        let split = self.graph.integers(&[-1, tokens as i64, heads as i64, each]);
        let axis = self.graph.integers(&[1]);
        // Keys are transposed to `[heads, numbers, tokens]`, for their product with the queries.
        let parts = [[0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]].iter().zip(0..).map(|(order, at)| {
            let (from, to) = (self.graph.integers(&[at * width]), self.graph.integers(&[(at + 1) * width]));
            let part = self.graph.plain("Slice", &[&all, &from, &to, &axis]);
            let part = self.graph.plain("Reshape", &[&part, &split]);
            self.graph.node("Transpose", &[&part], [("perm", Setting::Integers(order.to_vec()))])
        });
        let parts: Vec<String> = parts.collect();
        let [query, key, value] = parts.as_slice() else { bail!("attention has three parts") };
        let root = self.graph.number((each as f64).sqrt());
        let products = self.graph.plain("MatMul", &[query, key]);
        let scores = self.graph.plain("Div", &[&products, &root]);
        let weights = self.graph.node("Softmax", &[&scores], [("axis", Setting::Integer(-1))]);
        let mixed = self.graph.plain("MatMul", &[&weights, value]);
        let mixed = self.graph.node("Transpose", &[&mixed], [("perm", Setting::Integers(vec![0, 2, 1, 3]))]);
        let joined = self.graph.integers(&[-1, width]);
        let mixed = self.graph.plain("Reshape", &[&mixed, &joined]);
        self.one(&mixed, &linear("proj"))
    }

    /// The size of the last dimension of a tensor.
    fn width(&self, name: &str) -> Result<i64> {
        Ok(self.host_tensor(name)?.shape.last().copied().unwrap_or(1) as i64)
    }

    /// Adds a tensor to the graph.
    fn tensor(&mut self, name: &str) -> Result<String> {
        Ok(self.graph.tensor(name, self.host_tensor(name)?))
    }

    fn host_tensor(&self, name: &str) -> Result<&'a HostTensor> {
        self.tensors.get(name).with_context(|| format!("the model lacks the tensor {name}"))
    }

    /// The input and the tensors of a layer: all of `needed`, and those of `optional` that exist.
    fn with_tensors(
        &mut self,
        input: &str,
        layer: &str,
        needed: &[&str],
        optional: &[&str],
    ) -> Result<Vec<String>> {
        let mut inputs = vec![input.to_owned()];
        for name in needed.iter().chain(optional).map(|tensor| format!("{layer}.{tensor}")) {
            if let Some(tensor) = self.tensors.get(&name) {
                inputs.push(self.graph.tensor(&name, tensor));
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

/// The same padding on all four sides.
fn pads(padding: usize) -> Setting {
    Setting::Integers(vec![padding as i64; 4])
}
