//! Batches with every input of every objective, and the settings under which objectives are tested.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device, Tensor};
use serde_json::{Value, json};
use simile_core::loss;
use simile_core::loss::Objective;
use simile_core::loss::batch::Batch;
use simile_core::numeric::matrix::Matrix;

/// Classes, and biases, of every batch.
pub(crate) const CLASSES: usize = 3;

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

/// The host side of a batch: changed by a test, then placed on a device.
#[derive(Clone)]
pub(crate) struct Inputs {
    pub(crate) tensors: BTreeMap<String, Matrix>,
    pub(crate) indices: BTreeMap<String, Vec<usize>>,
    pub(crate) conditions: BTreeMap<String, Matrix>,
    pub(crate) unit_rows: bool,
}

/// Inputs whose rows are samples of the batch and are compared by their cosines.
pub(crate) const EMBEDDINGS: [&str; 9] = [
    "view_a",
    "view_b",
    "view_c",
    "view_a_biased",
    "view_b_biased",
    "target_a",
    "target_b",
    "stored_a",
    "stored_b",
];

impl Inputs {
    /// Random inputs for an objective, with the given labels and bias labels.
    pub(crate) fn random(objective: &str, labels: &[usize], bias: &[usize], width: usize, seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let b = labels.len();
        let mut tensors = BTreeMap::new();
        let mut add = |name: &str, matrix: Matrix| drop(tensors.insert(name.to_owned(), matrix));
        for name in EMBEDDINGS {
            add(name, draws.matrix(b, width));
        }
        for name in ["bank_a", "bank_b", "queue"] {
            add(name, unit(&draws.matrix(7, width)));
        }
        add("prototypes", draws.matrix(5, width));
        add("scores", draws.matrix(b, 5));
        for name in ["bias_logits", "f_logits", "g_logits", "logits_b", "logits_d"] {
            add(name, draws.matrix(b, CLASSES));
        }
        let columns = if objective == "di" { CLASSES * CLASSES } else { CLASSES };
        add("logits", draws.matrix(b, columns));
        for name in ["features", "f_features", "g_features"] {
            add(name, draws.matrix(b, 4));
        }
        let outputs = if objective == "learned-mixin" { 1 } else { CLASSES };
        add("fc_weight", draws.matrix(outputs, 4));
        add("fc_bias", draws.matrix(1, outputs));
        add("log_sigma", Matrix::zeros(1, 1));
        let mut of_pixels = Draws::new(!seed);
        for (name, columns) in [("images", 5), ("reconstruction", 5), ("mean", 2), ("log_variance", 2)] {
            add(name, of_pixels.matrix(b, columns));
        }

        let indices = [
            ("labels", labels.to_vec()),
            ("bias", bias.to_vec()),
            ("ce_labels", labels.to_vec()),
            ("ce_bias", bias.to_vec()),
            ("errors", labels.iter().map(|label| label % 2).collect()),
        ];
        let prior = Matrix::from_fn(CLASSES, CLASSES, |i, j| if i == j { 0.8 } else { 0.1 });
        let conditions = [
            ("z", draws.matrix(b, 3)),
            ("z_a", draws.matrix(b, 3)),
            ("z_b", draws.matrix(b, 3)),
            ("bias_features", draws.matrix(b, 4)),
            ("prior", prior),
            ("weights", Matrix::from_fn(b, 1, |i, _| 0.5 + i as f64)),
        ];
        Self {
            tensors,
            indices: indices.into_iter().map(|(name, values)| (name.to_owned(), values)).collect(),
            conditions: conditions.into_iter().map(|(name, values)| (name.to_owned(), values)).collect(),
            unit_rows: false,
        }
    }

    /// The embeddings as unit rows that are not normalised again.
    pub(crate) fn with_unit_rows(mut self) -> Self {
        for name in EMBEDDINGS {
            let rows = unit(&self.tensors[name]);
            self.tensors.insert(name.into(), rows);
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
    pub(crate) name: &'static str,
    pub(crate) variant: Option<&'static str>,
    pub(crate) params: Value,
    pub(crate) objective: Box<dyn Objective>,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} {} {}", self.name, self.variant.unwrap_or("default"), self.params)
    }
}

