//! Folders of pictures for the tests of drafts, and the drafts for them.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use super::{Draft, OwnPictureOptions};
use crate::config::{Changes, Recipe};

/// A folder with pictures of these paths.
pub(super) fn pictures(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        image::RgbImage::new(2, 2).save(path).unwrap();
    }
    folder
}

/// A folder with four pictures of two classes and a table of further columns.
pub(super) fn scans(columns: &str, rows: [&str; 4]) -> tempfile::TempDir {
    let folder = pictures(&["0.png", "1.png", "2.png", "3.png"]);
    let row = |(at, row): (usize, &str)| format!("{at}.png,{},{row}\n", ["ill", "well"][at % 2]);
    let rows: String = rows.into_iter().enumerate().map(row).collect();
    fs::write(folder.path().join("images.csv"), format!("file,label,{columns}\n{rows}")).unwrap();
    folder
}

/// The text of the recipe for a folder, and the recipe, whose data can be read.
pub(super) fn drafted(folder: &Path, hide: &[&str], keep: &[&str]) -> (String, Recipe) {
    let [hide, keep] = [hide, keep].map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
    let options = OwnPictureOptions { hide: &hide, keep: &keep, ..OwnPictureOptions::default() };
    let draft = Draft::new(folder, options, false).unwrap();
    let recipe = draft.load(&Changes::default()).unwrap();
    recipe.data.catalogue(folder).unwrap();
    (draft.text("recipe.toml"), recipe)
}

/// A folder with three pictures of each of two classes, which are dark at the left and bright at the right edge. They have these
/// sizes in turn.
pub(super) fn photographs(sizes: &[(u32, u32)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (at, &(width, height)) in (0..6_u8).zip(sizes.iter().cycle()) {
        let class = folder.path().join(["a", "b"][usize::from(at) % 2]);
        fs::create_dir_all(&class).unwrap();
        let colour = |x: u32, _: u32| image::Rgb([(255 * x / width) as u8, 20 * at, 90]);
        let picture = image::RgbImage::from_fn(width, height, colour);
        picture.save(class.join(format!("{at}.png"))).unwrap();
    }
    folder
}
