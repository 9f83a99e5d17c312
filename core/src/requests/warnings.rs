//! Warnings about results that are finite and still mean little.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize as _;
use serde_json::Value;

use super::input::parse_condition;
use super::{InputValues, LossRequest, Request};
use crate::kernel::{Degeneracy, Kernel, NoEffect};
use crate::loss;
use crate::numeric::matrix::Matrix;

/// A warning about a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Why a condition has no effect; `None` of a parameter that the form does not read.
    pub degeneracy: Option<Degeneracy>,
    /// The warning in words, with what helps.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Request {
    /// Warnings about a finite result: parameters that the form does not read, and a condition that has no effect, by
    /// [`Objective::warning`](crate::loss::Objective::warning).
    pub fn warnings(&self) -> Vec<Warning> {
        let settings =
            Settings { objective: &self.objective, variant: self.variant.as_deref(), params: &self.params };
        let condition =
            |name: &str| parse_condition(name, self.inputs.get(name)?).ok().map(Cow::<Matrix>::Owned);
        settings.warnings(condition, |no_effect| no_effect.to_string())
    }
}

impl LossRequest {
    /// As [`Request::warnings`], but without the median distance of the samples: in a loop it differs from batch to batch, and
    /// Python shows a text once for a line of a program.
    pub fn warnings(&self) -> Vec<Warning> {
        let settings =
            Settings { objective: &self.objective, variant: self.variant.as_deref(), params: &self.params };
        let condition = |name: &str| match self.inputs.get(name)? {
            InputValues::Rows(rows) => Some(Cow::Borrowed(rows)),
            InputValues::Integers(_) | InputValues::Queues(_) => None,
        };
        settings.warnings(condition, |no_effect| no_effect.text)
    }
}

/// The settings of a request.
struct Settings<'s> {
    objective: &'s str,
    variant: Option<&'s str>,
    params: &'s Value,
}

