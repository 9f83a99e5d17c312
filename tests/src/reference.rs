//! Reference vectors: numbers that an objective must reproduce, and how close it must come.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use simile_core::loss::spec::Spec;

/// Fields of `aux` that describe the run of the released code or of another one, repeat a parameter, or need data that
/// are not in the file.
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

/// Cases without a unique result: they are compared by their loss here, and more closely by separate tests.
const NOT_UNIQUE: [&str; 2] = ["kmeans", "linear-probe"];

/// A case with its expected answer.
#[derive(Debug)]
pub struct Reference {
    /// The path of its file.
    pub path: PathBuf,
    json: Value,
}

/// Float type of a computation, which decides the tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Single.
    F32,
    /// Double.
    F64,
}

impl Precision {
    /// The value for `--precision`.
    pub fn argument(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// The number of cases in `tests/vectors`.
const CASES: usize = 193;

/// All cases of a folder, by name: `OBJECTIVE__VARIANT__NUMBER.json`.
///
/// # Panics
/// If one is missing, or cannot be read, because a test would then prove nothing.
pub fn references(folder: PathBuf) -> Vec<Reference> {
    let mut references: Vec<Reference> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.contains("__") && name.ends_with(".json")
        })
        .map(|path| {
            let json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            Reference { path, json }
        })
        .collect();
    assert_eq!(
        references.len(),
        CASES,
        "cases in tests/vectors: one is missing, or a new one raises `CASES`"
    );
    references.sort_by(|a, b| a.path.cmp(&b.path));
    references
}

impl Reference {
    /// Compares an answer of `simile loss` with the reference.
    ///
    /// # Errors
    /// A value differs; the error names it and the difference.
    pub fn compare(&self, answer: &Value, precision: Precision) -> Result<(), String> {
        self.compare_loss(answer, precision)?;
        self.compare_gradients(answer, precision)?;
        if NOT_UNIQUE.contains(&self.objective()) {
            return Ok(());
        }
        let tolerance = if precision == Precision::F64 { 1e-8 } else { 2e-3 };
        compare_aux(&answer["aux"], &self.json["aux"], "aux", tolerance)
    }

    fn objective(&self) -> &str {
        self.json["objective"].as_str().unwrap_or_default()
    }

    /// True if the tolerance is that of a linear solve.
    fn solves(&self) -> bool {
        simile_core::loss::spec(self.objective()).is_ok_and(Spec::solves)
    }

    fn compare_loss(&self, answer: &Value, precision: Precision) -> Result<(), String> {
        let with_solve = self.solves();
        let (rtol, atol) = match precision {
            Precision::F64 => (if with_solve { 1e-8 } else { 1e-9 }, 1e-10),
            Precision::F32 => (1e-4, if with_solve { 1e-4 } else { 1e-5 }),
        };
        let Some(expected) = self.json["loss"].as_f64() else { return Ok(()) };
        let loss = answer["loss"].as_f64().ok_or("no loss")?;
        // The released probe stops early: a loss below its loss passes, one above is judged as the README describes.
        let probe = self.objective() == "linear-probe";
        let minimum = self.json["aux"]["minimum_found_by_bfgs"].as_f64().filter(|_| probe);
        let is_close = match minimum {
            Some(minimum) => loss <= minimum + 1e-5 * (1.0 + minimum.abs()),
            None => (loss - expected).abs() <= atol + rtol * expected.abs(),
        };
        if is_close { Ok(()) } else { Err(format!("loss {loss}, expected {expected}")) }
    }

    fn compare_gradients(&self, answer: &Value, precision: Precision) -> Result<(), String> {
        let temperature = self.json["params"]["temperature"].as_f64().unwrap_or(1.0);
        let tolerance = match precision {
            Precision::F64 => 1e-8,
            Precision::F32 if self.solves() || temperature <= 0.07 => 1e-3,
            Precision::F32 => 1e-4,
        };
        let views = [("grad_a", "view_a"), ("grad_b", "view_b")];
        let views = views.map(|(field, input)| (input.to_owned(), &self.json[field]));
        let others = self.json["grads"].as_object().into_iter().flatten();
        let expected: BTreeMap<String, &Value> = views
            .into_iter()
            .filter(|(_, gradient)| gradient.is_array())
            .chain(others.map(|(input, gradient)| (input.clone(), gradient)))
            .collect();
        for (input, gradient) in expected {
            let own_gradient = answer["grads"].get(&input).ok_or(format!("no gradient of {input}"))?;
            let error = gradient_error(&matrix(own_gradient), &matrix(gradient));
            if error.is_nan() || error > tolerance {
                return Err(format!("gradient of {input} is off by {error:.1e}"));
            }
        }
        Ok(())
    }
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    let rows = value.as_array().unwrap();
    if rows.first().is_some_and(Value::is_number) {
        return vec![rows.iter().map(|v| v.as_f64().unwrap()).collect()];
    }
    rows.iter().map(|row| row.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()).collect()
}

/// Largest absolute error, relative to the largest entry of the reference (at least 1e-6).
fn gradient_error(gradient: &[Vec<f64>], expected: &[Vec<f64>]) -> f64 {
    if gradient.len() != expected.len() {
        return f64::INFINITY;
    }
    let largest = expected.iter().flatten().fold(1e-6_f64, |m, v| m.max(v.abs()));
    let pairs = gradient.iter().flatten().zip(expected.iter().flatten());
    pairs.map(|(a, b)| if a.is_finite() { (a - b).abs() } else { f64::INFINITY }).fold(0.0, f64::max)
        / largest
}

/// Compares all numbers in `expected`; errors are relative to the largest entry of a list.
fn compare_aux(value: &Value, expected: &Value, name: &str, tolerance: f64) -> Result<(), String> {
    match expected {
        Value::Object(fields) => {
            for (field, expected) in fields.iter().filter(|(field, _)| !NOT_RESULTS.contains(&field.as_str()))
            {
                let value = value.get(field).ok_or(format!("{name}.{field} is missing"))?;
                compare_aux(value, expected, &format!("{name}.{field}"), tolerance)?;
            }
            Ok(())
        }
        Value::Array(_) => {
            let (values, expected) = (numbers(value), numbers(expected));
            let largest = expected.iter().fold(1e-6_f64, |m, v| m.max(v.abs()));
            let worst =
                values.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
            match values.len() == expected.len() && worst <= tolerance {
                true => Ok(()),
                false => Err(format!(
                    "{name} is off by {worst:.1e} ({} of {} numbers)",
                    values.len(),
                    expected.len()
                )),
            }
        }
        Value::Number(expected) => {
            let (number, expected) =
                (value.as_f64().ok_or(format!("{name} is no number"))?, expected.as_f64().unwrap());
            match (number - expected).abs() <= tolerance * expected.abs().max(1.0) {
                true => Ok(()),
                false => Err(format!("{name} is {number}, expected {expected}")),
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
