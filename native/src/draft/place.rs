//! The place of the pictures that a table names, and the likely fault of a path that leads to none.

use std::path::Path;

use anyhow::Result;

use crate::data::is_picture;
use crate::exit::usage;
use crate::run_folder::folder::entries;

/// Checks that the first picture of a table is where its column `file` says.
///
/// # Errors
/// A usage error otherwise.
pub(super) fn check_place(folder: &Path, table: &Path, file: &str, first: &str) -> Result<()> {
    let place = folder.join(first);
    if place.is_file() {
        return Ok(());
    }
    let hint = nearly(folder, first)
        .map(|nearest| format!("; {nearest} is there: name the pictures as their files are named"))
        .or_else(|| {
            let (before, rest) = outside(folder, first)?;
            Some(format!("; {rest} is there: leave out `{before}` before each name"))
        })
        .unwrap_or_default();
    Err(usage(format_args!(
        "{}: `{file}` is {first}, and {} is not there; paths count from {}{hint}",
        table.display(),
        place.display(),
        folder.display()
    )))
}

/// The picture below a folder whose path differs from a cell by capitals, by an ending, or by `\` between folders.
fn nearly(folder: &Path, cell: &str) -> Option<String> {
    let cell = cell.replace('\\', "/");
    let mut nearest = String::new();
    let mut names = cell.split('/').filter(|name| !["", "."].contains(name)).peekable();
    while let Some(name) = names.next() {
        let is_last = names.peek().is_none();
        let place = folder.join(&nearest);
        let is_meant = |entry: &String| {
            let rest = entry.to_lowercase();
            let ending = rest.strip_prefix(&name.to_lowercase());
            let is_ending = |text: &str| text.rfind('.') == Some(0) && is_picture(text);
            match is_last {
                true => {
                    ending.is_some_and(|ending| ending.is_empty() || is_ending(ending))
                        && place.join(entry).is_file()
                }
                false => ending == Some(""),
            }
        };
        let entry = entries(&place).into_iter().filter(is_meant).min()?;
        nearest = if nearest.is_empty() { entry } else { format!("{nearest}/{entry}") };
    }
    (!nearest.is_empty()).then_some(nearest)
}

/// The folders with which a cell begins and the rest of it, if the rest alone leads to a file below the folder of the pictures: the path
/// counts from elsewhere.
fn outside<'c>(folder: &Path, cell: &'c str) -> Option<(&'c str, &'c str)> {
    const BETWEEN: [char; 2] = ['/', '\\'];
    let ends = cell.match_indices(BETWEEN).map(|(at, _)| at + 1);
    ends.map(|end| cell.split_at(end))
        .find(|(_, rest)| !rest.starts_with(BETWEEN) && folder.join(rest.replace('\\', "/")).is_file())
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use crate::draft::testing::pictures;
    use crate::draft::{Draft, OwnPictureOptions};

    #[test]
    fn a_picture_that_is_nearly_where_its_cell_says_is_named() {
        let folder = pictures(&["0.png", "sub/1.JPG"]);
        for (cell, found) in
            [("0", "0.png"), ("0.PNG", "0.png"), ("./sub\\1.jpg", "sub/1.JPG"), ("Sub/1", "sub/1.JPG")]
        {
            fs::write(folder.path().join("images.csv"), format!("file,label\n{cell},a\n")).unwrap();
            let error =
                Draft::new(folder.path(), OwnPictureOptions::default(), false).unwrap_err().to_string();
            let hint = format!("; {found} is there: name the pictures as their files are named");
            assert!(error.contains(&format!("`file` is {cell}, and")) && error.ends_with(&hint), "{error}");
        }
        for (cell, before, rest) in
            [("scans//0.png", "scans//", "0.png"), ("/data/in/sub/1.JPG", "/data/in/", "sub/1.JPG")]
        {
            fs::write(folder.path().join("images.csv"), format!("file,label\n{cell},a\n")).unwrap();
            let error =
                Draft::new(folder.path(), OwnPictureOptions::default(), false).unwrap_err().to_string();
            let hint = format!("; {rest} is there: leave out `{before}` before each name");
            assert!(error.ends_with(&hint), "{error}");
        }
        for cell in ["2.png", "scans/2.png", "scans/"] {
            fs::write(folder.path().join("images.csv"), format!("file,label\n{cell},a\n")).unwrap();
            let error =
                Draft::new(folder.path(), OwnPictureOptions::default(), false).unwrap_err().to_string();
            assert!(error.ends_with(&format!("paths count from {}", folder.path().display())), "{error}");
        }
    }
}
