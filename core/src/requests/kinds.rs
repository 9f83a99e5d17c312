//! The kinds of request that are not objectives, a line each: tables of kernels, weights of LfF, evaluations and optimisers.

use burn::tensor::{DType, Device};
use serde_json::{Map, Value};

use super::eval::{colour_mse, kmeans, knn, linear_probe, metrics, roc_auc, worst_group};
use super::input::parse_integers;
use super::outcome::Outcome;
use super::{Request, is_near, kernels, lff, optim};
use crate::error::{Error, Result};
use crate::loss;
use crate::optim::lars::LarsVariant;

/// A kind of request that is not an objective.
pub(super) struct RequestKind {
    /// The name in `objective`.
    name: &'static str,
    /// The names in `variant`, under which documents ask for the one computation that there is.
    variants: &'static [&'static str],
    /// The inputs that it reads and that hold the class or the bias of each sample.
    labels: &'static [&'static str],
    /// The other inputs that it reads.
    others: &'static [&'static str],
    computation: Computation,
}

/// The computation of a request from its `params` and `inputs`.
enum Computation {
    /// In double precision on the host.
    OnHost(fn(&Value, &Value) -> Result<Outcome>),
    /// The weights of LfF, on a device.
    Lff,
    /// The steps of LARS, on a device.
    Lars(LarsVariant),
}

/// The variant of a kind that is computed as its authors released it.
const RELEASED: &[&str] = &["released"];

const KINDS: &[RequestKind] = &[
    RequestKind {
        name: "kernel-gram",
        // Paper and released code have the same matrix.
        variants: &["paper", "released"],
        labels: &[],
        others: &["z"],
        computation: Computation::OnHost(kernels::gram),
    },
    RequestKind {
        name: "kceo-weights",
        // The answer holds the weights of each of them.
        variants: &["both", "paper", "released", "normalised"],
        labels: &[],
        others: &["z"],
        computation: Computation::OnHost(kernels::weights),
    },
    RequestKind {
        name: lff::NAME,
        variants: RELEASED,
        labels: &["labels"],
        others: &["batches", "logits_b", "logits_d"],
        computation: Computation::Lff,
    },
    RequestKind {
        name: colour_mse::NAME,
        variants: RELEASED,
        labels: &[],
        others: &["features", "colours", "weight", "clf_bias"],
        computation: Computation::OnHost(colour_mse::run),
    },
    RequestKind {
        name: kmeans::NAME,
        variants: RELEASED,
        labels: &[],
        others: &["points"],
        computation: Computation::OnHost(kmeans::run),
    },
    RequestKind {
        name: knn::NAME,
        variants: RELEASED,
        labels: &["bank_labels", "query_labels"],
        others: &["bank", "queries", "inputs_normalised"],
        computation: Computation::OnHost(knn::run),
    },
    RequestKind {
        name: linear_probe::NAME,
        variants: RELEASED,
        labels: &["labels", "test_labels"],
        others: &["features", "targets", "init_weight", "init_bias", "test_features"],
        computation: Computation::OnHost(linear_probe::run),
    },
    RequestKind {
        name: metrics::NAME,
        variants: RELEASED,
        labels: &["labels", "bias"],
        others: &["logits"],
        computation: Computation::OnHost(metrics::run),
    },
    RequestKind {
        name: roc_auc::NAME,
        variants: RELEASED,
        labels: &["labels"],
        others: &["scores"],
        computation: Computation::OnHost(roc_auc::run),
    },
    RequestKind {
        name: worst_group::NAME,
        variants: RELEASED,
        labels: &["labels", "bias"],
        others: &["logits"],
        computation: Computation::OnHost(worst_group::run),
    },
    RequestKind {
        name: "lars-cclk",
        variants: RELEASED,
        labels: &[],
        others: &["weight", "bias", "grad_weight", "grad_bias"],
        computation: Computation::Lars(LarsVariant::Released),
    },
    RequestKind {
        name: "lars-simclr",
        variants: RELEASED,
        labels: &[],
        others: &["weight", "bias", "grad_weight", "grad_bias"],
        computation: Computation::Lars(LarsVariant::Simclr),
    },
];

/// The kinds that a misspelt name may mean, or one that is cut short. The error about an unknown name lists the objectives too, and
/// nearly all requests are for one, so it lists no other kind.
pub(super) fn names_near(name: &str) -> impl Iterator<Item = &'static str> {
    let kinds = KINDS.iter().map(|kind| kind.name);
    kinds.filter(move |kind| (!name.is_empty() && kind.starts_with(name)) || is_near(name, kind))
}

/// The kind of that name; none if it is an objective, or unknown.
pub(super) fn find(name: &str) -> Option<&'static RequestKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// True if some kind of request, or some objective, reads the input.
fn is_read(name: &str) -> bool {
    KINDS.iter().any(|kind| kind.reads(name)) || loss::specs().any(|spec| spec.reads(name))
}

