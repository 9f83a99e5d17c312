//! The pictures below a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::data::error::{DataError, Result};

/// Extensions of the supported formats.
const ENDINGS: [&str; 4] = ["jpg", "jpeg", "png", "webp"];
/// Extensions of other formats of pictures, which are not taken.
const OTHERS: [&str; 12] =
    ["bmp", "gif", "tif", "tiff", "jfif", "jpe", "jp2", "heic", "heif", "avif", "dcm", "pgm"];
/// Largest depth of folders; no data set is deeper, and it ends cycles of links to a folder above.
const DEPTH: usize = 8;

/// The pictures below a folder.
#[derive(Debug, Default)]
pub(in crate::data) struct Below {
    /// Their paths, relative to the folder and with `/` between folders, sorted.
    pub(in crate::data) pictures: Vec<String>,
    /// Numbers of files of other formats of pictures, by their extensions.
    pub(in crate::data) others: BTreeMap<String, usize>,
    /// Number of files and folders whose names are not UTF-8.
    pub(in crate::data) unnamed: usize,
}

impl Below {
    /// Looks through a folder. Hidden files and folders are left out.
    ///
    /// # Errors
    /// Names the folder that cannot be read.
    pub(in crate::data) fn of(root: &Path) -> Result<Self> {
        let mut below = Self::default();
        visit(root, "", DEPTH, &mut below)?;
        below.pictures.sort_unstable();
        Ok(below)
    }

    /// The files that are not taken, because of their formats or names, in words, with the remedy.
    pub(in crate::data) fn note(&self) -> Option<String> {
        let counts: Vec<String> =
            self.others.iter().map(|(ending, count)| format!("{count} .{ending}")).collect();
        let others = (!counts.is_empty()).then(|| {
            format!(
                "files of formats that are not read are left out ({}); convert them to PNG, JPEG or WebP",
                counts.join(", ")
            )
        });
        let unnamed = (self.unnamed > 0)
            .then(|| format!("names that are not UTF-8 are left out ({}); rename them", self.unnamed));
        match (others, unnamed) {
            (Some(others), Some(unnamed)) => Some(format!("{others}; {unnamed}")),
            (others, unnamed) => others.or(unnamed),
        }
    }
}

/// Paths of all pictures below `root`, as [`Below::pictures`].
///
/// # Errors
/// As [`Below::of`].
pub(in crate::data) fn pictures(root: &Path) -> Result<Vec<String>> {
    Ok(Below::of(root)?.pictures)
}

/// True for the name of a file of a supported format of pictures.
pub(crate) fn is_picture(path: &str) -> bool {
    ENDINGS.contains(&ending(path).as_str())
}

/// The part of a name after its last point, in small letters.
fn ending(path: &str) -> String {
    path.rsplit_once('.').map_or_else(String::new, |(_, ending)| ending.to_ascii_lowercase())
}

fn visit(folder: &Path, path_below: &str, depth: usize, below: &mut Below) -> Result<()> {
    let unreadable = |source| DataError::Read { path: folder.into(), source };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let Ok(name) = entry.file_name().into_string() else {
            below.unnamed += 1;
            continue;
        };
        // Names that begin with a dot are those of hidden files; macOS puts `__MACOSX` into its archives.
        if name.starts_with('.') || name == "__MACOSX" {
            continue;
        }
        let path = if path_below.is_empty() { name } else { format!("{path_below}/{name}") };
        let kind = entry.file_type().map_err(unreadable)?;
        let is_folder = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
        if is_folder && depth > 0 {
            visit(&entry.path(), &path, depth - 1, below)?;
        } else if !is_folder {
            let ending = ending(&path);
            if is_picture(&path) {
                below.pictures.push(path);
            } else if OTHERS.contains(&ending.as_str()) {
                *below.others.entry(ending).or_default() += 1;
            }
        }
    }
    Ok(())
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

    #[test]
    fn pictures_of_other_formats_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Below::of(folder.path()).unwrap().note(), None);
        for name in ["a.png", "1.TIF", "2.tif", "3.bmp", "notes.txt", ".4.bmp"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let below = Below::of(folder.path()).unwrap();
        let note = below.note().unwrap();
        assert_eq!(below.pictures, ["a.png"]);
        assert!(note.contains("(1 .bmp, 2 .tif)") && note.contains("convert them"), "{note}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_that_are_not_utf_8_are_counted() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.png"), "").unwrap();
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"\xe9.png")), "").unwrap();
        let below = Below::of(folder.path()).unwrap();
        assert_eq!(below.pictures, ["a.png"]);
        assert_eq!(below.note().unwrap(), "names that are not UTF-8 are left out (1); rename them");
    }
}
