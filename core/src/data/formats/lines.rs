//! Annotation files: tables of words or of comma-separated values; errors name the line.

use crate::data::{DatasetError, Result};

/// The text of a file and the name that messages use for it.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// The whole text.
    pub text: &'a str,
    /// Its name, usually the path of the file.
    pub origin: &'a str,
}

impl<'a> Text<'a> {
    /// A text with its name, without the byte order mark with which programs of Windows begin a file.
    pub fn new(text: &'a str, origin: &'a str) -> Self {
        Self { text: text.strip_prefix('\u{feff}').unwrap_or(text), origin }
    }

    /// An error at a line, counted from 1.
    pub fn error(&self, line: usize, reason: impl Into<String>) -> DatasetError {
        DatasetError::Line { origin: self.origin.into(), line, reason: reason.into() }
    }

    /// Lines that are not empty, numbered from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let lines = self.text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        lines.filter(|(_, line)| !line.is_empty())
    }

    /// Lines split at white space into at least `N` words; the first `N` are returned.
    ///
    /// # Errors
    /// An item is an error if its line has fewer words; the error names the line.
    pub fn words<const N: usize>(&self) -> impl Iterator<Item = Result<(usize, [&'a str; N])>> {
        let text = *self;
        self.lines().map(move |(line, content)| {
            let mut words = content.split_whitespace();
            let first_words: [&str; N] = std::array::from_fn(|_| words.next().unwrap_or_default());
            match first_words.last() {
                Some(&"") => Err(text.error(line, format!("`{content}`, expected {N} words"))),
                _ => Ok((line, first_words)),
            }
        })
    }

    /// A number at a line.
    ///
    /// # Errors
    /// If the word is no number of this type; the error names the line.
    pub fn number<T: std::str::FromStr>(&self, line: usize, what: &str, word: &str) -> Result<T> {
        word.parse().map_err(|_| self.error(line, format!("{what} is `{word}`, expected a number")))
    }

    /// Comma-separated values under a header.
    ///
    /// # Errors
    /// If a row has another number of values than the header; the error names the line.
    pub fn csv(&self) -> Result<Csv> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(false).from_reader(self.text.as_bytes());
        let failed = |error: csv::Error| {
            let line = error.position().map_or(1, |position| position.line() as usize);
            self.error(line, error.to_string())
        };
        let header = reader.headers().map_err(failed)?.iter().map(String::from).collect();
        let records = reader.records().collect::<Result<_, _>>().map_err(failed)?;
        Ok(Csv { origin: self.origin.into(), header, records })
    }
}

/// A table with named columns.
pub struct Csv {
    origin: String,
    /// The names of the columns.
    pub header: Vec<String>,
    records: Vec<csv::StringRecord>,
}

impl Csv {
    /// The rows with their lines in the file.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &csv::StringRecord)> {
        self.records.iter().map(|record| (record.position().map_or(0, |at| at.line() as usize), record))
    }

    /// The index of a column.
    ///
    /// # Errors
    /// If the header has no column of that name.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.header.iter().position(|column| column == name).ok_or_else(|| DatasetError::Line {
            origin: self.origin.clone(),
            line: 1,
            reason: format!("there is no column `{name}`; get the official file"),
        })
    }

    /// An error at a line.
    pub fn error(&self, line: usize, reason: impl Into<String>) -> DatasetError {
        DatasetError::Line { origin: self.origin.clone(), line, reason: reason.into() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_word() {
        let text = Text::new("\u{feff}a.png 1\nb.png 2\n", "list.txt");
        let first: (usize, [&str; 1]) = text.words().next().unwrap().unwrap();
        assert_eq!(first, (1, ["a.png"]));
        assert_eq!(
            Text::new("\u{feff}path,label\na.png,1\n", "list.csv").csv().unwrap().column("path"),
            Ok(0)
        );
    }

    #[test]
    fn a_fault_is_named_by_its_line() {
        let text = Text::new("1 a\n\n2\n", "images.txt");
        let rows: Vec<Result<(usize, [&str; 2])>> = text.words().collect();
        assert_eq!(rows[0].as_ref().unwrap(), &(1, ["1", "a"]));
        let error = rows[1].as_ref().unwrap_err().to_string();
        assert!(error.contains("images.txt, line 3: `2`, expected 2 words"), "{error}");
        let ragged = Text::new("a,b\n1,2\n3\n", "list.csv").csv().err().unwrap().to_string();
        assert!(ragged.contains("list.csv, line 3"), "{ragged}");
        let table = Text::new("\"a\",b\n1, 2\n", "list.csv").csv().unwrap();
        assert_eq!((table.column("a").unwrap(), table.rows().next().unwrap().0), (0, 2));
        assert!(table.column("c").unwrap_err().to_string().contains("no column `c`"));
    }
}
