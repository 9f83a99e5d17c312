//! A CSV file: its header, and its rows, which know their lines. Cells are separated by commas, semicolons, tabs or vertical bars.
//! A spreadsheet in a language that writes 21,5 for 21.5 saves semicolons, so that in such a file a comma in a number is its
//! decimal point.

use std::fs;
use std::io;
use std::path::Path;

use csv::{ErrorKind, Position, StringRecord, Trim};

use crate::utf8;

/// A character that separates cells, and its name in messages.
pub(crate) type Separator = (u8, &'static str);

/// The separator of CSV files.
pub(crate) const COMMA: Separator = (b',', "comma");
/// The separators that are tried, in this order.
pub(crate) const SEPARATORS: [Separator; 4] =
    [COMMA, (b';', "semicolon"), (b'\t', "tab"), (b'|', "vertical bar")];

/// A CSV file, as bytes.
pub(crate) struct CsvFile {
    bytes: Vec<u8>,
    separator: Separator,
}

/// The rows of a file.
pub(crate) struct Rows {
    pub(crate) records: Vec<StringRecord>,
    /// A note to the user on the first cell whose comma is a decimal point.
    pub(crate) note: Option<String>,
}

/// Where a scan of the cells stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanState {
    Start,
    Plain,
    Quoted,
    /// After a quote in a cell with quotes.
    Closed,
}

impl CsvFile {
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        fs::read(path).map(Self::of)
    }

    /// Its separator is the first that divides the header into several columns and the first row into as many; where the first row has a
    /// fault, the first that divides the header.
    fn of(bytes: Vec<u8>) -> Self {
        let divides = |separator: &&Separator| {
            reader(&bytes, **separator).headers().is_ok_and(|header| header.len() > 1)
        };
        let fits = |separator: &&Separator| {
            reader(&bytes, **separator).records().next().is_none_or(|row| row.is_ok())
        };
        let dividing = || SEPARATORS.iter().filter(divides);
        let separator = dividing().find(fits).or(dividing().next()).copied().unwrap_or(COMMA);
        Self { bytes, separator }
    }

    /// The names of the columns, without spaces around them; none if the file is empty.
    ///
    /// # Errors
    /// If it is not text.
    pub(crate) fn header(&self) -> io::Result<StringRecord> {
        self.reader().headers().cloned().map_err(|error| self.fault(error))
    }

    /// The rows under the header, without spaces around their cells. The position of each has the line on which it begins.
    ///
    /// # Errors
    /// Names the line of a row that is not text, or has more or fewer cells than the header.
    pub(crate) fn rows(&self) -> io::Result<Rows> {
        if let Some(line) = self.unclosed() {
            let reason = format!(
                "line {line}: a quote opens a cell and none closes it; double it (\"\") if it is part of a text"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let mut note = None;
        let mut placed = |row: StringRecord| {
            let mut at = row.position().cloned();
            if let Some(at) = &mut at {
                at.set_line(line_of(at, &self.bytes));
            }
            let mut row =
                if self.separator == COMMA { row } else { with_points(&row, &mut note, at.as_ref()) };
            row.set_position(at);
            row
        };
        let mut reader = self.reader();
        // Until the header is read, the first row passes for one on its line.
        reader.headers().map_err(|error| self.fault(error))?;
        let records = reader
            .records()
            .map(|row| row.map(&mut placed).map_err(|error| self.fault(error)))
            .collect::<io::Result<_>>()?;
        Ok(Rows { records, note })
    }

    /// The line of the quote that opens the last cell, if none closes it: that cell then holds the rest of the file.
    fn unclosed(&self) -> Option<usize> {
        let (mut line, mut opened_on, mut state) = (1, 1, ScanState::Start);
        for byte in self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes) {
            state = match (state, byte) {
                (ScanState::Start, b'"') => {
                    opened_on = line;
                    ScanState::Quoted
                }
                (ScanState::Quoted, b'"') => ScanState::Closed,
                // It was the first of a doubled quote.
                (ScanState::Closed, b'"') => ScanState::Quoted,
                (ScanState::Quoted, _) => ScanState::Quoted,
                (_, b'\n' | b'\r') => ScanState::Start,
                (_, byte) if *byte == self.separator.0 => ScanState::Start,
                _ => ScanState::Plain,
            };
            line += usize::from(*byte == b'\n');
        }
        (state == ScanState::Quoted).then_some(opened_on)
    }

    fn reader(&self) -> csv::Reader<&[u8]> {
        reader(&self.bytes, self.separator)
    }

    fn fault(&self, error: csv::Error) -> io::Error {
        fault(error, &self.bytes, self.separator)
    }
}

fn reader(bytes: &[u8], (separator, _): Separator) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new().delimiter(separator).trim(Trim::All).from_reader(bytes)
}

/// A row whose numbers have decimal points. The first such number is noted.
fn with_points(row: &StringRecord, note: &mut Option<String>, at: Option<&Position>) -> StringRecord {
    let line = at.map_or(0, Position::line);
    let mut pointed = |cell: &str| {
        let pointed = with_point(cell)?;
        note.get_or_insert_with(|| {
            format!(
                "cells are not separated by commas, so commas are decimal points: line {line}, {cell} is {pointed}"
            )
        });
        Some(pointed)
    };
    row.iter().map(|cell| pointed(cell).unwrap_or_else(|| cell.to_owned())).collect()
}

