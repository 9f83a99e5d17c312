//! Pictures beside a table that no row of it names. A table that was cut short lacks rows, and nothing in it shows that.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use crate::data::files::walk::Below;

/// A note on the pictures below a folder that are not in the rows with these files. None if there is no such picture, or if it cannot be
/// told: the folder cannot be looked through, or a row leads out of it.
pub(super) fn unlisted<'f>(folder: &Path, files: impl Iterator<Item = &'f String>) -> Option<String> {
    let roots: Vec<PathBuf> =
        [std::path::absolute(folder), folder.canonicalize()].into_iter().filter_map(Result::ok).collect();
    let listed = files.map(|file| path_below(&roots, file)).collect::<Option<HashSet<String>>>()?;
    let below = Below::of(folder).ok()?;
    let unlisted: Vec<&String> = below.pictures.iter().filter(|picture| !listed.contains(*picture)).collect();
    let (are_left_out, them) = match unlisted.as_slice() {
        [] => return None,
        [only] => (format!("the picture {only} is in no row, and is left out"), "it"),
        [first, ..] => {
            let (count, folder) = (unlisted.len(), folder.display());
            let are_left_out =
                format!("{count} pictures below {folder} are in no row, such as {first}, and are left out");
            (are_left_out, "them")
        }
    };
    Some(format!("{are_left_out}; if the table should have {them}, the table was cut short: get it again"))
}

/// The path of a row's file below the folder, as [`Below`] writes it; none if it leads out of the folder. `roots` are absolute paths of
/// the folder.
fn path_below(roots: &[PathBuf], file: &str) -> Option<String> {
    let path = Path::new(file);
    let path = match path.is_absolute() {
        true => roots.iter().find_map(|root| path.strip_prefix(root).ok())?,
        false => path,
    };
    let parts = path.components().filter(|part| *part != Component::CurDir).map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    Some(parts.collect::<Option<Vec<&str>>>()?.join("/"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    fn note(files: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        for picture in ["a.png", "b.png", "in/c.jpg", "notes.txt", ".d.png"] {
            fs::write(folder.path().join(picture), "").unwrap();
        }
        let place = folder.path().display().to_string();
        let files: Vec<String> = files.iter().map(|file| file.replace("DIR", &place)).collect();
        unlisted(folder.path(), files.iter())
    }

    #[test]
    fn pictures_are_compared_by_their_paths_however_rows_write_them() {
        assert_eq!(note(&["a.png", "./b.png", "DIR/in/c.jpg"]), None);
        let one = note(&["a.png", "b.png"]).unwrap();
        assert!(one.starts_with("the picture in/c.jpg is in no row"), "{one}");
        assert!(one.contains("should have it, the table was cut short"), "{one}");
        let two = note(&["b.png"]).unwrap();
        assert!(two.starts_with("2 pictures below") && two.contains("such as a.png"), "{two}");
        assert!(two.contains("should have them, the table was cut short"), "{two}");
        assert_eq!(note(&["a.png", "../elsewhere/c.jpg"]), None, "it cannot be told");
    }
}
