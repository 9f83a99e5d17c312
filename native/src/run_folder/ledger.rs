//! The files of a run that are needed to resume, with their digests.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::run_folder::digest::Digest;
use crate::run_folder::folder::{RunFolder, STATE, entries};

/// The digest of each file, by its path in the run folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Ledger(BTreeMap<String, Digest>);

impl Ledger {
    /// Checks every file.
    ///
    /// # Errors
    /// Names the file that is missing or has another digest.
    pub(crate) fn verify(&self, folder: &RunFolder) -> Result<()> {
        self.0.iter().try_for_each(|(name, digest)| digest.read(&folder.path(name)).map(drop))
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// If it is missing or has another digest.
    pub(crate) fn read(&self, folder: &RunFolder, name: &str) -> Result<Vec<u8>> {
        let digest = self.0.get(name).copied().unwrap_or_default();
        digest.read(&folder.path(name))
    }

    /// Writes a file, and lists it.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub(crate) fn keep(&mut self, folder: &RunFolder, name: &str, bytes: &[u8]) -> Result<()> {
        folder.write(name, bytes)?;
        self.0.insert(name.to_owned(), Digest::of(bytes));
        Ok(())
    }

    /// Lists a file whose name begins with `stem`, and returns its name; the caller writes it. There are two states of a trainer of one
    /// iteration where training ends early right after a checkpoint. A file that the state in the folder lists is not replaced: the
    /// process may be killed before it lists another.
    pub(super) fn register(&mut self, stem: &str, bytes: &[u8]) -> String {
        let digest = Digest::of(bytes);
        let (mut name, mut copy) = (format!("{stem}.safetensors"), 1);
        while self.0.get(&name).is_some_and(|listed| *listed != digest) {
            copy += 1;
            name = format!("{stem}-{copy}.safetensors");
        }
        self.0.insert(name.clone(), digest);
        name
    }

    pub(super) fn lists(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Lists only the files that are still needed.
    pub(super) fn retain(&mut self, is_needed: impl Fn(&String) -> bool) {
        self.0.retain(|name, _| is_needed(name));
    }

    /// Removes files in `state/` that are not listed: earlier checkpoints, also those of a killed process.
    pub(crate) fn remove_others(&self, folder: &RunFolder) {
        let state = folder.path(STATE);
        let is_ours = |name: &String| name.starts_with("arm-") || name.starts_with("figures-");
        for name in entries(&state).into_iter().filter(is_ours) {
            if !self.lists(&format!("{STATE}/{name}")) {
                // Nothing refers to it any more; a remaining file does no harm.
                let _ = fs::remove_file(state.join(name));
            }
        }
    }
}
