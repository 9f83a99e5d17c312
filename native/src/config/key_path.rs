//! Dotted keys of a recipe, such as `data.side`.

/// The key of the variants that a recipe compares, each a [`VariantSection`](super::variant::VariantSection), and the one that it had.
pub(crate) const VARIANTS: &str = "variant";
pub(crate) const FORMER_VARIANTS: &str = "arm";

/// The key of something in a section; the recipe itself is a section without a name.
pub(crate) fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// True if a key is a section, or is in it.
pub(crate) fn is_in(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The key of a setting `KEY=VALUE`.
pub(crate) fn key_of(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

/// The path of a key: its sections, and its name.
pub(crate) fn path_of(key: &str) -> Vec<&str> {
    let mut path = dotted(key.trim());
    if let Some(first) = path.first_mut().filter(|first| **first == FORMER_VARIANTS) {
        *first = VARIANTS;
    }
    path
}

/// The parts of a dotted key. One in quotes, as in TOML, may have points, and the quotes are no part of it.
pub(super) fn dotted(key: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), key);
    loop {
        let in_quotes = ['"', '\''].into_iter().find_map(|quote| {
            let (part, after) = rest.strip_prefix(quote)?.split_once(quote)?;
            (after.is_empty() || after.starts_with('.')).then_some((part, after))
        });
        let (part, after) = in_quotes.unwrap_or_else(|| rest.split_at(rest.find('.').unwrap_or(rest.len())));
        parts.push(part);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None => return parts,
        }
    }
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
