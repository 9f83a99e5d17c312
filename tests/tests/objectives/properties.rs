//! Invariances of objectives: the order of the batch, the order of the views, the length of raw embeddings and the size
//! of the tiles do not matter, and neither does a request of details.

use std::collections::{BTreeMap, BTreeSet};

use burn::tensor::DType;
use simile_core::loss::batch::Batch;
use simile_core::loss::spec::InputKind;
use simile_core::loss::specs;
use simile_core::numeric::matrix::Matrix;

use crate::batches::{Inputs, Outcome, Setting, batches, evaluate, settings};

/// True for objectives that compare embeddings by their cosines.
fn is_by_cosine(setting: &Setting) -> bool {
    setting.spec.inputs.iter().any(|input| input.is_embedding() && input.kind == InputKind::Embeddings)
}

/// True for objectives that treat two views alike.
fn is_symmetric(setting: &Setting) -> bool {
    is_by_cosine(setting) && !setting.is_directed()
}

/// The input of the other view, if a name is that of one view: `z_b` for `z_a`, `queue_1` for `queue_0`.
fn other_view_name(name: &str) -> Option<String> {
    let of_b = name.contains("_a").then(|| name.replacen("_a", "_b", 1));
    of_b.or_else(|| name.strip_suffix("_0").map(|of_all| format!("{of_all}_1")))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

fn all_close(a: &Matrix, b: &Matrix) -> bool {
    let largest = a.data().iter().fold(1e-6_f64, |m, v| m.max(v.abs()));
    a.data().len() == b.data().len()
        && a.data().iter().zip(b.data()).all(|(x, y)| (x - y).abs() <= 1e-8 * largest)
}

/// Runs `compare` on every setting and batch for which the objective is defined, with its outcome, and asserts that it finds
/// no difference.
fn for_all(which: fn(&Setting) -> bool, compare: impl Fn(&Setting, &Inputs, &Outcome) -> Option<String>) {
    let mut differences = Vec::new();
    let mut compared = 0;
    for (seed, setting) in settings().into_iter().enumerate().filter(|(_, setting)| which(setting)) {
        for (kind, labels, bias) in batches() {
            let inputs = Inputs::random(setting.spec.name, &labels, &bias, 4, seed as u64);
            let outcome = evaluate(setting.objective.as_ref(), &inputs.batch(DType::F64).with_details(true));
            if let Ok(outcome) = outcome {
                compared += 1;
                let difference = compare(&setting, &inputs, &outcome);
                differences.extend(difference.map(|what| format!("{setting}, {kind}: {what}")));
            }
        }
    }
    assert!(compared > 50);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_order_of_the_batch_does_not_matter() {
    // The released EnD counts a pair by which of its samples comes first.
    let which = |setting: &Setting| setting.spec.name != "end" || setting.variant != Some("released");
    for_all(which, |setting, inputs, before| {
        let order: Vec<usize> = (0..inputs.samples).rev().collect();
        let mut turned = inputs.clone();
        for (name, matrix) in turned.tensors.iter_mut().chain(turned.conditions.iter_mut()) {
            if inputs.by_sample.contains(name) {
                *matrix = matrix.select(&order);
            }
        }
        for values in turned.indices.values_mut() {
            values.reverse();
        }
        let after = evaluate(setting.objective.as_ref(), &turned.batch(DType::F64)).unwrap();
        if !close(before.loss, after.loss) {
            return Some(format!("{} and {}", before.loss, after.loss));
        }
        let gradient = before.gradients.iter().find(|(name, gradient)| {
            let is_sample = inputs.by_sample.contains(name);
            let expected = if is_sample { gradient.select(&order) } else { (*gradient).clone() };
            !all_close(&expected, &after.gradients[*name])
        });
        gradient.map(|(name, _)| format!("gradient of {name}"))
    });
}

#[test]
fn the_views_can_be_swapped() {
    for_all(is_symmetric, |setting, inputs, before| {
        let mut swapped = inputs.clone();
        for map in [&mut swapped.tensors, &mut swapped.conditions] {
            let names: Vec<String> = map.keys().cloned().collect();
            for (a, b) in
                names.into_iter().filter_map(|name| other_view_name(&name).map(|other| (name, other)))
            {
                if let (Some(of_a), Some(of_b)) = (map.get(&a).cloned(), map.get(&b).cloned()) {
                    map.insert(a, of_b);
                    map.insert(b, of_a);
                }
            }
        }
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
    for_all(is_by_cosine, |setting, inputs, before| {
        let mut scaled = inputs.clone();
        let factor = |i: usize| 0.5 + 3.0 * i as f64;
        for name in &inputs.embeddings {
            let rows = &inputs.tensors[name];
            let matrix = Matrix::from_fn(rows.rows(), rows.columns(), |i, j| rows[(i, j)] * factor(i));
            scaled.tensors.insert(name.clone(), matrix);
        }
        let after = evaluate(setting.objective.as_ref(), &scaled.batch(DType::F64)).unwrap();
        if !close(before.loss, after.loss) {
            return Some(format!("{} and {}", before.loss, after.loss));
        }
        let gradient = before.gradients.iter().find(|(name, gradient)| {
            let shrinks = inputs.embeddings.contains(name);
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
        |setting, inputs, whole| {
            let batch = inputs.batch(DType::F64).with_details(true);
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

/// The intermediate results that an objective has in every step: they are parts of its loss or of its gradient.
fn free_results(objective: &str) -> &'static [&'static str] {
    match objective {
        "align-uniform" => &["align", "uniform"],
        "biasbal" | "cross-entropy" => &["per_sample"],
        "biascon-total" => &["ce", "con"],
        "byol" => &["one_way_mean"],
        "end" => &["R_orthogonal", "R_parallel", "ce", "reg"],
        "lff" => &["weights"],
        "lnl" => &["ce", "entropy"],
        "swav" => &["assignments_a", "assignments_b", "prototypes_normalised"],
        "swav-sinkhorn" => &["assignments"],
        "vae" => &["divergence", "reconstruction_error"],
        _ => &[],
    }
}

/// The objectives that have no results beside those, in the order of their names.
const WITHOUT_DETAILS: [&str; 19] = [
    "barlow-twins",
    "biasbal",
    "byol",
    "cmc",
    "cross-entropy",
    "decoupled-uniformity",
    "di",
    "end",
    "fair-cclk-trainable",
    "jtt",
    "learned-mixin",
    "lff",
    "lnl",
    "lnl-adversary",
    "rubi",
    "swav",
    "swav-sinkhorn",
    "vae",
    "wcl-triplet",
];

/// The names of the intermediate results.
fn results(outcome: &Outcome) -> BTreeSet<&str> {
    outcome.aux.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Training steps computed many of them, and nothing read them.
#[test]
fn details_are_computed_on_request_and_change_no_bit() {
    let (_, labels, bias) = batches().remove(0);
    let mut has_details = BTreeMap::new();
    for (seed, setting) in settings().into_iter().enumerate() {
        let name = setting.spec.name;
        let inputs = Inputs::random(name, &labels, &bias, 4, seed as u64);
        let outcome = |is_detailed| {
            evaluate(setting.objective.as_ref(), &inputs.batch(DType::F64).with_details(is_detailed))
        };
        // A batch on which it is not defined.
        let Ok(plain) = outcome(false) else { continue };
        let detailed = outcome(true).unwrap();
        assert_eq!((plain.loss, &plain.gradients), (detailed.loss, &detailed.gradients), "{setting}");
        let [of_step, of_request] = [&plain, &detailed].map(results);
        let free: BTreeSet<&str> = free_results(name).iter().copied().collect();
        assert_eq!(of_step, free, "{setting}");
        assert!(of_step.is_subset(&of_request), "{setting}: {of_request:?}");
        *has_details.entry(name).or_insert(true) &= of_step.len() < of_request.len();
    }
    assert!(specs().all(|spec| has_details.contains_key(spec.name)), "{has_details:?}");
    let without: Vec<&str> =
        has_details.iter().filter(|(_, has_details)| !**has_details).map(|(name, _)| *name).collect();
    assert_eq!(without, WITHOUT_DETAILS);
}

/// Integer inputs with other names for the same groups, in the same order, half of them negative.
fn renamed(batch: Batch, inputs: &Inputs) -> Batch {
    inputs.indices.iter().fold(batch, |batch, (name, values)| {
        batch.with_integers(name, values.iter().map(|&value| 5 * value as i64 - 6).collect())
    })
}

#[test]
fn groups_may_have_any_names_and_classes_count_from_0() {
    let mut groups = BTreeSet::new();
    for setting in settings().into_iter().filter(|setting| !setting.spec.inputs.is_empty()) {
        for (kind, labels, bias) in batches() {
            let inputs = Inputs::random(setting.spec.name, &labels, &bias, 4, 17);
            let batch = || inputs.batch(DType::F64).with_details(true);
            if inputs.indices.is_empty() || evaluate(setting.objective.as_ref(), &batch()).is_err() {
                continue;
            }
            let what = format!("{setting}, {kind}");
            let before = evaluate(setting.objective.as_ref(), &batch()).unwrap();
            match evaluate(setting.objective.as_ref(), &renamed(batch(), &inputs)) {
                Ok(after) => {
                    groups.insert(setting.spec.name);
                    assert_eq!(before.loss, after.loss, "{what}");
                }
                Err(error) => {
                    let names = inputs.indices.keys().any(|name| error.contains(&format!("`{name}`")));
                    assert!(names && error.contains("integers from 0"), "{what}: {error}");
                }
            }
        }
    }
    let expected = ["biascon", "contex", "contex-p", "fair-info-nce", "supcon", "weaksup-info-nce"];
    assert!(expected.iter().all(|name| groups.contains(name)), "{groups:?}");
    let classes = ["biasbal", "cross-entropy", "di", "end"];
    assert!(classes.iter().all(|name| !groups.contains(name)), "{groups:?}");
}
