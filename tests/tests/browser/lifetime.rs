//! The lifetime of encoders of the package: memory, calls that are taken back, requests, kept checkpoints, a lost device.

use serde_json::json;

use crate::data::Data;
use crate::{Where, is_ready, run};

/// Runs a story of `tests/browser/lifetime`.
fn story(name: &str, place: Where) {
    if is_ready() {
        let data = Data::write();
        let job = json!({
            "data": data.folder.path(),
            "checkpoint": Data::CHECKPOINT,
            "image": data.images[0],
        });
        run(&format!("lifetime/{name}.mjs"), place, job);
    }
}

#[test]
fn encoders_are_freed() {
    story("memory", Where::Cpu);
}

#[test]
fn calls_that_are_taken_back_end() {
    story("cancelled", Where::Cpu);
}

#[test]
fn a_checkpoint_is_asked_for_as_the_caller_says() {
    story("requests", Where::Cpu);
}

#[test]
fn checkpoints_are_kept() {
    story("cache", Where::Cpu);
}

#[test]
fn a_lost_device_is_replaced() {
    story("lost", Where::WebGpu);
}
