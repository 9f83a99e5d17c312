//! A CSV file: its header, and its rows, which know their lines.

use std::fs;
use std::io;
use std::path::Path;

use csv::{ErrorKind, Position, StringRecord};

/// A CSV file, as bytes.
pub(crate) struct Sheet(Vec<u8>);

impl Sheet {
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        fs::read(path).map(Self)
    }

    /// The names of the columns, without spaces around them; none if the file is empty.
    ///
    /// # Errors
    /// If it is not text.
    pub(crate) fn header(&self) -> io::Result<StringRecord> {
        self.reader().headers().cloned().map_err(|error| fault(error, &self.0))
    }

    /// The rows under the header, without spaces around their cells. The position of each has the line on which it begins.
    ///
    /// # Errors
    /// Names the line of a row that is not text, or has more or fewer cells than the header.
    pub(crate) fn rows(&self) -> io::Result<Vec<StringRecord>> {
        let placed = |mut row: StringRecord| {
            if let Some(mut at) = row.position().cloned() {
                at.set_line(line_of(&at, &self.0));
                row.set_position(Some(at));
            }
            row
        };
        let unreadable = |error: csv::Error| fault(error, &self.0);
        let mut reader = self.reader();
        // Until the header is read, the first row passes for one on its line.
        reader.headers().map_err(unreadable)?;
        reader.records().map(|row| row.map(placed).map_err(unreadable)).collect()
    }

    fn reader(&self) -> csv::Reader<&[u8]> {
        csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(self.0.as_slice())
    }
}

/// The line on which a record of a file of these bytes begins. The reader of CSV files gives the place after the
/// first byte of the line end above: before the `\n` of a `\r\n`, and before empty lines.
pub(crate) fn line_of(at: &Position, bytes: &[u8]) -> u64 {
    let rest = usize::try_from(at.byte()).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
    let ends = rest.iter().take_while(|byte| matches!(**byte, b'\r' | b'\n'));
    at.line() + ends.filter(|byte| **byte == b'\n').count() as u64
}

/// The reason why a file of these bytes cannot be read, with the line and the remedy.
pub(crate) fn fault(error: csv::Error, bytes: &[u8]) -> io::Error {
    let line = |at: &Option<Position>| at.as_ref().map_or(1, |at| line_of(at, bytes));
    let reason = match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => Some(format!(
            "line {} has {len} cells, and the header has {expected_len}; {}",
            line(pos),
            if len > expected_len {
                "put a cell that holds a comma in quotes"
            } else {
                "add the missing ones"
            }
        )),
        ErrorKind::Utf8 { pos, .. } => {
            Some(format!("line {} is not text in UTF-8; save the file as UTF-8", line(pos)))
        }
        _ => None,
    };
    reason.map_or_else(|| error.into(), io::Error::other)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TEXT: &str = "file,label\na.png,cat\n\"b\nc.png\",dog\n\nd.png,cat\n";

    fn lines(text: &str) -> Vec<u64> {
        let rows = Sheet(text.into()).rows().unwrap();
        rows.iter().map(|row| row.position().unwrap().line()).collect()
    }

    #[test]
    fn a_row_has_the_same_line_whatever_ends_the_lines() {
        let marked = format!("\u{feff}{TEXT}");
        for text in [TEXT, &marked] {
            assert_eq!(lines(text), [2, 3, 6]);
            assert_eq!(lines(&text.replace('\n', "\r\n")), [2, 3, 6]);
        }
    }

    #[test]
    fn a_row_that_cannot_be_read_is_named_by_its_line() {
        for end in ["\n", "\r\n"] {
            let fault = |text: &[u8]| Sheet(text.to_vec()).rows().unwrap_err().to_string();
            let long = fault(format!("{TEXT}e.png,cat,1\n").replace('\n', end).as_bytes());
            assert!(long.starts_with("line 7 has 3 cells, and the header has 2"), "{long}");
            let latin = fault(&[b"file,label".as_slice(), end.as_bytes(), b"\xe9.png,cat"].concat());
            assert!(latin.starts_with("line 2 is not text in UTF-8"), "{latin}");
        }
    }
}
