//! Recipes for tests.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use toml::{Table, Value};

use super::{Changes, Recipe};

/// Two iterations on drawn digits, without an objective.
const DRAWN: &str = "name = \"mine\"\n\n[data]\ndataset = \"digits\"\ntrain = 64\ntest = 32\n\n\
    [train]\nbatch = 16\niterations = 2\n";

/// A recipe that ships, with so many iterations.
pub(crate) fn with_iterations(iterations: usize) -> Recipe {
    let mut recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
    recipe.train.iterations = iterations;
    recipe
}

/// The recipe of [`drawn_text`].
pub(crate) fn drawn(sections: &str) -> Recipe {
    Recipe::resolved(&drawn_text(sections), Path::new("mine.toml")).unwrap()
}

/// Two iterations with batches of 16 of 64 drawn digits, as TOML, with further sections. A key that stands in both has the value of
/// the latter.
pub(crate) fn drawn_text(sections: &str) -> String {
    let mut recipe: Table = toml::from_str(DRAWN).unwrap();
    for (name, section) in toml::from_str::<Table>(sections).unwrap() {
        match (recipe.entry(name).or_insert_with(|| Value::Table(Table::new())), section) {
            (Value::Table(keys), Value::Table(more)) => keys.extend(more),
            (place, other) => *place = other,
        }
    }
    toml::to_string(&recipe).unwrap()
}
