//! Dotted keys of a recipe, such as `data.side`.

/// The key of something in a section; the recipe itself is a section without a name.
pub(crate) fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// True if a key is a section, or is in it.
pub(crate) fn is_in(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_a_section_of_its_whole_name() {
        assert_eq!((join("", "data"), join("data", "side")), ("data".to_owned(), "data.side".to_owned()));
        assert!(is_in("data.side", "data") && is_in("data", "data"));
        assert!(!is_in("database", "data") && !is_in("data", "data.side"));
    }
}
