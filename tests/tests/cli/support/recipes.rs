//! Recipes that several tests train, and changes of recipes.

use std::fs;

use simile_tests::place;
use tempfile::TempDir;

/// Two variants, small enough for an unoptimised build.
pub(crate) const TWO_VARIANTS: &str = r#"
[data]
dataset = "digits"
train = 96
test = 48

[augment]
crop = { scale = [0.5, 1.0] }

[optimizer]
name = "adam"

[schedule]
name = "cosine"
warm_up = 0.1

[train]
batch = 16
iterations = 40
checkpoint_every = 3
log_every = 1

[probe]
steps = 5

[[variant]]
name = "SimCLR"
objective = { name = "nt-xent", temperature = 0.5 }

[[variant]]
name = "Fair"
objective = { name = "fair-cclk", temperature = 0.5, kernel = { name = "rbf", sigma = 20.0 } }
"#;

/// A short run of batches of 16 without an objective, whose learning rate does not depend on its length.
pub(crate) const SMALL: &str = r#"
[data]
dataset = "digits"
train = 64
test = 32

[optimizer]
name = "adam"

[train]
batch = 16
iterations = 6
log_every = 1

[probe]
steps = 5
"#;

/// [`SMALL`] with the lines of its objective.
fn small(objective: &str) -> String {
    format!("{SMALL}\n[objective]\n{objective}\n")
}

/// One contrastive variant.
pub(crate) fn one() -> String {
    small("name = \"nt-xent\"\ntemperature = 0.5")
}

/// A classifier, which can be evaluated by its own scores.
pub(crate) fn classifier() -> String {
    small("name = \"cross-entropy\"")
}

/// A folder with this file.
pub(crate) fn place_with(name: &str, text: &str) -> TempDir {
    let place = place();
    fs::write(place.path().join(name), text).unwrap();
    place
}

/// A folder with the recipe of [`one`] as `one.toml`.
pub(crate) fn with_one() -> TempDir {
    place_with("one.toml", &one())
}

/// A folder with [`TWO_VARIANTS`] as `tiny.toml`.
pub(crate) fn with_two_variants() -> TempDir {
    place_with("tiny.toml", TWO_VARIANTS)
}

/// A short run on a data set of pictures, with further keys of `[data]` and a condition.
pub(crate) fn of_data_set(dataset: &str, keys: &str, condition: &str) -> String {
    format!(
        "[data]\ndataset = \"{dataset}\"\n{keys}\n\n[augment]\ncrop = {{ scale = [0.5, 1.0] }}\n\n[optimizer]\nname = \
         \"adam\"\n\n[train]\nbatch = 4\niterations = 2\n\n[probe]\ncondition = \"{condition}\"\nsteps = 3\n\n[objective]\nname \
         = \"fair-cclk\"\ncondition = \"{condition}\"\n"
    )
}

/// Changes of a text that must have an effect.
pub(crate) trait Edited {
    /// The text with one of its parts replaced. A part that is not there once fails the test, which would go on with another
    /// text than it says.
    fn edited(&self, from: &str, to: &str) -> String;
}

impl Edited for str {
    fn edited(&self, from: &str, to: &str) -> String {
        let times = self.matches(from).count();
        assert!(times == 1, "`{from}` stands there {times} times, in place of once:\n{self}");
        self.replacen(from, to, 1)
    }
}

#[test]
fn a_part_is_replaced() {
    assert_eq!("steps = 5\nbatch = 5".edited("steps = 5", "steps = 6"), "steps = 6\nbatch = 5");
}

#[test]
#[should_panic(expected = "`steps = 7` stands there 0 times")]
fn a_part_that_is_gone_fails_the_test() {
    "steps = 5".edited("steps = 7", "steps = 8");
}

#[test]
#[should_panic(expected = "`5` stands there 2 times")]
fn a_part_that_is_there_twice_fails_the_test() {
    "steps = 5\nbatch = 5".edited("5", "6");
}
