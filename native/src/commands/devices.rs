//! `simile devices`

use std::time::Instant;

use anyhow::Result;
use serde::Serialize;

use crate::cli::ListDevices;
use crate::console::{Console, table};
use crate::devices::{AvailableDevice, DeviceChoice, DeviceKind, DeviceName, check};
use crate::units::NOTHING;

#[derive(Serialize)]
struct Answer {
    /// The device that `--device auto` selects.
    auto: Option<DeviceName>,
    devices: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: DeviceName,
    /// The cargo feature that builds it in.
    feature: &'static str,
    built_in: bool,
    present: Vec<PresentDevice>,
}

#[derive(Serialize)]
struct PresentDevice {
    kind: DeviceKind,
    name: Option<String>,
    /// With `--check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    self_test: Option<SelfTest>,
}

#[derive(Serialize)]
struct SelfTest {
    passed: bool,
    /// The failure, in words that follow "its self-test".
    reason: Option<String>,
    seconds: f64,
}

pub(super) fn run(arguments: &ListDevices, console: Console) -> Result<()> {
    let row = |name: DeviceName| Row {
        name,
        feature: name.feature(),
        built_in: name.built_in(),
        present: name.available().iter().map(|device| PresentDevice::of(device, arguments.check)).collect(),
    };
    // Before `auto`, which tests devices too: an answer that is known already would take no time.
    let devices = DeviceName::BACKENDS.map(row).into_iter().collect();
    let auto = DeviceChoice::AUTO.open().ok().map(|device| device.name);
    let answer = Answer { auto, devices };
    console.answer(&answer, || text(&answer))
}

impl PresentDevice {
    fn of(device: &AvailableDevice, is_checked: bool) -> Self {
        let self_test = is_checked.then(|| {
            let started = Instant::now();
            let reason = check(device.choice().to_string()).err();
            SelfTest { passed: reason.is_none(), reason, seconds: started.elapsed().as_secs_f64() }
        });
        Self { kind: device.kind, name: device.product_name(), self_test }
    }

    fn text(&self) -> String {
        let kind = self.kind;
        let name = self.name.as_ref().map_or_else(|| kind.to_string(), |name| format!("{name} ({kind})"));
        match &self.self_test {
            None => name,
            Some(SelfTest { reason: Some(reason), .. }) => format!("{name}: its self-test {reason}"),
            Some(SelfTest { seconds, .. }) => format!("{name}: passes its self-test in {seconds:.1} s"),
        }
    }
}

fn text(answer: &Answer) -> String {
    let mut table = table(["Device", "Built in", "Present"]);
    for row in &answer.devices {
        let built_in = if row.built_in { "yes".into() } else { format!("no: --features {}", row.feature) };
        let numbered = row.present.iter().enumerate();
        let named = numbered.map(|(index, device)| {
            let number = if row.present.len() > 1 { format!("{index}: ") } else { String::new() };
            format!("{number}{}", device.text())
        });
        let present: Vec<String> = named.collect();
        let present = if present.is_empty() { NOTHING.into() } else { present.join(", ") };
        table.add_row([row.name.to_string(), built_in, present]);
    }
    match answer.auto {
        Some(name) => format!("{table}\n`--device auto` takes {name}."),
        None => format!("{table}\n`--device auto` finds nothing to compute on."),
    }
}
