//! Lists of words, and numbers of things.

use std::collections::BTreeMap;

/// Values with their counts, sorted by name.
pub(crate) fn counted<'a>(values: impl Iterator<Item = &'a str>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect()
}

/// A number of things with the name of one or of several: `1 class`, `2 classes`.
pub(crate) fn number_of(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The verb after a number of things: `1 of 9 rows is`, `2 of 9 rows are`.
pub(crate) fn is_or_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The first of some words.
pub(crate) fn some(words: &[String]) -> String {
    const SHOWN: usize = 8;
    let more =
        if words.len() > SHOWN { format!(", and {} more", words.len() - SHOWN) } else { String::new() };
    words.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + &more
}
