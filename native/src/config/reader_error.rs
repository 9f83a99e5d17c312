//! Errors of the reader of recipes. In `native` only this file knows the wording of serde, whose names of types [`without_types`] of core
//! rewords.

use std::fmt;

use simile_core::error::{KEYS_WITH_VALUES, without_types};

use super::explain::{line, suggestion};
use super::key_path::FORMER_VARIANTS;

/// An error of the reader of recipes; its text is that for users.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReaderError {
    UnknownKey(Unknown),
    /// A value that is none of some names.
    UnknownValue(Unknown),
    /// A preset of `[augment]`, whose reader is our own.
    UnknownPreset(Unknown),
    /// The text names the key.
    MissingKey(String),
    /// A value of another type than the reader expects; a type is absent if it is none of [`ValueType`].
    WrongType {
        found: Option<ValueType>,
        expected: Option<ValueType>,
        text: String,
    },
    /// Another error of the reader, or a setting that has no place in the recipe.
    Other(String),
}

/// A word that the reader does not know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unknown {
    pub(crate) word: String,
    /// The words that it takes in that place.
    pub(crate) known: Vec<String>,
}

/// The types of values that an error tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Section,
}

/// The words with which a message of a missing key begins.
pub(super) const MISSING_KEY: &str = "missing key";
/// The words of a message for a key whose value is a section, where another value stands.
const EXPECTED_SECTION: &str = "expected a section";
/// The words for a name, where another value stands.
const EXPECTED_NAME: &str = "is a name in quotes";
const UNKNOWN_PRESET: &str = "no preset is named ";

impl ReaderError {
    /// The error of a message of serde's, such as ``unknown field `a`, expected one of `b`, `c` ``, or of the reader of `[augment]`.
    pub(crate) fn of(message: &str) -> Self {
        let unknown = |start: &str| {
            let (word, rest) = message.split_once(start)?.1.split_once('`')?;
            let known = rest.split('`').skip(1).step_by(2).filter(|name| *name != FORMER_VARIANTS);
            Some(Unknown::new(word, known))
        };
        if let Some(key) = unknown("unknown field `") {
            return Self::UnknownKey(key);
        }
        if let Some(value) = unknown("unknown variant `") {
            return Self::UnknownValue(value);
        }
        if let Some(unknown) = message.strip_prefix(UNKNOWN_PRESET).and_then(Unknown::read) {
            return Self::UnknownPreset(unknown);
        }
        let text = without_types(&message.replace("missing field", MISSING_KEY));
        let text = text.replace(KEYS_WITH_VALUES, EXPECTED_SECTION).trim_end().to_owned();
        if message.starts_with("missing field") {
            return Self::MissingKey(text);
        }
        match types(&text) {
            (None, None) => Self::Other(text),
            (found, expected) => Self::WrongType { found, expected, text },
        }
    }

    /// The error of `found` in place of the name of a preset.
    pub(super) fn no_preset_name(found: impl fmt::Display) -> Self {
        let text = format!("`preset` {EXPECTED_NAME}, not {found}");
        Self::WrongType { found: None, expected: Some(ValueType::String), text }
    }

    /// The unknown key, if there is one.
    pub(super) fn unknown_key(&self) -> Option<&str> {
        match self {
            Self::UnknownKey(Unknown { word, .. }) => Some(word),
            _ => None,
        }
    }
}

impl fmt::Display for ReaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey(unknown) => write!(f, "unknown key {unknown}"),
            Self::UnknownValue(unknown) => write!(f, "unknown value {unknown}"),
            Self::UnknownPreset(unknown) => write!(f, "{UNKNOWN_PRESET}{unknown}"),
            Self::MissingKey(text) | Self::WrongType { text, .. } | Self::Other(text) => f.write_str(text),
        }
    }
}

