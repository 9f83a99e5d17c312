//! The processes that share a step: each has a copy of the network, computes a part of the batch, and takes the same step.
//!
//! Core knows no launcher and no network of machines. A program implements [`Peers`] over the one that it has; the command
//! line does over MPI.

mod tensors;
#[cfg(test)]
pub(crate) mod threads;

use std::fmt::Debug;

use crate::error::Result;

pub(crate) use tensors::{sum_tensor, to_host};

/// The processes of a step. All of them call the same methods in the same order; a call returns when all have made it. At any time
/// only one thread makes calls, which need not be the thread that started.
pub trait Peers: Debug + Send + Sync {
    /// The number of this process, from 0 to [`count`](Self::count).
    fn rank(&self) -> usize;

    /// Number of processes, at least 1.
    fn count(&self) -> usize;

    /// Waits until all processes have arrived, which may be minutes later, and leaves the processor to others until then. All
    /// processes make this call if one does. By default it returns at once, and the call after it waits.
    ///
    /// # Errors
    /// A process cannot be reached.
    fn wait_for_all(&self) -> Result<()> {
        Ok(())
    }

    /// Gathers the numbers of all processes, those of rank 0 first. `counts` is the number of values from each process.
    ///
    /// # Errors
    /// A process cannot be reached, or `counts` does not fit.
    fn all_gather(&self, own: &[f32], counts: &[usize]) -> Result<Vec<f32>>;

    /// Replaces numbers by their sums over all processes.
    ///
    /// # Errors
    /// A process cannot be reached.
    fn sum(&self, values: &mut [f32]) -> Result<()>;

    /// Sums like [`sum`](Self::sum), but from a thread beside one that computes: it must leave the processor to that thread until
    /// all processes have arrived. All processes make this call if one does.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    fn sum_in_background(&self, values: &mut [f32]) -> Result<()> {
        self.sum(values)
    }

    /// Replaces the bytes by those of rank 0.
    ///
    /// # Errors
    /// A process cannot be reached.
    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<()>;
}

/// A process without others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Peers for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn all_gather(&self, own: &[f32], _counts: &[usize]) -> Result<Vec<f32>> {
        Ok(own.to_vec())
    }

    fn sum(&self, _values: &mut [f32]) -> Result<()> {
        Ok(())
    }

    fn broadcast(&self, _bytes: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}
