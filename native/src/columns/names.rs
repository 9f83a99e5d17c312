//! The usual names of columns.

/// Usual names of the column of files, for [`named`].
pub(crate) const FILES: [&str; 7] = ["file", "filename", "path", "filepath", "image", "picture", "img"];
/// Usual names of the column of classes, for [`named`].
pub(super) const LABELS: [&str; 7] = ["label", "class", "target", "category", "diagnosis", "labels", "y"];

/// The first column whose name is one of the known ones, in the order of these. Neither its case nor spaces, hyphens and underscores
/// in it count: `Patient ID` is `patientid`.
pub(crate) fn named<'a>(header: &'a [String], known: &[&str]) -> Option<&'a String> {
    let plain = |name: &str| {
        name.chars().filter(|c| !" -_".contains(*c)).map(|c| c.to_ascii_lowercase()).collect::<String>()
    };
    known.iter().find_map(|name| header.iter().find(|column| plain(column) == **name))
}
