//! A list of files, one a line, that is counted first and then read line by line, so that none of it stays in memory.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::utf8;

/// Names of files in order.
#[derive(Debug)]
pub(super) struct Listing {
    source: Source,
    count: usize,
}

#[derive(Debug)]
enum Source {
    Named(Vec<PathBuf>),
    Lines { file: File, origin: String },
}

impl Listing {
    /// The files of a command line.
    pub(super) fn named(files: Vec<PathBuf>) -> Self {
        Self { count: files.len(), source: Source::Named(files) }
    }

    /// The lines of a file, or of stdin for `-`, which is copied to a temporary file, as a pipe is. Empty lines do not
    /// count, nor does a byte order mark.
    ///
    /// # Errors
    /// If it cannot be read or copied.
    pub(super) fn of(list: &Path) -> Result<Self> {
        let origin = if list == Path::new("-") { "stdin".to_owned() } else { list.display().to_string() };
        let failed = || format!("cannot read the list {origin}");
        let mut file = match list == Path::new("-") {
            true => copied(io::stdin().lock()).with_context(failed)?,
            false => File::open(list).with_context(failed)?,
        };
        if !file.metadata().with_context(failed)?.is_file() {
            file = copied(file).with_context(failed)?;
        }
        let mut count = 0;
        for (at, line) in BufReader::new(&file).lines().enumerate() {
            let line = line.map_err(|error| with_line(error, at)).with_context(failed)?;
            count += usize::from(!content(&line).is_empty());
        }
        file.rewind().with_context(failed)?;
        Ok(Self { source: Source::Lines { file, origin }, count })
    }

    /// Number of files.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The files of a range.
    pub(super) fn files(self, range: Range<usize>) -> Box<dyn Iterator<Item = Result<PathBuf>>> {
        match self.source {
            Source::Named(files) => Box::new(files.into_iter().map(Ok).skip(range.start).take(range.len())),
            Source::Lines { file, origin } => {
                let lines = BufReader::new(file).lines().map(move |line| {
                    let line = line.with_context(|| format!("cannot read the list {origin}"))?;
                    Ok(PathBuf::from(content(&line)))
                });
                let is_some =
                    |path: &Result<PathBuf>| path.as_ref().map_or(true, |path| !path.as_os_str().is_empty());
                Box::new(lines.filter(is_some).skip(range.start).take(range.len()))
            }
        }
    }
}

/// The error of a line after `before` others, with the number of the line and the remedy if it is no text.
fn with_line(error: io::Error, before: usize) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => io::Error::other(utf8::reason(before as u64 + 1)),
        _ => error,
    }
}

/// A line without its end, and without the mark with which programs on Windows begin a text.
fn content(line: &str) -> &str {
    line.trim_start_matches('\u{feff}').trim_end()
}

fn copied(mut from: impl io::Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut from, &mut file)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_a_range_of_them_is_read() {
        let place = tempfile::tempdir().unwrap();
        let list = place.path().join("list.txt");
        std::fs::write(&list, "a.png\r\n\nin it/b.png\nc.png").unwrap();
        let read = |range| {
            let files: Result<Vec<PathBuf>> = Listing::of(&list).unwrap().files(range).collect();
            files.unwrap().iter().map(|file| file.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(Listing::of(&list).unwrap().count(), 3);
        assert_eq!(
            (read(0..3), read(1..2)),
            (vec!["a.png".into(), "in it/b.png".into(), "c.png".into()], vec!["in it/b.png".to_owned()])
        );
        std::fs::write(&list, "\u{feff}a.png\r\nb.png\r\n").unwrap();
        assert_eq!(read(0..2), ["a.png", "b.png"]);
        let error = Listing::of(Path::new("nowhere.txt")).unwrap_err();
        assert!(error.to_string().contains("nowhere.txt"), "{error}");
        std::fs::write(&list, b"a.png\nK\xf6ln.png\n").unwrap();
        let error = format!("{:#}", Listing::of(&list).unwrap_err());
        assert!(error.contains("list.txt: line 2 is not text in UTF-8; save"), "{error}");
    }
}
