//! Turns errors of the TOML reader into messages for users: the line, the key, the nearest known one.

use std::fmt::Write as _;

/// Words with a higher similarity than this (Jaro-Winkler, 0..1) are suggested.
const NEAR: f64 = 0.7;

/// The known word nearest to `word`, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// `did you mean ...?` and the list of known words.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    let mut text = String::new();
    if let Some(near) = nearest(word, known.iter().copied()) {
        let _ = write!(text, "; did you mean `{near}`?");
    }
    if !known.is_empty() {
        let _ = write!(text, "{} known: {}", if text.is_empty() { ";" } else { "" }, known.join(", "));
    }
    text
}

/// The message for users for a message of serde's such as ``unknown field `a`, expected one of `b`, `c` ``.
pub(crate) fn reword(message: &str) -> String {
    for (start, kind) in [(UNKNOWN_KEY, "key"), ("unknown variant `", "value")] {
        let Some((word, rest)) = quoted(message, start) else { continue };
        let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        return format!("unknown {kind} `{word}`{}", suggestion(word, &known));
    }
    message.replace("missing field", "missing key").trim_end().to_owned()
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

/// The error with its line of `source`.
pub(crate) fn explain(error: &toml::de::Error, source: &str) -> String {
    // Sections that choose among kinds by `name` report the section's place, not the key's.
    let of_key = unknown_key(error.message()).and_then(|key| line_of_key(source, key));
    match of_key.or(error.span().map(|span| line(source, span.start))) {
        Some(line) => format!("line {line}: {}", reword(error.message())),
        None => reword(error.message()),
    }
}

/// The line of `source` where the key or section named by `path` is set, to point at a value that TOML accepts and
/// its reader does not.
pub(crate) fn line_of(source: &str, path: &[&str]) -> Option<usize> {
    let document = toml::de::DeTable::parse(source).ok()?;
    let mut table = document.get_ref();
    let (last, parents) = path.split_last()?;
    for parent in parents {
        table = table.get(*parent)?.get_ref().as_table()?;
    }
    table.iter().find(|(key, _)| key.get_ref() == last).map(|(key, _)| line(source, key.span().start))
}

/// The first line of `source` that sets a key of that name, in any section.
pub(crate) fn line_of_key(source: &str, name: &str) -> Option<usize> {
    let sets = |line: &str| {
        let rest = line.trim_start().trim_start_matches('"').strip_prefix(name)?;
        rest.trim_start_matches('"').trim_start().starts_with(['=', '.']).then_some(())
    };
    let inline = |line: &str| line.contains(&format!("{{ {name} =")) || line.contains(&format!(", {name} ="));
    source.lines().position(|line| sets(line).is_some() || inline(line)).map(|at| at + 1)
}

fn line(source: &str, offset: usize) -> usize {
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
    fn a_far_word_gets_the_list_alone() {
        let text = reword("unknown variant `zzz`, expected `sgd` or `adam`");
        assert_eq!(text, "unknown value `zzz`; known: sgd, adam");
    }

    #[test]
    fn other_messages_pass() {
        assert_eq!(reword("missing field `name`"), "missing key `name`");
        assert_eq!(
            reword("invalid type: string \"x\", expected f64"),
            "invalid type: string \"x\", expected f64"
        );
    }

    #[test]
    fn lines_count_from_one() {
        let source = "a = 1\n[objective]\nname = \"x\"\ntemprature = 2\n";
        assert_eq!(line_of(source, &["objective", "temprature"]), Some(4));
        assert_eq!(line_of(source, &["a"]), Some(1));
        assert_eq!(line_of(source, &["objective", "other"]), None);
    }
}
