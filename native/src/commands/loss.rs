//! `simile loss`

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use burn::tensor::DType;
use serde::Serialize;
use serde_json::Value;
use simile_core::error::Error;
use simile_core::numeric::matrix::Matrix;
use simile_core::requests::{Outcome, Request};

use super::objectives::page;
use crate::cli::{Loss, Precision};
use crate::console::{Console, line};
use crate::devices::{AvailableDevice, DeviceChoice, DeviceKind};
use crate::exit::usage;
use crate::utf8;

#[derive(Serialize)]
struct Answer {
    loss: Option<f64>,
    grads: BTreeMap<String, Matrix>,
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
        return page::run(objective, console);
    }
    let device = arguments.device.device.open()?;
    if arguments.device.device == DeviceChoice::AUTO {
        line(format_args!("on {device}"));
    }
    let (dtype, note) = float_type(arguments.precision, &device)?;
    note.iter().for_each(line);
    let tile = arguments.tile.map(|tile| tile as usize);
    let evaluate = |case: &Path| -> Result<Answer> {
        let text = text_of(case)?;
        let failed = |error: Error| {
            let is_of_request = matches!(error, Error::Unknown { .. } | Error::Parameter { .. });
            let message = format!("{}: {error}", case.display());
            if is_of_request { usage(message) } else { anyhow::anyhow!(message) }
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

/// The text of a file, or of stdin for `-`.
fn text_of(case: &Path) -> Result<String> {
    let bytes = match case.to_str() {
        Some("-") => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        }
        _ => fs::read(case),
    };
    bytes.and_then(utf8::text).with_context(|| format!("cannot read {}", case.display()))
}

/// The float type, with a note on one that the user did not ask for: double precision on the CPU, single on other devices, unless the
/// user asks. Of a GPU double precision is refused: through wgpu its exponentials and logarithms are wrong, and of CUDA no test has
/// compared it.
fn float_type(asked: Option<Precision>, device: &AvailableDevice) -> Result<(DType, Option<String>)> {
    match (asked, device.kind) {
        (Some(Precision::F32), _) => Ok((DType::F32, None)),
        (_, DeviceKind::Cpu) => Ok((DType::F64, None)),
        (Some(Precision::F64), _) => Err(usage(format_args!(
            "--precision f64 is for the CPU: on {device} double precision is wrong, or was never tested; take --device cpu or \
             --precision f32"
        ))),
        (None, _) => Ok((
            DType::F32,
            Some(format!("in single precision: double precision is for the CPU, and this is {device}")),
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::devices::DeviceName;
    use crate::exit::Usage;

    #[test]
    fn a_request_that_is_no_text_names_the_line() {
        let place = tempfile::tempdir().unwrap();
        let case = place.path().join("case.json");
        fs::write(&case, b"{\n\"notes\": \"K\xf6ln\"\n}").unwrap();
        let text = format!("{:#}", text_of(&case).unwrap_err());
        assert!(text.contains("case.json: line 2 is not text in UTF-8; save"), "{text}");
    }

    #[test]
    fn double_precision_is_for_the_cpu() {
        let cpu = DeviceName::Cpu.available().remove(0);
        let of = |asked, kind| {
            let mut device = cpu.clone();
            device.kind = kind;
            float_type(asked, &device)
        };
        assert_eq!(of(None, DeviceKind::Cpu).unwrap(), (DType::F64, None));
        assert_eq!(of(Some(Precision::F32), DeviceKind::Cpu).unwrap(), (DType::F32, None));
        for kind in [DeviceKind::Gpu, DeviceKind::Software] {
            let (dtype, note) = of(None, kind).unwrap();
            assert!(dtype == DType::F32 && note.is_some_and(|note| note.contains("single precision")));
            assert_eq!(of(Some(Precision::F32), kind).unwrap(), (DType::F32, None));
            let refused = of(Some(Precision::F64), kind).unwrap_err();
            assert!(refused.is::<Usage>() && refused.to_string().contains("--precision f32"), "{refused}");
        }
    }
}
