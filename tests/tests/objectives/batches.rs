//! Batches with every input of an objective, and the settings under which objectives are tested, both derived from descriptions.

use std::collections::{BTreeMap, BTreeSet};

use burn::tensor::{DType, Device, Tensor};
use serde_json::{Value, json};
use simile_core::loss;
use simile_core::loss::Objective;
use simile_core::loss::batch::Batch;
use simile_core::loss::spec::{Input, InputKind, Spec};
use simile_core::numeric::matrix::Matrix;
use simile_tests::settings::{CLASSES, forms, variations};

/// Uniform draws from -1 to 1 (splitmix64).
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    pub(crate) fn matrix(&mut self, rows: usize, columns: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |_, _| self.next())
    }
}

/// Rows of length one.
pub(crate) fn unit(matrix: &Matrix) -> Matrix {
    let lengths: Vec<f64> =
        matrix.iter_rows().map(|row| row.iter().map(|v| v * v).sum::<f64>().sqrt()).collect();
    Matrix::from_fn(matrix.rows(), matrix.columns(), |i, j| matrix[(i, j)] / lengths[i].max(1e-300))
}

/// A batch on the host, which a test may change before it is placed on a device.
#[derive(Clone)]
pub(crate) struct Inputs {
    pub(crate) tensors: BTreeMap<String, Matrix>,
    pub(crate) indices: BTreeMap<String, Vec<usize>>,
    pub(crate) conditions: BTreeMap<String, Matrix>,
    pub(crate) unit_rows: bool,
    /// Number of samples.
    pub(crate) samples: usize,
    /// Tensors whose rows are embeddings of the samples.
    pub(crate) embeddings: Vec<String>,
    /// Tensors and conditions whose rows are samples.
    pub(crate) by_sample: Vec<String>,
}

impl Inputs {
    /// Every input of an objective, of the shape that its description says: random numbers, those of tables and of columns from
    /// 0 to 1, because they are probabilities or weights, and the given labels and bias labels.
    pub(crate) fn random(objective: &str, labels: &[usize], bias: &[usize], width: usize, seed: u64) -> Self {
        Self::of(loss::spec(objective).unwrap().inputs, labels, bias, width, seed)
    }

    /// Every input of every objective; of several with a name the first.
    pub(crate) fn for_all_objectives(labels: &[usize], bias: &[usize], width: usize, seed: u64) -> Self {
        let mut all: Vec<Input> = loss::specs().flat_map(|spec| spec.inputs).copied().collect();
        let mut names = BTreeSet::new();
        all.retain(|input| names.insert(input.name));
        Self::of(&all, labels, bias, width, seed)
    }

    fn of(inputs: &[Input], labels: &[usize], bias: &[usize], width: usize, seed: u64) -> Self {
        let mut drawn = Self {
            tensors: BTreeMap::new(),
            indices: BTreeMap::new(),
            conditions: BTreeMap::new(),
            unit_rows: false,
            samples: labels.len(),
            embeddings: Vec::new(),
            by_sample: Vec::new(),
        };
        for input in inputs {
            drawn.add(input, input.name, [labels, bias], width, seed);
            // There is one for each of two views.
            if let Some(of_all) = input.name.strip_suffix("_0") {
                drawn.add(input, &format!("{of_all}_1"), [labels, bias], width, seed);
            }
        }
        drawn
    }

