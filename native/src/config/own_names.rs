//! A name that is not there, and the recipes and folders of the user whose names are near.

use std::fs;
use std::path::{Path, PathBuf};

use super::explain::{hint, nearest};
use super::shipped::SHIPPED;
use crate::exit::usage;

/// The ending of the files of recipes.
const ENDING: &str = ".toml";

/// The things that a command takes by a name: recipes, and some more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accepted<'a> {
    /// All of their kinds, in words.
    pub(crate) kinds: &'a str,
    /// True if it takes folders of pictures.
    pub(crate) folders: bool,
    /// The names of the data sets that it takes.
    pub(crate) data_sets: &'a [&'a str],
}

/// The error of a name that neither ships nor is that of a file or a folder. It has the nearest name that the command takes. Unless that
/// is one of the user's own, or `name` can only be a path, a list follows: of the data sets that the command takes, or else of the
/// recipes that ship.
pub(crate) fn no_such_name(name: &str, accepted: Accepted<'_>) -> anyhow::Error {
    let Accepted { kinds, folders, data_sets } = accepted;
    let path = Path::new(name);
    let (stem, own) = (stem_of(path), own_beside(path, folders));
    let recipes: Vec<&str> = SHIPPED.iter().map(|recipe| recipe.name).collect();
    let shipped = data_sets.iter().chain(&recipes).copied();
    let near = nearest(&stem, own.iter().map(|own| own.stem.as_str()).chain(shipped));
    let near_own = near.and_then(|near| own.iter().find(|own| own.stem == near));
    let listed = match (near_own, is_path(name)) {
        (None, false) if data_sets.is_empty() => recipes.as_slice(),
        (None, false) => data_sets,
        _ => &[],
    };
    let hint = hint(near_own.map_or(near, |own| Some(own.path.as_str())), listed);
    match (is_path(name), folders && !name.ends_with(ENDING)) {
        (true, true) => usage(format_args!("there is no file or folder `{name}`{hint}")),
        (true, false) => usage(format_args!("there is no file `{name}`{hint}")),
        (false, _) => usage(format_args!("no {kinds} is named `{name}`{hint}")),
    }
}

/// The end of an error about a path that is no folder: the folder beside it whose name is nearest, if one is near.
pub(crate) fn near_folder(path: &Path) -> String {
    let folders: Vec<String> =
        beside(path).iter().filter(|entry| entry.is_dir()).map(|entry| last(entry)).collect();
    let near = nearest(&last(path), folders.iter().map(String::as_str));
    let near = near.map(|near| path.with_file_name(near).display().to_string());
    hint(near.as_deref(), &[])
}

/// A recipe or a folder of the user.
struct Own {
    /// Its name, that of a recipe without the ending.
    stem: String,
    /// Its path, as the user would write it.
    path: String,
}

/// The recipes beside a path, sorted. With `folders` also the folders, which come before recipes of the same name, unless the path has an
/// ending, as files have.
fn own_beside(path: &Path, folders: bool) -> Vec<Own> {
    let folders = folders && path.extension().is_none();
    let own = |entry: &PathBuf| {
        let name = last(entry);
        let stem = match (entry.is_dir(), name.strip_suffix(ENDING)) {
            (true, _) if folders => name.clone(),
            (false, Some(stem)) => stem.to_owned(),
            _ => return None,
        };
        Some(Own { stem, path: path.with_file_name(name).display().to_string() })
    };
    beside(path).iter().filter_map(own).collect()
}

/// The entries of the folder in which a path lies, sorted.
fn beside(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// True for a name that only a path can have.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(ENDING)
}

/// The last part of a path.
fn last(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The last part of a path without an ending, which all recipes share, so that it says nothing of their likeness.
fn stem_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::{Changes, Recipe};

    /// A place with recipes and folders, among them a recipe of a folder that is there too.
    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for recipe in ["both.toml", "scans.toml"] {
            fs::write(place.path().join(recipe), "").unwrap();
        }
        for folder in ["scans", "shapes"] {
            fs::create_dir(place.path().join(folder)).unwrap();
        }
        place
    }

    #[test]
    fn a_name_that_is_nearly_that_of_an_own_recipe_or_folder_is_said() {
        let place = place();
        let path = |name: &str| place.path().join(name).display().to_string();
        let refused = |name: &str, folders: bool| {
            no_such_name(name, Accepted { kinds: "recipe", folders, data_sets: &[] }).to_string()
        };
        for (name, near) in
            [("scan", "scans"), ("shape", "shapes"), ("boht", "both.toml"), ("scans.tml", "scans.toml")]
        {
            let expected =
                format!("there is no file or folder `{}`; did you mean `{}`?", path(name), path(near));
            assert_eq!(refused(&path(name), true), expected);
        }
        for name in ["scan.toml", "scans.tml", "scan"] {
            let expected =
                format!("there is no file `{}`; did you mean `{}`?", path(name), path("scans.toml"));
            assert_eq!(refused(&path(name), false), expected, "no folder is asked for");
        }
        let none = format!("there is no file `{}`", path("xyz.toml"));
        assert_eq!(
            refused(&path("xyz.toml"), true),
            none,
            "two recipes are not alike because of their endings"
        );
        assert_eq!(
            refused("fair-digit.toml", true),
            "there is no file `fair-digit.toml`; did you mean `fair-digits`?"
        );
        assert_eq!(near_folder(&place.path().join("scan")), format!("; did you mean `{}`?", path("scans")));
        assert_eq!(near_folder(&place.path().join("boht")), "", "it is a recipe");
    }

    /// A sweep takes no folder, and refused the one that was advised.
    #[test]
    fn a_recipe_that_is_not_there_is_answered_with_no_folder() {
        let place = place();
        let name = place.path().join("scan").display().to_string();
        let error = Recipe::load(&name, &Changes::default()).unwrap_err().to_string();
        assert_eq!(error, format!("there is no file `{name}`; did you mean `{name}s.toml`?"));
        let listed = Recipe::load("fair-digit", &Changes::default()).unwrap_err().to_string();
        let start =
            "no recipe or file is named `fair-digit`; did you mean `fair-digits`? known: fair-digits, ";
        assert!(listed.starts_with(start), "{listed}");
    }
}
