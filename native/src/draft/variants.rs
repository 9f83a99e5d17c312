//! The names of the variants that hide or keep a column. Files are named by them, so that they differ in letters and digits.

use crate::columns::kind::Column;
use crate::names::{self, slug};

/// The variant that knows no attribute.
pub(super) const PLAIN: &str = "plain";
/// Most bytes of the name of a column, so that a word and a number fit beside it.
const LONGEST: usize = 80;

/// A name for the variant of each column to hide, and then of each to keep. Names that would name the same files have a number.
pub(super) fn names(hide: &[Column], keep: &[Column]) -> Vec<String> {
    let named = |word: &'static str, columns: &[Column]| {
        columns.iter().map(|column| format!("{word} {}", file_name(&column.name))).collect::<Vec<_>>()
    };
    let mut existing = vec![PLAIN.to_owned()];
    for name in [named("hide", hide), named("keep", keep)].concat() {
        let numbered = (2_usize..).map(|number| format!("{name} {number}"));
        let free = [name.clone()].into_iter().chain(numbered).find(|name| is_free(name, &existing));
        existing.extend(free);
    }
    existing.split_off(1)
}

/// True if the files of a variant are those of no other one. `-last` after the name of another is that one's last encoder.
fn is_free(name: &str, existing: &[String]) -> bool {
    let own = slug(name);
    let last = |one: &str, other: &str| one.strip_suffix("-last") == Some(other);
    existing
        .iter()
        .map(|other| slug(other))
        .all(|other| own != other && !last(&own, &other) && !last(&other, &own))
}

/// The name of a column without the characters that a file name cannot have, and without `=`, which ends the key of a setting
/// `variant.NAME.KEY=VALUE`.
fn file_name(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_control() || ['/', '\\', '='].contains(&c) { '-' } else { c }).collect();
    names::cut(&plain, LONGEST).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hide: &[&str], keep: &[&str]) -> Vec<String> {
        let columns = |names: &[&str]| -> Vec<Column> {
            names.iter().map(|name| Column::of(name, ["a", "b"].into_iter())).collect()
        };
        names(&columns(hide), &columns(keep))
    }

    #[test]
    fn variants_have_files_of_their_own() {
        assert_eq!(of(&["site"], &["site", "a/b"]), ["hide site", "keep site", "keep a-b"]);
        assert_eq!(of(&["BMI>=30", "a=b", "a-b"], &[]), ["hide BMI>-30", "hide a-b", "hide a-b 2"]);
        assert_eq!(of(&["病院", "年齢"], &["病院"]), ["hide 病院", "hide 年齢 2", "keep 病院"]);
        assert_eq!(of(&["a b", "a-b", "a.b"], &[]), ["hide a b", "hide a-b 2", "hide a.b"]);
        assert_eq!(of(&["ρ", "last"], &[]), ["hide ρ", "hide last 2"]);
        assert_eq!(of(&["a 2", "a", "a!"], &[]), ["hide a 2", "hide a", "hide a! 3"]);
    }

    #[test]
    fn a_long_name_is_cut_between_letters() {
        let long = "病".repeat(100);
        for name in of(&[&long, &long], &[]) {
            assert_eq!(names::check(&name), Ok(()), "{name}");
        }
    }
}
