//! The messages between the processes of a group, beside the numbers of a step.
//!
//! The leader announces the next task: the recipe, a variant with the state of its trainer, or the end. Within a variant all processes
//! agree before every step to take it, so that an interruption or an error of one process stops all at the same step.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use simile_core::peers::{Alone, Peers};

use crate::run_folder::digest::Digest;

/// The processes of a run.
#[derive(Debug, Clone)]
pub(crate) struct ProcessGroup {
    peers: Arc<dyn Peers>,
    /// The number of this process among those of its machine.
    local_rank: usize,
    /// True once all processes know that the team ends.
    parted: Arc<AtomicBool>,
}

/// A message of the leader to all other processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The recipe as TOML, the folder of the data set's files, and the digest of the images that the leader has read.
    Begin { recipe: String, data: Option<PathBuf>, images: Digest },
    /// The place of a variant in the recipe; the state of its trainer follows.
    Variant { at: usize },
    /// The end of the run, with the exit code of all processes.
    End { code: u8 },
}

/// The status that a process reports before a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It can take the step.
    Fine,
    /// The leader has made a checkpoint, whose state follows.
    Kept,
    /// The leader ends the variant.
    Ended,
    /// A signal asks for a stop.
    Interrupted(u8),
    /// It cannot take the step.
    Failed,
}

/// The decision that follows from the statuses of all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go,
    /// Go on after the leader has sent its state.
    Keep,
    End,
    Interrupt(u8),
    /// Stop, because of this process, the first that failed.
    Fail(usize),
}

impl Status {
    fn number(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Kept => 1,
            Self::Ended => 2,
            Self::Failed => 3,
            Self::Interrupted(signal) => 128 | signal,
        }
    }

    fn of(number: u8) -> Self {
        match number {
            0 => Self::Fine,
            1 => Self::Kept,
            2 => Self::Ended,
            128.. => Self::Interrupted(number & 127),
            _ => Self::Failed,
        }
    }
}

impl ProcessGroup {
    /// One process.
    pub(crate) fn alone() -> Self {
        Self::of(Arc::new(Alone), 0)
    }

    /// The processes of a run.
    pub(crate) fn of(peers: Arc<dyn Peers>, local_rank: usize) -> Self {
        Self { peers, local_rank, parted: Arc::default() }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.count() == 1
    }

    /// True for the process that evaluates, writes and prints.
    pub(crate) fn leads(&self) -> bool {
        self.rank() == 0
    }

    pub(crate) fn rank(&self) -> usize {
        self.peers.rank()
    }

    pub(crate) fn count(&self) -> usize {
        self.peers.count()
    }

    pub(crate) fn local_rank(&self) -> usize {
        self.local_rank
    }

    pub(crate) fn peers(&self) -> Arc<dyn Peers> {
        self.peers.clone()
    }

    /// True if all processes know that the team ends, so that nobody waits for another.
    pub(crate) fn has_parted(&self) -> bool {
        self.parted.load(Ordering::Relaxed)
    }

    /// Tells all others the own status, and decides from all statuses how to go on.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn agree(&self, own: Status) -> Result<Verdict> {
        let all = self.peers.all_gather(&[f32::from(own.number())], &vec![1; self.count()])?;
        let all: Vec<Status> = all.into_iter().map(|number| Status::of(number as u8)).collect();
        let failed = all.iter().position(|status| *status == Status::Failed);
        let interrupted = all.iter().find_map(|status| match status {
            Status::Interrupted(signal) => Some(*signal),
            _ => None,
        });
        let verdict = match (failed, interrupted, all.first()) {
            (Some(rank), ..) => Verdict::Fail(rank),
            (None, Some(signal), _) => Verdict::Interrupt(signal),
            (None, None, Some(Status::Ended)) => Verdict::End,
            (None, None, Some(Status::Kept)) => Verdict::Keep,
            _ => Verdict::Go,
        };
        if matches!(verdict, Verdict::Fail(_) | Verdict::Interrupt(_)) {
            self.parted.store(true, Ordering::Relaxed);
        }
        Ok(verdict)
    }

    /// True if all processes call this with the same number.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn all_have(&self, number: usize) -> Result<bool> {
        let all = self.peers.all_gather(&[number as f32], &vec![1; self.count()])?;
        Ok(all.iter().all(|other| *other == number as f32))
    }

    /// Sends a message to all others, who [`hear`](Self::hear) it.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn say(&self, message: &Message, state: &[u8]) -> Result<()> {
        if self.is_alone() {
            return Ok(());
        }
        let mut bytes = serde_json::to_vec(message)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(state);
        Ok(self.peers.broadcast(&mut bytes)?)
    }

    /// Receives a message of the leader.
    ///
    /// # Errors
    /// If it cannot be reached, or is another version of this program.
    pub(crate) fn hear(&self) -> Result<(Message, Vec<u8>)> {
        let mut bytes = Vec::new();
        self.peers.broadcast(&mut bytes)?;
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let message = serde_json::from_slice(&bytes[..end]).context("understanding the process of rank 0");
        let message = message?;
        if let Message::End { .. } = message {
            self.parted.store(true, Ordering::Relaxed);
        }
        Ok((message, bytes.split_off((end + 1).min(bytes.len()))))
    }

    /// Sends the state of the leader's trainer to all others.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn give(&self, mut state: Vec<u8>) -> Result<Vec<u8>> {
        self.peers.broadcast(&mut state)?;
        ensure!(!state.is_empty(), "the process of rank 0 gave no state");
        Ok(state)
    }
}

