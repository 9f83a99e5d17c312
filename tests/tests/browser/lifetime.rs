//! How encoders of the package come and go: memory, calls that are taken back, the cache, a lost device.

use serde_json::{Value, json};

use crate::data::Data;
use crate::{Where, is_ready, run, workspace};

fn lifetime(place: Where) -> Option<Value> {
    is_ready().then(|| {
        let data = Data::write();
        let job = json!({
            "package": workspace().join("web/pkg"),
            "data": data.folder.path(),
            "checkpoint": Data::CHECKPOINT,
            "image": data.images[0],
        });
        let result = run("lifetime.mjs", place.job(), job);
        assert_eq!(result["complaints"], json!([]));
        result
    })
}

#[test]
fn encoders_are_freed_taken_back_and_kept() {
    let Some(result) = lifetime(Where::Cpu) else { return };

    let bytes: Vec<u64> = serde_json::from_value(result["turns"]["bytes"].clone()).unwrap();
    assert_eq!(result["turns"]["instances"], 1);
    // Ten networks that stay would be 2.5 MB.
    assert!(bytes[0] > 0 && bytes[9] < bytes[0] + (1 << 20), "memory grows: {bytes:?}");
    assert_eq!(result["workers"], 0, "workers are left");

    let aborted = &result["aborted"];
    assert_eq!(aborted["message"], "taken back");
    assert_eq!(aborted["load"], "taken back too");
    assert_eq!(aborted["length"], 84);
    assert!(aborted["share"].as_f64().unwrap() < 0.5, "a call that was taken back went on: {aborted}");

    // The first of a version; nothing for the second; another version; the server's own version replaces it, and is
    // asked for afterwards; without the cache; damaged in the cache; in memory, which needs one.
    assert_eq!(result["requests"], "GET GET HEAD GET HEAD GET GET GET");
    assert_eq!(result["cache"]["entries"], 0);
}

#[test]
fn a_lost_device_is_replaced() {
    let Some(result) = lifetime(Where::WebGpu) else { return };
    let lost = &result["lost"];
    assert_eq!(lost["kinds"], json!(["webgpu", "webgpu"]), "{lost}");
    assert_eq!(lost["isAnother"], true);
    let devices: Vec<String> = serde_json::from_value(lost["devices"].clone()).unwrap();
    assert!(devices.len() == 2 && devices[0].starts_with("cpu: WebGPU stopped"), "{devices:?}");
    for difference in lost["differences"].as_array().unwrap() {
        assert!(difference.as_f64().unwrap() < 1e-3, "{lost}");
    }
}
