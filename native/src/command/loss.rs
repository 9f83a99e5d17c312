//! `simile loss`

use std::fs;

use anyhow::{Context as _, Result};
use burn::tensor::DType;
use serde::Serialize;
use serde_json::Value;
use simile_core::case::{Case, CaseOutcome};
use simile_core::error::Error;

use crate::cli::{Loss, Precision};
use crate::console::{Console, line};
use crate::device::DeviceName;
use crate::exit::usage;

#[derive(Serialize)]
struct Answer {
    loss: Option<f64>,
    grads: std::collections::BTreeMap<String, Vec<Vec<f64>>>,
    aux: Value,
}

/// The answer is a JSON document with or without `--json`: it is what programs ask for.
pub(super) fn run(arguments: &Loss) -> Result<()> {
    let text = fs::read_to_string(&arguments.case)
        .with_context(|| format!("cannot read {}", arguments.case.display()))?;
    let device = arguments.device.device.open()?;
    if arguments.device.device == DeviceName::Auto {
        line(format_args!("on {device}"));
    }
    let dtype = match arguments.precision {
        Some(Precision::F32) => DType::F32,
        Some(Precision::F64) if !device.device.supports_dtype(DType::F64) => {
            return Err(usage(format_args!(
                "{device} has no double precision; use --precision f32 or --device cpu"
            )));
        }
        Some(Precision::F64) => DType::F64,
        None if device.device.supports_dtype(DType::F64) => DType::F64,
        None => {
            line(format_args!("in single precision: {device} has no double precision"));
            DType::F32
        }
    };
    let tile = arguments.tile.map(|tile| tile as usize);
    let outcome = Case::parse(&text)
        .and_then(|case| case.evaluate(&device.device, dtype, tile))
        .and_then(|evaluation| pollster::block_on(evaluation.read()))
        .map_err(|error| {
            let of_the_request = matches!(error, Error::Unknown { .. } | Error::Parameter { .. });
            let message = format!("{}: {error}", arguments.case.display());
            if of_the_request { usage(message) } else { anyhow::anyhow!(message) }
        })?;
    let CaseOutcome { loss, gradients, aux } = outcome;
    Console::new(true).answer(&Answer { loss, grads: gradients, aux }, String::new)
}
