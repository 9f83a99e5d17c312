//! The pictures below a folder.

use std::fs;
use std::path::Path;

use crate::data::error::{DataError, Result};

/// Extensions of the supported formats.
const ENDINGS: [&str; 4] = ["jpg", "jpeg", "png", "webp"];
/// Largest depth of folders; no data set is deeper, and it ends cycles of links to a folder above.
const DEPTH: usize = 8;

/// Paths of all pictures below `root`, relative to it and with `/` between folders, sorted. Hidden files and folders are
/// left out.
///
/// # Errors
/// Names the folder that cannot be read.
pub(in crate::data) fn pictures(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    visit(root, "", DEPTH, &mut paths)?;
    paths.sort_unstable();
    Ok(paths)
}

fn visit(folder: &Path, below: &str, depth: usize, paths: &mut Vec<String>) -> Result<()> {
    let unreadable = |source| DataError::Read { path: folder.into(), source };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(unreadable)?;
        let is_folder = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
        if is_folder && depth > 0 {
            visit(&entry.path(), &path, depth - 1, paths)?;
        } else if !is_folder && is_picture(&path) {
            paths.push(path);
        }
    }
    Ok(())
}

fn is_picture(path: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, ending)| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_found_in_order_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("b/images")).unwrap();
        fs::create_dir(folder.path().join(".hidden")).unwrap();
        for name in ["b/images/2.JPEG", "b/1.png", "a.webp", "notes.txt", ".hidden/3.png", "._a.webp"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(pictures(folder.path()).unwrap(), ["a.webp", "b/1.png", "b/images/2.JPEG"]);
        let error = pictures(&folder.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("none"), "{error}");
    }
}
