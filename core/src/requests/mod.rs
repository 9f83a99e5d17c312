//! Runs one objective, probe or optimiser on the numbers of a JSON document, for `simile loss` and the page.
//!
//! The document has an `objective`, a `variant`, `params` and `inputs`; other fields are ignored, so that a file of
//! reference numbers is a request too. Embeddings, logits and the like are lists of rows. `inputs_normalised` marks
//! embeddings as unit rows: gradients are then partial derivatives with respect to them.

mod eval;
mod finite;
mod forces;
mod input;
mod input_values;
mod kernels;
mod kinds;
mod lff;
mod loss_request;
mod optim;
mod outcome;
mod stated;
mod unique_keys;
mod warnings;

use burn::tensor::{DType, Device};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result, read_by_name};
use crate::loss;
use crate::loss::Evaluation;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;

pub use self::input_values::InputValues;
use self::input_values::{check_views, has_views};
pub use self::loss_request::{LossAndGradients, LossRequest};
pub use self::outcome::Outcome;
pub use self::warnings::Warning;

/// The fields of a request.
const FIELDS: [&str; 4] = ["objective", "variant", "params", "inputs"];

/// True for a name that differs by one or two letters from that of a field.
fn is_misspelt(name: &str) -> bool {
    !FIELDS.contains(&name) && FIELDS.iter().any(|field| is_near(name, field))
}

/// True for names that differ by at most two letters.
fn is_near(one: &str, other: &str) -> bool {
    strsim::damerau_levenshtein(one, other) <= 2
}

/// The input that says that embeddings are unit rows.
const UNIT_ROWS: &str = "inputs_normalised";

/// A request, as parsed from JSON.
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "an object with objective, params and inputs")]
pub struct Request {
    /// Name of the objective.
    pub objective: String,
    /// Its variant; the objective's default if absent.
    #[serde(default)]
    pub variant: Option<String>,
    /// Its parameters.
    #[serde(default)]
    pub params: Value,
    /// Its inputs.
    pub inputs: Map<String, Value>,
}

impl Request {
    /// Parses a request.
    ///
    /// Other fields are passed over, so that a file of reference numbers is a request too, and so are the keys that such files state beside
    /// the parameters: `K` of `moco`, `formula` of a kernel.
    ///
    /// # Errors
    /// The document is not a request, or a key stands twice in it; the error gives the position. Or a field is nearly called as one of
    /// a request, which would not be read.
    pub fn parse(json: &str) -> Result<Self> {
        let understood = |e: serde_json::Error| {
            let reason = format!("{e}; expected objective, params and inputs");
            Error::parameter("request", "not understood", &reason)
        };
        // Editors of Windows begin a file with a byte order mark.
        let json = json.strip_prefix('\u{feff}').unwrap_or(json);
        let document: Value = serde_json::from_str(json).map_err(understood)?;
        unique_keys::check(json)
            .map_err(|twice| Error::parameter("request", "not understood", &twice.to_string()))?;
        let fields = document.as_object().into_iter().flat_map(Map::keys);
        if let Some(name) = fields.into_iter().find(|name| is_misspelt(name)) {
            return Err(Error::unknown("field", name, FIELDS.into_iter()));
        }
        let mut request: Self = read_by_name("request", &document)?;
        if request.objective == "kernel-gram"
            && request.params.get("kernels").is_none()
            && let Some(kernels) = kernels::kernels_of_reference(&document)
        {
            match &mut request.params {
                Value::Object(params) => drop(params.insert("kernels".into(), kernels)),
                params => *params = serde_json::json!({ "kernels": kernels }),
            }
        }
        stated::remove(&request.objective, &mut request.params);
        Ok(request)
    }

    /// Runs the request and reads the results back.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate), or the device failed, or a result is not a finite number: then the message names
    /// the parameter or input that is furthest from 1.
    pub async fn run(&self, device: &Device, dtype: DType, tile: Option<usize>) -> Result<Outcome> {
        let outcome = self.outcome(device, dtype, tile).await?;
        finite::checked(self, outcome, dtype)
    }

