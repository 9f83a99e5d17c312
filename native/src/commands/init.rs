//! `simile init`, and the recipe of `simile train DIR`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use super::shared::own_pictures::csv_in_folder;
use crate::cli::{Init, OwnPictures};
use crate::console::{Console, line};
use crate::devices::DeviceSet;
use crate::draft::{Draft, OwnPictureOptions};
use crate::exit::usage;
use crate::run_folder::folder;
use crate::shell::quoted;

#[derive(Serialize)]
struct Answer {
    /// The recipe that was written.
    file: PathBuf,
    /// The commands that come next.
    next: Vec<String>,
}

pub(super) fn run(arguments: &Init, console: Console) -> Result<()> {
    let Init { folder, own, out, device } = arguments;
    let devices = DeviceSet::open(&[device.device])?;
    let draft = draft(folder, own, &devices)?;
    let file = out.clone().unwrap_or_else(|| PathBuf::from(draft.usual_file()));
    if file.exists() {
        return Err(usage(format_args!(
            "{} exists; name another file with --out, or remove it",
            file.display()
        )));
    }
    draft.notes().iter().for_each(line);
    folder::write(&file, draft.text(&file.display().to_string()).as_bytes())?;
    let arguments =
        format!("{} --data {}", quoted(&file.display().to_string()), quoted(&folder.display().to_string()));
    let next = [format!("simile data check {arguments}"), format!("simile train {arguments}")];
    console.answer(&Answer { file: file.clone(), next: next.to_vec() }, || {
        format!("{} is written; next:\n  {}\n  {}", file.display(), next[0], next[1])
    })
}

/// The recipe for a folder of pictures, with a budget for the devices.
///
/// # Errors
/// As [`Draft::new`].
pub(super) fn draft(folder: &Path, own: &OwnPictures, devices: &DeviceSet) -> Result<Draft> {
    let OwnPictures { hide, keep, label, csv } = own;
    let csv = csv.as_deref().map(|csv| csv_in_folder(folder, csv));
    let options = OwnPictureOptions { hide, keep, label: label.as_deref(), csv: csv.as_deref() };
    let mut draft = Draft::new(folder, options, devices.has_gpu())?;
    draft.measure(devices)?;
    Ok(draft)
}
