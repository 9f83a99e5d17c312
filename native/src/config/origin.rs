//! Where a key of a recipe was written, for errors that its data alone show.

use super::explain::line_of;
use super::key_path::{FORMER_VARIANTS, VARIANTS, is_in, key_of};

/// The text of a recipe, and the settings of the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    name: String,
    text: String,
    set: Vec<String>,
    /// True if the program has written the recipe for a folder of pictures.
    pub(crate) is_drafted: bool,
}

/// Recipes are equal if their values are, wherever these were written.
impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origin {
    pub(super) fn new(name: &str, text: &str, set: &[String]) -> Self {
        Self { name: name.into(), text: text.into(), set: set.into(), is_drafted: false }
    }

    /// True if the recipe is in a file: it is neither written for a folder of pictures, nor that of a run or a model.
    pub(crate) fn is_in_file(&self) -> bool {
        !self.name.is_empty() && !self.is_drafted
    }

    /// The place of a key, to be put before an error: that of the last setting of it, or the file and the line of it or else of its
    /// section. Empty if it is in neither. A variant is named by its name, after the key of all.
    pub(crate) fn of(&self, path: &[&str]) -> String {
        let key = path.join(".");
        let is_it = |setting: &&String| {
            let set = key_of(setting);
            let set = set
                .strip_prefix(FORMER_VARIANTS)
                .map_or_else(|| set.into(), |rest| format!("{VARIANTS}{rest}"));
            is_in(&key, &set)
        };
        if let Some(setting) = self.set.iter().rev().find(is_it) {
            return format!("--set {setting}: ");
        }
        let line = (1..=path.len()).rev().find_map(|parts| line_of(&self.text, &path[..parts]));
        line.map(|line| format!("{}, line {line}: ", self.name)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_where_it_was_written_last() {
        let text =
            "[probe]\ncondition = \"a\"\n[[variant]]\nname = \"x\"\n[variant.objective]\ncondition = \"b\"\n";
        let set = ["arm.x.objective={ name = \"supcon\" }", "probe.also=[\"c\"]", "probe.also=[]"];
        let origin = Origin::new("mine.toml", text, &set.map(str::to_owned));
        assert_eq!(origin.of(&["probe", "condition"]), "mine.toml, line 2: ");
        assert_eq!(origin.of(&["probe", "also"]), "--set probe.also=[]: ");
        assert_eq!(origin.of(&["variant", "x", "objective", "condition"]), format!("--set {}: ", set[0]));
        assert_eq!(origin.of(&["variant", "x"]), "mine.toml, line 3: ");
        assert_eq!(origin.of(&["train", "batch"]), "");
        let alone = Origin::new("mine.toml", text, &[]);
        assert_eq!(alone.of(&["variant", "x", "objective", "condition"]), "mine.toml, line 6: ");
    }

    #[test]
    fn a_recipe_of_a_folder_or_of_a_run_is_in_no_file() {
        let origin = Origin::new("mine.toml", "", &[]);
        assert!(origin.is_in_file());
        assert!(!Origin { is_drafted: true, ..origin }.is_in_file() && !Origin::default().is_in_file());
    }
}
