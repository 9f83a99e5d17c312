//! Digests of files in the form of their publishers.

use md5::{Digest as _, Md5};

/// The MD5 of some bytes, as text.
pub(in crate::data) fn md5(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

/// A digest as text.
pub(in crate::data) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