impl RequestKind {
    /// Runs a request of this kind.
    ///
    /// # Errors
    /// The variant, an input or a parameter is unknown, an input or a parameter is missing or degenerate, or has the wrong
    /// shape (the error names it); or the device failed.
    pub(super) async fn run(&self, request: &Request, device: &Device, dtype: DType) -> Result<Outcome> {
        self.check_variant(request.variant.as_deref())?;
        self.check_names(&request.inputs)?;
        let (params, inputs) = (&request.params, self.with_integers(&request.inputs)?);
        match self.computation {
            Computation::OnHost(run) => run(params, &inputs),
            Computation::Lff => lff::run(params, &inputs, device, dtype).await,
            Computation::Lars(variant) => optim::run(variant, params, &inputs, device, dtype).await,
        }
    }

    fn inputs(&self) -> impl Iterator<Item = &'static str> {
        self.labels.iter().chain(self.others).copied()
    }

    fn reads(&self, name: &str) -> bool {
        self.inputs().any(|input| input == name)
    }

    fn check_variant(&self, variant: Option<&str>) -> Result<()> {
        match variant.filter(|name| !self.variants.contains(name)) {
            Some(other) => Err(Error::unknown("variant", other, self.variants.iter().copied())),
            None => Ok(()),
        }
    }

    /// Checks that this kind, another one or an objective reads every input, and that no name is nearly that of an absent input
    /// of this kind: a document may serve several requests, but a misspelt name would be an input that is left out.
    fn check_names(&self, inputs: &Map<String, Value>) -> Result<()> {
        let is_absent = |input: &&str| !inputs.contains_key(*input);
        let is_misspelt = |name: &str| {
            !self.reads(name) && self.inputs().filter(is_absent).any(|input| is_near(name, input))
        };
        match inputs.keys().find(|name| !is_read(name) || is_misspelt(name)) {
            Some(name) => Err(Error::unknown("input", name, self.inputs())),
            None => Ok(()),
        }
    }

    /// The inputs, with an integer for `1.0` and for `true` in labels, as in the labels of objectives.
    fn with_integers(&self, inputs: &Map<String, Value>) -> Result<Value> {
        let mut inputs = inputs.clone();
        for name in self.labels.iter().copied() {
            if let Some(value) = inputs.get_mut(name).filter(|value| !value.is_null()) {
                *value = parse_integers(name, value)?.into();
            }
        }
        Ok(Value::Object(inputs))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(objective: &str, variant: Option<&str>, inputs: &Value) -> Error {
        let request = Request {
            objective: objective.into(),
            variant: variant.map(Into::into),
            // `di` alone has a parameter without a default.
            params: if objective == "di" { json!({ "domains": 2 }) } else { Value::Null },
            inputs: inputs.as_object().unwrap().clone(),
        };
        pollster::block_on(request.run(&Device::flex(), DType::F64, None)).unwrap_err()
    }

    fn is_unknown_input(error: &Error, input: &str) -> bool {
        error.to_string().starts_with(&format!("unknown input `{input}`; known: "))
    }

    #[test]
    fn an_unknown_variant_and_an_unknown_input_are_refused_by_every_kind_and_objective() {
        for name in loss::names().chain(KINDS.iter().map(|kind| kind.name)) {
            let error = refused(name, Some("normalissed"), &json!({})).to_string();
            assert!(error.contains("unknown variant `normalissed`"), "{name}: {error}");
            for inputs in [json!({ "unread": [1] }), json!({ "unread": null })] {
                let error = refused(name, None, &inputs);
                assert!(is_unknown_input(&error, "unread"), "{name}: {error}");
            }
        }
        let error = refused("kceo-weights", None, &json!({ "z": [1, 2], "zz": [1, 2] }));
        assert!(is_unknown_input(&error, "zz"), "{error}");
    }

    #[test]
    fn an_input_beside_its_like_is_not_taken_for_a_misspelt_one() {
        let error = refused("lff-weights", None, &json!({ "logits_b": [] })).to_string();
        assert!(!error.contains("unknown input"), "{error}");
    }

    #[test]
    fn every_reference_file_has_a_variant_and_inputs_of_its_kind() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors");
        let mut counts = vec![0; KINDS.len()];
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_of = |kind: &RequestKind| file.starts_with(&format!("{}__", kind.name));
            let Some(at) = KINDS.iter().position(is_of) else { continue };
            let document = Request::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
            KINDS[at].check_variant(document.variant.as_deref()).unwrap();
            KINDS[at].check_names(&document.inputs).unwrap();
            assert!(document.inputs.keys().all(|name| KINDS[at].reads(name)), "{file}");
            counts[at] += 1;
        }
        assert!(counts.iter().all(|&files| files > 0), "{counts:?}");
    }
}
