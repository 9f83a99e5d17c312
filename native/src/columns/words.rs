//! Lists of words.

use std::collections::BTreeMap;

/// Values with their counts, sorted by name.
pub(crate) fn counted<'a>(values: impl Iterator<Item = &'a str>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect()
}

/// The first of some words.
pub(crate) fn some(words: &[String]) -> String {
    const SHOWN: usize = 8;
    let more =
        if words.len() > SHOWN { format!(", and {} more", words.len() - SHOWN) } else { String::new() };
    words.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + &more
}
