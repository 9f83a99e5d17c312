//! The page that compares encoders, as a visitor would use it.

use serde_json::{Value, json};

use crate::data::Data;
use crate::{Where, is_ready, run, screenshots, workspace};

/// The name that the visitor gives a checkpoint.
const NAME: &str = "a_network_whose_name_has_no_blank_and_is_wider_than_a_phone";

#[test]
fn a_visitor_can_use_the_site_on_the_cpu() {
    a_visitor_can_use_the_site(Where::Cpu);
}

#[test]
fn a_visitor_can_use_the_site_on_webgpu() {
    a_visitor_can_use_the_site(Where::WebGpu);
}

fn a_visitor_can_use_the_site(place: Where) {
    if !is_ready() {
        return;
    }
    let data = Data::write();
    let result = run(
        "site.mjs",
        place.job(),
        json!({
            "site": workspace().join("www/dist"),
            "data": data.folder.path(),
            "checkpoint": data.path(Data::CHECKPOINT),
            "name": NAME,
            "image": data.path(&data.images[0]),
            "screenshots": screenshots(),
        }),
    );
    assert!(result["refusal"].as_str().unwrap().contains("safetensors"), "{}", result["refusal"]);
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["overflow"], false, "the page is wider than a phone");
    assert_eq!(result["focused"], 1, "a neighbour that was pressed keeps the focus");
    assert_eq!(result["asked"], json!([NAME, "Fair-CCLK", "SimCLR (NT-Xent)"]));
    assert_eq!(result["switches"], result["asked"], "the buttons have the order of the panels");
    let encoder = result["encoder"].as_str().unwrap();
    assert!(encoder.starts_with(&format!("{NAME}: lenet5")), "{encoder}");
    assert_eq!(result["isUntouched"], true, "the right button of the mouse draws");
    assert_eq!(result["isOlder"], matches!(place, Where::Cpu), "{}", result["isOlder"]);
    let bundles = match place {
        Where::Cpu => 1,
        Where::WebGpu => 2,
    };
    assert_eq!(result["bundles"], bundles, "the workers of a page fetch a bundle more than once");
    assert_ne!(result["rings"][0], result["rings"][1], "a background does not show that it has the focus");
    let [red, green, _]: [u8; 3] = serde_json::from_value(result["photograph"].clone()).unwrap();
    assert!(red > 150 && green < 100, "a photograph is not shown as stored: {}", result["photograph"]);
    assert_eq!(result["forced"], json!({ "isChosen": true, "backgrounds": 10 }), "with forced colours");
    assert_eq!(result["large"], json!({ "size": "24px", "overflow": false }), "with a larger font");
    assert_eq!(result["overflowOfName"], false, "a long name makes the page wider than a phone");
    assert_eq!(result["replaced"]["status"], "", "an encoder was replaced while it was asked");
    assert_eq!(result["silent"], json!([]), "pages that say nothing where JavaScript is switched off");
    if matches!(place, Where::Cpu) {
        it_says_what_the_browser_lacks(&result["refused"]);
    }
    let device = result["device"].as_str().unwrap();
    assert!(device.to_lowercase().starts_with(place.name()), "{device}");

    // The purpose of the page: the neighbours of one encoder share the digit, those of the other the background.
    let share = |encoder: &str, what: usize| result["tallies"][encoder][what].as_f64().unwrap();
    let (digit, background) = (0, 1);
    assert!(share("fair", digit) > share("unconditional", digit), "{}", result["tallies"]);
    assert!(share("fair", background) < share("unconditional", background), "{}", result["tallies"]);
}

/// Without WebGPU, which was asked for, the CPU computes; without WebAssembly nothing does, and nothing is waited for.
fn it_says_what_the_browser_lacks(refused: &Value) {
    let said = |lack: &str, what: &str| refused[lack][what].as_str().unwrap().to_owned();
    assert!(said("webgpu", "status").contains("no WebGPU adapter. The CPU computes instead."), "{refused}");
    assert!(
        said("webgpu", "device").starts_with("CPU: WebAssembly with SIMD (WebGPU cannot be used"),
        "{refused}"
    );
    assert_eq!(said("webgpu", "choice"), "cpu");
    assert!(said("wasm", "status").ends_with("Chrome, Edge, Firefox or Safari"), "{refused}");
    assert!(
        said("wasm", "device").starts_with("No encoder is loaded") && said("wasm", "encoder") == "none",
        "{refused}"
    );
}
