//! Checks in the sources that each copy of the host's numbers to a device has a term in the estimate of a step, the struct
//! `Uploads`, or a reason to have none. A new copy fails until it is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::repository::root;
use crate::step_code::step_code;

/// The file of the estimate.
const ESTIMATE: &str = "native/src/experiment/profile/cost.rs";

/// Calls that copy numbers to a device; Burn's `arange` and `eye` do so within, those of other names are kernels.
const CALLS: [&str; 12] = [
    "from_data(",
    "_from_data(",
    "from_floats(",
    "from_ints(",
    "indices(",
    ".to_tensor(",
    ".upload(",
    "::arange(",
    "::eye(",
    "one_hot(",
    "slice_fill(",
    "client.create(",
];

const START: &str = "at the start of a run, or where it resumes";
const FEW: &str = "at most two numbers an image: 8 kB at 1024";
const DETAILS: &str = "details, which a step does not ask for";
const REQUEST: &str = "a request, such as that of `simile loss`";
const PROCESSES: &str = "several processes: `communication_volume` counts them";
const CPU: &str = "the memory of a CPU backend";
const DEFAULT: &str = "a default body: GPUs have kernels of their own for `f32`";

/// Files with such calls, the number of their lines, and the term of the estimate, in backquotes, or a reason to have none.
const UPLOADS: [(&str, usize, &str); 54] = [
    ("core/src/algorithm/grad_cache/all_reduce.rs", 1, PROCESSES),
    ("core/src/algorithm/grad_cache/gather.rs", 1, PROCESSES),
    ("core/src/algorithm/key_queue.rs", 1, FEW),
    ("core/src/algorithm/lff.rs", 1, START),
    ("core/src/algorithm/loss_averages.rs", 1, START),
    ("core/src/algorithm/loss_averages.rs", 1, "`labels`"),
    ("core/src/algorithm/moco.rs", 1, START),
    (
        "core/src/algorithm/passes.rs",
        1,
        "random numbers of `dcgan`, 100 an image, and of `vae`, 128 by default: 0.5 MB at 1024",
    ),
    ("core/src/algorithm/state.rs", 1, START),
    ("core/src/algorithm/swav.rs", 1, START),
    ("core/src/augment/batch.rs", 1, CPU),
    ("core/src/augment/batch.rs", 1, "`pictures`"),
    ("core/src/augment/batch.rs", 1, "pictures that are embedded or drawn, of no step"),
    ("core/src/augment/normalise.rs", 1, "two numbers for each channel"),
    ("core/src/augment/planes.rs", 2, "`pictures`"),
    ("core/src/augment/planes.rs", 1, "`indices`"),
    ("core/src/augment/store.rs", 1, START),
    ("core/src/augment/store.rs", 1, FEW),
    ("core/src/kernel/conditional/device.rs", 4, "`weights`"),
    ("core/src/kernel/conditional/newton_schulz.rs", 1, FEW),
    ("core/src/kernel/conditional/weight_product.rs", 1, CPU),
    ("core/src/kernel/gram_on_device.rs", 2, FEW),
    ("core/src/loss/batch.rs", 1, REQUEST),
    ("core/src/loss/cclk/signed.rs", 1, DETAILS),
    ("core/src/loss/cclk/trainable.rs", 4, "no method trains this objective"),
    ("core/src/loss/debias/bias_balance.rs", 1, "a number for each class and bias, whatever the batch"),
    ("core/src/loss/debias/bias_balance.rs", 1, "`labels`"),
    ("core/src/loss/debias/domain_independent.rs", 1, "`labels`"),
    ("core/src/loss/debias/end.rs", 2, "`labels`"),
    ("core/src/loss/debias/hsic.rs", 1, FEW),
    ("core/src/loss/debias/jtt.rs", 1, "`labels`"),
    ("core/src/loss/debias/softcon.rs", 1, REQUEST),
    ("core/src/loss/debias/wcl/mod.rs", 1, DETAILS),
    ("core/src/loss/logits.rs", 1, "`labels`"),
    ("core/src/loss/logits.rs", 1, REQUEST),
    ("core/src/loss/pairwise/among_peers.rs", 1, PROCESSES),
    ("core/src/loss/pairwise/farther.rs", 2, "`labels`"),
    ("core/src/loss/pairwise/positives.rs", 2, "`partners`"),
    ("core/src/loss/pairwise/positives.rs", 1, "`labels`"),
    ("core/src/loss/pairwise/rows.rs", 1, "weights by difficulty: 16 numbers an image, 66 kB at 1024"),
    ("core/src/nn/checkpoint/archive.rs", 1, START),
    ("core/src/nn/initial.rs", 1, START),
    ("core/src/numeric/label_groups.rs", 1, "`labels`"),
    ("core/src/numeric/matrix.rs", 2, "the definitions of `to_tensor` and `indices`, whose calls are listed"),
    ("core/src/peers/tensors.rs", 1, PROCESSES),
    ("core/src/requests/optim.rs", 3, REQUEST),
    ("core/src/train/state.rs", 1, START),
    ("core/kernels/src/backends/cube/augmentation.rs", 1, "`views`"),
    ("core/kernels/src/backends/flex/augmentation.rs", 1, CPU),
    ("core/kernels/src/backends/flex/convolution.rs", 1, CPU),
    ("core/kernels/src/backends/flex/memory.rs", 2, CPU),
    ("core/kernels/src/ops/augmentation.rs", 1, DEFAULT),
    ("core/kernels/src/ops/pairs/plain.rs", 3, DEFAULT),
    ("native/src/experiment/prepare/prefetch.rs", 1, "`pictures`"),
];

