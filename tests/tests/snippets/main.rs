//! Code that users copy. Of the loss lab: Rust that compiles and runs, PyTorch that gives core's numbers; `page.rs`
//! and `page.json` are copies of the code of the page, and the browser's test of the lab compares them with the page.
//! Of the README: `readme.rs`.

#![allow(clippy::unwrap_used, clippy::panic)]

#[rustfmt::skip]
mod page;
mod readme;

use std::io::Write as _;
use std::process::{Command, Stdio};

use burn::tensor::{DType, Device, Tensor, TensorData};
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use simile_core::error::Result;
use simile_core::numeric::matrix::Matrix;
use simile_core::requests::{Outcome, Request};

const SAMPLES: usize = 12;
const DIMENSIONS: usize = 5;

/// A snippet with a function around it.
type Snippet = fn(Inputs) -> Result<Tensor<1>>;

/// The variables that a snippet uses.
pub(crate) struct Inputs {
    pub(crate) view_a: Tensor<2>,
    pub(crate) view_b: Tensor<2>,
    pub(crate) z: Matrix,
    pub(crate) labels: Vec<usize>,
    pub(crate) bias: Vec<usize>,
}

/// Settings with their PyTorch functions.
fn settings() -> Vec<Value> {
    serde_json::from_str(include_str!("page.json")).unwrap()
}

/// Two similar views of some samples, and their conditions.
fn inputs() -> Value {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut rows = |columns: usize| -> Vec<Vec<f64>> {
        (0..SAMPLES).map(|_| (0..columns).map(|_| rng.random_range(-1.0..1.0)).collect()).collect()
    };
    let (view_a, noise) = (rows(DIMENSIONS), rows(DIMENSIONS));
    let near = |(row, noise): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
        row.iter().zip(noise).map(|(value, noise)| value + noise / 2.0).collect()
    };
    let view_b: Vec<Vec<f64>> = view_a.iter().zip(&noise).map(near).collect();
    let labels: Vec<usize> = (0..SAMPLES).map(|at| at % 3).collect();
    let bias: Vec<usize> = (0..SAMPLES).map(|at| at / 3 % 2).collect();
    json!({ "view_a": view_a, "view_b": view_b, "z": rows(2), "labels": labels, "bias": bias })
}

/// The result of core in double precision.
fn expected(setting: &Value, inputs: &Value) -> Outcome {
    let used: Vec<String> = serde_json::from_value(setting["inputs"].clone()).unwrap();
    let case = Request {
        objective: setting["objective"].as_str().unwrap().into(),
        variant: setting["variant"].as_str().map(Into::into),
        params: setting["params"].clone(),
        inputs: used.into_iter().map(|name| (name.clone(), inputs[&name].clone())).collect(),
    };
    pollster::block_on(case.run(&Device::flex(), DType::F64, None)).unwrap()
}

#[test]
fn the_rust_of_the_page_compiles_and_finds_the_loss() {
    let (settings, inputs) = (settings(), inputs());
    let device = Device::flex().autodiff();
    let rows = |name: &str| -> Vec<Vec<f64>> { serde_json::from_value(inputs[name].clone()).unwrap() };
    let tensor = |name: &str| {
        let values: Vec<f32> = rows(name).concat().iter().map(|&value| value as f32).collect();
        Tensor::<2>::from_data(TensorData::new(values, [SAMPLES, DIMENSIONS]), &device).require_grad()
    };
    let indices = |name: &str| -> Vec<usize> { serde_json::from_value(inputs[name].clone()).unwrap() };
    for (at, snippet) in page::SNIPPETS {
        let (view_a, view_b, z) = (tensor("view_a"), tensor("view_b"), rows("z"));
        let loss = snippet(Inputs {
            view_a: view_a.clone(),
            view_b,
            z: Matrix::from_fn(SAMPLES, 2, |i, j| z[i][j]),
            labels: indices("labels"),
            bias: indices("bias"),
        });
        let loss = loss.unwrap();
        let outcome = expected(&settings[at], &inputs);
        let expected = outcome.loss.unwrap();
        let found: f64 = loss.clone().into_scalar();
        assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{}: {found}", settings[at]);
        let gradient = view_a.grad(&loss.backward()).unwrap().into_data();
        let rows = outcome.gradients["view_a"].concat();
        let far =
            gradient.iter::<f64>().zip(rows).map(|(found, row)| (found - row).abs()).fold(0.0, f64::max);
        assert!(far < 1e-3, "{}: gradients differ by {far}", settings[at]);
    }
}

#[test]
fn the_pytorch_of_the_page_finds_what_core_finds() {
    let Some(python) = simile_tests::python("torch") else { return };
    let (settings, inputs) = (settings(), inputs());
    let snippets: Vec<&Value> = settings.iter().map(|setting| &setting["torch"]).collect();
    let mut command = Command::new(python);
    command.args(["-c", include_str!("evaluate.py")]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let job = json!({ "inputs": inputs, "snippets": snippets }).to_string();
    child.stdin.take().unwrap().write_all(job.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), settings.len());
    for (setting, answer) in settings.iter().zip(answers) {
        let what = format!("{} {} {}", setting["objective"], setting["variant"], setting["params"]);
        let expected = expected(setting, &inputs);
        let (found, loss) = (answer["loss"].as_f64().unwrap(), expected.loss.unwrap());
        assert!((found - loss).abs() < 1e-6 * loss.abs().max(1.0), "{what}: {found} instead of {loss}");
        for view in ["view_a", "view_b"] {
            let found: Vec<Vec<f64>> = serde_json::from_value(answer[view].clone()).unwrap();
            let pairs = found.concat().into_iter().zip(expected.gradients[view].concat());
            let far = pairs.map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
            assert!(far < 1e-6, "{what}: gradients of {view} differ by {far}");
        }
    }
}
