//! The headers of a file, which are walked before the library reads them: it takes the length of a list for granted, and so it
//! goes on for hours in a damaged file.
//!
//! Headers are in the compact protocol of Thrift. One is refused here if it has more entries than the file has bytes, ends too
//! early, or has another type than the library takes it for; the rest is left to the library.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};

use anyhow::{Context as _, Result};

/// The end of a file: the length of the footer before it, and a mark.
const TAIL: usize = 8;
const MARK: &[u8] = b"PAR1";
/// Most structures and lists in each other, as in the library.
const DEEPEST: u8 = 64;

const STOP: u8 = 0;
const I32: u8 = 5;
const STRUCT: u8 = 12;

/// The headers of a file.
pub(super) struct Headers {
    file: File,
    length: u64,
}

/// A structure of Thrift, as far as the types of its fields are checked.
#[derive(Clone, Copy)]
enum ThriftStruct {
    /// The header of a page.
    PageHeader,
    /// The structure in this field of the header of a page.
    InPageHeader(i16),
    /// Any other.
    Other,
}

impl Headers {
    /// The headers of a file. Walking them moves the position of `file` too.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Ok(Self { file: file.try_clone()?, length: file.metadata()?.len() })
    }

    /// Checks the footer, where there is one.
    ///
    /// # Errors
    /// If it is damaged, or the file cannot be read.
    pub(super) fn check_footer(&self) -> Result<()> {
        let Some(end) = self.length.checked_sub(TAIL as u64) else { return Ok(()) };
        let mut tail = [0; TAIL];
        self.walk(end)?.bytes.read_exact(&mut tail)?;
        let [a, b, c, d, mark @ ..] = tail;
        match end.checked_sub(u32::from_le_bytes([a, b, c, d]).into()) {
            Some(start) if mark == MARK => self.walk(start)?.structure(DEEPEST, ThriftStruct::Other),
            _ => Ok(()),
        }
    }

    /// Checks the headers of the pages in so many bytes.
    ///
    /// # Errors
    /// If one is damaged, or the file cannot be read.
    pub(super) fn check_pages(&self, start: u64, bytes: u64) -> Result<()> {
        let (mut at, end) = (start, start.saturating_add(bytes));
        while at < end {
            let mut walk = self.walk(at)?;
            walk.structure(DEEPEST, ThriftStruct::PageHeader)?;
            let size = walk.page.context(DAMAGED)?;
            at = at.saturating_add(walk.read).saturating_add(size);
        }
        Ok(())
    }

    fn walk(&self, start: u64) -> io::Result<Walk<'_>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start))?;
        // A list is counted twice: its length, and the bytes of its entries.
        let allowance = self.length.saturating_mul(2);
        Ok(Walk { bytes: BufReader::new(file), read: 0, allowance, page: None })
    }
}

/// A way through a header.
struct Walk<'a> {
    bytes: BufReader<&'a File>,
    read: u64,
    /// The bytes and entries that it may still have.
    allowance: u64,
    /// The size of the page whose header it is, once that is known.
    page: Option<u64>,
}

impl Walk<'_> {
    fn structure(&mut self, depth: u8, of: ThriftStruct) -> Result<()> {
        let mut field = 0_i16;
        loop {
            let header = self.byte()?;
            let (step, kind) = (header >> 4, header & 0xf);
            if kind == STOP {
                return Ok(());
            }
            field = match step {
                0 => i16::try_from(self.signed()?).ok(),
                _ => field.checked_add(step.into()),
            }
            .context(DAMAGED)?;
            anyhow::ensure!(expected_type(of, field).is_none_or(|expected| expected == kind), DAMAGED);
            match (of, field) {
                (ThriftStruct::PageHeader, 3) => self.page = Some(self.size()?),
                (ThriftStruct::PageHeader, 5..=8) => {
                    self.structure(depth - 1, ThriftStruct::InPageHeader(field))?;
                }
                _ => self.value(kind, depth - 1)?,
            }
        }
    }

    /// Skips a value; the format has no map. Booleans of a structure are in its types, and the library skips those of a list
    /// as if they took no bytes.
    fn value(&mut self, kind: u8, depth: u8) -> Result<()> {
        anyhow::ensure!(depth > 0, DAMAGED);
        match kind {
            1 | 2 => Ok(()),
            3 => self.skip(1),
            4..=6 => self.number().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(length)
            }
            9 | 10 => self.list(depth),
            STRUCT => self.structure(depth, ThriftStruct::Other),
            13 => self.skip(16),
            _ => anyhow::bail!(DAMAGED),
        }
    }

    fn list(&mut self, depth: u8) -> Result<()> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => self.number()?,
            count => count.into(),
        };
        self.spend(count)?;
        (0..count).try_for_each(|_| self.value(header & 0xf, depth - 1))
    }

    fn spend(&mut self, count: u64) -> Result<()> {
        self.allowance = self.allowance.checked_sub(count).context(DAMAGED)?;
        Ok(())
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.spend(count)?;
        let skipped = io::copy(&mut self.bytes.by_ref().take(count), &mut io::sink())?;
        self.read += skipped;
        anyhow::ensure!(skipped == count, DAMAGED);
        Ok(())
    }

    fn byte(&mut self) -> Result<u8> {
        self.spend(1)?;
        let mut byte = [0];
        self.bytes.read_exact(&mut byte).context(DAMAGED)?;
        self.read += 1;
        Ok(byte[0])
    }

    /// A number of at most ten bytes, seven bits in each.
    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for at in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        anyhow::bail!(DAMAGED)
    }

    /// A size, for which the library takes 32 bits.
    fn size(&mut self) -> Result<u64> {
        let size = i32::try_from(self.signed()?).context(DAMAGED)?;
        size.try_into().context(DAMAGED)
    }

    /// A number whose lowest bit is its sign.
    fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