/// Every registered objective under each of its variants, with its defaults, with low temperatures, and with specific
/// settings.
pub(crate) fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for name in loss::names() {
        for variant in [None, Some("paper"), Some("released"), Some("normalised")] {
            let general = [json!({}), json!({ "temperature": 0.05 })];
            for mut params in general.into_iter().chain(particular(name)) {
                if name == "di" {
                    params["domains"] = CLASSES.into();
                }
                // An objective without that variant or parameter is refused, and not tested.
                if let Ok(objective) = loss::build(name, variant, params.clone()) {
                    settings.push(Setting { name, variant, params, objective });
                }
            }
        }
        assert!(settings.iter().any(|setting| setting.name == name), "{name} was never built");
    }
    settings
}

/// Parameters that change the formula of one objective.
fn particular(name: &str) -> Vec<Value> {
    let kernels = || {
        ["rbf", "laplacian", "linear", "cosine", "polynomial", "exact-match"]
            .map(|kernel| json!({ "temperature": 0.4, "lambda": 0.5, "kernel": { "name": kernel } }))
            .to_vec()
    };
    match name {
        "info-nce" | "fair-info-nce" => vec![json!({ "symmetric": true })],
        "weaksup-cclk" | "fair-cclk" | "hardneg-cclk" => kernels(),
        "dcl" => vec![json!({ "tau_plus": 0.0 }), json!({ "tau_plus": 0.4, "temperature": 0.2 })],
        "hcl" => vec![json!({ "tau_plus": 0.0, "beta": 2.0 }), json!({ "tau_plus": 0.3, "beta": 0.0 })],
        "supcon" | "weaksup-info-nce" | "contex-p" => vec![json!({ "reduction": "sum" })],
        "contex" => vec![json!({ "reduction": "sum", "mix": 0.3 })],
        "biascon-total" => vec![json!({ "bias_balanced": true, "ce_weight": 0.7 })],
        "wcl-triplet" => vec![json!({ "tau_plus": 0.3 })],
        "wcl-weighted-infonce" => ["none", "dcl", "hcl"]
            .iter()
            .flat_map(|correction| {
                ["squared", "euclidean"].map(
                    |distance| json!({ "correction": correction, "distance": distance, "tau_plus": 0.02 }),
                )
            })
            .collect(),
        "decoupled-uniformity" => vec![json!({ "t": 0.5 }), json!({ "t": 20.0 })],
        "kernel-decoupled-uniformity" => vec![
            json!({ "lambda": null }),
            json!({ "lambda": 0.3, "t": 5.0, "kernel": { "name": "linear" } }),
            json!({ "lambda": 0.3, "kernel": { "name": "exact-match" } }),
        ],
        "dclw" => vec![json!({ "sigma": 0.1 })],
        "align-uniform" => vec![json!({ "alpha": 1.0, "unif_w": 0.3 }), json!({ "alpha": 3.0, "t": 0.5 })],
        "barlow-twins" => vec![json!({ "lambd": 0.5 })],
        "swav" => {
            vec![json!({ "crops_for_assign": [1] }), json!({ "epsilon": 0.5, "sinkhorn_iterations": 1 })]
        }
        "swav-sinkhorn" => vec![json!({ "epsilon": 0.003 })],
        "vae" => vec![json!({ "beta": 0.0 }), json!({ "beta": 4.0 })],
        "rebias-hsic" => vec![json!({ "sigma_x": 0.5 })],
        _ => Vec::new(),
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
    let gradients = outcome.gradients.into_iter().map(|(name, rows)| (name, Matrix::try_from(rows).unwrap()));
    Ok(Outcome { loss: outcome.loss.unwrap(), gradients: gradients.collect(), aux: outcome.aux })
}
