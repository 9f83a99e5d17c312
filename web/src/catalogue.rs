//! The list of objectives with their parameters and inputs, derived from core, so that a page cannot fall behind.

use burn::tensor::{DType, Device, try_read_sync};
use serde_json::{Map, Value, json};
use simile_core::loss;
use simile_core::requests::Request;
use wasm_bindgen::prelude::wasm_bindgen;

/// A value of each parameter that a page may offer.
fn parameters() -> [(&'static str, Value); 12] {
    [
        ("temperature", json!(0.5)),
        ("lambda", json!(0.1)),
        ("kernel", json!({ "name": "rbf", "sigma": 1.0 })),
        ("beta", json!(1.0)),
        ("tau_plus", json!(0.1)),
        ("mix", json!(0.5)),
        ("t", json!(2.0)),
        ("alpha", json!(2.0)),
        ("sigma", json!(0.5)),
        ("lambd", json!(0.005)),
        ("clip_threshold", json!(1e-6)),
        ("symmetric", json!(true)),
    ]
}

const VARIANTS: [&str; 3] = ["paper", "released", "normalised"];

/// The inputs that a page has beside two views of some samples.
const INPUTS: [&str; 3] = ["z", "labels", "bias"];

/// Writes a list of `{ name, parameters, variants, inputs }`, where `inputs` are those that the objective requires; or
/// `{ name, refusal }` for an objective that needs more than two views with `z`, `labels` and `bias`.
#[wasm_bindgen]
pub fn catalogue() -> String {
    loss::names().map(entry).collect::<Value>().to_string()
}

fn entry(name: &str) -> Value {
    if let Err(refusal) = loss(name, Map::new(), None) {
        return json!({ "name": name, "refusal": refusal });
    }
    let accepts =
        |parameter: &str, value: &Value| loss::build(name, None, json!({ parameter: value })).is_ok();
    let accepted: Vec<(&str, Value)> =
        parameters().into_iter().filter(|(parameter, value)| accepts(parameter, value)).collect();
    let needs = |input: &str| loss(name, Map::new(), Some(input)).is_err();
    json!({
        "name": name,
        "parameters": accepted.iter().map(|(parameter, _)| *parameter).collect::<Vec<_>>(),
        "variants": variants(name, &accepted),
        "inputs": INPUTS.into_iter().filter(|input| needs(input)).collect::<Vec<_>>(),
    })
}

/// The variants of an objective with the given parameters; none where their results agree.
fn variants(name: &str, parameters: &[(&str, Value)]) -> Vec<&'static str> {
    let of = |variant: &'static str| {
        let given = parameters.iter().map(|(parameter, value)| ((*parameter).to_owned(), value.clone()));
        let parameters = given.chain([("variant".to_owned(), variant.into())]).collect();
        loss(name, parameters, None).ok().map(|loss| (variant, loss))
    };
    let found: Vec<(&str, Option<f32>)> = VARIANTS.into_iter().filter_map(of).collect();
    let differ = found.windows(2).any(|pair| pair[0].1 != pair[1].1);
    found.into_iter().filter(|_| differ).map(|(variant, _)| variant).collect()
}

/// The loss of an objective on four samples, without one of the inputs.
fn loss(name: &str, parameters: Map<String, Value>, without: Option<&str>) -> Result<Option<f32>, String> {
    let mut inputs = Map::new();
    inputs.insert("view_a".into(), json!([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8], [0.8, -0.6]]));
    inputs.insert("view_b".into(), json!([[0.8, 0.6], [0.6, 0.8], [-0.8, 0.6], [0.6, -0.8]]));
    inputs.insert("z".into(), json!([[0.1, 0.2], [0.5, 0.1], [0.2, 0.9], [0.7, 0.6]]));
    inputs.insert("labels".into(), json!([0, 0, 1, 1]));
    inputs.insert("bias".into(), json!([0, 1, 0, 1]));
    inputs.retain(|input, _| Some(input.as_str()) != without);
    let case = Request { objective: name.into(), variant: None, params: parameters.into(), inputs };
    let evaluation = case.evaluate(&Device::flex(), DType::F32, None).map_err(|error| error.to_string())?;
    let data = try_read_sync(evaluation.loss.into_data_async()).and_then(Result::ok);
    Ok(data.and_then(|data| data.iter::<f32>().next()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_says_what_objectives_take_and_why_some_are_left_out() {
        let catalogue: Vec<Value> = serde_json::from_str(&catalogue()).unwrap();
        assert_eq!(catalogue.len(), loss::names().count());
        let entry = |name: &str| catalogue.iter().find(|entry| entry["name"] == name).unwrap();
        let fair = entry("fair-cclk");
        assert_eq!(fair["inputs"], json!(["z"]));
        assert_eq!(fair["variants"], json!(VARIANTS));
        assert_eq!(entry("hcl")["variants"], json!([]));
        assert_eq!(
            entry("decoupled-uniformity")["variants"],
            json!([]),
            "it differs in the default of t alone"
        );
        assert_eq!(entry("dc")["variants"], json!(["paper", "released"]));
        assert!(fair["parameters"].as_array().unwrap().contains(&json!("lambda")));
        assert_eq!(entry("nt-xent")["parameters"], json!(["temperature"]));
        assert_eq!(entry("hcl")["parameters"], json!(["temperature", "beta", "tau_plus"]));
        assert_eq!(entry("contex")["inputs"], json!(["labels"]));
        assert_eq!(entry("biascon")["inputs"], json!(["labels", "bias"]));
        assert!(entry("byol")["refusal"].as_str().unwrap().contains("target_a"));
        assert!(entry("cross-entropy")["refusal"].as_str().unwrap().contains("logits"));
    }
}
