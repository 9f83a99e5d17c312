//! The queue of momentum contrast after a step, against the reference vectors.

use burn::tensor::{DType, Device};
use serde_json::Value;
use simile_core::algorithm::KeyQueue;
use simile_core::numeric::matrix::Matrix;

/// Rows of a queue from its oldest one, which stands at `pointer`.
fn from_oldest(rows: &Value, pointer: usize) -> Matrix {
    let rows: Matrix = serde_json::from_value(rows.clone()).unwrap();
    let order: Vec<usize> = (0..rows.rows()).map(|i| (pointer + i) % rows.rows()).collect();
    rows.select(&order)
}

#[test]
fn keys_replace_the_oldest_rows() {
    let folder = simile_tests::vectors();
    let place = |rows: &Matrix| rows.to_tensor(&Device::flex(), DType::F64);
    for case in 1..=3 {
        let file = std::fs::read_to_string(folder.join(format!("moco__released__{case}.json"))).unwrap();
        let json: Value = serde_json::from_str(&file).unwrap();
        let pointer = usize::try_from(json["aux"]["queue_ptr_before"].as_u64().unwrap()).unwrap();
        let mut queue = KeyQueue::new(place(&from_oldest(&json["inputs"]["queue"], pointer))).unwrap();
        let keys: Matrix = serde_json::from_value(json["inputs"]["view_b"].clone()).unwrap();
        queue.push(place(&keys)).unwrap();
        let expected = place(&from_oldest(&json["aux"]["queue_after"], pointer));
        let error = (queue.rows() - expected).abs().max().into_scalar::<f64>();
        assert!(error < 1e-9, "case {case}: off by {error:.1e}");
    }
}