    async fn outcome(&self, device: &Device, dtype: DType, tile: Option<usize>) -> Result<Outcome> {
        match kinds::find(&self.objective) {
            Some(kind) => kind.run(self, device, dtype).await,
            None if loss::names().any(|name| name == self.objective) => {
                self.evaluate(device, dtype, tile)?.read().await
            }
            None => {
                let known = loss::names().chain(kinds::names_near(&self.objective));
                Err(Error::unknown("objective", &self.objective, known))
            }
        }
    }

    /// Evaluates an objective on a device in the given float type, `tile` anchors at once.
    ///
    /// # Errors
    /// An input or parameter is unknown, missing, not finite or has the wrong shape; the error names it.
    pub fn evaluate(&self, device: &Device, dtype: DType, tile: Option<usize>) -> Result<Evaluation> {
        let objective = loss::build(&self.objective, self.variant.as_deref(), self.params.clone())?;
        self.check_names(objective.spec())?;
        let batch = self.batch(device, dtype)?.with_tile(tile).with_details(true);
        objective.evaluate(&batch)
    }

    /// Checks that the objective, or another one, reads every input: a document may serve several objectives, but a misspelt name
    /// would be an input that is left out.
    fn check_names(&self, spec: &Spec) -> Result<()> {
        let is_read = |name: &str| name == UNIT_ROWS || loss::specs().any(|spec| spec.reads(name));
        if let Some(name) = self.inputs.keys().find(|name| !is_read(name)) {
            return Err(Error::unknown("input", name, spec.inputs.iter().map(|input| input.name)));
        }
        self.present_inputs().try_for_each(|(name, value)| check_views(spec, name, has_views(value)))
    }

    /// The inputs that are not `null`.
    fn present_inputs(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.inputs.iter().filter(|(_, value)| !value.is_null())
    }

    /// The inputs as a batch.
    ///
    /// # Errors
    /// An input is not finite or has the wrong shape; the error names it.
    fn batch(&self, device: &Device, dtype: DType) -> Result<Batch> {
        let mut batch = Batch::default().with_unit_rows(self.has_unit_rows()?);
        for (name, value) in self.present_inputs().filter(|(name, _)| *name != UNIT_ROWS) {
            batch = InputValues::parse(name, value)?.add_to(batch, name, device, dtype)?;
        }
        Ok(batch)
    }

