//! Text in files, which is UTF-8.

use std::io;

/// The text of a file of these bytes.
///
/// # Errors
/// Names the first line that is not text in UTF-8.
pub(crate) fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        io::Error::other(reason(line as u64))
    })
}

/// The reason why a file with this line cannot be read, with the remedy.
pub(crate) fn reason(line: u64) -> String {
    format!("line {line} is not text in UTF-8; save the file as UTF-8")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_is_no_text_is_named() {
        assert_eq!(text("# Köln\n".into()).unwrap(), "# Köln\n");
        for (bytes, line) in
            [(b"\xff\xfea\0".to_vec(), 1), (b"a = 1\r\n# K\xf6ln\n".to_vec(), 2), (b"a\n\n\xe9".to_vec(), 3)]
        {
            let error = text(bytes).unwrap_err().to_string();
            assert_eq!(error, format!("line {line} is not text in UTF-8; save the file as UTF-8"));
        }
    }
}
