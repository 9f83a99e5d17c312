//! `simile data measure`

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use comfy_table::CellAlignment;

use crate::cli::DataMeasure;
use crate::commands::shared::named_data::refuse_folder_of_drawn;
use crate::commands::shared::shipped::{ShippedKind, refuse_other_kind};
use crate::config::{Changes, Recipe};
use crate::console::{Console, table};
use crate::devices::DeviceSet;
use crate::experiment::input_speed::{InputSpeed, measure_input};

pub(super) fn run(arguments: &DataMeasure, console: Console) -> Result<()> {
    let DataMeasure { recipe, data, device, set, epochs } = arguments;
    refuse_other_kind(recipe, &[ShippedKind::Recipe])?;
    let recipe = Recipe::load(recipe, &Changes { set, ..Changes::default() })?;
    refuse_folder_of_drawn(&recipe.data, data.path())?;
    let devices = DeviceSet::open(&[device.device])?;
    let input = measure_input(recipe, data.path().map(Path::to_owned), &devices, *epochs)?;
    console.answer(&input, || text(&input))
}

fn text(input: &InputSpeed) -> String {
    let mut rows = table(["Epoch", "images per second", "seconds", "seconds waiting"]);
    for (number, epoch) in input.epochs.iter().enumerate() {
        let waited = epoch.waited_seconds.map_or_else(String::new, |seconds| format!("{seconds:.2}"));
        let speed = format!("{:.0}", epoch.images_per_second);
        rows.add_row([(number + 1).to_string(), speed, format!("{:.2}", epoch.seconds), waited]);
    }
    for column in rows.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let InputSpeed { images, read_seconds, batch, device, .. } = input;
    let mut text = format!("{images} images read in {read_seconds:.2} s\n{rows}\n");
    let _ = write!(text, "two views of each image, in batches of {batch}, on {device}; no network");
    text
}
