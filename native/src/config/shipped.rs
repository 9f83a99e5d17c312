//! The recipes inside the binary.

/// A recipe that ships.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shipped {
    pub(crate) name: &'static str,
    /// The file, its header comment first.
    pub(crate) text: &'static str,
}

/// The keys in the comment of each recipe; `Listed`, which one has, is for the order of the list.
const KEYS: [&str; 5] = ["Paper", "Command", "Time", "Result", "Listed"];

/// All shipped recipes, which are the files of `recipes` (`build.rs` lists them); the first is the one to try first.
pub(crate) const SHIPPED: &[Shipped] = include!(concat!(env!("OUT_DIR"), "/recipes.rs"));

impl Shipped {
    /// Finds a recipe by its name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        SHIPPED.iter().find(|recipe| recipe.name == name).copied()
    }

    /// The comment at the top of the file, without its marks.
    pub(crate) fn header(&self) -> impl Iterator<Item = &'static str> {
        self.text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim)
    }

    /// The text of the comment after one of its keys: `Paper`, `Command`, `Time`, `Result`.
    pub(crate) fn says(&self, key: &str) -> String {
        let mut lines = self.header().skip_while(|line| !line.starts_with(key));
        let first = lines.next().and_then(|line| line.strip_prefix(key)).map(str::trim);
        let rest = lines.take_while(|line| !KEYS.iter().any(|key| line.starts_with(key)));
        first.into_iter().chain(rest).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The title of the recipe, a sentence.
    pub(crate) fn title(&self) -> &'static str {
        self.header().next().unwrap_or_default()
    }
}

/// Names of the TOML files in a folder of this crate, sorted.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) fn names_of_files(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let name = |entry: std::fs::DirEntry| {
        entry.file_name().to_str().unwrap().strip_suffix(".toml").unwrap().to_owned()
    };
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_recipe_and_the_one_to_begin_with_is_first() {
        let mut names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        assert_eq!(names[0], "fair-digits");
        assert!(names[1..].is_sorted(), "{names:?}");
        names.sort_unstable();
        assert_eq!(names, names_of_files("recipes"));
    }
}
