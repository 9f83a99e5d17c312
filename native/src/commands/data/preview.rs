//! `simile data preview`

use anyhow::Result;
use serde::Serialize;

use crate::cli::DataPreview;
use crate::commands::shared::named_data::{NamedData, refuse_folder_of_drawn, section};
use crate::console::Console;
use crate::data::preview as draw;
use crate::data::source::Medium;
use crate::exit::usage;
use crate::experiment::prepare::splits::Splits;
use crate::run_folder::folder;

#[derive(Serialize)]
struct Previewed {
    file: String,
    images: usize,
}

pub(super) fn run(arguments: &DataPreview, console: Console) -> Result<()> {
    if arguments.out.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("png")) {
        let out = arguments.out.display();
        return Err(usage(format_args!(
            "--out is {out}, and the picture is a PNG; let its name end with .png"
        )));
    }
    let NamedData { mut data, encoder, .. } = section(&arguments.name, false)?;
    refuse_folder_of_drawn(&data, arguments.data.path())?;
    if let Medium::Pictures(set) = data.dataset.medium() {
        // Only as many images as can be shown are decoded; they are drawn from all classes.
        data.train = Some(data.train.unwrap_or(usize::MAX).min(arguments.count as usize));
        data.validation = 0;
        if !set.holds_out(&data.options()) {
            data.test = Some(1);
        }
    }
    let Splits { train, .. } = Splits::sample(&data, arguments.data.path(), &encoder)?;
    let images = (arguments.count as usize).min(train.len());
    folder::write(&arguments.out, &draw(&train, images)?)?;
    let file = arguments.out.display().to_string();
    console.answer(&Previewed { file: file.clone(), images }, || file)
}
