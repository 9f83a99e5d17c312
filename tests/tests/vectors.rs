//! Every reference vector, through the case runner, within the tolerances that its README states.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::collections::BTreeMap;

use burn::tensor::{DType, Device};
use serde_json::Value;
use simile_core::case::{Case, CaseOutcome};

/// Cases whose tolerance in f32 is that of a linear solve.
const WITH_SOLVE: [&str; 4] = ["fair-cclk", "weaksup-cclk", "hardneg-cclk", "kernel-decoupled-uniformity"];

/// Fields of `aux` that describe the run of the released code or of another one, repeat a parameter, or need
/// what is not in the file.
const NOT_RESULTS: [&str; 15] = [
    "self_weight_noise",
    "f32_released_max_abs_err",
    "queue_after",
    "queue_ptr_before",
    "queue_ptr_after",
    "formula",
    "temp_z",
    "sigma",
    "gamma",
    "offset",
    "degree",
    "note_value",
    "google_simclr_loss_a_plus_loss_b",
    "atanov_ntxent",
    "supcontrast_unsupervised",
];

/// Cases without a unique result: they are compared by their loss here, and more closely by tests of their
/// own.
const NOT_UNIQUE: [&str; 2] = ["kmeans", "linear-probe"];

struct Reference {
    file: String,
    json: Value,
}

fn references() -> Vec<Reference> {
    let Some(folder) = simile_tests::vectors() else {
        println!("skipped: no reference vectors (set SIMILE_VECTORS)");
        return Vec::new();
    };
    let mut references: Vec<Reference> = (std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| Reference {
            file: path.file_name().unwrap().to_string_lossy().into_owned(),
            json: serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap(),
        })
        .collect();
    references.sort_by(|a, b| a.file.cmp(&b.file));
    references
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    let rows = value.as_array().unwrap();
    if rows.first().is_some_and(Value::is_number) {
        return vec![rows.iter().map(|v| v.as_f64().unwrap()).collect()];
    }
    rows.iter().map(|row| row.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()).collect()
}

/// Largest absolute error, relative to the largest entry of the reference (at least 1e-6).
fn gradient_error(found: &[Vec<f64>], expected: &[Vec<f64>]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    let largest = expected.iter().flatten().fold(1e-6_f64, |m, v| m.max(v.abs()));
    let pairs = found.iter().flatten().zip(expected.iter().flatten());
    pairs.map(|(a, b)| if a.is_finite() { (a - b).abs() } else { f64::INFINITY }).fold(0.0, f64::max)
        / largest
}

/// Compares whatever is a number in `expected`; errors are relative to the largest entry of a list.
fn compare_aux(found: &Value, expected: &Value, name: &str, tolerance: f64) -> Result<(), String> {
    match expected {
        Value::Object(fields) => {
            for (field, expected) in fields.iter().filter(|(field, _)| !NOT_RESULTS.contains(&field.as_str()))
            {
                let found = found.get(field).ok_or(format!("{name}.{field} is missing"))?;
                compare_aux(found, expected, &format!("{name}.{field}"), tolerance)?;
            }
            Ok(())
        }
        Value::Array(_) => {
            let (found, expected) = (numbers(found), numbers(expected));
            let largest = expected.iter().fold(1e-6_f64, |m, v| m.max(v.abs()));
            let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
            match found.len() == expected.len() && worst <= tolerance {
                true => Ok(()),
                false => Err(format!(
                    "{name} is off by {worst:.1e} ({} of {} numbers)",
                    found.len(),
                    expected.len()
                )),
            }
        }
        Value::Number(expected) => {
            let (found, expected) =
                (found.as_f64().ok_or(format!("{name} is no number"))?, expected.as_f64().unwrap());
            match (found - expected).abs() <= tolerance * expected.abs().max(1.0) {
                true => Ok(()),
                false => Err(format!("{name} is {found}, expected {expected}")),
            }
        }
        _ => Ok(()),
    }
}

/// All numbers of nested lists, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        value => value.as_f64().into_iter().collect(),
    }
}

fn run(reference: &Reference, dtype: DType, tile: Option<usize>) -> Result<CaseOutcome, String> {
    let case = Case::parse(&reference.json.to_string()).map_err(|e| e.to_string())?;
    let device = Device::flex();
    pollster::block_on(case.run(&device, dtype, tile)).map_err(|e| e.to_string())
}

fn compare(reference: &Reference, dtype: DType, tile: Option<usize>) -> Result<(), String> {
    let json = &reference.json;
    let outcome = run(reference, dtype, tile)?;
    let with_solve = WITH_SOLVE.contains(&json["objective"].as_str().unwrap());
    let temperature = json["params"]["temperature"].as_f64().unwrap_or(1.0);
    let (rtol, atol, of_gradient) = match dtype {
        DType::F64 => (if with_solve { 1e-8 } else { 1e-9 }, 1e-10, 1e-8),
        _ if with_solve => (1e-4, 1e-4, 1e-3),
        _ => (1e-4, 1e-5, if temperature <= 0.07 { 1e-3 } else { 1e-4 }),
    };
    if let Some(expected) = json["loss"].as_f64() {
        let found = outcome.loss.ok_or("no loss")?;
        // The released probe stops early: an objective below its own is right, one above is judged as by the README.
        let probe = json["objective"] == "linear-probe";
        let minimum = json["aux"]["minimum_found_by_bfgs"].as_f64().filter(|_| probe);
        if let Some(minimum) = minimum {
            if !(found <= minimum + 1e-5 * (1.0 + minimum.abs())) {
                return Err(format!("objective {found}, minimum {minimum}"));
            }
        } else if !((found - expected).abs() <= atol + rtol * expected.abs()) {
            return Err(format!("loss {found}, expected {expected}"));
        }
    }
    let mut expected: BTreeMap<String, &Value> = BTreeMap::new();
    for (field, input) in [("grad_a", "view_a"), ("grad_b", "view_b")] {
        if json[field].is_array() {
            expected.insert(input.into(), &json[field]);
        }
    }
    for (input, gradient) in json["grads"].as_object().into_iter().flatten() {
        expected.insert(input.clone(), gradient);
    }
    for (input, gradient) in expected {
        let found = outcome.gradients.get(&input).ok_or(format!("no gradient of {input}"))?;
        let error = gradient_error(found, &matrix(gradient));
        if error.is_nan() || error > of_gradient {
            return Err(format!("gradient of {input} is off by {error:.1e}"));
        }
    }
    if NOT_UNIQUE.contains(&json["objective"].as_str().unwrap()) {
        return Ok(());
    }
    let of_aux = if dtype == DType::F64 { 1e-8 } else { 2e-3 };
    compare_aux(&outcome.aux, &json["aux"], "aux", of_aux)
}

fn all_match(dtype: DType, tile: Option<usize>) {
    let references = references();
    let failures: Vec<String> = references
        .iter()
        .filter_map(|r| compare(r, dtype, tile).err().map(|e| format!("{}: {e}", r.file)))
        .collect();
    println!("{} of {} vectors match in {dtype:?}", references.len() - failures.len(), references.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn match_in_f64() {
    all_match(DType::F64, None);
}

#[test]
fn match_in_f32() {
    all_match(DType::F32, None);
}

#[test]
fn match_when_tiled() {
    all_match(DType::F64, Some(3));
}