    /// True if the embeddings are unit rows.
    fn has_unit_rows(&self) -> Result<bool> {
        match self.inputs.get(UNIT_ROWS) {
            None | Some(Value::Null) => Ok(false),
            Some(value) => {
                value.as_bool().ok_or_else(|| Error::shape(UNIT_ROWS, "true or false", value.to_string()))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(json: &str) -> Result<Outcome> {
        pollster::block_on(Request::parse(json)?.run(&Device::flex(), DType::F64, None))
    }

    #[test]
    fn an_unknown_objective_names_the_nearest() {
        let error = run(r#"{"objective": "fair-cclkk", "inputs": {}}"#).unwrap_err();
        let Error::Unknown { known, .. } = &error else { unreachable!("{error}") };
        assert_eq!(known.first().map(String::as_str), Some("fair-cclk"));
        assert!(
            run(r#"{"objective": "lff-weight", "inputs": {}}"#)
                .unwrap_err()
                .to_string()
                .contains("lff-weights")
        );
        let error = run(r#"{"objective": "fair-clk", "inputs": {}}"#).unwrap_err();
        let Error::Unknown { known, .. } = &error else { unreachable!("{error}") };
        assert_eq!(known.first().map(String::as_str), Some("fair-cclk"));
        // `lars-cclk` and `metrics`, which are no objectives, were among the nearest.
        let is_objective = |name: &String| loss::names().any(|objective| objective == name);
        assert!(known[..known.len() - 1].iter().all(is_objective), "{error}");
        assert_eq!(known.last(), Some(&format!("and {} others", loss::names().count() + 1 - known.len())));
        let error = run(r#"{"objective": "lars", "inputs": {}}"#).unwrap_err();
        let Error::Unknown { known, .. } = &error else { unreachable!("{error}") };
        assert_eq!(known[..2], ["lars-cclk", "lars-simclr"], "{error}");
    }

    #[test]
    fn an_input_that_no_objective_reads_and_a_gap_between_views_are_named() {
        let views = r#""view_a": [[1, 0], [0, 1]], "view_b": [[1, 1], [0, 1]]"#;
        let refused = |objective: &str, more: &str| {
            let case = format!(r#"{{"objective": "{objective}", "inputs": {{{views}, {more}}}}}"#);
            run(&case).unwrap_err().to_string()
        };
        let text = refused("contex", r#""labels": [0, 1], "biass": [0, 1]"#);
        assert!(text.contains("unknown input `biass`; known: bias"), "{text}");
        let text = refused("decoupled-uniformity", r#""view_d": [[1, 0], [0, 1]]"#);
        assert!(text.contains("`view_c`"), "{text}");
        let text = refused("contex", r#""logits": [[1, 2], [3]]"#);
        assert!(text.contains("`logits` has 1 numbers in row 1, expected 2 as in the first row"), "{text}");
        let text = refused("nt-xent", r#""inputs_normalised": 1"#);
        assert!(text.contains("`inputs_normalised`") && text.contains("true or false"), "{text}");
        let with_others = format!(r#"{{"objective": "nt-xent", "inputs": {{{views}, "z": [1, 2]}}}}"#);
        assert!(run(&with_others).is_ok(), "a document may serve several objectives");
        let text = refused("supcon", r#""labels": [0, 1], "view_c": [[1, 0], [0, 1]]"#);
        assert!(
            text.contains("`view_c` has another one, expected two views: `supcon` compares no more"),
            "{text}"
        );
    }

    #[test]
    fn classes_are_integers_however_they_are_written_and_null_is_no_input() {
        let loss = |labels: &str| {
            let views = r#""view_a": [[1, 0], [0, 1], [1, 1]], "view_b": [[1, 1], [0, 1], [1, 0]]"#;
            let case = format!(
                r#"{{"objective": "contex", "inputs": {{{views}, "labels": {labels}, "bias": null}}}}"#
            );
            run(&case).map(|outcome| outcome.loss.unwrap())
        };
        let expected = loss("[1, 0, 1]").unwrap();
        for same in ["[1.0, 0.0, 1.0]", "[true, false, true]"] {
            assert_eq!(loss(same).unwrap(), expected, "{same}");
        }
        for other_names in [
            "[-1, 7, -1]",
            "[-1.0, 0.0, -1.0]",
            "[-9223372036854775808, 9223372036854775807, -9223372036854775808]",
        ] {
            assert_eq!(loss(other_names).unwrap(), expected, "{other_names}");
        }
        for wrong in ["[1, 9223372036854775808, 1]", "[1, 0.5, 1]", "[1, \"0\", 1]", "1", "[[1], [0], [1]]"] {
            let text = loss(wrong).unwrap_err().to_string();
            assert!(text.contains("`labels`") && text.contains("a list of integers"), "{wrong}: {text}");
        }
    }

    #[test]
    fn a_misspelt_field_is_named_and_others_are_passed_over() {
        let parsed =
            |fields: &str| Request::parse(&format!("\u{feff}{{\"objective\": \"nt-xent\", {fields}}}"));
        let error = parsed(r#""parms": {"temperature": 0.1}, "inputs": {}"#).unwrap_err().to_string();
        assert!(error.contains("unknown field `parms`; known: params"), "{error}");
        assert!(parsed(r#""inputs": {}, "loss": 1, "notes": "", "f32": {}, "grad_a": []"#).is_ok());
    }

    /// The last of its values was taken.
    #[test]
    fn a_key_that_stands_twice_is_named() {
        let views = r#""view_a": [[1, 0], [0, 1]], "view_b": [[1, 1], [0, 1]]"#;
        let of = |more: &str, params: &str, inputs: &str| {
            let params = format!(r#""params": {{{params}}}, "inputs": {{{views}{inputs}}}"#);
            run(&format!("{{\"objective\": \"nt-xent\",\n{more}{params}}}"))
        };
        assert!(of("", r#""temperature": 0.1"#, "").is_ok());
        for (more, params, inputs, key) in [
            (r#""objective": "dcl", "#, "", "", "objective"),
            ("", r#""temperature": 0.1, "temperature": 0.5"#, "", "temperature"),
            ("", "", r#", "view_a": [[0, 1], [1, 0]]"#, "view_a"),
        ] {
            let error = of(more, params, inputs).unwrap_err().to_string();
            let words = format!("`request` is not understood, `{key}` stands twice at line 2");
            assert!(error.contains(&words), "{error}");
        }
        let apart = r#""a": {"x": [1, true, null]}, "b": {"x": "x"}, "#;
        assert!(of(apart, "", "").is_ok(), "the objects are two");
    }

    #[test]
    fn what_is_of_another_type_is_named() {
        for (case, words) in [
            (r#"{"objective": "nt-xent", "variant": 1, "inputs": {}}"#, "`variant` is not understood"),
            (r#"{"objective": "nt-xent", "inputs": []}"#, "`inputs` is not understood"),
            (r#"{"objective": "nt-xent", "params": [], "inputs": {}}"#, "`params` is []"),
            (
                "5",
                "`request` is not understood, invalid type: integer `5`, expected an object with objective, params and inputs",
            ),
            ("{", "`request` is not understood, EOF while parsing"),
            (
                r#"{"objective": "kceo-weights", "params": {"kernel": {"name": "rbf"}}, "inputs": {"z": "a"}}"#,
                "`z` has \"a\", expected a list of rows of numbers",
            ),
            (
                r#"{"objective": "kmeans", "params": {"k": "two"}, "inputs": {"points": [[1]]}}"#,
                "`k` is not understood",
            ),
            (
                r#"{"objective": "fair-cclk", "params": {"kernel": {"sigma": 1}}, "inputs": {}}"#,
                "`kernel` is not understood, unknown kernel ``; known: ",
            ),
        ] {
            let error = run(case).unwrap_err().to_string();
            assert!(error.contains(words), "{case}: {error}");
        }
    }

    #[test]
    fn shapes_and_columns_that_do_not_fit_are_named() {
        let text = |json: &str| run(json).unwrap_err().to_string();
        let lars = text(
            r#"{"objective": "lars-cclk", "params": {"lr_per_step": [0.1], "momentum": 0.9, "weight_decay": 0, "eta": 0.001},
                "inputs": {"weight": [[1, 2, 3], [4, 5, 6]], "bias": [0], "grad_weight": [[[1, 2], [3, 4], [5, 6]]], "grad_bias": [[0]]}}"#,
        );
        assert!(lars.contains("`grad_weight`") && lars.contains("2x3") && lars.contains("3x2"), "{lars}");
        let gram = text(
            r#"{"objective": "kernel-gram", "inputs": {"z": [[0, 1], [2, 3]]}, "params": {"kernels": {"wide":
                {"name": "product", "factors": [{"start": 0, "end": 4, "kernel": {"name": "linear"}}]}}}}"#,
        );
        assert!(gram.contains("has 2 columns"), "{gram}");
        let lnl = text(
            r#"{"objective": "lnl", "inputs": {"logits": [[0.1, 0.9]], "labels": [0], "bias_logits": [[], []]}}"#,
        );
        assert!(lnl.contains("bias_logits"), "{lnl}");
        let alone = r#"{"objective": "kceo-weights", "params": {"kernel": {"name": "rbf"}}, "inputs": {"z": [[0.5]]}}"#;
        assert!(run(alone).unwrap().aux.get("clip_margin").is_none(), "one row has no pair");
    }

    /// As objectives refuse it. Up to the size whose squares are infinite, weights were computed.
    #[test]
    fn a_condition_above_the_largest_has_no_weights() {
        let of = |z: &str| {
            let params = r#"{"kernel": {"name": "rbf"}}"#;
            run(&format!(r#"{{"objective": "kceo-weights", "params": {params}, "inputs": {{"z": {z}}}}}"#))
        };
        assert!(of("[0.5, 1e100]").is_ok());
        let error = of("[0.5, -2e100]").unwrap_err();
        assert_eq!(error, Error::TooLarge { input: "z".into(), row: 1, value: -2e100 });
    }

    #[test]
    fn a_list_of_numbers_is_a_condition_of_one_column() {
        for (objective, params) in [
            ("kceo-weights", r#"{"kernel": {"name": "rbf"}}"#),
            ("kernel-gram", r#"{"kernels": {"k": {"name": "rbf"}}}"#),
        ] {
            let aux = |z: &str| {
                run(&format!(r#"{{"objective": "{objective}", "params": {params}, "inputs": {{"z": {z}}}}}"#))
                    .unwrap()
                    .aux
            };
            assert_eq!(aux("[0.5, 1, 3]"), aux("[[0.5], [1], [3]]"), "{objective}");
        }
    }

    #[test]
    fn a_queue_for_each_view_changes_what_swav_assigns() {
        let case = |queue: &str| {
            run(&format!(
                r#"{{"objective": "swav", "params": {{"epsilon": 0.3}}, "inputs": {{{queue}
                "view_a": [[1, 0], [0, 1]], "view_b": [[1, 1], [0, 1]], "prototypes": [[1, 0], [0, 1], [-1, 0]]}}}}"#
            ))
        };
        let with = case(r#""queue": [[[1, 0], [0.6, 0.8], [1, 0]], [[0, 1], [-1, 0], [0, 1]]],"#).unwrap();
        let without = case("").unwrap();
        assert_ne!(with.loss, without.loss);
        assert_eq!(with.aux["assignments_a"].as_array().unwrap().len(), 2, "those of the batch");
        let error = case(r#""queue": [[[1, 0]], [[0, 1, 0]]],"#).unwrap_err().to_string();
        assert!(error.contains("queue_1"), "{error}");
        let error = case(r#""queue": [[1, 0], [0, 1]],"#).unwrap_err().to_string();
        assert!(error.contains("`queue` has one matrix, expected a matrix for each view"), "{error}");
        let views = r#""view_a": [[1, 0], [0, 1]], "view_b": [[1, 1], [0, 1]]"#;
        let case =
            format!(r#"{{"objective": "moco", "inputs": {{{views}, "queue": [[[1, 0]], [[0, 1]]]}}}}"#);
        let error = run(&case).unwrap_err().to_string();
        assert!(error.contains("`queue` has several matrices, expected one matrix, [K, d]"), "{error}");
    }

    #[test]
    fn a_list_of_conditioning_values_is_one_for_each_sample() {
        let case = r#"{"objective": "fair-cclk", "params": {"kernel": {"name": "rbf"}}, "inputs":
            {"view_a": [[1, 0], [0, 1], [1, 1]], "view_b": [[1, 0], [0, 1], [1, 1]], "z": [0.1, 0.2, 0.9]}}"#;
        assert!(run(case).unwrap().loss.unwrap().is_finite());
    }

    #[test]
    fn one_condition_of_two_is_not_passed_over() {
        for (objective, given) in [
            ("hardneg-cclk", r#""z_b": [1, 2, 4]"#),
            ("fair-cclk", r#""z": [1, 2, 4], "z_b": [1, 2, 4]"#),
            ("weaksup-cclk", r#""z_b": [1, 2, 4]"#),
        ] {
            let views = r#""view_a": [[1, 0], [0, 1], [1, 1]], "view_b": [[1, 0], [0, 1], [1, 1]]"#;
            let error = run(&format!(r#"{{"objective": "{objective}", "inputs": {{{views}, {given}}}}}"#));
            let error = error.unwrap_err().to_string();
            assert!(error.contains("`z_a`"), "{objective}: {error}");
        }
    }

    #[test]
    fn a_misspelt_input_of_an_evaluation_is_named_and_others_are_passed_over() {
        let case = |more: &str| {
            run(&format!(
                r#"{{"objective": "knn", "params": {{"k": 1, "classes": 2}}, "inputs": {{"bank": [[1, 0], [0, 1]],
                "queries": [[1, 0]], "bank_labels": [0, 1], {more}}}}}"#
            ))
        };
        let error = case(r#""inputs_normalized": true"#).unwrap_err().to_string();
        assert!(error.contains("`inputs_normalized`") && error.contains("inputs_normalised"), "{error}");
        let error = case(r#""query_label": [0]"#).unwrap_err().to_string();
        assert!(error.contains("query_labels"), "{error}");
        assert!(case(r#""query_labels": [0], "logits": [[3]]"#).is_ok(), "another request reads it");
    }
}