impl Unknown {
    pub(super) fn new<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { word: word.to_owned(), known: known.into_iter().map(str::to_owned).collect() }
    }

    /// Reads a text of [`Display`](fmt::Display), which always has a list of known words, back.
    fn read(text: &str) -> Option<Self> {
        let (word, hint) = text.strip_prefix('`')?.split_once("`;")?;
        let (_, known) = hint.split_once("known: ")?;
        Some(Self::new(word, known.split(", ")))
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`{}", self.word, suggestion(&self.word, self.known.iter().map(String::as_str)))
    }
}

/// The types that a message says were found and expected.
fn types(text: &str) -> (Option<ValueType>, Option<ValueType>) {
    let words = text.split_once("invalid type: ").and_then(|(_, words)| words.rsplit_once(", expected "));
    let actual = words.and_then(|(actual, _)| found_type(actual));
    let expected = match words {
        // A list of another length than that of a section has no `invalid type`.
        _ if text.contains(EXPECTED_SECTION) => Some(ValueType::Section),
        _ if text.contains(EXPECTED_NAME) => Some(ValueType::String),
        Some((_, expected)) => expected_type(expected),
        None => None,
    };
    (actual, expected)
}

/// The type of a value that the reader found, in the words of serde.
fn found_type(words: &str) -> Option<ValueType> {
    let types = [
        ("boolean ", ValueType::Boolean),
        ("integer ", ValueType::Integer),
        ("floating point ", ValueType::Number),
        ("string ", ValueType::String),
        ("sequence", ValueType::Array),
        ("map", ValueType::Section),
    ];
    types.into_iter().find(|(start, _)| words.starts_with(start)).map(|(_, found)| found)
}

/// The type of a value that the reader expects, in the words of serde and of [`without_types`].
fn expected_type(words: &str) -> Option<ValueType> {
    Some(match words {
        "true or false" => ValueType::Boolean,
        _ if words.starts_with("an integer") => ValueType::Integer,
        "a number" => ValueType::Number,
        "a string" | "path string" => ValueType::String,
        _ if words.starts_with("an array") => ValueType::Array,
        _ => return None,
    })
}

/// The text of an error with its line of `source`. Where the keys of a section depend on its `name`, the reader gives the line of the
/// section, in which `seek` finds that of the key.
pub(crate) fn with_line(error: &toml::de::Error, source: &str, seek: impl Fn(usize) -> usize) -> String {
    let reason = ReaderError::of(error.message());
    match error.span() {
        Some(span) => format!("line {}: {reason}", seek(line(source, span.start))),
        None => reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a message for users.
    fn reworded(message: &str) -> String {
        ReaderError::of(message).to_string()
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let text = reworded("unknown field `iteratons`, expected one of `batch`, `iterations`, `seed`");
        assert_eq!(
            text,
            "unknown key `iteratons`; did you mean `iterations`? known: batch, iterations, seed"
        );
    }

    #[test]
    fn a_far_word_gets_the_list_alone() {
        let text = reworded("unknown variant `zzz`, expected `sgd` or `adam`");
        assert_eq!(text, "unknown value `zzz`; known: sgd, adam");
    }

    #[test]
    fn other_messages_pass() {
        assert_eq!(reworded("missing field `name`"), "missing key `name`");
        assert_eq!(
            reworded("invalid type: string \"x\", expected f64"),
            "invalid type: string \"x\", expected a number"
        );
        assert_eq!(
            reworded("invalid type: string \"adam\", expected internally tagged enum OptimizerConfig"),
            "invalid type: string \"adam\", expected a section"
        );
    }

    #[test]
    fn a_message_says_which_error_it_is() {
        let unknown = |word: &str, known: &[&str]| Unknown::new(word, known.iter().copied());
        let former = "unknown field `a`, expected one of `b`, `arm`";
        assert_eq!(ReaderError::of(former), ReaderError::UnknownKey(unknown("a", &["b"])));
        let value = ReaderError::UnknownValue(unknown("a", &["b", "c"]));
        assert_eq!(ReaderError::of("unknown variant `a`, expected `b` or `c`"), value);
        assert!(matches!(ReaderError::of("missing field `a`"), ReaderError::MissingKey(_)));
        let inside = "`all` is not understood, missing field `a`";
        assert_eq!(ReaderError::of(inside), ReaderError::Other(inside.replace("field", "key")));
    }

    #[test]
    fn a_message_says_the_types() {
        for (message, types) in [
            ("map, expected path string", (Some(ValueType::Section), Some(ValueType::String))),
            ("map, expected a boolean", (Some(ValueType::Section), Some(ValueType::Boolean))),
            ("map, expected usize", (Some(ValueType::Section), Some(ValueType::Integer))),
            ("boolean `true`, expected f64", (Some(ValueType::Boolean), Some(ValueType::Number))),
            ("integer `1`, expected a sequence", (Some(ValueType::Integer), Some(ValueType::Array))),
            ("floating point `0.5`, expected a map", (Some(ValueType::Number), Some(ValueType::Section))),
            ("sequence, expected a colour", (Some(ValueType::Array), None)),
            ("string \"a, expected f64\", expected i8", (Some(ValueType::String), None)),
        ] {
            let error = ReaderError::of(&format!("invalid type: {message}"));
            let told = match &error {
                ReaderError::WrongType { found, expected, .. } => (*found, *expected),
                _ => (None, None),
            };
            assert_eq!(told, types, "{message}");
        }
        let short = ReaderError::of("invalid length 1, expected struct Crop with 5 elements");
        let text = "invalid length 1, expected a section".to_owned();
        let expected = Some(ValueType::Section);
        assert_eq!(short, ReaderError::WrongType { found: None, expected, text });
    }

    /// The reader of `[augment]` can give no more than a text to serde.
    #[test]
    fn an_error_of_our_own_reader_is_read_back() {
        let preset = |word| ReaderError::UnknownPreset(Unknown::new(word, ["contex", "cclk"]));
        for error in [preset("contx"), preset("a`b"), ReaderError::no_preset_name(3)] {
            assert_eq!(ReaderError::of(&error.to_string()), error);
        }
        assert_eq!(
            preset("contx").to_string(),
            "no preset is named `contx`; did you mean `contex`? known: contex, cclk"
        );
    }
}
