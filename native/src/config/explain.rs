//! Turns errors of the TOML reader into messages for users: the line, the key, the nearest known one.

use std::fmt::Write as _;

use simile_core::error::{KEYS_WITH_VALUES, without_types};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key_path::{FORMER_VARIANTS, VARIANTS};

/// Words with a higher similarity than this (Jaro-Winkler, 0..1) are suggested.
const NEAR: f64 = 0.7;
/// The words of a message for a key whose value is a section, where another value stands.
pub(super) const EXPECTED_SECTION: &str = "expected a section";

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

/// The message for users for a message of serde's such as ``unknown field `a`, expected one of `b`, `c` ``.
pub(crate) fn reword(message: &str) -> String {
    for (start, kind) in [(UNKNOWN_KEY, "key"), ("unknown variant `", "value")] {
        let Some((word, rest)) = quoted(message, start) else { continue };
        let known = rest.split('`').skip(1).step_by(2).filter(|name| *name != FORMER_VARIANTS);
        return format!("unknown {kind} `{word}`{}", suggestion(word, known));
    }
    let text = without_types(&message.replace("missing field", "missing key"));
    text.replace(KEYS_WITH_VALUES, EXPECTED_SECTION).trim_end().to_owned()
}

const UNKNOWN_KEY: &str = "unknown field `";

/// The word between `start` and the next backtick, and the rest of the message.
fn quoted<'a>(message: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    message.split_once(start).and_then(|(_, rest)| rest.split_once('`'))
}

/// The unknown key in a message.
pub(crate) fn unknown_key(message: &str) -> Option<&str> {
    message.split_once("unknown key `").or_else(|| message.split_once(UNKNOWN_KEY))?.1.split('`').next()
}

/// The error with its line of `source`. Where the keys of a section depend on its `name`, the reader gives the line of the section, in
/// which `seek` finds that of the key.
pub(crate) fn explain(error: &toml::de::Error, source: &str, seek: impl Fn(usize) -> usize) -> String {
    match error.span() {
        Some(span) => format!("line {}: {}", seek(line(source, span.start)), reword(error.message())),
        None => reword(error.message()),
    }
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
    fn an_unknown_key_names_the_nearest() {
        let text = reword("unknown field `iteratons`, expected one of `batch`, `iterations`, `seed`");
        assert_eq!(
            text,
            "unknown key `iteratons`; did you mean `iterations`? known: batch, iterations, seed"
        );
    }

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
    fn a_far_word_gets_the_list_alone() {
        let text = reword("unknown variant `zzz`, expected `sgd` or `adam`");
        assert_eq!(text, "unknown value `zzz`; known: sgd, adam");
    }

    #[test]
    fn other_messages_pass() {
        assert_eq!(reword("missing field `name`"), "missing key `name`");
        assert_eq!(
            reword("invalid type: string \"x\", expected f64"),
            "invalid type: string \"x\", expected a number"
        );
        assert_eq!(
            reword("invalid type: string \"adam\", expected internally tagged enum OptimizerConfig"),
            "invalid type: string \"adam\", expected a section"
        );
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