    /// Draws an input: the same numbers for the same name.
    fn add(&mut self, input: &Input, name: &str, [labels, bias]: [&[usize]; 2], width: usize, seed: u64) {
        let number = |name: &str| match name {
            "b" | "n" | "m" => labels.len(),
            "d" => width,
            "classes" | "biases" | "domains" => CLASSES,
            "e" => 3,
            _ => 5,
        };
        let dims = input.dims(number);
        let (rows, columns) = (dims[0], dims.get(1).copied().unwrap_or(1));
        let of_name = name.bytes().fold(seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        let matrix = Draws::new(of_name).matrix(rows, columns);
        if input.is_embedding() {
            self.embeddings.push(name.into());
        }
        if input.is_by_sample() {
            self.by_sample.push(name.into());
        }
        match input.kind {
            InputKind::Embeddings | InputKind::Rows => drop(self.tensors.insert(name.into(), matrix)),
            InputKind::Host if columns > 1 && input.is_by_sample() => {
                self.conditions.insert(name.into(), matrix);
            }
            InputKind::Host => {
                let from_0 = Matrix::from_fn(rows, columns, |i, j| f64::midpoint(matrix[(i, j)], 1.0));
                self.conditions.insert(name.into(), from_0);
            }
            InputKind::Integers | InputKind::Clusters => {
                let values = match name {
                    _ if name.contains("bias") => bias.to_vec(),
                    _ if name.contains("labels") => labels.to_vec(),
                    _ => labels.iter().map(|label| label % 2).collect(),
                };
                self.indices.insert(name.into(), values);
            }
        }
    }

    /// The embeddings as unit rows that are not normalised again.
    pub(crate) fn with_unit_rows(mut self) -> Self {
        for name in &self.embeddings {
            let rows = unit(&self.tensors[name]);
            self.tensors.insert(name.clone(), rows);
        }
        self.unit_rows = true;
        self
    }

    /// The inputs on the device of the tests.
    pub(crate) fn batch(&self, dtype: DType) -> Batch {
        let mut batch = Batch::default().with_unit_rows(self.unit_rows);
        for (name, matrix) in &self.tensors {
            batch = batch.with_tensor(name, place(matrix, dtype));
        }
        for (name, values) in &self.indices {
            batch = batch.with_indices(name, values.clone());
        }
        for (name, matrix) in &self.conditions {
            batch = batch.with_condition(name, matrix.clone());
        }
        batch
    }
}

pub(crate) fn place(matrix: &Matrix, dtype: DType) -> Tensor<2> {
    matrix.to_tensor(&Device::flex(), dtype)
}

/// Labels and bias labels of awkward batches, by name.
pub(crate) fn batches() -> Vec<(&'static str, Vec<usize>, Vec<usize>)> {
    vec![
        ("mixed", vec![0, 1, 0, 2, 1, 0], vec![0, 1, 1, 0, 1, 2]),
        ("singleton classes", vec![0, 1, 2], vec![0, 0, 1]),
        ("one class", vec![1, 1, 1, 1], vec![0, 1, 0, 2]),
        ("one class and bias", vec![1, 1, 1, 1, 1], vec![0, 0, 0, 0, 0]),
        ("two samples", vec![0, 1], vec![0, 0]),
        ("one sample", vec![0], vec![0]),
    ]
}

/// An objective with its settings.
pub(crate) struct Setting {
    pub(crate) spec: &'static Spec,
    pub(crate) variant: Option<&'static str>,
    pub(crate) params: Value,
    pub(crate) objective: Box<dyn Objective>,
}

impl Setting {
    /// `None` if the objective does not take these parameters.
    pub(crate) fn new(spec: &'static Spec, variant: Option<&'static str>, params: Value) -> Option<Self> {
        let objective = loss::build(spec.name, variant, params.clone()).ok()?;
        Some(Self { spec, variant, params, objective })
    }

    /// True if the first views alone are anchors.
    pub(crate) fn is_directed(&self) -> bool {
        let form = self.spec.form(self.variant).is_some_and(|form| form.directed);
        (self.spec.directed || form) && self.params["symmetric"] != true
    }

    /// True if its gradient takes weights made of its inputs as constants.
    pub(crate) fn is_detached(&self) -> bool {
        self.spec.detached || self.spec.form(self.variant).is_some_and(|form| form.detached)
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} {} {}", self.spec.name, self.variant.unwrap_or("default"), self.params)
    }
}

/// Every registered objective under each of its forms, with its defaults, with a low temperature, and with each parameter that the
/// form reads at other values. Every kernel is tried in the first form, some in the others.
pub(crate) fn settings() -> Vec<Setting> {
    let of = |spec: &'static Spec| {
        let low = spec.parameter("temperature").map(|_| json!({ "temperature": 0.05 }));
        let parameters: Vec<Value> = variations(spec).into_iter().chain(low).collect();
        forms(spec).into_iter().enumerate().flat_map(move |(at, form)| {
            // That the others change nothing is a test in `described`.
            let is_read = move |params: &Value| {
                spec.without_effect(form).all(|parameter| params.get(parameter.name).is_none())
            };
            let is_tried = move |params: &Value| at == 0 || is_for_every_form(&params["kernel"]);
            let parameters = parameters.clone().into_iter().filter(is_read).filter(is_tried);
            parameters.map(move |params| Setting::new(spec, form, params).unwrap())
        })
    };
    loss::specs().flat_map(of).collect()
}

/// False for most kernels with a diagonal of 1: every form makes `W` of them in the same way (but for the ridge of
/// `kernel-decoupled-uniformity`), and differs only in its use of `W`. Two stand for them: exact match, whose samples are alone in these
/// batches, and RBF of the median distance. Other kernels get another diagonal in the released form of CCL-K.
fn is_for_every_form(kernel: &Value) -> bool {
    match kernel["name"].as_str() {
        Some("rbf") => kernel["sigma"] == "median",
        Some("laplacian" | "laplacian-l1") => false,
        _ => true,
    }
}

/// A result on the host.
pub(crate) struct Outcome {
    pub(crate) loss: f64,
    pub(crate) gradients: BTreeMap<String, Matrix>,
    pub(crate) aux: Value,
}

/// Evaluates an objective; its error as text.
pub(crate) fn evaluate(objective: &dyn Objective, batch: &Batch) -> Result<Outcome, String> {
    let evaluation = objective.evaluate(batch).map_err(|e| e.to_string())?;
    let outcome = pollster::block_on(evaluation.read()).map_err(|e| e.to_string())?;
    Ok(Outcome { loss: outcome.loss.unwrap(), gradients: outcome.gradients, aux: outcome.aux })
}
