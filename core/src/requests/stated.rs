//! Keys that files of reference numbers state in `params`, and that are no parameters of an objective.
//!
//! They follow from the inputs and the other parameters, so their values are passed over, except for a `similarity` other than
//! the cosine, which the objective refuses as an unknown parameter.

use serde_json::Value;

/// Objectives, each with a key that a request may state.
const STATED: [(&str, &str); 5] = [
    ("info-nce", "similarity"),
    ("kernel-decoupled-uniformity", "lambda_effective"),
    ("moco", "K"),
    ("rebias-hsic", "kernel"),
    ("swav", "nmb_crops"),
];

/// Removes the keys that a request only states from its parameters; the `formula` of a kernel is one.
pub(super) fn remove(objective: &str, params: &mut Value) {
    if let Value::Object(fields) = params {
        fields.retain(|key, value| !is_stated(objective, key, value));
        fields.values_mut().for_each(remove_formulas);
    }
}

fn is_stated(objective: &str, key: &str, value: &Value) -> bool {
    STATED.contains(&(objective, key)) && (key != "similarity" || value == "cosine")
}

/// Removes each `formula` from a kernel, a table of kernels or the factors of a kernel.
fn remove_formulas(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("formula");
            fields.values_mut().for_each(remove_formulas);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_formulas),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_stated_of_its_objective_alone_and_a_formula_in_each_kernel() {
        let parameters = |objective: &str, params: &Value| {
            let mut params = params.clone();
            remove(objective, &mut params);
            params
        };
        for (objective, key) in STATED {
            let params = json!({ "temperature": 0.5, key: "cosine" });
            assert_eq!(parameters(objective, &params), json!({ "temperature": 0.5 }), "{objective}");
            assert_eq!(parameters("nt-xent", &params), params, "{key}");
        }
        let dot = json!({ "similarity": "dot" });
        assert_eq!(parameters("info-nce", &dot), dot);
        let kernel = |inner: Value| json!({ "name": "product", "factors": [{ "kernel": inner }] });
        let with = json!({ "kernel": kernel(json!({ "name": "rbf", "formula": "k" })), "formula": "k" });
        let without = json!({ "kernel": kernel(json!({ "name": "rbf" })), "formula": "k" });
        assert_eq!(parameters("fair-cclk", &with), without);
    }
}
