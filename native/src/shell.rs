//! Commands as a user gives them to a shell.

use std::path::Path;

/// A word quoted for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=.,+-_/:%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The command that resumes the run in a folder.
pub(crate) fn resume_command(run: &Path) -> String {
    format!("simile train --resume {}", quoted(&run.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_word_as_one() {
        assert_eq!(quoted("runs/a-1"), "runs/a-1");
        assert_eq!(quoted("my runs/it's"), r"'my runs/it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(resume_command(Path::new("a b")), "simile train --resume 'a b'");
    }
}