/// A group without other processes, for tests.
#[cfg(test)]
pub(crate) mod testing {
    use simile_core::error::Result;
    use simile_core::peers::Peers;

    use super::Status;

    /// The peers of the leader, who report the same each time.
    #[derive(Debug)]
    pub(crate) struct Others(pub(crate) Vec<Status>);

    impl Peers for Others {
        fn rank(&self) -> usize {
            0
        }

        fn count(&self) -> usize {
            1 + self.0.len()
        }

        fn all_gather(&self, own: &[f32], _: &[usize]) -> Result<Vec<f32>> {
            let others = self.0.iter().map(|status| f32::from(status.number()));
            Ok(own.iter().copied().chain(others).collect())
        }

        fn sum(&self, _: &mut [f32]) -> Result<()> {
            Ok(())
        }

        fn broadcast(&self, _: &mut Vec<u8>) -> Result<()> {
            Ok(())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::error::Result as CoreResult;

    use super::testing::Others;
    use super::*;

    #[test]
    fn the_worst_that_one_says_is_what_all_do() {
        use Status::{Ended, Failed, Fine, Interrupted, Kept};
        let of = |own, others: &[Status]| {
            let processes = ProcessGroup::of(Arc::new(Others(others.to_vec())), 0);
            (processes.agree(own).unwrap(), processes.has_parted())
        };
        assert_eq!(of(Fine, &[Fine, Fine]), (Verdict::Go, false));
        assert_eq!(of(Kept, &[Fine, Fine]), (Verdict::Keep, false));
        assert_eq!(of(Ended, &[Fine, Fine]), (Verdict::End, false));
        assert_eq!(of(Kept, &[Fine, Interrupted(15)]), (Verdict::Interrupt(15), true));
        assert_eq!(of(Interrupted(2), &[Failed, Fine]), (Verdict::Fail(1), true));
        assert_eq!(of(Ended, &[Fine, Failed]), (Verdict::Fail(2), true));
    }

    #[test]
    fn what_is_said_is_heard_with_its_state() {
        #[derive(Debug)]
        struct Heard(std::sync::Mutex<Vec<u8>>);
        impl Peers for Heard {
            fn rank(&self) -> usize {
                0
            }
            fn count(&self) -> usize {
                2
            }
            fn all_gather(&self, own: &[f32], _: &[usize]) -> CoreResult<Vec<f32>> {
                Ok(own.to_vec())
            }
            fn sum(&self, _: &mut [f32]) -> CoreResult<()> {
                Ok(())
            }
            fn broadcast(&self, bytes: &mut Vec<u8>) -> CoreResult<()> {
                let mut said = self.0.lock().unwrap();
                if said.is_empty() {
                    said.clone_from(bytes)
                } else {
                    bytes.clone_from(&said)
                }
                Ok(())
            }
        }
        let processes = ProcessGroup::of(Arc::new(Heard(std::sync::Mutex::default())), 0);
        processes.say(&Message::Variant { at: 3 }, b"a\nstate\n").unwrap();
        assert_eq!(processes.hear().unwrap(), (Message::Variant { at: 3 }, b"a\nstate\n".to_vec()));
    }
}
