//! A recipe: everything that decides a run, in one TOML file.

mod check;
mod culprit;
pub(crate) mod difference;
pub(crate) mod encoder;
pub(crate) mod explain;
mod fault;
pub(crate) mod key_path;
pub(crate) mod keys;
mod known_keys;
mod load;
pub(crate) mod meanings;
pub(crate) mod measured;
mod numbers;
pub(crate) mod objective;
mod origin;
pub(crate) mod own_names;
pub(crate) mod penalty;
pub(crate) mod probe;
mod recipe;
pub(crate) mod schema;
pub(crate) mod sections;
pub(crate) mod selection;
pub(crate) mod set;
pub(crate) mod shipped;
mod smoke;
pub(crate) mod usual;
pub(crate) mod variant;
pub(crate) mod views;

pub(crate) use key_path::{FORMER_VARIANTS, VARIANTS};
pub(crate) use load::Changes;
pub(crate) use recipe::Recipe;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing {
    use super::{Changes, Recipe};

    /// A recipe of so many iterations.
    pub(crate) fn with_iterations(iterations: usize) -> Recipe {
        let mut recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
        recipe.train.iterations = iterations;
        recipe
    }
}
#[cfg(test)]
mod tests;