const DAMAGED: &str = "a header in the file is damaged; get the file again";

/// The type that the library takes a field of a page's header for without a look at the type in the file.
fn expected_type(of: ThriftStruct, field: i16) -> Option<u8> {
    match (of, field) {
        (ThriftStruct::PageHeader, 5..=8) => Some(STRUCT),
        (ThriftStruct::PageHeader | ThriftStruct::InPageHeader(5), 1..=4)
        | (ThriftStruct::InPageHeader(7), 1..=2)
        | (ThriftStruct::InPageHeader(8), 1..=6) => Some(I32),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn headers(bytes: &[u8]) -> Headers {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Headers::of(&file).unwrap()
    }

    /// The outcome for a page of no bytes with a further field, the ninth, in its header.
    fn page(field: &[u8]) -> Result<()> {
        let bytes = [&[0x15, 0, 0x15, 0, 0x15, 0][..], field, &[STOP]].concat();
        headers(&bytes).check_pages(0, bytes.len() as u64)
    }

    /// The same for a footer that has that field alone.
    fn footer(field: &[u8]) -> Result<()> {
        let length = u32::try_from(field.len() + 1).unwrap().to_le_bytes();
        headers(&[MARK, field, &[STOP], &length, MARK].concat()).check_footer()
    }

    #[test]
    fn a_list_has_no_more_entries_than_the_file_has_bytes() {
        let of = |kind: u8| [0x69, 0xf0 | kind, 0xff, 0xff, 0xff, 0xff, 0x07];
        for kind in [1, 2, 3, 5, 7, 8, 9, 11, 12, 13] {
            assert!(page(&of(kind)).is_err() && footer(&of(kind)).is_err(), "{kind}");
        }
        // Lists in each other.
        assert!(footer(&[&[0x69][..], &[0x19; 70], &[0x03]].concat()).is_err());
        for sound in [&[0x69, 0x23, 1, 2][..], &[0x69, 0x31], &[0x6c, 0x18, 2, 7, 7, STOP], &[]] {
            page(sound).unwrap();
            footer(sound).unwrap();
        }
    }

    #[test]
    fn a_field_that_is_read_without_a_look_at_its_type_has_that_type() {
        let check = |bytes: &[u8]| headers(bytes).check_pages(0, bytes.len() as u64);
        // The size of a page is a list; its header a number; no size at all.
        for wrong in
            [&[0x15, 0, 0x15, 0, 0x19, 0, STOP][..], &[0x15, 0, 0x15, 0, 0x15, 0, 0x25, 0, STOP], &[STOP]]
        {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
        let with_values = [0x15, 0, 0x15, 0, 0x15, 0, 0x2c, 0x15, 4, STOP, STOP];
        check(&with_values).unwrap();
        // Two pages, the first of which has a byte.
        check(&[0x15, 0, 0x15, 0, 0x15, 2, STOP, 9, 0x15, 0, 0x15, 0, 0x15, 0, STOP]).unwrap();
        // A page ends before the bytes of the column do.
        assert!(headers(&with_values).check_pages(0, 40).is_err());
    }
}
