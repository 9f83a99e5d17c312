//! Checks in the sources that no step reads from its device or waits for it. Core reads in one file only, which counts its reads;
//! kernels and the parts of a step in the command line do not read, with the exceptions below. Another test,
//! `native/src/reproduce/reads.rs`, counts the reads that each recipe makes through that file.

use std::collections::BTreeSet;

use crate::step_code::step_code;

/// Calls that read from a device or wait for it; Burn's sorts and searches do so within.
const READS: [&str; 17] = [
    "Transaction",
    "into_data(",
    "into_data_async(",
    ".to_data(",
    "into_scalar",
    "read_sync",
    "read_one",
    "read_lazy",
    "read_tensor",
    ".sync(",
    "argsort",
    "sort_with_indices",
    "topk",
    "nonzero",
    "argwhere",
    "mask_select",
    "mean_loss(",
];

/// Files that may make such a call, with the reason.
const ALLOWED: [(&str, &str, &str); 13] = [
    ("core/src/numeric/read.rs", "Transaction", "the one place of core, which counts"),
    ("core/src/numeric/read.rs", "into_data(", "the memory of a CPU backend"),
    ("core/src/numeric/read.rs", "into_data_async(", "the one place of core, which counts"),
    ("core/src/numeric/read.rs", "read_sync", "the one place of core, which counts"),
    ("core/src/train/trainer.rs", "mean_loss(", "its definition: once every `log_every` steps"),
    ("core/kernels/src/ops/augmentation.rs", "into_data(", "a default body: GPUs have one of their own"),
    ("core/kernels/src/ops/augmentation.rs", "read_sync", "a default body: GPUs have one of their own"),
    ("core/kernels/src/backends/flex/pairs.rs", "into_data(", "the memory of a CPU backend"),
    ("core/kernels/src/backends/flex/augmentation.rs", "into_data(", "the memory of a CPU backend"),
    ("core/kernels/src/backends/flex/memory.rs", "into_data(", "the memory of a CPU backend"),
    ("native/src/experiment/train/tuning.rs", ".sync(", "a step that tunes a GPU, whose time is told"),
    ("native/src/experiment/train/variant_training.rs", "mean_loss(", "the loss of every `log_every` steps"),
    ("native/src/experiment/train/checkpoints.rs", "mean_loss(", "the same, of steps that are repeated"),
];

#[test]
fn nothing_in_a_step_reads_from_a_device_but_what_is_listed() {
    let (mut unlisted, mut listed) = (Vec::new(), BTreeSet::new());
    for (name, lines) in step_code() {
        for line in lines {
            for call in READS.iter().filter(|call| line.contains(*call)) {
                match ALLOWED.iter().position(|(file, allowed, _)| *file == name && allowed == call) {
                    Some(at) => drop(listed.insert(at)),
                    None => unlisted.push(format!("{name}: {}", line.trim())),
                }
            }
        }
    }
    assert!(unlisted.is_empty(), "these read from a device:\n{}", unlisted.join("\n"));
    let stale: Vec<_> = (0..ALLOWED.len()).filter(|at| !listed.contains(at)).map(|at| ALLOWED[at]).collect();
    assert!(stale.is_empty(), "these are allowed and there no more: {stale:?}");
}
