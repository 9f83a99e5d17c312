//! The list of objectives with their parameters and inputs, as core describes them.

use serde_json::{Map, Value, json};
use simile_core::error::Error;
use simile_core::loss;
use simile_core::loss::spec::{Form, Input, InputKind, Spec};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::mathml;

/// Writes a list of objectives: `{ name, title, formula, equations, symbols, networks, parameters, parameterDetails, variants,
/// variant, forms, inputs, inputDetails, pytorch, hasClusters }`, where `inputs` are the required ones beside the views, and
/// `variant` is the default; or `{ name, title, formula, equations, symbols, networks, refusal }` for an objective that needs more
/// than two views with `z`, `labels` and `bias`.
#[wasm_bindgen]
pub fn catalogue() -> String {
    loss::specs().map(entry).collect::<Value>().to_string()
}

fn entry(spec: &Spec) -> Value {
    let mut entry = json!({
        "name": spec.name, "title": spec.title, "formula": spec.plain_formula(), "equations": equations(spec),
        "symbols": spec.symbols, "networks": spec.networks,
    });
    if let Some(input) = spec.missing_beside_views() {
        let refusal = Error::MissingInput { objective: spec.name.into(), input: input.name.into() };
        entry["refusal"] = refusal.to_string().into();
        return entry;
    }
    let is_view = |name: &str| name.starts_with("view_");
    let inputs: Vec<&Input> = spec.required().filter(|input| !is_view(input.name)).collect();
    entry["parameters"] = spec.parameters.iter().map(|parameter| parameter.name).collect();
    entry["parameterDetails"] = json!(spec.parameters);
    entry["variants"] = variants(spec).into();
    entry["variant"] = spec.variants.first().map(|form| form.name).into();
    entry["forms"] = spec.variants.iter().map(form).collect();
    entry["inputs"] = inputs.iter().map(|input| input.name).collect();
    entry["inputDetails"] = json!(inputs);
    entry["pytorch"] = spec.pytorch.into();
    entry["hasClusters"] = spec.inputs.iter().any(|input| input.kind == InputKind::Clusters).into();
    entry
}

/// The formula under each form, as elements `math`; under `null` for an objective of one form.
fn equations(spec: &Spec) -> Value {
    let symbols =
        |name: &str| spec.parameter(name).map(|parameter| parameter.symbol.unwrap_or(parameter.name));
    // The test of `mathml` reads every formula, so that none is left out.
    let lines = |form: &str| -> Vec<String> {
        spec.equations(form).into_iter().filter_map(|line| mathml::equation(line, &symbols).ok()).collect()
    };
    match spec.variants {
        [] => json!([{ "variant": null, "lines": lines("") }]),
        forms => {
            forms.iter().map(|form| json!({ "variant": form.name, "lines": lines(form.name) })).collect()
        }
    }
}

/// The difference of a form from the others, and what it sets beside its formula; `weights` only where it has a kernel.
fn form(form: &Form) -> Value {
    let defaults: Map<String, Value> =
        form.default.into_iter().map(|(parameter, value)| (parameter.to_owned(), value.into())).collect();
    let mut entry = json!({
        "name": form.name, "meaning": form.meaning, "defaults": defaults, "ridgeGrows": form.ridge_grows,
    });
    if let Some(weights) = form.weights {
        entry["weights"] = json!(weights);
    }
    entry
}

/// The variants of an objective whose parameters are given, the default one first; none where they then agree.
fn variants(spec: &Spec) -> Vec<&'static str> {
    let differ = spec.variants.len() > 1 && spec.variants.iter().any(|form| form.sets_only.is_none());
    spec.variants.iter().filter(|_| differ).map(|form| form.name).collect()
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
        assert_eq!(fair["variants"], json!(["normalised", "paper", "released"]));
        assert_eq!((&fair["variant"], &fair["title"]), (&json!("normalised"), &json!("Fair-CCLK")));
        assert_eq!(entry("hcl")["variants"], json!([]));
        assert_eq!(
            entry("decoupled-uniformity")["variants"],
            json!([]),
            "it differs in the default of t alone"
        );
        assert_eq!(entry("dc")["variants"], json!(["paper", "released"]));
        let forms = json!([
            { "name": "released", "meaning": "ridge lambda, t = 2", "defaults": { "t": 2.0 }, "ridgeGrows": false, "weights": "paper" },
            { "name": "paper", "meaning": "ridge b lambda, t = 1", "defaults": { "t": 1.0 }, "ridgeGrows": true, "weights": "paper" },
        ]);
        assert_eq!(entry("kernel-decoupled-uniformity")["forms"], forms);
        assert_eq!(entry("contex")["forms"][1]["defaults"], json!({ "mix": 0.7 }));
        assert!(fair["parameters"].as_array().unwrap().contains(&json!("lambda")));
        let lines = |name: &str, at: usize| entry(name)["equations"][at]["lines"].as_array().unwrap().len();
        assert_eq!((lines("nt-xent", 0), lines("jtt", 0)), (2, 2));
        assert_eq!(fair["equations"][1]["variant"], "paper");
        // The weights of the form itself, not those of the kernel alone.
        for name in ["weaksup-cclk", "fair-cclk", "hardneg-cclk"] {
            let stated = |at: usize| entry(name)["forms"][at]["weights"].as_str().unwrap();
            assert_eq!([0, 1, 2].map(stated), ["normalised", "paper", "released"], "{name}");
            let weights = |at: usize| {
                entry(name)["equations"][at]["lines"].as_array().unwrap().last().unwrap().to_string()
            };
            assert!(weights(0).contains("<mi>max</mi>"), "{name}: {}", weights(0));
            assert!(!weights(1).contains("<mi>max</mi>"), "{name}: {}", weights(1));
            assert!(weights(2).contains("clip_threshold"), "{name}: {}", weights(2));
        }
        assert_eq!(entry("nt-xent")["parameters"], json!(["temperature"]));
        let temperature = &entry("nt-xent")["parameterDetails"][0];
        assert_eq!((&temperature["default"], &temperature["symbol"]), (&json!(0.5), &json!("τ")));
        assert_eq!(
            temperature["slider"],
            json!({ "low": 0.03, "high": 3.0, "start": 0.5, "scale": "logarithmic" })
        );
        let details: Vec<&Value> = fair["parameterDetails"].as_array().unwrap().iter().collect();
        let kernel = details.iter().find(|parameter| parameter["kind"] == "kernel").unwrap();
        assert!(kernel["kernels"].as_array().unwrap().iter().any(|kernel| kernel["name"] == "exact-match"));
        assert_eq!(fair["inputDetails"][0]["kind"], "host");
        assert_eq!(entry("hcl")["parameters"], json!(["temperature", "beta", "tau_plus"]));
        assert_eq!(entry("contex")["inputs"], json!(["labels"]));
        assert_eq!(entry("biascon")["inputs"], json!(["labels", "bias"]));
        assert!(entry("byol")["refusal"].as_str().unwrap().contains("target_a"));
        assert!(entry("cross-entropy")["refusal"].as_str().unwrap().contains("logits"));
    }
}
