//! An objective on numbers in the memory of a program, for one that computes a loss in a loop.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device};
use serde_json::Value;

use super::Request;
use super::finite::{compare, not_finite, refused, visit};
use super::input_values::{InputValues, check_views};
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::numeric::matrix::Matrix;

/// An objective with its parameters and its inputs.
#[derive(Debug, Clone)]
pub struct LossRequest {
    /// Name of the objective.
    pub objective: String,
    /// Its variant; the objective's default if absent.
    pub variant: Option<String>,
    /// Its parameters, a JSON object or null.
    pub params: Value,
    /// Its inputs by name.
    pub inputs: BTreeMap<String, InputValues>,
    /// Embeddings are unit rows: gradients are partial derivatives with respect to them.
    pub unit_rows: bool,
}

/// A loss and its gradients on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct LossAndGradients {
    /// The loss.
    pub loss: f64,
    /// Gradients by the name of the input, in its shape.
    pub gradients: BTreeMap<String, Matrix>,
}

impl LossRequest {
    /// The objective and the inputs of a request, to which a program adds further inputs. Inputs that other objectives alone
    /// read are left out.
    ///
    /// # Errors
    /// The objective is unknown, or no objective reads an input, or an input is not finite or has the wrong form; the error names it.
    pub fn of(request: &Request) -> Result<Self> {
        let spec = loss::spec(&request.objective)?;
        request.check_names(spec)?;
        let read_inputs = request.present_inputs().filter(|(name, _)| spec.reads(name));
        let inputs = read_inputs
            .map(|(name, value)| InputValues::parse(name, value).map(|values| (name.clone(), values)));
        Ok(Self {
            objective: request.objective.clone(),
            variant: request.variant.clone(),
            params: request.params.clone(),
            inputs: inputs.collect::<Result<_>>()?,
            unit_rows: request.has_unit_rows()?,
        })
    }

    /// Computes the loss and its gradients with respect to every input that the objective does not take as a constant.
    ///
    /// # Errors
    /// An input or parameter is unknown, missing, not finite or has the wrong shape; or a result is not a finite number: then
    /// the message names the parameter or input that is furthest from 1; or the device failed.
    pub async fn differentiate(&self, device: &Device, dtype: DType) -> Result<LossAndGradients> {
        let objective = loss::build(&self.objective, self.variant.as_deref(), self.params.clone())?;
        self.check_names(objective.spec())?;
        let batch = self.inputs.iter().try_fold(
            Batch::default().with_unit_rows(self.unit_rows),
            |batch, (name, values)| {
                values.check(name)?;
                values.clone().add_to(batch, name, device, dtype)
            },
        )?;
        let mut evaluation = objective.evaluate(&batch)?;
        // Intermediate results would be read from the device in every step of the program's loop.
        evaluation.aux.clear();
        let outcome = evaluation.read().await?;
        match not_finite(&outcome) {
            None => {
                Ok(LossAndGradients { loss: outcome.loss.unwrap_or(f64::NAN), gradients: outcome.gradients })
            }
            Some(result) => Err(self.refuse(&result, dtype)),
        }
    }

    /// The refusal of a result that is not finite.
    fn refuse(&self, result: &str, dtype: DType) -> Error {
        let mut furthest = None;
        visit(&self.params, "", &mut furthest);
        for (name, values) in &self.inputs {
            values.each().for_each(|value| compare(value, name, &mut furthest));
        }
        refused(&self.objective, result, furthest, dtype)
    }

