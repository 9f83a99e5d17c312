//! Tests code that users copy. The Rust of the loss lab compiles and runs; its PyTorch gives core's numbers in each form and
//! with each parameter. `page.rs` and `page.json` are copies of the code of the page, and the browser's test of the lab
//! compares them with the page. `readme.rs` tests the code of the README.

#![allow(clippy::unwrap_used, clippy::panic)]

#[rustfmt::skip]
mod page;
mod readme;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use burn::tensor::{DType, Device, Tensor, TensorData};
use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use simile_core::error::Result;
use simile_core::loss;
use simile_core::loss::spec::Spec;
use simile_core::numeric::matrix::Matrix;
use simile_core::requests::{Outcome, Request};
use simile_tests::settings::{forms, variations};

const SAMPLES: usize = 12;
const DIMENSIONS: usize = 5;

/// The largest difference of the PyTorch in double precision.
const EXACT: f64 = 1e-6;

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

/// Settings of the page with its calls of PyTorch.
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
        let value: f64 = loss.clone().into_scalar();
        assert!((value - expected).abs() < 1e-4 * expected.abs().max(1.0), "{}: {value}", settings[at]);
        let gradient = view_a.grad(&loss.backward()).unwrap().into_data();
        let pairs = gradient.iter::<f64>().zip(outcome.gradients["view_a"].data());
        let far = pairs.map(|(value, expected)| (value - expected).abs()).fold(0.0, f64::max);
        assert!(far < 1e-3, "{}: gradients differ by {far}", settings[at]);
    }
}

/// Runs the PyTorch of objectives with settings, and compares with core in double precision. `allowed` is the difference from a number
/// up to 1, and relative to larger ones.
fn pytorch_finds_what_core_finds(settings: &[Value], dtype: &str, allowed: f64) {
    let Some(python) = simile_tests::python("torch") else { return };
    let inputs = inputs();
    let scripts: Vec<String> = settings.iter().map(script).collect();
    let mut command = Command::new(python);
    command.args(["-c", include_str!("evaluate.py")]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let job = json!({ "dtype": dtype, "inputs": inputs, "scripts": scripts }).to_string();
    child.stdin.take().unwrap().write_all(job.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), settings.len());
    for (setting, answer) in settings.iter().zip(answers) {
        let what = format!("{} {} {}", setting["objective"], setting["variant"], setting["params"]);
        let expected = expected(setting, &inputs);
        let (torch_loss, loss) = (answer["loss"].as_f64().unwrap(), expected.loss.unwrap());
        assert!(
            (torch_loss - loss).abs() < allowed * loss.abs().max(1.0),
            "{what}: {torch_loss} instead of {loss}"
        );
        for view in ["view_a", "view_b"] {
            let gradient: Vec<Vec<f64>> = serde_json::from_value(answer[view].clone()).unwrap();
            let far = |(value, expected): (f64, f64)| (value - expected).abs();
            let expected = expected.gradients[view].data();
            let largest = expected.iter().fold(1.0_f64, |most, g| most.max(g.abs()));
            let pairs = gradient.concat().into_iter().zip(expected.iter().copied());
            let off = pairs.map(far).fold(0.0, f64::max);
            assert!(off < allowed * largest, "{what}: gradients of {view} differ by {off}");
        }
    }
}

/// The PyTorch source of an objective with a call; for a setting of the page it is the page's call.
fn script(setting: &Value) -> String {
    let spec = loss::spec(setting["objective"].as_str().unwrap()).unwrap();
    let call = setting["torch"].as_str().map_or_else(|| call(spec, setting), Into::into);
    format!("{}\n\n{call}\n", spec.pytorch.unwrap())
}

/// A call with every parameter of a setting, which the function must have.
fn call(spec: &Spec, setting: &Value) -> String {
    let function = spec.name.replace('-', "_");
    let known = arguments(spec.pytorch.unwrap(), &function);
    let mut given: Vec<String> = spec.required().map(|input| input.name.into()).collect();
    for (name, value) in setting["params"].as_object().unwrap() {
        let name = in_python(name);
        assert!(known.contains(&name), "{} has no {name}", spec.name);
        given.push(format!("{name}={}", python(value)));
    }
    given.extend(setting["variant"].as_str().map(|variant| format!("variant=\"{variant}\"")));
    format!("loss = {function}({})", given.join(", "))
}

/// The name of a parameter in Python, where `lambda` is a keyword.
fn in_python(name: &str) -> &str {
    if name == "lambda" { "lambda_" } else { name }
}

/// The names of the arguments of a Python function.
fn arguments<'a>(source: &'a str, function: &str) -> Vec<&'a str> {
    let (_, rest) = source.split_once(&format!("def {function}(")).unwrap();
    let (signature, _) = rest.split_once("):\n").unwrap();
    let mut depth = 0;
    let between = |letter: char| {
        depth += i32::from("([{".contains(letter)) - i32::from(")]}".contains(letter));
        letter == ',' && depth == 0
    };
    let names = signature.split(between).map(|argument| argument.split('=').next().unwrap().trim());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn the_arguments_of_a_function_are_those_of_its_signature_alone() {
    let source = "def inner(a, scale=1):\n    pass\n\n\ndef outer(\n    a,\n    *b,\n    kernel={\"name\": \"x\", \"s\": 1},\n    c=None,\n):\n                      inner(a, scale=2)\n";
    assert_eq!(arguments(source, "outer"), ["a", "*b", "kernel", "c"]);
    assert_eq!(arguments(source, "inner"), ["a", "scale"]);
}

/// The documentation of [`Spec::pytorch`] names it.
#[test]
fn the_pytorch_lacks_only_the_parameter_that_is_said_to_be_left_out() {
    let mut left_out = BTreeSet::new();
    for spec in loss::specs() {
        let Some(source) = spec.pytorch else { continue };
        let known = arguments(source, &spec.name.replace('-', "_"));
        let names = spec.parameters.iter().map(|parameter| parameter.name);
        left_out.extend(names.filter(|name| !known.contains(&in_python(name))));
        assert_eq!(known.contains(&"variant"), spec.variants.len() > 1, "{}", spec.name);
    }
    assert_eq!(left_out.into_iter().collect::<Vec<_>>(), ["approximation"]);
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        value => value.to_string(),
    }
}

#[test]
fn the_pytorch_of_the_page_finds_what_core_finds() {
    pytorch_finds_what_core_finds(&settings(), "float64", EXACT);
}

#[test]
fn pytorch_finds_what_core_finds_in_each_form_with_each_parameter() {
    let of = |spec: &Spec| -> Vec<Value> {
        let inputs: Vec<&str> = spec.required().map(|input| input.name).collect();
        let setting = |variant: Option<&str>, params: Value| json!({ "objective": spec.name, "variant": variant, "params": params, "inputs": inputs });
        let forms = forms(spec).into_iter();
        forms.flat_map(|form| variations(spec).into_iter().map(move |params| setting(form, params))).collect()
    };
    let settings: Vec<Value> = loss::specs().filter(|spec| spec.pytorch.is_some()).flat_map(of).collect();
    assert!(settings.len() > 100);
    pytorch_finds_what_core_finds(&settings, "float64", EXACT);
}

/// `exp(6 / 0.05)` is beyond single precision.
#[test]
fn the_pytorch_of_hard_negatives_has_numbers_in_single_precision_at_a_low_temperature() {
    let params = json!({ "temperature": 0.05, "beta": 5.0 });
    let setting = json!({ "objective": "hcl", "params": params, "inputs": ["view_a", "view_b"] });
    pytorch_finds_what_core_finds(&[setting], "float32", 1e-4);
}
