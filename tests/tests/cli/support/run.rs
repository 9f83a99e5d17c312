//! The files in the folder of a run.

use std::fs;
use std::path::Path;

use serde_json::Value;
use simile_tests::repository;

/// The content of `result.json`.
pub(crate) fn result(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap()
}

/// The schema of `result.json`.
pub(crate) fn result_schema() -> Value {
    let path = repository::root().join("native/schema/result.schema.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The final metrics of every variant.
pub(crate) fn metrics(run: &Path) -> Vec<Value> {
    result(run)["arms"].as_array().unwrap().iter().map(|variant| variant["metrics"].clone()).collect()
}

/// Asserts that a metric is a share of so many images.
pub(crate) fn assert_share_of(value: &Value, images: u32) {
    let count = value.as_f64().unwrap_or_else(|| panic!("{value} is no number")) * f64::from(images);
    let is_whole = (count - count.round()).abs() < 1e-6;
    assert!(is_whole && (0.0..=f64::from(images)).contains(&count), "{value} is no share of {images} images");
}

/// The content of `state/state.json`, once it exists.
#[cfg(unix)]
pub(crate) fn standing(run: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(run.join("state/state.json")).ok()?).ok()
}

/// The number of iterations of a variant in the last checkpoint.
#[cfg(unix)]
pub(crate) fn iterations(run: &Path, variant: &str) -> u64 {
    let standing = standing(run).unwrap_or_default();
    let variants = standing["arms"].as_array().cloned().unwrap_or_default();
    let iteration =
        variants.iter().find(|one| one["name"] == variant).and_then(|one| one["iteration"].as_u64());
    iteration.unwrap_or_default()
}

/// Asserts that two runs have the same losses, metrics and encoder.
pub(crate) fn assert_same_end(place: &Path, one: &str, other: &str) {
    let (one, other) = (place.join(one), place.join(other));
    for file in ["metrics.jsonl", "model.safetensors"] {
        assert!(fs::read(one.join(file)).unwrap() == fs::read(other.join(file)).unwrap(), "{file} differs");
    }
    assert_eq!(metrics(&one), metrics(&other));
    assert_eq!(result(&one)["untrained"], result(&other)["untrained"]);
}
