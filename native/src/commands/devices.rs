//! `simile devices`

use anyhow::Result;
use serde::Serialize;

use crate::console::{Console, table};
use crate::devices::{DeviceChoice, DeviceName, Kind};

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
    present: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    kind: Kind,
    name: Option<String>,
}

pub(super) fn run(console: Console) -> Result<()> {
    let devices = DeviceName::BACKENDS.into_iter().map(|name| Row {
        name,
        feature: name.feature(),
        built_in: name.built_in(),
        present: name
            .present()
            .iter()
            .map(|device| Part { kind: device.kind, name: device.part() })
            .collect(),
    });
    let auto = DeviceChoice::AUTO.open().ok().map(|device| device.name);
    let answer = Answer { auto, devices: devices.collect() };
    console.answer(&answer, || text(&answer))
}

fn text(answer: &Answer) -> String {
    let mut table = table(["Device", "Built in", "Present"]);
    for row in &answer.devices {
        let built_in = if row.built_in { "yes".into() } else { format!("no: --features {}", row.feature) };
        let numbered = row.present.iter().enumerate();
        let named = numbered.map(|(index, part)| {
            let number = if row.present.len() > 1 { format!("{index}: ") } else { String::new() };
            match &part.name {
                Some(name) => format!("{number}{name} ({})", part.kind),
                None => format!("{number}{}", part.kind),
            }
        });
        let present: Vec<String> = named.collect();
        let present = if present.is_empty() { "–".into() } else { present.join(", ") };
        table.add_row([row.name.to_string(), built_in, present]);
    }
    match answer.auto {
        Some(name) => format!("{table}\n`--device auto` takes {name}."),
        None => format!("{table}\n`--device auto` finds nothing to compute on."),
    }
}
