//! An error in a recipe that is valid TOML.

/// An error in a recipe that is valid TOML.
#[derive(Debug)]
pub(super) struct Fault {
    /// The path of its key, or of the section; a variant is named by its name.
    pub(super) path: Vec<String>,
    pub(super) reason: String,
}

impl Fault {
    /// An error of a key in a section, or without a key of the section.
    pub(super) fn new(section: &str, key: &str, reason: impl Into<String>) -> Self {
        let path = [section, key].into_iter().filter(|part| !part.is_empty());
        Self { path: path.map(str::to_owned).collect(), reason: reason.into() }
    }
}