/// A number with one comma, written with a decimal point.
fn with_point(cell: &str) -> Option<String> {
    let (whole, rest) = cell.split_once(',')?;
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = rest.split(['e', 'E']).next().unwrap_or_default();
    let pointed = format!("{whole}.{rest}");
    let is_number = are_digits(whole.trim_start_matches(['+', '-'])) && are_digits(fraction);
    (is_number && pointed.parse::<f64>().is_ok()).then_some(pointed)
}

/// The line on which a row begins.
pub(crate) fn row_line(row: &StringRecord) -> u64 {
    row.position().map_or(0, Position::line)
}

/// The line on which a record of a file of these bytes begins. The reader of CSV files gives the place after the
/// first byte of the line end above: before the `\n` of a `\r\n`, and before empty lines.
pub(crate) fn line_of(at: &Position, bytes: &[u8]) -> u64 {
    let rest = usize::try_from(at.byte()).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
    let ends = rest.iter().take_while(|byte| matches!(**byte, b'\r' | b'\n'));
    at.line() + ends.filter(|byte| **byte == b'\n').count() as u64
}

/// The reason why a file of these bytes cannot be read, with the line and the remedy.
pub(crate) fn fault(error: csv::Error, bytes: &[u8], (_, separator): Separator) -> io::Error {
    let line = |at: &Option<Position>| at.as_ref().map_or(1, |at| line_of(at, bytes));
    let reason = match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => Some(format!(
            "line {} has {len} cells, and the header has {expected_len}; {}",
            line(pos),
            if len > expected_len {
                format!("put a cell that holds a {separator} in quotes")
            } else {
                "add the missing ones".into()
            }
        )),
        ErrorKind::Utf8 { pos, .. } => Some(utf8::reason(line(pos))),
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
        let Rows { records, note } = CsvFile::of(text.into()).rows().unwrap();
        assert_eq!(note, None);
        records.iter().map(|row| row.position().unwrap().line()).collect()
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
            let fault = |text: &[u8]| CsvFile::of(text.to_vec()).rows().err().unwrap().to_string();
            let long = fault(format!("{TEXT}e.png,cat,1\n").replace('\n', end).as_bytes());
            assert!(long.starts_with("line 7 has 3 cells, and the header has 2"), "{long}");
            let latin = fault(&[b"file,label".as_slice(), end.as_bytes(), b"\xe9.png,cat"].concat());
            assert!(latin.starts_with("line 2 is not text in UTF-8"), "{latin}");
        }
    }

    #[test]
    fn a_quote_that_nothing_closes_is_named_by_its_line() {
        let fault = |text: &str| CsvFile::of(text.into()).rows().err().map(|error| error.to_string());
        let open = fault("file,label,size\na.png,cat,3\nb.png,dog,\"5 in\nc.png,cat,4\n");
        assert!(
            open.as_ref().is_some_and(|text| text.starts_with("line 3: a quote opens a cell")),
            "{open:?}"
        );
        let closed = "\u{feff}\"file\",label\na.png,\"a \"\"b\"\"\"\nb.png,5 \"in\nc.png,\"two\nlines\"\n\"d.png\",\"\"\n";
        assert_eq!(fault(closed), None);
    }

    fn cells(text: &str) -> (Vec<Vec<String>>, Option<String>) {
        let file = CsvFile::of(text.into());
        let Rows { records, note } = file.rows().unwrap();
        let header = file.header().unwrap();
        let cells = |row: &StringRecord| row.iter().map(String::from).collect();
        ([&header].into_iter().chain(&records).map(cells).collect(), note)
    }

    #[test]
    fn cells_are_separated_by_what_divides_header_and_first_row_alike() {
        let (expected, _) = cells(TEXT);
        assert_eq!(expected[2], ["b\nc.png", "dog"]);
        for separator in [";", "\t", "|"] {
            assert_eq!(cells(&TEXT.replace(',', separator)), (expected.clone(), None));
        }
        for name in ["a;b", "a;b;c;d", "\"a;b;c;d\""] {
            let (rows, _) = cells(&format!("file,{name}\nx,1;2\n"));
            assert_eq!(
                rows,
                [["file", name.trim_matches('"')], ["x", "1;2"]],
                "commas fit, whatever names hold"
            );
        }
        assert_eq!(cells("file;age, years;site\nx;7;y\n").0[0], ["file", "age, years", "site"]);
        assert_eq!(cells("file\nx\n").0, [["file"], ["x"]]);
        for (text, name) in [("file;label\na.png;cat;1\n", "semicolon"), ("file,a;b;c\na.png,1,2\n", "comma")]
        {
            let long = CsvFile::of(text.into()).rows().err().unwrap().to_string();
            assert!(long.contains(&format!("holds a {name} in quotes")), "{long}");
        }
    }

    #[test]
    fn a_comma_in_a_number_is_a_decimal_point_where_it_separates_nothing() {
        let (rows, note) = cells("file;age;dose\na,1.png;21;-0,5\nb.png;1,5e3;1,2,3\nc.png;1.234,5;,5\n");
        assert_eq!(
            rows[1..],
            [["a,1.png", "21", "-0.5"], ["b.png", "1.5e3", "1,2,3"], ["c.png", "1.234,5", ",5"]]
        );
        assert!(note.unwrap().ends_with("line 2, -0,5 is -0.5"));
        let (rows, note) = cells("file,age\na.png,\"21,5\"\n");
        assert_eq!((rows[1][1].as_str(), note), ("21,5", None), "a comma that separates cells is none");
    }
}
