//! Inputs on which a formula is hard to evaluate or not defined: a typed error, or finite numbers everywhere.

use burn::tensor::{DType, Device};
use serde_json::Value;
use simile_core::loss;
use simile_core::loss::spec::{Input, InputKind, Kind, Parameter, Range, Spec};
use simile_core::numeric::matrix::Matrix;
use simile_core::requests::Request;
use simile_tests::settings::forms;

use crate::batches::{Inputs, Outcome, Setting, batches, evaluate, settings};

/// Changes every set of embeddings.
type Change = fn(&Matrix) -> Matrix;

const EMBEDDED: [(&str, Change); 7] = [
    ("as drawn", Clone::clone),
    ("one zero row", |m| Matrix::from_fn(m.rows(), m.columns(), |i, j| if i == 0 { 0.0 } else { m[(i, j)] })),
    ("all zero", |m| Matrix::zeros(m.rows(), m.columns())),
    ("all equal", |m| Matrix::from_fn(m.rows(), m.columns(), |_, j| m[(0, j)])),
    ("opposite", |m| {
        Matrix::from_fn(m.rows(), m.columns(), |i, j| if i % 2 == 0 { m[(0, j)] } else { -m[(0, j)] })
    }),
    ("huge and tiny", |m| {
        Matrix::from_fn(m.rows(), m.columns(), |i, j| m[(i, j)] * if i % 2 == 0 { 1e6 } else { 1e-6 })
    }),
    ("beyond the squares of f32", |m| {
        Matrix::from_fn(m.rows(), m.columns(), |i, j| m[(i, j)] * if i % 2 == 0 { 1e30 } else { 1e-30 })
    }),
];

/// True if an objective takes embeddings without normalising them, whose second moments have to be representable.
fn is_on_raw_values(spec: &Spec) -> bool {
    spec.inputs.iter().any(|input| input.is_embedding() && input.kind == InputKind::Rows)
}

/// The name of the first output that is not finite.
fn not_finite(outcome: &Outcome) -> Option<String> {
    if !outcome.loss.is_finite() {
        return Some(format!("loss {}", outcome.loss));
    }
    let of_gradient = outcome.gradients.iter().find(|(_, g)| g.first_not_finite().is_some());
    of_gradient.map(|(name, _)| format!("gradient of {name}")).or_else(|| null(&outcome.aux))
}

/// A number that is not finite is `null` in JSON.
fn null(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("aux".into()),
        Value::Array(values) => values.iter().find_map(null),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, value)| null(value).map(|_| format!("aux.{name}")))
        }
        _ => None,
    }
}

/// With tiles the embeddings are given as unit rows. Returns the failures, and the numbers of batches on which the
/// objective was defined and not defined.
fn failures(setting: &Setting, dtype: DType, tile: Option<usize>) -> (Vec<String>, [usize; 2]) {
    let mut failures = Vec::new();
    let mut counts = [0, 0];
    for (kind, labels, bias) in batches() {
        let drawn = Inputs::random(setting.spec.name, &labels, &bias, 4, 7);
        for (change, apply) in EMBEDDED {
            if is_on_raw_values(setting.spec) && change.starts_with("beyond") {
                continue;
            }
            let mut inputs = drawn.clone();
            for name in &drawn.embeddings {
                let changed = apply(&drawn.tensors[name]);
                inputs.tensors.insert(name.clone(), changed);
            }
            let inputs = if tile.is_some() { inputs.with_unit_rows() } else { inputs };
            let batch = inputs.batch(dtype).with_tile(tile).with_details(true);
            let outcome = evaluate(setting.objective.as_ref(), &batch);
            counts[usize::from(outcome.is_err())] += 1;
            if let Ok(Some(what)) = outcome.map(|o| not_finite(&o)) {
                failures.push(format!("{setting}, {kind}, {change}, {dtype:?}, tile {tile:?}: {what}"));
            }
        }
    }
    (failures, counts)
}

