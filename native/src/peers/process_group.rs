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
    /// True once all processes know that the group ends.
    ended: Arc<AtomicBool>,
}

/// A message of the leader to all other processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The recipe as TOML, the folder of the data set's files, and the digest of the images that the leader has read.
    Begin { recipe: String, data: Option<PathBuf>, images: Option<Digest> },
    /// The place of a variant in the recipe; the state of its trainer follows.
    Variant { at: usize },
    /// The end of the run, with the exit code of all processes.
    End { code: u8 },
}

/// The status that a process reports before a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It can take the step.
    Ready,
    /// The leader has made a checkpoint, whose state follows.
    HasCheckpoint,
    /// The leader ends the variant.
    Ended,
    /// A signal asks for a stop.
    Interrupted(u8),
    /// It cannot take the step.
    Failed,
}

/// The decision that follows from the statuses of all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// All take the step.
    Step,
    /// All take the step after the leader has sent the state of its trainer.
    ShareState,
    /// The variant has ended.
    End,
    /// All stop, because of this signal.
    Interrupt(u8),
    /// All stop, because the process of this rank, the first, failed.
    Fail(usize),
}

impl Status {
    fn number(self) -> u8 {
        match self {
            Self::Ready => 0,
            Self::HasCheckpoint => 1,
            Self::Ended => 2,
            Self::Failed => 3,
            Self::Interrupted(signal) => 128 | signal,
        }
    }

    fn of(number: u8) -> Self {
        match number {
            0 => Self::Ready,
            1 => Self::HasCheckpoint,
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
        Self { peers, local_rank, ended: Arc::default() }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.count() == 1
    }

    /// True for the process that evaluates, writes and prints.
    pub(crate) fn is_leader(&self) -> bool {
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

    /// True if all processes know that the group ends, so that nobody waits for another.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Sends the status of this process to all others, and decides from all statuses. Each process takes the same decision.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn agree(&self, own: Status) -> Result<Decision> {
        // The leader may evaluate for minutes before it comes, and each may read images before the first step.
        self.peers.wait_for_all()?;
        let all = self.peers.all_gather(&[f32::from(own.number())], &vec![1; self.count()])?;
        let all: Vec<Status> = all.into_iter().map(|number| Status::of(number as u8)).collect();
        let failed = all.iter().position(|status| *status == Status::Failed);
        let interrupted = all.iter().find_map(|status| match status {
            Status::Interrupted(signal) => Some(*signal),
            _ => None,
        });
        let decision = match (failed, interrupted, all.first()) {
            (Some(rank), ..) => Decision::Fail(rank),
            (None, Some(signal), _) => Decision::Interrupt(signal),
            (None, None, Some(Status::Ended)) => Decision::End,
            (None, None, Some(Status::HasCheckpoint)) => Decision::ShareState,
            _ => Decision::Step,
        };
        if matches!(decision, Decision::Fail(_) | Decision::Interrupt(_)) {
            self.ended.store(true, Ordering::Relaxed);
        }
        Ok(decision)
    }

    /// True if all processes call this with the same number.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn all_have(&self, number: usize) -> Result<bool> {
        Ok(self.gather(number)?.iter().all(|other| *other == number))
    }

    /// The numbers with which the processes call this, by rank; each is below 2²⁴.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn gather(&self, number: usize) -> Result<Vec<usize>> {
        let all = self.peers.all_gather(&[number as f32], &vec![1; self.count()])?;
        Ok(all.into_iter().map(|other| other as usize).collect())
    }

    /// Sends a message to all others, who [`receive`](Self::receive) it.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn broadcast(&self, message: &Message, state: &[u8]) -> Result<()> {
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
    pub(crate) fn receive(&self) -> Result<(Message, Vec<u8>)> {
        let mut bytes = Vec::new();
        self.peers.broadcast(&mut bytes)?;
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let message: Message =
            serde_json::from_slice(&bytes[..end]).context("reading the message of the process of rank 0")?;
        if let Message::End { .. } = message {
            self.ended.store(true, Ordering::Relaxed);
        }
        Ok((message, bytes.split_off((end + 1).min(bytes.len()))))
    }

    /// Sends the state of the leader's trainer to all others.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub(crate) fn broadcast_state(&self, mut state: Vec<u8>) -> Result<Vec<u8>> {
        self.peers.broadcast(&mut state)?;
        ensure!(!state.is_empty(), "the process of rank 0 sent no state");
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
    fn the_worst_status_of_one_process_decides_for_all() {
        use Status::{Ended, Failed, HasCheckpoint, Interrupted, Ready};
        let of = |own, others: &[Status]| {
            let processes = ProcessGroup::of(Arc::new(Others(others.to_vec())), 0);
            (processes.agree(own).unwrap(), processes.has_ended())
        };
        assert_eq!(of(Ready, &[Ready, Ready]), (Decision::Step, false));
        assert_eq!(of(HasCheckpoint, &[Ready, Ready]), (Decision::ShareState, false));
        assert_eq!(of(Ended, &[Ready, Ready]), (Decision::End, false));
        assert_eq!(of(HasCheckpoint, &[Ready, Interrupted(15)]), (Decision::Interrupt(15), true));
        assert_eq!(of(Interrupted(2), &[Failed, Ready]), (Decision::Fail(1), true));
        assert_eq!(of(Ended, &[Ready, Failed]), (Decision::Fail(2), true));
    }

    #[test]
    fn a_process_sleeps_until_all_agree() {
        #[derive(Debug, Default)]
        struct Late(AtomicBool);
        impl Peers for Late {
            fn rank(&self) -> usize {
                1
            }
            fn count(&self) -> usize {
                2
            }
            fn wait_for_all(&self) -> CoreResult<()> {
                self.0.store(true, Ordering::Relaxed);
                Ok(())
            }
            fn all_gather(&self, own: &[f32], _: &[usize]) -> CoreResult<Vec<f32>> {
                assert!(self.0.load(Ordering::Relaxed), "the call before the others have come takes a core");
                Ok([own, own].concat())
            }
            fn sum(&self, _: &mut [f32]) -> CoreResult<()> {
                Ok(())
            }
            fn broadcast(&self, _: &mut Vec<u8>) -> CoreResult<()> {
                Ok(())
            }
        }
        let processes = ProcessGroup::of(Arc::new(Late::default()), 0);
        assert_eq!(processes.agree(Status::Ready).unwrap(), Decision::Step);
        assert_eq!(processes.gather(3).unwrap(), [3, 3]);
    }

    #[test]
    fn a_message_is_received_with_its_state() {
        #[derive(Debug)]
        struct Recorded(std::sync::Mutex<Vec<u8>>);
        impl Peers for Recorded {
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
                let mut sent = self.0.lock().unwrap();
                if sent.is_empty() {
                    sent.clone_from(bytes)
                } else {
                    bytes.clone_from(&sent)
                }
                Ok(())
            }
        }
        let processes = ProcessGroup::of(Arc::new(Recorded(std::sync::Mutex::default())), 0);
        processes.broadcast(&Message::Variant { at: 3 }, b"a\nstate\n").unwrap();
        assert_eq!(processes.receive().unwrap(), (Message::Variant { at: 3 }, b"a\nstate\n".to_vec()));
    }
}
