//! `simile data measure`

use std::fmt::Write as _;

use anyhow::Result;
use comfy_table::CellAlignment;

use crate::cli::DataMeasure;
use crate::commands::named_data::check_folder_of_drawn;
use crate::config::{Changes, Recipe};
use crate::console::{Console, table};
use crate::devices::DeviceSet;
use crate::experiment::measure::{Input, measure};

pub(super) fn run(arguments: &DataMeasure, console: Console) -> Result<()> {
    let DataMeasure { recipe, data, device, set, epochs } = arguments;
    let recipe = Recipe::load(recipe, &Changes { set, ..Changes::default() })?;
    check_folder_of_drawn(&recipe.data, data.as_deref())?;
    let devices = DeviceSet::open(&[device.device])?;
    let measured = measure(recipe, data.clone(), &devices, *epochs)?;
    console.answer(&measured, || text(&measured))
}

fn text(input: &Input) -> String {
    let mut rows = table(["Epoch", "images per second", "s", "of these waiting"]);
    for (number, epoch) in input.epochs.iter().enumerate() {
        let waited = epoch.waited_seconds.map_or_else(String::new, |seconds| format!("{seconds:.2}"));
        let speed = format!("{:.0}", epoch.images_per_second);
        rows.add_row([(number + 1).to_string(), speed, format!("{:.2}", epoch.seconds), waited]);
    }
    for column in rows.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let Input { images, read_seconds, batch, device, .. } = input;
    let mut text = format!("{images} images read in {read_seconds:.2} s\n{rows}\n");
    let _ = write!(text, "two views of each image, in batches of {batch}, on {device}; no network");
    text
}