/// Tests settings in both float types, and asserts that few batches are refused.
fn all_finite(settings: Vec<Setting>) {
    let mut all_failures = Vec::new();
    let (mut defined, mut refused) = (0, 0);
    for setting in settings {
        for (dtype, tile) in [(DType::F64, Some(2)), (DType::F32, None)] {
            let (failures, counts) = failures(&setting, dtype, tile);
            all_failures.extend(failures);
            defined += counts[0];
            refused += counts[1];
        }
    }
    assert!(
        all_failures.is_empty(),
        "{} failures\n{}",
        all_failures.len(),
        all_failures[..all_failures.len().min(60)].join("\n")
    );
    assert!(refused * 20 < defined, "{refused} refused, {defined} not");
}

#[test]
fn finite_input_gives_finite_output() {
    all_finite(settings());
}

#[test]
fn a_very_low_temperature_is_finite() {
    let low = |spec: &'static Spec, form| {
        Setting::new(spec, form, serde_json::json!({ "temperature": 0.01 })).unwrap()
    };
    let with_one = loss::specs().filter(|spec| spec.parameter("temperature").is_some());
    all_finite(with_one.flat_map(|spec| forms(spec).into_iter().map(move |form| low(spec, form))).collect());
}

#[test]
fn a_zero_embedding_has_no_gradient() {
    let is_normalised = |input: &Input| input.is_embedding() && input.kind == InputKind::Embeddings;
    for spec in loss::specs().filter(|spec| spec.inputs.iter().any(is_normalised)) {
        let name = spec.name;
        let objective = loss::build(name, None, Value::Null).unwrap();
        let mut inputs = Inputs::random(name, &[0, 1, 0, 1], &[0, 0, 1, 1], 3, 5);
        for name in &inputs.embeddings {
            inputs.tensors.get_mut(name).unwrap().row_mut(2).fill(0.0);
        }
        let outcome = evaluate(objective.as_ref(), &inputs.batch(DType::F64)).unwrap();
        for (input, gradient) in
            outcome.gradients.iter().filter(|(input, _)| inputs.embeddings.contains(input))
        {
            assert!(gradient.row(2).iter().all(|g| *g == 0.0), "{name}: {input} {:?}", gradient.row(2));
            assert!(gradient.row(1).iter().any(|g| *g != 0.0), "{name}: {input} has no gradient at all");
        }
    }
}

#[test]
fn anchors_without_negatives_or_positives_are_zero() {
    let alone: [(&str, &[usize], &[usize]); 9] = [
        ("nt-xent", &[0], &[0]),
        ("supcon", &[0], &[0]),
        ("dcl", &[0], &[0]),
        ("hcl", &[0], &[0]),
        ("dc", &[0], &[0]),
        ("dclw", &[0], &[0]),
        ("decoupled-uniformity", &[0], &[0]),
        ("biascon", &[0, 0, 1], &[1, 1, 0]),
        ("fair-info-nce", &[0, 1, 2], &[0, 0, 0]),
    ];
    for (name, labels, bias) in alone {
        let objective = loss::build(name, None, Value::Null).unwrap();
        let inputs = Inputs::random(name, labels, bias, 3, 5);
        let outcome = evaluate(objective.as_ref(), &inputs.batch(DType::F64)).unwrap();
        assert!(outcome.loss.abs() < 1e-12, "{name}: {}", outcome.loss);
        let largest = outcome.gradients.values().flat_map(|g| g.data()).fold(0.0_f64, |m, g| m.max(g.abs()));
        assert!(largest < 1e-12, "{name}: {largest}");
    }
}

#[test]
fn a_batch_of_one_label_leaves_contex_its_self_supervised_term() {
    let inputs = Inputs::random("contex", &[1, 1, 1], &[0, 0, 0], 4, 3);
    let mut batch = inputs;
    batch.indices.remove("bias");
    let batch = batch.batch(DType::F64);
    let value = |name: &str, params: Value| {
        evaluate(loss::build(name, Some("paper"), params).unwrap().as_ref(), &batch).unwrap().loss
    };
    let nt_xent = value("nt-xent", serde_json::json!({ "temperature": 0.2 }));
    let clipped = value("contex-p", serde_json::json!({ "temperature": 0.2, "mix": 0.5 }));
    assert!((clipped - nt_xent / 2.0).abs() < 1e-12);
}

