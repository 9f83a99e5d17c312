//! The pictures below a folder.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::path::{Path, PathBuf};

use crate::data::error::{DataError, Result};

/// Extensions of the supported formats.
const ENDINGS: [&str; 4] = ["jpg", "jpeg", "png", "webp"];
/// Extensions of other formats of pictures, which are not taken.
const OTHERS: [&str; 12] =
    ["bmp", "gif", "tif", "tiff", "jfif", "jpe", "jp2", "heic", "heif", "avif", "dcm", "pgm"];
/// Largest depth of folders; no data set is deeper.
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
    /// Number of links to a folder above, which would lead to the same pictures again and again.
    pub(in crate::data) loops: usize,
    /// Number of folders below [`DEPTH`].
    pub(in crate::data) too_deep: usize,
}

impl Below {
    /// Looks through a folder. Hidden files and folders are left out.
    ///
    /// # Errors
    /// Names the folder that cannot be read.
    pub(in crate::data) fn of(root: &Path) -> Result<Self> {
        let mut below = Self::default();
        let real = fs::canonicalize(root).map_err(|source| DataError::Read { path: root.into(), source })?;
        visit(root, "", &mut vec![real], &mut below)?;
        below.pictures.sort_unstable();
        Ok(below)
    }

    /// The files and folders that are not taken, in words, with the remedy.
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
        let loops = (self.loops > 0)
            .then(|| format!("links to a folder above are left out ({}); remove them", self.loops));
        let too_deep = (self.too_deep > 0).then(|| {
            format!(
                "folders more than {DEPTH} levels down are left out ({}); move their pictures up",
                self.too_deep
            )
        });
        let notes: Vec<String> = [others, unnamed, loops, too_deep].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("; "))
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

/// Looks through a folder. `way` has the real paths of the folders on the way down to it, itself the last.
fn visit(folder: &Path, path_below: &str, way: &mut Vec<PathBuf>, below: &mut Below) -> Result<()> {
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
        let kind = kind_behind(&entry).map_err(unreadable)?;
        if kind.is_dir() {
            let real = fs::canonicalize(entry.path()).map_err(unreadable)?;
            if way.iter().any(|above| above.starts_with(&real)) {
                below.loops += 1;
            } else if way.len() > DEPTH {
                below.too_deep += 1;
            } else {
                way.push(real);
                visit(&entry.path(), &path, way, below)?;
                way.pop();
            }
        } else if kind.is_file() || kind.is_symlink() {
            // A link that leads nowhere is named by the reader of pictures. Opening a pipe would wait for ever.
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

/// The type of what an entry leads to; that of a link if it leads nowhere.
fn kind_behind(entry: &DirEntry) -> io::Result<FileType> {
    let own = entry.file_type()?;
    let is_link = own.is_symlink();
    Ok(if is_link { fs::metadata(entry.path()).map_or(own, |behind| behind.file_type()) } else { own })
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

    /// Each round through a link counted all pictures again, as those of another class.
    #[cfg(unix)]
    #[test]
    fn a_link_to_a_folder_above_adds_no_picture() {
        use std::os::unix::fs::symlink;
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join("c0")).unwrap();
        fs::write(folder.path().join("c0/1.png"), "").unwrap();
        fs::write(elsewhere.path().join("2.png"), "").unwrap();
        symlink(elsewhere.path(), folder.path().join("c1")).unwrap();
        symlink(elsewhere.path().join("2.png"), folder.path().join("c0/2.png")).unwrap();
        symlink("nowhere", folder.path().join("c0/3.png")).unwrap();
        // To itself, to the folder above and to the one above the root; and back, by way of the other place.
        for (target, link) in [(".", "self"), ("..", "c0/up"), ("../..", "c0/out")] {
            symlink(target, folder.path().join(link)).unwrap();
        }
        symlink(folder.path(), elsewhere.path().join("back")).unwrap();
        let below = Below::of(folder.path()).unwrap();
        assert_eq!(below.pictures, ["c0/1.png", "c0/2.png", "c0/3.png", "c1/2.png"]);
        assert_eq!(below.note().unwrap(), "links to a folder above are left out (4); remove them");
    }

    #[test]
    fn folders_that_are_too_deep_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let level = |depth: usize| folder.path().join(vec!["f"; depth].join("/"));
        fs::create_dir_all(level(DEPTH + 1)).unwrap();
        for depth in [DEPTH, DEPTH + 1] {
            fs::write(level(depth).join("1.png"), "").unwrap();
        }
        let below = Below::of(folder.path()).unwrap();
        assert_eq!(below.pictures, [format!("{}/1.png", ["f"; DEPTH].join("/"))]);
        let note = below.note().unwrap();
        assert!(note.contains("more than 8 levels down are left out (1)"), "{note}");
    }

    /// A program that opened a pipe waited for ever.
    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_no_picture() {
        let folder = tempfile::tempdir().unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("x.png")).unwrap();
        fs::write(folder.path().join("a.png"), "").unwrap();
        assert_eq!(pictures(folder.path()).unwrap(), ["a.png"]);
    }
}
