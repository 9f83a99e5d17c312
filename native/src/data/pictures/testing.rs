//! Picture files for tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use super::resize::ResizeSpec;
use crate::data::keys::values::Fit;

pub(super) const RESIZE: ResizeSpec = ResizeSpec { side: 4, channels: 3, fit: Fit::Middle };

/// 300 small pictures of different greys, and the names of their files.
pub(super) fn folder() -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<String> = (0..300).map(|i| format!("{i}.png")).collect();
    for (i, file) in files.iter().enumerate() {
        let grey = image::Rgb([(i % 256) as u8; 3]);
        image::RgbImage::from_pixel(6, 5, grey).save(folder.path().join(file)).unwrap();
    }
    (folder, files)
}

/// Breaks one of them and removes another.
pub(super) fn spoil(folder: &Path) {
    fs::write(folder.join("3.png"), b"\x89PNG\r\n\x1a\nbroken").unwrap();
    fs::remove_file(folder.join("299.png")).unwrap();
}
