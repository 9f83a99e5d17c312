//! Names given by users that become names of files.

use std::path::{Component, Path};

/// Longest name, in bytes: files add extensions and hyphens to it.
const LONGEST: usize = 120;

/// Checks that a name is the name of one file or folder at any place.
///
/// # Errors
/// The name has a separator, a control character or too many letters, is `..`, or is a path from the root.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let mut parts = Path::new(name).components();
    let is_one =
        matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    let wrong = if name.chars().any(char::is_control) {
        "it has a control character"
    } else if !is_one || name.contains(['/', '\\']) {
        "it leads to another place"
    } else if name.len() > LONGEST {
        "it is too long"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(LONGEST).collect();
    Err(format!(
        "the name {shown:?} cannot be that of a file: {wrong}; use letters, digits, spaces, points and hyphens, at most \
         {LONGEST} bytes, no `/`, no `\\`, and not `..`"
    ))
}

/// A name for a file: lower case, with one hyphen for any number of characters in a row that are no ASCII letter, digit or point, and
/// none at its ends. Empty if no ASCII letter or digit is left.
pub(crate) fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    let whole = name.chars().map(plain).collect::<String>();
    let slug = whole.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    // Points alone would be the folder itself, or the one above it.
    if slug.contains(|c: char| c.is_ascii_alphanumeric()) { slug } else { String::new() }
}

/// The name of a user's folder or file as that of another one beside the runs: itself where it can be one, so that different
/// folders have different runs, else its [`slug`]. One that begins with a hyphen would be an option of the command line.
pub(crate) fn as_file_name(name: &str) -> String {
    if check(name).is_ok() && !name.starts_with('-') { name.to_owned() } else { slug(name) }
}

/// The beginning of a name, of at most `most` bytes, that ends between letters.
pub(crate) fn cut(name: &str, most: usize) -> &str {
    name.get(..name.floor_char_boundary(most)).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_where_it_is_put() {
        for fine in ["fair-digits", "Fair CCLK", "ρ = 0.9", "a..b", "...", "-x", ".hidden"] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        let long = "x".repeat(LONGEST + 1);
        for evil in [
            "../../evil",
            "/tmp/evil",
            "a/b",
            r"a\b",
            "..",
            ".",
            "",
            "a\u{1b}[31m",
            "a\nb",
            "x/",
            "a\0",
            &long,
        ] {
            let reason = check(evil).unwrap_err();
            assert!(!reason.chars().any(char::is_control), "{reason:?}");
        }
    }

    #[test]
    fn points_alone_are_no_file() {
        assert_eq!(slug("Fair CCLK, 2.0"), "fair-cclk-2.0");
        for nothing in ["..", "- ..", "ρ"] {
            assert_eq!(slug(nothing), "", "{nothing}");
        }
    }

    #[test]
    fn a_name_is_kept_unless_it_cannot_be_that_of_a_file() {
        for own in ["scans", "MyData", "日本", "東京", "my data", "x.v2"] {
            assert_eq!(as_file_name(own), own);
        }
        let others = [
            as_file_name("-X"),
            as_file_name("A\nB"),
            as_file_name(".."),
            as_file_name(r"a\b"),
            as_file_name(""),
        ];
        assert_eq!(others, ["x", "a-b", "", "a-b", ""]);
    }

    #[test]
    fn a_name_is_cut_between_letters() {
        assert_eq!([cut("病院", 4), cut("病院", 9), cut("ab", 1), cut("", 1)], ["病", "病院", "a", ""]);
    }
}