/// True if a line copies numbers to a device. Definitions of such functions and methods of the same names do not, nor does `Matrix`, which
/// is on the host.
fn is_upload(line: &str) -> bool {
    let is_call = |call: &str, at: usize| {
        let before = &line[..at];
        let is_part = before.ends_with(|end: char| end.is_alphanumeric() || end == '_' || end == '.');
        let is_whole = !is_part || !call.starts_with(char::is_alphabetic);
        is_whole && !before.ends_with("fn ") && !before.ends_with("Matrix::")
    };
    CALLS.iter().any(|call| line.match_indices(call).any(|(at, _)| is_call(call, at)))
}

#[test]
fn each_copy_to_a_device_in_a_step_has_a_term_of_the_estimate_or_a_reason() {
    let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
    for (file, count, _) in UPLOADS {
        *expected.entry(file).or_default() += count;
    }
    let mut unlisted = Vec::new();
    for (name, lines) in step_code() {
        let uploads: Vec<&str> =
            lines.iter().map(|line| line.trim()).filter(|line| is_upload(line)).collect();
        let count = expected.remove(name.as_str()).unwrap_or_default();
        if uploads.len() != count {
            unlisted.push(format!("{name}, {count} in the list:\n    {}", uploads.join("\n    ")));
        }
    }
    let unlisted = unlisted.join("\n");
    assert!(
        unlisted.is_empty(),
        "list a term of `{ESTIMATE}`, or a reason, for each of these copies:\n{unlisted}"
    );
    assert!(expected.is_empty(), "these files are listed and there no more: {expected:?}");
}

#[test]
fn each_term_of_the_estimate_is_that_of_a_copy() {
    let text = fs::read_to_string(root().join(ESTIMATE)).unwrap();
    let (fields, _) = text.split_once("struct Uploads {").unwrap().1.split_once("\n}").unwrap();
    let fields = fields.lines().filter_map(|line| line.trim().strip_prefix("pub(crate) ")?.split_once(':'));
    let fields: BTreeSet<&str> = fields.map(|(name, _)| name).collect();
    let term = |(_, _, why): (&str, usize, &'static str)| why.strip_prefix('`')?.strip_suffix('`');
    let terms: BTreeSet<&str> = UPLOADS.into_iter().filter_map(term).collect();
    assert_eq!(terms, fields);
}

#[test]
fn copies_are_told_from_definitions_and_from_methods_of_the_same_name() {
    let copies =
        ["Tensor::from_data(data, device)", "B::int_from_data(data)", "select(0, indices(&rows, device))"];
    let others = [
        "Matrix::from_data(&data)?",
        "pub fn from_data(data: Data)",
        "batch.indices(name)",
        "with_indices(rows)",
    ];
    assert_eq!(copies.map(is_upload), [true; 3]);
    assert_eq!(others.map(is_upload), [false; 4]);
}
