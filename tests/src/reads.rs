//! Checks in the sources that no step reads from its device or waits for it. Core reads in one file only, which counts its reads;
//! kernels and the parts of a step in the command line do not read, with the exceptions below. Another test,
//! `native/src/experiment/train/reads_nothing.rs`, counts the reads that each recipe makes through that file. It chooses the objectives
//! that it runs on a GPU too by whether their step depends on the device, so the files that ask about the device are listed as well.

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
    ("native/src/experiment/train/divergence.rs", "mean_loss(", "the same, of steps that are repeated"),
];

/// Calls that ask where a tensor lies, or what its device can do.
const QUESTIONS: [&str; 3] = ["is_cpu(", "in_memory(", "supports_dtype("];

/// Files that may ask so, with the reason.
const ALLOWED_QUESTIONS: [(&str, &str, &str); 12] = [
    ("core/kernels/src/device.rs", "is_cpu(", "its definition"),
    ("core/kernels/src/ops/augmentation.rs", "in_memory(", "a default body: GPUs have one of their own"),
    ("core/src/augment/planes.rs", "is_cpu(", "images, which each step puts on its device"),
    ("core/src/augment/planes.rs", "supports_dtype(", "images, which each step puts on its device"),
    ("core/src/data/image_set.rs", "in_memory(", "images, which lie on the host"),
    ("core/src/kernel/conditional/weight_product.rs", "in_memory(", "kernel weights"),
    ("core/src/kernel/conditional/weight_product.rs", "is_cpu(", "kernel weights"),
    ("core/src/loss/batch.rs", "in_memory(", "its definition"),
    ("core/src/loss/cclk/weights_of_views.rs", "in_memory(", "kernel weights of representations"),
    ("core/src/loss/objective.rs", "in_memory(", "representations as a condition"),
    ("core/src/numeric/read.rs", "is_cpu(", "the definition of `in_memory`"),
    ("core/src/train/config.rs", "supports_dtype(", "a check before the first step"),
];

/// Fails unless the files of a step that make one of the calls are those of the list.
fn assert_listed(calls: &[&str], allowed: &[(&str, &str, &str)], message: &str) {
    let (mut unlisted, mut listed) = (Vec::new(), BTreeSet::new());
    for (name, lines) in step_code() {
        for line in lines {
            // Without arguments it is a method of images, which lie on the host.
            let code = line.replace("in_memory()", "");
            for call in calls.iter().filter(|call| code.contains(*call)) {
                match allowed.iter().position(|(file, allowed, _)| *file == name && allowed == call) {
                    Some(at) => drop(listed.insert(at)),
                    None => unlisted.push(format!("{name}: {}", line.trim())),
                }
            }
        }
    }
    assert!(unlisted.is_empty(), "{message}:\n{}", unlisted.join("\n"));
    let stale: Vec<_> = (0..allowed.len()).filter(|at| !listed.contains(at)).map(|at| allowed[at]).collect();
    assert!(stale.is_empty(), "these are allowed and there no more: {stale:?}");
}

#[test]
fn nothing_in_a_step_reads_from_a_device_but_what_is_listed() {
    assert_listed(&READS, &ALLOWED, "these read from a device");
}

#[test]
fn nothing_in_a_step_depends_on_its_device_but_what_is_listed() {
    assert_listed(
        &QUESTIONS,
        &ALLOWED_QUESTIONS,
        "steps that reach these go another way on a GPU: list them, and let `depends_on_device` of \
         `native/src/experiment/train/reads_nothing.rs` be true of their objectives",
    );
}
