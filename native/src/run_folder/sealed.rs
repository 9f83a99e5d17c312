//! A JSON document whose last entry is the checksum of all bytes before it.

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The start of the last line, which has the checksum.
const CHECKSUM: &str = ",\n  \"crc32c\": ";

/// The text of a document, with its checksum.
///
/// # Errors
/// If the value cannot be written as JSON.
pub(super) fn to_text(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    let open = text.trim_end_matches('}').trim_end();
    Ok(format!("{open}{CHECKSUM}{}\n}}\n", crc32c::crc32c(open.as_bytes())))
}

/// Reads a document, after a check of its checksum.
///
/// # Errors
/// If it is damaged, or not of that form.
pub(super) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    let text = std::str::from_utf8(text)?;
    let (open, rest) = text.rsplit_once(CHECKSUM).context("it has no checksum")?;
    let checksum = rest.strip_suffix("\n}\n").context("its end is missing")?;
    ensure!(checksum == crc32c::crc32c(open.as_bytes()).to_string(), "its checksum is another one");
    Ok(serde_json::from_str(text)?)
}
