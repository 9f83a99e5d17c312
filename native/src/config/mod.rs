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
pub(crate) mod reader_error;
mod recipe;
pub(crate) mod schema;
pub(crate) mod sections;
pub(crate) mod selection;
pub(crate) mod set;
pub(crate) mod shipped;
mod smoke;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod usual;
pub(crate) mod variant;
pub(crate) mod views;

pub(crate) use key_path::{FORMER_VARIANTS, VARIANTS};
pub(crate) use load::Changes;
pub(crate) use recipe::Recipe;

#[cfg(test)]
mod tests;
