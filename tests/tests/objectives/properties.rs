//! Invariances of objectives: the order of the batch, the order of the views, the length of raw embeddings and the size
//! of the tiles do not matter.

use burn::tensor::DType;
use simile_core::numeric::matrix::Matrix;

use crate::batches::{EMBEDDINGS, Inputs, Setting, batches, evaluate, settings};

/// Objectives on embeddings, compared by their cosines.
const BY_COSINE: [&str; 28] = [
    "info-nce",
    "nt-xent",
    "weaksup-info-nce",
    "fair-info-nce",
    "dcl",
    "hcl",
    "weaksup-cclk",
    "fair-cclk",
    "hardneg-cclk",
    "fair-cclk-trainable",
    "supcon",
    "contex",
    "contex-p",
    "biascon",
    "biascon-total",
    "softcon",
    "wcl-triplet",
    "wcl-weighted-infonce",
    "wcl-weighted-dcl",
    "decoupled-uniformity",
    "kernel-decoupled-uniformity",
    "dc",
    "dclw",
    "align-uniform",
    "byol",
    "swav",
    "moco",
    "cmc",
];

/// Pairs of inputs that belong to one view each.
const OF_VIEWS: [(&str, &str); 6] = [
    ("view_a", "view_b"),
    ("view_a_biased", "view_b_biased"),
    ("target_a", "target_b"),
    ("stored_a", "stored_b"),
    ("bank_a", "bank_b"),
    ("z_a", "z_b"),
];

fn is_symmetric(setting: &Setting) -> bool {
    let one_direction = setting.params.get("symmetric").is_none();
    match setting.name {
        "info-nce" | "fair-info-nce" => !one_direction,
        "weaksup-cclk" | "fair-cclk" | "hardneg-cclk" => setting.variant != Some("paper"),
        "swav" => setting.params.get("crops_for_assign").is_none(),
        "moco" => false,
        name => BY_COSINE.contains(&name),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

fn all_close(a: &Matrix, b: &Matrix) -> bool {
    let largest = a.data().iter().fold(1e-6_f64, |m, v| m.max(v.abs()));
    a.data().len() == b.data().len()
        && a.data().iter().zip(b.data()).all(|(x, y)| (x - y).abs() <= 1e-8 * largest)
}

/// Runs `compare` on every setting and batch for which the objective is defined, and asserts that it finds no
/// difference.
fn for_all(which: fn(&Setting) -> bool, compare: impl Fn(&Setting, &Inputs) -> Option<String>) {
    let mut found = Vec::new();
    let mut compared = 0;
    for (seed, setting) in settings().into_iter().enumerate().filter(|(_, setting)| which(setting)) {
        for (kind, labels, bias) in batches() {
            let inputs = Inputs::random(setting.name, &labels, &bias, 4, seed as u64);
            if evaluate(setting.objective.as_ref(), &inputs.batch(DType::F64)).is_ok() {
                compared += 1;
                found.extend(compare(&setting, &inputs).map(|what| format!("{setting}, {kind}: {what}")));
            }
        }
    }
    assert!(compared > 50);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_order_of_the_batch_does_not_matter() {
    // The released EnD counts a pair by which of its samples comes first.
    let which = |setting: &Setting| setting.name != "end";
    for_all(which, |setting, inputs| {
        let b = inputs.indices["labels"].len();
        let order: Vec<usize> = (0..b).rev().collect();
        let not_samples =
            ["queue", "bank_a", "bank_b", "prototypes", "fc_weight", "fc_bias", "log_sigma", "prior"];
        let mut turned = inputs.clone();
        for (name, matrix) in turned.tensors.iter_mut().chain(turned.conditions.iter_mut()) {
            if !not_samples.contains(&name.as_str()) {
                *matrix = matrix.select(&order);
            }
        }
        for values in turned.indices.values_mut() {
            values.reverse();
        }
        let before = evaluate(setting.objective.as_ref(), &inputs.batch(DType::F64)).unwrap();
        let after = evaluate(setting.objective.as_ref(), &turned.batch(DType::F64)).unwrap();
        if !close(before.loss, after.loss) {
            return Some(format!("{} and {}", before.loss, after.loss));
        }
        let gradient = before.gradients.iter().find(|(name, gradient)| {
            let is_sample = !not_samples.contains(&name.as_str());
            let expected = if is_sample { gradient.select(&order) } else { (*gradient).clone() };
            !all_close(&expected, &after.gradients[*name])
        });
        gradient.map(|(name, _)| format!("gradient of {name}"))
    });
}

#[test]
fn the_views_can_be_swapped() {
    for_all(is_symmetric, |setting, inputs| {
        let mut swapped = inputs.clone();
        for (a, b) in OF_VIEWS {
            for map in [&mut swapped.tensors, &mut swapped.conditions] {
                if let (Some(of_a), Some(of_b)) = (map.remove(a), map.remove(b)) {
                    map.insert(a.into(), of_b);
                    map.insert(b.into(), of_a);
                }
            }
        }
        let before = evaluate(setting.objective.as_ref(), &inputs.batch(DType::F64)).unwrap();
        let after = evaluate(setting.objective.as_ref(), &swapped.batch(DType::F64)).unwrap();
        if !close(before.loss, after.loss) {
            return Some(format!("{} and {}", before.loss, after.loss));
        }
        let (Some(of_a), Some(of_b)) = (before.gradients.get("view_a"), after.gradients.get("view_b")) else {
            return None;
        };
        (!all_close(of_a, of_b)).then(|| "gradients".into())
    });
}

#[test]
fn the_length_of_raw_embeddings_does_not_matter() {
    let which = |setting: &Setting| BY_COSINE.contains(&setting.name);
    for_all(which, |setting, inputs| {
        let mut scaled = inputs.clone();
        let factor = |i: usize| 0.5 + 3.0 * i as f64;
        for name in EMBEDDINGS {
            let rows = &inputs.tensors[name];
            let matrix = Matrix::from_fn(rows.rows(), rows.columns(), |i, j| rows[(i, j)] * factor(i));
            scaled.tensors.insert(name.into(), matrix);
        }
        let before = evaluate(setting.objective.as_ref(), &inputs.batch(DType::F64)).unwrap();
        let after = evaluate(setting.objective.as_ref(), &scaled.batch(DType::F64)).unwrap();
        if !close(before.loss, after.loss) {
            return Some(format!("{} and {}", before.loss, after.loss));
        }
        let gradient = before.gradients.iter().find(|(name, gradient)| {
            let shrinks = EMBEDDINGS.contains(&name.as_str());
            let factor = |i: usize| if shrinks { factor(i) } else { 1.0 };
            let expected =
                Matrix::from_fn(gradient.rows(), gradient.columns(), |i, j| gradient[(i, j)] / factor(i));
            !all_close(&expected, &after.gradients[*name])
        });
        gradient.map(|(name, _)| format!("gradient of {name}"))
    });
}

#[test]
fn the_size_of_the_tiles_does_not_matter() {
    for_all(
        |_| true,
        |setting, inputs| {
            let batch = inputs.batch(DType::F64).with_details(true);
            let whole = evaluate(setting.objective.as_ref(), &batch).unwrap();
            [1, 2, 5].into_iter().find_map(|tile| {
                let tiled =
                    evaluate(setting.objective.as_ref(), &batch.clone().with_tile(Some(tile))).unwrap();
                let gradient =
                    whole.gradients.iter().find(|(name, g)| !all_close(g, &tiled.gradients[*name]));
                let same = close(whole.loss, tiled.loss) && gradient.is_none();
                (!same).then(|| format!("tiles of {tile}"))
            })
        },
    );
}
