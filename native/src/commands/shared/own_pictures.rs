//! Options for a folder of the user's own pictures.

use std::path::{Path, PathBuf};

use crate::config::Recipe;
use crate::config::own_names::near_folder;
use crate::exit::usage;

/// The error of options for a folder of pictures beside a name that is none, or is that of a recipe or a data set too.
pub(in crate::commands) fn for_a_folder(options: &str, name: &str) -> anyhow::Error {
    if let Err(table) = Recipe::refuse_table(name) {
        return table;
    }
    match Path::new(name).is_dir() {
        true => usage(format_args!(
            "{options} are for a folder of pictures, and `{name}` names what ships with the program; write ./{name} for the folder"
        )),
        false => usage(format_args!(
            "{options} are for a folder of pictures, and `{name}` is none{}",
            near_folder(Path::new(name))
        )),
    }
}

/// The path of a CSV file from the folder of the pictures. A shell completes that from the current folder, which is taken too where it
/// lies in the folder of the pictures.
pub(in crate::commands) fn csv_in_folder(folder: &Path, csv: &Path) -> PathBuf {
    if folder.join(csv).is_file() {
        return csv.to_owned();
    }
    let from_folder =
        || Some(csv.canonicalize().ok()?.strip_prefix(folder.canonicalize().ok()?).ok()?.to_owned());
    from_folder().unwrap_or_else(|| csv.to_owned())
}
