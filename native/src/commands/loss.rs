//! `simile loss`

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use burn::tensor::DType;
use serde::Serialize;
use serde_json::Value;
use simile_core::error::Error;
use simile_core::requests::{Outcome, Request};

use super::describe;
use crate::cli::{Loss, Precision};
use crate::console::{Console, line};
use crate::devices::{AvailableDevice, DeviceChoice};
use crate::exit::usage;

#[derive(Serialize)]
struct Answer {
    loss: Option<f64>,
    grads: BTreeMap<String, Vec<Vec<f64>>>,
    aux: Value,
}

#[derive(Serialize)]
struct NamedAnswer<'a> {
    case: &'a Path,
    #[serde(flatten)]
    answer: Answer,
}

/// Losses are JSON with or without `--json`, because mostly programs read them.
pub(super) fn run(arguments: &Loss, console: Console) -> Result<()> {
    if let Some(objective) = &arguments.describe {
        return describe::run(objective, console);
    }
    let device = arguments.device.device.open()?;
    if arguments.device.device == DeviceChoice::AUTO {
        line(format_args!("on {device}"));
    }
    let dtype = float_type(arguments.precision, &device)?;
    let tile = arguments.tile.map(|tile| tile as usize);
    let evaluate = |case: &Path| -> Result<Answer> {
        let text = match case.to_str() {
            Some("-") => std::io::read_to_string(std::io::stdin()),
            _ => fs::read_to_string(case),
        };
        let text = text.with_context(|| format!("cannot read {}", case.display()))?;
        let failed = |error: Error| {
            let of_the_request = matches!(error, Error::Unknown { .. } | Error::Parameter { .. });
            let message = format!("{}: {error}", case.display());
            if of_the_request { usage(message) } else { anyhow::anyhow!(message) }
        };
        let document = Request::parse(&text).map_err(failed)?;
        let outcome = pollster::block_on(document.run(&device.device, dtype, tile)).map_err(failed)?;
        for warning in document.warnings() {
            line(format_args!("{}: {warning}", case.display()));
        }
        let Outcome { loss, gradients, aux } = outcome;
        Ok(Answer { loss, grads: gradients, aux })
    };

    if let [case] = arguments.cases.as_slice() {
        return Console::new(true).answer(&evaluate(case)?, String::new);
    }
    let mut stdout = std::io::stdout().lock();
    let mut failed = 0;
    for case in &arguments.cases {
        match evaluate(case) {
            Ok(answer) => writeln!(stdout, "{}", serde_json::to_string(&NamedAnswer { case, answer })?)?,
            Err(error) => {
                line(format_args!("error: {error:#}"));
                failed += 1;
            }
        }
    }
    stdout.flush()?;
    let all = arguments.cases.len();
    ensure!(failed == 0, "{failed} of {all} requests have no answer, for the reasons above");
    Ok(())
}

/// Double precision where the device has it, unless the user asks for single.
fn float_type(asked: Option<Precision>, device: &AvailableDevice) -> Result<DType> {
    match asked {
        Some(Precision::F32) => Ok(DType::F32),
        _ if device.device.supports_dtype(DType::F64) => Ok(DType::F64),
        Some(Precision::F64) => {
            Err(usage(format_args!("{device} has no double precision; use --precision f32 or --device cpu")))
        }
        None => {
            line(format_args!("in single precision: {device} has no double precision"));
            Ok(DType::F32)
        }
    }
}