/// The scale of the values of an input, and the float type.
const SIZES: [(f64, DType); 6] = [
    (1e30, DType::F64),
    (1e-30, DType::F64),
    (1e300, DType::F64),
    (1e30, DType::F32),
    (1e-30, DType::F32),
    (3e38, DType::F32),
];

/// True if an objective has an input that is no embedding, or is taken as it is, so that the loss itself can be larger
/// than the float type holds.
fn is_on_large_values(spec: &Spec) -> bool {
    spec.inputs.iter().any(|input| input.kind == InputKind::Rows)
}

/// A setting as a case with inputs of that scale: tensors such as embeddings and scores, or host matrices.
fn extreme(setting: &Setting, size: f64, of_host: bool) -> Request {
    let inputs = Inputs::random(setting.spec.name, &[0, 1, 0, 2, 1, 0], &[0, 1, 1, 0, 1, 2], 4, 9);
    let mut document = serde_json::Map::new();
    let rows = |matrix: &Matrix, size: f64| {
        let rows = matrix.iter_rows().map(|row| row.iter().map(|value| value * size).collect::<Vec<f64>>());
        Value::from(rows.map(Value::from).collect::<Vec<Value>>())
    };
    for (name, matrix) in &inputs.tensors {
        document.insert(name.clone(), rows(matrix, if of_host { 1.0 } else { size }));
    }
    for (name, values) in &inputs.indices {
        document.insert(name.clone(), values.clone().into());
    }
    for (name, matrix) in &inputs.conditions {
        document.insert(name.clone(), rows(matrix, if of_host { size } else { 1.0 }));
    }
    Request {
        objective: setting.spec.name.into(),
        variant: setting.variant.map(String::from),
        params: setting.params.clone(),
        inputs: document,
    }
}

#[test]
fn extreme_inputs_give_numbers_or_an_error_that_names_them() {
    let mut failures = Vec::new();
    for setting in settings() {
        for ((size, dtype), of_host) in SIZES.iter().flat_map(|size| [(size, false), (size, true)]) {
            let case = extreme(&setting, *size, of_host);
            let outcome = pollster::block_on(case.run(&Device::flex(), *dtype, None));
            let Err(error) = outcome else { continue };
            let error = error.to_string();
            let names = case.inputs.keys().any(|name| error.contains(&format!("`{name}`")));
            // Embeddings are compared by their cosines, and tiny values are representable.
            let is_due = (of_host || is_on_large_values(setting.spec)) && *size > 1.0;
            if !names || !is_due || error.len() > 250 {
                failures.push(format!("{setting}, {size:e} in {dtype:?}, host {of_host}: {error}"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures[..failures.len().min(60)].join("\n")
    );
}

#[test]
fn the_lowest_temperature_is_finite_and_a_lower_one_is_named() {
    let mut tried = 0;
    let of_forms = loss::specs().flat_map(|spec| forms(spec).into_iter().map(move |form| (spec, form)));
    for (spec, variant) in of_forms {
        // With a ridge of 1e-12 a system of equations may have no solution, which is an error that says so.
        let is_divisor = |parameter: &&Parameter| {
            parameter.kind == Kind::Number(Range::Moderate) && !(spec.solves() && parameter.name == "lambda")
        };
        for key in spec.parameters.iter().filter(is_divisor).map(|parameter| parameter.name) {
            let params = |value: f64| serde_json::json!({ key: value });
            tried += 1;
            for value in [1e-320, 1e-30, 1e300] {
                let error = loss::build(spec.name, variant, params(value)).unwrap_err().to_string();
                assert!(error.contains(&format!("`{key}` is {value:e}")), "{}: {error}", spec.name);
            }
            for (value, dtype) in [1e-12, 1e11].into_iter().flat_map(|v| [(v, DType::F64), (v, DType::F32)]) {
                let setting = Setting::new(spec, variant, params(value)).unwrap();
                let case = extreme(&setting, 1.0, false);
                let outcome = pollster::block_on(case.run(&Device::flex(), dtype, None));
                assert!(outcome.is_ok(), "{setting} in {dtype:?}: {}", outcome.unwrap_err());
            }
        }
    }
    assert!(tried > 60, "{tried}");
}
