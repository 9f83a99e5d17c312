//! The kinds of warnings, by which a page tells them apart.

use simile_core::kernel::Degeneracy;

/// The kind of a warning as `WarningKind` of the package names it; without a degeneracy it is that of a parameter which the form does
/// not read.
pub(crate) fn kind(degeneracy: Option<Degeneracy>) -> &'static str {
    match degeneracy {
        None => "unread",
        Some(Degeneracy::OneValue) => "one-value",
        Some(Degeneracy::OneSign) => "one-sign",
        Some(Degeneracy::AllApart) => "all-apart",
        Some(Degeneracy::AllAlike) => "all-alike",
    }
}
