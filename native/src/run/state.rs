//! Where a run stands, on disk. The document names the file of the trainer's state and is replaced last, so that
//! whenever the process ends, the folder holds one whole state.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::doubts::Doubts;
use super::folder::{RunFolder, STATE};
use super::record::{ArmResult, Evaluation, Untrained};

/// `state/state.json`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// The arm in training; empty once all are done.
    pub(crate) arm: String,
    /// Iterations of it that are done.
    pub(crate) iteration: u64,
    /// File of the trainer's state in `state/`, if the arm was begun.
    pub(crate) trainer: Option<String>,
    /// Length of `metrics.jsonl` at that moment.
    pub(crate) metrics_bytes: u64,
    /// Wall time so far in seconds.
    pub(crate) seconds: f64,
    /// Wall time of this arm's training so far in seconds.
    pub(crate) arm_seconds: f64,
    /// The device, whose change would change the numbers.
    pub(crate) device: String,
    /// Folder of the data set's files.
    pub(crate) data: Option<PathBuf>,
    /// Evaluations of this arm so far.
    #[serde(default)]
    pub(crate) evaluations: Vec<Evaluation>,
    /// File of the best network among them in `state/`.
    #[serde(default)]
    pub(crate) best: Option<String>,
    /// Files that the document on disk may still name.
    #[serde(skip)]
    pub(crate) outdated: Vec<String>,
    /// What of each arm to doubt since before it began, by its name.
    #[serde(default)]
    pub(crate) warnings: Doubts,
    /// What the probes read off the encoder before its first step, once it was measured.
    #[serde(default)]
    pub(crate) untrained: Option<Untrained>,
    /// What is named without any encoder.
    #[serde(default)]
    pub(crate) base_rates: BTreeMap<String, f64>,
    /// Results of the arms that are done.
    pub(crate) finished: Vec<ArmResult>,
}

const DOCUMENT: &str = "state.json";

impl Standing {
    /// Reads where a run stands.
    ///
    /// # Errors
    /// If the document is missing or damaged.
    pub(crate) fn read(folder: &RunFolder) -> Result<Self> {
        folder.read_json(PathBuf::from(STATE).join(DOCUMENT))
    }

    /// Writes where the run stands, and drops the state before it.
    ///
    /// # Errors
    /// If the folder cannot be written to; the state before it then still stands.
    pub(crate) fn write(&mut self, folder: &RunFolder, trainer: Option<&[u8]>) -> Result<()> {
        self.outdated.extend(self.trainer.take());
        if let Some(bytes) = trainer {
            let name = format!("arm-{}-iteration-{}.safetensors", self.finished.len(), self.iteration);
            folder.write(PathBuf::from(STATE).join(&name), bytes)?;
            self.trainer = Some(name);
        }
        folder.write_json(PathBuf::from(STATE).join(DOCUMENT), self)?;
        let used = [&self.trainer, &self.best];
        for before in std::mem::take(&mut self.outdated)
            .iter()
            .filter(|name| !used.iter().any(|used| used.as_ref() == Some(name)))
        {
            // Nothing refers to it any more; a file that stays does no harm.
            let _ = fs::remove_file(folder.path(STATE).join(before));
        }
        Ok(())
    }

    /// Begins the next arm.
    pub(crate) fn begin(&mut self, arm: &str) {
        arm.clone_into(&mut self.arm);
        (self.iteration, self.arm_seconds) = (0, 0.0);
        self.evaluations.clear();
        self.outdated.extend(self.best.take());
    }

    /// Keeps the best network so far.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub(crate) fn keep_best(&mut self, folder: &RunFolder, iteration: u64, bytes: &[u8]) -> Result<()> {
        let name = format!("arm-{}-best-{iteration}.safetensors", self.finished.len());
        folder.write(PathBuf::from(STATE).join(&name), bytes)?;
        self.outdated.extend(self.best.replace(name));
        Ok(())
    }

    /// The best network so far.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn best(&self, folder: &RunFolder) -> Result<Option<Vec<u8>>> {
        self.best.as_ref().map(|name| folder.read(PathBuf::from(STATE).join(name))).transpose()
    }

    /// The trainer's state, if the arm was begun.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn trainer(&self, folder: &RunFolder) -> Result<Option<Vec<u8>>> {
        self.trainer.as_ref().map(|name| folder.read(PathBuf::from(STATE).join(name))).transpose()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_holds_one_state_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let mut standing = Standing { arm: "a".into(), ..Standing::default() };
        standing.write(&folder, None).unwrap();
        assert_eq!(Standing::read(&folder).unwrap().trainer(&folder).unwrap(), None);
        for iteration in [3, 6] {
            standing.iteration = iteration;
            standing.write(&folder, Some(&[iteration as u8])).unwrap();
            assert_eq!(Standing::read(&folder).unwrap(), standing);
            assert_eq!(standing.trainer(&folder).unwrap(), Some(vec![iteration as u8]));
        }
        assert_eq!(fs::read_dir(folder.path(STATE)).unwrap().count(), 2);
        for iteration in [2, 4] {
            standing.keep_best(&folder, iteration, &[iteration as u8]).unwrap();
            assert_eq!(standing.best(&folder).unwrap(), Some(vec![iteration as u8]));
        }
        standing.write(&folder, None).unwrap();
        assert_eq!(Standing::read(&folder).unwrap().best(&folder).unwrap(), Some(vec![4]));
        assert_eq!(fs::read_dir(folder.path(STATE)).unwrap().count(), 2);
        standing.begin("b");
        standing.write(&folder, None).unwrap();
        assert_eq!(fs::read_dir(folder.path(STATE)).unwrap().count(), 1);
    }
}