    /// Checks that the objective reads every input: a misspelt name would be an input that is left out.
    fn check_names(&self, spec: &Spec) -> Result<()> {
        for (name, values) in &self.inputs {
            if !spec.reads(name) {
                return Err(Error::unknown("input", name, spec.inputs.iter().map(|input| input.name)));
            }
            check_views(spec, name, matches!(values, InputValues::Queues(_)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn loss_request(objective: &str, inputs: &[(&str, InputValues)]) -> LossRequest {
        LossRequest {
            objective: objective.into(),
            variant: None,
            params: json!({ "temperature": 0.5 }),
            inputs: inputs.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect(),
            unit_rows: false,
        }
    }

    fn run(request: &LossRequest, dtype: DType) -> Result<LossAndGradients> {
        pollster::block_on(request.differentiate(&Device::flex(), dtype))
    }

    /// Numbers of few digits, which a document gives back in every bit.
    fn view(shift: f64) -> InputValues {
        let of = |x: f64| (x.sin() * 1024.0).round() / 1024.0;
        InputValues::Rows(Matrix::from_fn(4, 3, |i, j| of(i as f64 * 1.7 + j as f64 * 0.9 + shift)))
    }

    #[test]
    fn numbers_in_memory_give_the_results_of_a_document() {
        let labels = InputValues::Integers(vec![0, 1, 0, 1]);
        let inputs = [("view_a", view(0.0)), ("view_b", view(0.4)), ("labels", labels)];
        let result = run(&loss_request("supcon", &inputs), DType::F64).unwrap();
        let rows = |values: &InputValues| match values {
            InputValues::Rows(rows) => json!(rows),
            _ => unreachable!(),
        };
        let document = json!({
            "objective": "supcon", "params": { "temperature": 0.5 },
            "inputs": { "view_a": rows(&inputs[0].1), "view_b": rows(&inputs[1].1), "labels": [0, 1, 0, 1] },
        });
        let request = Request::parse(&document.to_string()).unwrap();
        let expected = pollster::block_on(request.run(&Device::flex(), DType::F64, None)).unwrap();
        assert_eq!(Some(result.loss), expected.loss);
        assert_eq!(result.gradients, expected.gradients);
    }

    /// A document may state it, as files of reference numbers do.
    #[test]
    fn a_program_is_told_of_a_key_that_is_no_setting_of_a_kernel() {
        let params = json!({ "kernel": { "name": "rbf", "formula": "k" } });
        let request = LossRequest { params, ..loss_request("fair-cclk", &[]) };
        let text = run(&request, DType::F64).unwrap_err().to_string();
        assert!(text.contains("`formula`"), "{text}");
    }

    #[test]
    fn a_misspelt_input_is_named() {
        let error =
            run(&loss_request("nt-xent", &[("view_a", view(0.0)), ("view_bb", view(0.4))]), DType::F64);
        let text = error.unwrap_err().to_string();
        assert!(text.contains("unknown input `view_bb`; known: view_b, view_a"), "{text}");
        let many =
            [("view_a", view(0.0)), ("view_b", view(0.4)), ("view_d", view(0.8)), ("view_c", view(0.6))];
        let several = LossRequest { params: Value::Null, ..loss_request("decoupled-uniformity", &many) };
        assert!(run(&several, DType::F64).is_ok(), "a fourth view is one of `view_c` and so on");
    }

    #[test]
    fn a_case_gives_its_inputs_and_its_misspelt_ones_are_named() {
        let of = |inputs: &str| {
            let document = format!(r#"{{"objective": "nt-xent", "inputs": {{{inputs}}}}}"#);
            LossRequest::of(&Request::parse(&document).unwrap())
        };
        let request = of(r#""z": [1, 2], "labels": null, "inputs_normalised": true"#).unwrap();
        assert!(request.inputs.is_empty() && request.unit_rows, "{request:?}");
        let view = of(r#""view_b": [[1, 2]]"#).unwrap();
        assert_eq!(view.inputs["view_b"], InputValues::Rows(Matrix::from_fn(1, 2, |_, j| j as f64 + 1.0)));
        let text = of(r#""lables": [0, 1]"#).unwrap_err().to_string();
        assert!(text.contains("unknown input `lables`; known: "), "{text}");
        assert!(of(r#""inputs_normalised": 1"#).is_err());
    }

    #[test]
    fn a_queue_for_each_view_is_one_input() {
        let rows = |shift: f64| match view(shift) {
            InputValues::Rows(rows) => rows,
            _ => unreachable!(),
        };
        let views = [("view_a", view(0.0)), ("view_b", view(0.4)), ("prototypes", view(0.9))];
        let queues = ("queue", InputValues::Queues(vec![rows(1.3), rows(2.1)]));
        let loss = |inputs: &[(&str, InputValues)]| {
            let request = LossRequest { params: Value::Null, ..loss_request("swav", inputs) };
            run(&request, DType::F64).unwrap().loss
        };
        assert_ne!(loss(&views), loss(&[views.as_slice(), &[queues]].concat()));
    }

    #[test]
    fn integers_and_rows_are_not_taken_for_each_other() {
        let (a, b) = (("view_a", view(0.0)), ("view_b", view(0.4)));
        let rows = run(&loss_request("supcon", &[a.clone(), b.clone(), ("labels", view(0.0))]), DType::F64);
        assert!(rows.unwrap_err().to_string().contains("`labels` has rows of numbers, expected a list of"));
        let integers =
            run(&loss_request("nt-xent", &[a, ("view_b", InputValues::Integers(vec![1; 4]))]), DType::F64);
        assert!(integers.unwrap_err().to_string().contains("`view_b` has integers, expected rows"));
    }

    #[test]
    fn what_is_not_finite_is_refused_before_and_after() {
        let broken = InputValues::Rows(Matrix::from_fn(4, 3, |i, _| if i == 2 { f64::NAN } else { 1.0 }));
        let error = run(&loss_request("nt-xent", &[("view_a", broken), ("view_b", view(0.4))]), DType::F64);
        assert_eq!(error.unwrap_err(), Error::NotFinite { input: "view_a".into(), row: 2 });
        let beyond = InputValues::Rows(Matrix::from_fn(4, 3, |i, _| if i == 1 { -1e39 } else { 1.0 }));
        let inputs = [("view_a", view(0.4)), ("view_b", beyond)];
        let error = run(&loss_request("nt-xent", &inputs), DType::F32);
        assert_eq!(error.unwrap_err(), Error::TooLarge { input: "view_b".into(), row: 1, value: -1e39 });
        assert!(run(&loss_request("nt-xent", &inputs), DType::F64).is_ok());
        let logits = InputValues::Rows(Matrix::from_fn(2, 2, |_, j| if j == 0 { 3e38 } else { -3e38 }));
        let inputs = [("logits", logits), ("labels", InputValues::Integers(vec![1, 0]))];
        let large = LossRequest { params: Value::Null, ..loss_request("cross-entropy", &inputs) };
        let text = run(&large, DType::F32).unwrap_err().to_string();
        assert!(text.contains("the loss is not") && text.contains("3e38 in `logits`"), "{text}");
        assert!(run(&large, DType::F64).is_ok());
    }
}
