//! The lines of a TOML file with comments.

use std::fmt::Display;

use toml::Value;

/// The column of the comments beside other text.
const COMMENTS: usize = 32;

/// The lines of a TOML file.
#[derive(Default)]
pub(super) struct Lines(String);

impl Lines {
    pub(super) fn blank(&mut self) {
        self.0 += "\n";
    }

    /// A comment on a line of its own.
    pub(super) fn comment(&mut self, text: &str) {
        self.0 += format!("# {text}").trim_end();
        self.0 += "\n";
    }

    /// The header of a section, such as `[data]`, with a comment beside it unless that is empty.
    pub(super) fn section(&mut self, header: &str, why: &str) {
        self.beside(header, why);
    }

    /// A key with a value as TOML writes it, and a comment beside it unless that is empty.
    pub(super) fn set(&mut self, key: &str, value: impl Display, why: &str) {
        self.beside(&format!("{key} = {value}"), why);
    }

    /// A key with a text.
    pub(super) fn set_text(&mut self, key: &str, text: &str, why: &str) {
        self.set(key, Value::from(text), why);
    }

    /// A key with a list of texts.
    pub(super) fn set_texts<'a>(&mut self, key: &str, texts: impl Iterator<Item = &'a str>, why: &str) {
        let texts: Vec<String> = texts.map(|text| Value::from(text).to_string()).collect();
        self.set(key, format_args!("[{}]", texts.join(", ")), why);
    }

    /// A line with a comment beside it unless that is empty.
    fn beside(&mut self, text: &str, why: &str) {
        if why.is_empty() {
            self.0 += text;
        } else {
            self.0 += &format!("{text:<COMMENTS$} # {why}");
        }
        self.0 += "\n";
    }

    /// Other lines as comments.
    pub(super) fn commented_out(&mut self, other: &Self) {
        other.0.lines().for_each(|line| self.comment(line));
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stand_in_one_column() {
        let mut lines = Lines::default();
        lines.section("[data]", "");
        lines.set_text("csv", "images.csv", "");
        lines.set("test", 7, "pictures");
        lines.set_texts("categories", ["site", "ward"].into_iter(), "codes");
        let mut whole = Lines::default();
        whole.comment("");
        whole.blank();
        whole.commented_out(&lines);
        let expected = "#\n\n# [data]\n# csv = \"images.csv\"\n# test = 7                         # pictures\n\
                        # categories = [\"site\", \"ward\"]    # codes\n";
        assert_eq!(whole.into_text(), expected);
    }
}
