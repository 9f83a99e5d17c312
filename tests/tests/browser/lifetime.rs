//! The lifetime of encoders of the package: memory, cancelled calls, the cache, a lost device.

use serde_json::{Value, json};

use crate::data::Data;
use crate::{Where, is_ready, run};

/// Steps of a run that loses its device eight steps before its end, when the copy of its state is some steps old: on an emulated
/// GPU it is made after the first step, and again after about ten.
const STEPS: usize = 16;

fn lifetime(place: Where) -> Option<Value> {
    is_ready().then(|| {
        let data = Data::write();
        let job = json!({
            "data": data.folder.path(),
            "checkpoint": Data::CHECKPOINT,
            "image": data.images[0],
            "run": {
                "objective": "fair-cclk", "kernel": { "name": "rbf", "sigma": 20.0 }, "temperature": 0.5,
                "iterations": STEPS, "lostAfter": STEPS - 8, "batch": 8, "images": 64, "testImages": 16, "seed": 3,
                // With a larger rate the rounding of a device would grow to a visible difference.
                "learningRate": 5e-4,
            },
        });
        run("lifetime.mjs", place, job)
    })
}

#[test]
fn encoders_are_freed_taken_back_and_kept() {
    let Some(result) = lifetime(Where::Cpu) else { return };

    let bytes: Vec<u64> = serde_json::from_value(result["turns"]["bytes"].clone()).unwrap();
    assert_eq!(result["turns"]["instances"], 1);
    assert_eq!(
        result["bundles"],
        json!(["cpu.wasm"]),
        "the page compiles a bundle once for this thread and every worker"
    );
    // Ten networks that are not freed would take 2.5 MB.
    assert!(bytes[0] > 0 && bytes[9] < bytes[0] + (1 << 20), "memory grows: {bytes:?}");
    assert_eq!(result["workers"], 0, "workers are left");

    let aborted = &result["aborted"];
    assert_eq!(aborted["message"], "taken back");
    assert_eq!(aborted["load"], "taken back too");
    assert_eq!(aborted["arriving"], "taken back on its way");
    assert_eq!(aborted["unhandled"], json!([]), "a load that was taken back leaves an unhandled error");
    assert_eq!(aborted["length"], 84);
    assert_eq!(aborted["decoded"], 32, "a call that was taken back decodes the pictures that it had begun");
    assert!(aborted["share"].as_f64().unwrap() < 0.5, "a call that was taken back went on: {aborted}");

    let asked = &result["asked"];
    let modes = json!(["reload", "no-cache"]);
    assert_eq!(asked["modes"], modes, "a request is sent as it says, and a version is asked of the server");
    let unreachable = asked["unreachable"].as_str().unwrap();
    assert!(unreachable.contains("/data/absent.safetensors cannot be fetched: no network"), "{unreachable}");

    let progress = asked["progress"].as_array().unwrap();
    let last = progress.last().unwrap();
    assert_eq!(last["loaded"], asked["size"]);
    let is_beyond =
        |part: &&Value| part["total"].as_u64().is_some_and(|total| part["loaded"].as_u64() > Some(total));
    assert_eq!(progress.iter().find(is_beyond), None, "more than the whole of a file has arrived");

    let read = json!(["one", "two"]);
    assert_eq!(
        result["changed"], read,
        "a changed file is read once where no HEAD is answered, and offline none is"
    );

    // First load of a version: GET. Second load: none. Each other version: GET. The server's own version: HEAD and GET, then HEAD
    // alone. Without the cache, damaged in the cache, and in memory without a cache: GET each.
    assert_eq!(result["requests"], "GET GET GET GET HEAD GET HEAD GET GET GET");
    assert_eq!(result["cache"]["kept"], "版", "a version beyond Latin-1 is kept in memory alone");
    assert_eq!(result["cache"]["entries"], 0);
}

#[test]
fn a_lost_device_is_replaced() {
    let Some(result) = lifetime(Where::WebGpu) else { return };
    assert_eq!(result["bundles"], json!(["cpu.wasm", "webgpu.wasm"]));
    let undescribed = &result["lost"]["undescribed"];
    assert_eq!(undescribed["kind"], "cpu", "{undescribed}");
    for what in ["reason", "refusal"] {
        assert!(undescribed[what].as_str().unwrap().contains("does not describe"), "{what}: {undescribed}");
    }
    for what in ["encoder", "lab", "trainer"] {
        let lost = &result["lost"][what];
        assert_eq!(lost["kinds"], json!(["webgpu", "webgpu"]), "{what}: {lost}");
        assert_eq!(lost["isAnother"], true, "{what}");
        let devices: Vec<String> = serde_json::from_value(lost["devices"].clone()).unwrap();
        let is_told = devices.len() == 2 && devices[0].starts_with("cpu: WebGPU stopped");
        assert!(is_told, "{what}: {devices:?}");
    }
    for what in ["encoder", "lab"] {
        let differences: Vec<f64> =
            serde_json::from_value(result["lost"][what]["differences"].clone()).unwrap();
        assert!(differences.iter().all(|&difference| difference < 1e-3), "{what}: {differences:?}");
    }
    let losses =
        |name: &str| -> Vec<f64> { serde_json::from_value(result["lost"]["trainer"][name].clone()).unwrap() };
    let (disturbed_losses, expected) = (losses("losses"), losses("expected"));
    assert_eq!(disturbed_losses.len(), STEPS);
    for (step, (loss, expected)) in disturbed_losses.iter().zip(&expected).enumerate() {
        let difference = (loss - expected).abs();
        assert!(difference < 1e-2 * expected.abs(), "step {step}: {loss}, {expected} undisturbed");
    }
}
