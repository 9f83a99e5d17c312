//! Parts of messages for users: the nearest known word, and the line of a key.

use std::fmt::Write as _;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key_path::{FORMER_VARIANTS, VARIANTS};

/// Words of at least this similarity (Jaro-Winkler, 0..1) are suggested.
const NEAR: f64 = 0.7;

/// The known word nearest to `word`, in upper or lower case, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// `did you mean ...?` and the list of known words.
pub(crate) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    hint(nearest(word, known.iter().copied()), &known)
}

/// `did you mean ...?` with the near word, and the list of known words, if there are any.
pub(super) fn hint(near: Option<&str>, known: &[&str]) -> String {
    let mut text = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    if !known.is_empty() {
        let _ = write!(text, "{} known: {}", if text.is_empty() { ";" } else { "" }, known.join(", "));
    }
    text
}

/// The line of `source` where the key or section named by `path` is set, to point at a value that TOML accepts and
/// its reader does not. A variant is named by its name, after the key of all.
pub(crate) fn line_of(source: &str, path: &[impl AsRef<str>]) -> Option<usize> {
    let document = DeTable::parse(source).ok()?;
    let mut table = document.get_ref();
    let mut path = path.iter().map(|part| part.as_ref());
    let mut name: &str = path.next()?;
    loop {
        let entry = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
        let (key, value) = entry(name).or_else(|| entry(FORMER_VARIANTS).filter(|_| name == VARIANTS))?;
        let Some(next) = path.next() else { return Some(line(source, key.span().start)) };
        let DeValue::Array(variants) = value.get_ref() else {
            (table, name) = (value.get_ref().as_table()?, next);
            continue;
        };
        let is_named = |variant: &&Spanned<DeValue<'_>>| {
            variant.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(next)
        };
        let variant = variants.iter().find(is_named)?;
        let Some(key) = path.next() else { return Some(line(source, variant.span().start)) };
        (table, name) = (variant.get_ref().as_table()?, key);
    }
}

/// The number of the line of a byte.
pub(super) fn line(source: &str, offset: usize) -> usize {
    source.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_and_lower_case_are_alike() {
        let known = ["du-table3", "cclk-table3"];
        assert_eq!(
            suggestion("CCLK-Table3", known),
            "; did you mean `cclk-table3`? known: du-table3, cclk-table3"
        );
        assert_eq!(nearest("top1", ["MSE", "Top1"]), Some("Top1"));
    }

    #[test]
    fn lines_count_from_one() {
        let source = "a = 1\n[objective]\nname = \"x\"\ntemprature = 2\n";
        assert_eq!(line_of(source, &["objective", "temprature"]), Some(4));
        assert_eq!(line_of(source, &["a"]), Some(1));
        assert_eq!(line_of(source, &["objective", "other"]), None);
        let variants =
            "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b.c\"\n[variant.objective]\nlambda = 1\n";
        assert_eq!(line_of(variants, &["variant", "b.c", "objective", "lambda"]), Some(6));
        assert_eq!(line_of(variants, &["variant", "b.c"]), Some(3));
        assert_eq!(line_of(variants, &["variant", "c"]), None);
    }
}
