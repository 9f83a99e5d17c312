//! Runs and results for tests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::finished::FinishedRun;
use super::record::{RunResult, StopReason, Stopped, VariantResult};
use crate::config::testing::drawn;
use crate::metrics::names::TOP1;

/// A variant with an accuracy.
pub(crate) fn variant(name: &str, top1: f64) -> VariantResult {
    VariantResult {
        name: name.into(),
        objective: "nt-xent".into(),
        iterations: 2,
        final_loss: Some(1.0),
        training_seconds: 1.0,
        metrics: BTreeMap::from([(TOP1.to_owned(), top1)]),
        probes: BTreeMap::new(),
        protocol: String::new(),
        last: None,
        evaluations: Vec::new(),
        stopped: None,
        warnings: Vec::new(),
        kernel: None,
        paired: BTreeMap::new(),
    }
}

/// A variant with an accuracy of 0.5 and other metrics.
pub(crate) fn with(name: &str, metrics: &[(&str, f64)]) -> VariantResult {
    let mut variant = variant(name, 0.5);
    variant.metrics.extend(metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    variant
}

/// A variant that diverged, with the accuracy that its network had before.
pub(crate) fn diverged(name: &str, top1: f64) -> VariantResult {
    let message = format!("a number is not finite; {name} is kept as it was at iteration 0");
    VariantResult { stopped: Some(Stopped { reason: StopReason::Diverged, message }), ..variant(name, top1) }
}

/// A run of variants in a folder of this name, with settings of its recipe, which semicolons divide; `objective.KEY` is set in the first
/// variant.
pub(crate) fn run(name: &str, seed: u64, set: &str, variants: Vec<VariantResult>) -> FinishedRun {
    let of_variant = |variant: &VariantResult| {
        let objective = "{ name = \"nt-xent\", temperature = 0.5 }";
        format!("[[variant]]\nname = \"{}\"\nobjective = {objective}\n", variant.name)
    };
    let written: String = variants.iter().map(of_variant).collect();
    let set: Vec<String> = set
        .split(';')
        .filter(|setting| !setting.is_empty())
        .map(|setting| match setting.strip_prefix("objective.") {
            Some(setting) => format!("variant.{}.objective.{setting}", variants[0].name),
            None => setting.to_owned(),
        })
        .collect();
    let mut recipe = drawn(&format!("name = \"r\"\n{written}")).with(&set).unwrap();
    recipe.train.seed = seed;
    FinishedRun {
        folder: name.into(),
        recipe: recipe.to_toml().unwrap(),
        result: RunResult {
            recipe: recipe.name.clone(),
            condition: recipe.probe.condition.clone(),
            seed,
            device: "cpu".into(),
            version: "0".into(),
            seconds: 1.0,
            variants,
            untrained: None,
            base_rates: BTreeMap::new(),
            smoke: None,
            verdict: Vec::new(),
            date: String::new(),
            command: String::new(),
            extended_at: Vec::new(),
            earlier_devices: Vec::new(),
            images: None,
            picture_files: None,
        },
        measurements: Vec::new(),
        figures: Default::default(),
    }
}
