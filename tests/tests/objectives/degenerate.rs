//! Inputs on which a formula is hard to evaluate or not defined: a typed error, or finite numbers everywhere.

use burn::tensor::DType;
use serde_json::Value;
use simile_core::matrix::Matrix;
use simile_core::objective;

use crate::batches::{EMBEDDINGS, Inputs, Outcome, Setting, batches, evaluate, settings};

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

/// Objectives on embeddings as they are, whose second moments have to be representable.
const ON_RAW_VALUES: [&str; 2] = ["barlow-twins", "rebias-hsic"];

/// What is not finite in an outcome.
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

/// In tiles the embeddings are given as unit rows. Beside what failed, how many batches were defined and how
/// many not.
fn failures(setting: &Setting, dtype: DType, tile: Option<usize>) -> (Vec<String>, [usize; 2]) {
    let mut failures = Vec::new();
    let mut counts = [0, 0];
    for (kind, labels, bias) in batches() {
        let drawn = Inputs::random(setting.name, &labels, &bias, 4, 7);
        for (change, apply) in EMBEDDED {
            if ON_RAW_VALUES.contains(&setting.name) && change.starts_with("beyond") {
                continue;
            }
            let mut inputs = drawn.clone();
            for name in EMBEDDINGS {
                let changed = apply(&inputs.tensors[name]);
                inputs.tensors.insert(name.into(), changed);
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

/// Tries settings in both float types, and asks that hardly any batch is refused.
fn all_finite(settings: Vec<Setting>) {
    let mut found = Vec::new();
    let (mut defined, mut refused) = (0, 0);
    for setting in settings {
        for (dtype, tile) in [(DType::F64, Some(2)), (DType::F32, None)] {
            let (failures, counts) = failures(&setting, dtype, tile);
            found.extend(failures);
            defined += counts[0];
            refused += counts[1];
        }
    }
    assert!(found.is_empty(), "{} failures\n{}", found.len(), found[..found.len().min(60)].join("\n"));
    assert!(refused * 20 < defined, "{refused} refused, {defined} not");
}

#[test]
fn finite_input_gives_finite_output() {
    all_finite(settings());
}

#[test]
fn a_very_low_temperature_is_finite() {
    let low = |name: &'static str, variant: Option<&'static str>| {
        let params = serde_json::json!({ "temperature": 0.01 });
        let objective = objective::build(name, variant, params.clone()).ok()?;
        Some(Setting { name, variant, params, objective })
    };
    let variants = [None, Some("paper"), Some("released"), Some("normalised")];
    all_finite(
        objective::names().flat_map(|name| variants.map(|variant| low(name, variant))).flatten().collect(),
    );
}

#[test]
fn a_zero_embedding_has_no_gradient() {
    let embedded = [
        "nt-xent",
        "supcon",
        "dcl",
        "hcl",
        "contex",
        "contex-p",
        "biascon",
        "softcon",
        "wcl-triplet",
        "dc",
        "dclw",
        "wcl-weighted-infonce",
        "decoupled-uniformity",
        "align-uniform",
        "byol",
        "swav",
        "moco",
        "cmc",
        "fair-cclk",
        "weaksup-cclk",
        "hardneg-cclk",
        "info-nce",
    ];
    for name in embedded {
        let objective = objective::build(name, None, Value::Null).unwrap();
        let mut inputs = Inputs::random(name, &[0, 1, 0, 1], &[0, 0, 1, 1], 3, 5);
        for name in EMBEDDINGS {
            inputs.tensors.get_mut(name).unwrap().row_mut(2).fill(0.0);
        }
        let outcome = evaluate(objective.as_ref(), &inputs.batch(DType::F64)).unwrap();
        for (input, gradient) in
            outcome.gradients.iter().filter(|(input, _)| EMBEDDINGS.contains(&input.as_str()))
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
        let objective = objective::build(name, None, Value::Null).unwrap();
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
        evaluate(objective::build(name, Some("paper"), params).unwrap().as_ref(), &batch).unwrap().loss
    };
    let nt_xent = value("nt-xent", serde_json::json!({ "temperature": 0.2 }));
    let clipped = value("contex-p", serde_json::json!({ "temperature": 0.2, "mix": 0.5 }));
    assert!((clipped - nt_xent / 2.0).abs() < 1e-12);
}