impl Settings<'_> {
    /// The warnings. `condition` gives the values of a condition by its name, and `in_words` the text about one without effect.
    fn warnings<'c>(
        &self,
        condition: impl Fn(&str) -> Option<Cow<'c, Matrix>>,
        in_words: impl Fn(NoEffect) -> String,
    ) -> Vec<Warning> {
        let unread = self.unread().into_iter().map(|text| Warning { degeneracy: None, text });
        let warning_of = |(name, no_effect): (&str, NoEffect)| {
            let degeneracy = Some(no_effect.degeneracy);
            Warning { degeneracy, text: format!("`{name}`: {}", in_words(no_effect)) }
        };
        unread.chain(self.conditions_without_effect(condition).into_iter().map(warning_of)).collect()
    }

    /// The warnings about parameters that the form does not read.
    fn unread(&self) -> Vec<String> {
        let variant = self.variant.or_else(|| self.params.get("variant")?.as_str());
        let unread = loss::spec(self.objective).map(|spec| spec.without_effect(variant));
        let set_in_vain =
            unread.into_iter().flatten().filter(|parameter| self.params.get(parameter.name).is_some());
        set_in_vain
            .map(|parameter| {
                let form = parameter.form.unwrap_or_default();
                format!("`{}` has no effect: the form `{form}` alone reads it", parameter.name)
            })
            .collect()
    }

    /// The conditions that have no effect, by name.
    fn conditions_without_effect<'c>(
        &self,
        condition: impl Fn(&str) -> Option<Cow<'c, Matrix>>,
    ) -> Vec<(&'static str, NoEffect)> {
        let objective = loss::build(self.objective, self.variant, self.params.clone()).ok();
        let of_kernel_alone = |z: &Matrix| {
            let kernel = Kernel::deserialize(self.params.get("kernel")?).ok()?;
            kernel.fits(z).ok()?;
            kernel.warning(z)
        };
        let no_effect_of = |name: &'static str| {
            let z = condition(name)?;
            let no_effect = match &objective {
                Some(objective) => objective.warning(&z),
                // A request for weights alone is no objective.
                None => of_kernel_alone(&z),
            };
            no_effect.map(|no_effect| (name, no_effect))
        };
        ["z", "z_a", "z_b"].into_iter().filter_map(no_effect_of).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The texts of warnings.
    fn texts(warnings: Vec<Warning>) -> Vec<String> {
        warnings.into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn a_kernel_under_which_no_two_samples_are_alike_is_said() {
        let warnings = |kernel: &str| {
            let case = format!(
                r#"{{"objective": "fair-cclk", "params": {{"kernel": {kernel}}}, "inputs": {{"z": [1, 2, 4]}}}}"#
            );
            texts(Request::parse(&case).unwrap().warnings())
        };
        for kernel in [
            r#"{"name": "rbf", "sigma": 1e-30}"#,
            r#"{"name": "laplacian", "sigma": 1e-30}"#,
            r#"{"name": "laplacian-l1", "gamma": 1e6}"#,
            r#"{"name": "exact-match"}"#,
        ] {
            let warnings = warnings(kernel);
            assert!(
                warnings[0].contains("`z`") && warnings[0].contains("median distance"),
                "{kernel}: {warnings:?}"
            );
        }
        for kernel in [r#"{"name": "rbf", "sigma": 1}"#, r#"{"name": "rbf", "sigma": "median"}"#] {
            assert_eq!(warnings(kernel), Vec::<String>::new(), "{kernel}");
        }
        // Kernel values near 1e-87 add nothing to a weight near 1, but among themselves they have shares.
        let small = r#""params": {"kernel": {"name": "rbf", "sigma": 0.05}}, "inputs": {"z": [0, 1, 2]}"#;
        let warning_count =
            |head: &str| Request::parse(&format!("{{{head}, {small}}}")).unwrap().warnings().len();
        assert_eq!(warning_count(r#""objective": "hardneg-cclk""#), 0);
        assert_eq!(warning_count(r#""objective": "hardneg-cclk", "variant": "paper""#), 1);
        assert_eq!(warning_count(r#""objective": "weaksup-cclk""#), 1);
    }

    #[test]
    fn a_condition_of_one_value_is_said_whether_the_kernel_is_given_or_the_default() {
        let warnings_of = |objective: &str, params: &str| {
            let case = format!(
                r#"{{"objective": "{objective}", {params} "inputs": {{"z": [[2, 1], [2, 1], [2, 1]]}}}}"#
            );
            texts(Request::parse(&case).unwrap().warnings())
        };
        let given = r#""params": {"kernel": {"name": "cosine"}},"#;
        for (objective, params) in [
            ("fair-cclk", ""),
            ("fair-cclk", r#""params": {"lambda": 0.1},"#),
            ("fair-cclk", given),
            ("kernel-decoupled-uniformity", ""),
            ("kceo-weights", given),
        ] {
            let warnings = warnings_of(objective, params);
            let expected = "`z`: all samples have one value of it, so there is nothing to condition on";
            assert_eq!(warnings, [expected], "{objective} {params}");
        }
        assert_eq!(warnings_of("nt-xent", ""), Vec::<String>::new());
    }

    #[test]
    fn parameters_that_a_form_does_not_read_are_named() {
        let warnings_of = |head: &str, params: &str| {
            let case =
                format!(r#"{{"objective": "fair-cclk", {head} "params": {{{params}}}, "inputs": {{}}}}"#);
            texts(Request::parse(&case).unwrap().warnings())
        };
        let clip = r#""clip_threshold": 0.5"#;
        let expected = "`clip_threshold` has no effect: the form `released` alone reads it";
        assert_eq!(warnings_of("", clip), [expected]);
        assert_eq!(warnings_of(r#""variant": "released","#, r#""symmetric": true"#).len(), 1);
        for (head, params) in [
            (r#""variant": "released","#, clip.to_owned()),
            ("", format!(r#""variant": "released", {clip}"#)),
            (r#""variant": "paper","#, r#""symmetric": true"#.to_owned()),
        ] {
            assert_eq!(warnings_of(head, &params), Vec::<String>::new(), "{head} {params}");
        }
    }

    #[test]
    fn inputs_in_memory_have_the_same_text_in_each_batch_without_the_number_of_a_document() {
        let (rbf, exact) = (r#"{"name": "rbf", "sigma": 1}"#, r#"{"name": "exact-match"}"#);
        let factor = format!(r#"{{"start": 0, "end": 1, "kernel": {exact}}}"#);
        let product = format!(r#"{{"name": "product", "factors": [{factor}]}}"#);
        let medians = [", 200", ", 600"];
        for (kernel, numbers) in [(rbf, medians), (exact, medians), (product.as_str(), ["", ""])] {
            let of_batch = |z: &str| {
                let params = format!(r#"{{"kernel": {kernel}, "clip_threshold": 0.5}}"#);
                let document =
                    format!(r#"{{"objective": "fair-cclk", "params": {params}, "inputs": {{"z": {z}}}}}"#);
                let request = Request::parse(&document).unwrap();
                (texts(request.warnings()), texts(LossRequest::of(&request).unwrap().warnings()))
            };
            let (first, in_memory) = of_batch("[100, 200, 400]");
            let (second, of_second) = of_batch("[300, 600, 1200]");
            assert_eq!(in_memory, of_second, "{kernel}");
            let [unread, apart] = in_memory.as_slice() else { unreachable!("{in_memory:?}") };
            for (warnings, number) in [(first, numbers[0]), (second, numbers[1])] {
                assert_eq!(warnings, [unread.clone(), format!("{apart}{number}")], "{kernel}");
            }
        }
        let one_value = r#"{"objective": "fair-cclk", "inputs": {"z": [1, 1]}}"#;
        let request = Request::parse(one_value).unwrap();
        assert_eq!(LossRequest::of(&request).unwrap().warnings(), request.warnings());
        let degeneracies = request.warnings().into_iter().map(|warning| warning.degeneracy);
        assert_eq!(degeneracies.collect::<Vec<_>>(), [Some(Degeneracy::OneValue)]);
    }
}
