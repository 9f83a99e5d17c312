//! The processes of a group over MPI.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::environment::{Threading, Universe, initialize_with_threading};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _, Root as _};
use simile_core::error::{Error, Result as CoreResult};
use simile_core::peers::Peers;

use super::ProcessGroup;

/// Numbers that one call of MPI moves: it counts in 32 bits, and some libraries count bytes.
const AT_ONCE: usize = 1 << 28;
/// Time between two checks whether the other processes have arrived, which may evaluate or read for minutes.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The same while all processes are in one step.
const POLL_INTERVAL_IN_STEP: Duration = Duration::from_micros(200);
/// Time for which a process that has nothing else to do checks without a pause, because the others come at once in most steps.
const SPIN_TIME: Duration = Duration::from_millis(1);

/// The initialised library. Dropping it finalises MPI, once all processes have come to that point.
pub(super) struct Running {
    _universe: Universe,
}

/// The processes of the world of MPI. The library is used by one thread at a time.
#[derive(Debug, Clone, Copy)]
struct World {
    rank: usize,
    count: usize,
}

impl Running {
    /// Initialises MPI; for the main thread.
    ///
    /// # Errors
    /// If MPI is in use already, or takes calls of one thread alone.
    pub(super) fn begin() -> Result<(Self, ProcessGroup)> {
        // The thread that sums gradients calls while the main thread does not.
        let begun = initialize_with_threading(Threading::Serialized);
        let (universe, threading) = begun.ok_or_else(|| anyhow!("MPI is in use already"))?;
        check(threading)?;
        let world = SimpleCommunicator::world();
        let (rank, count) = (world.rank().unsigned_abs() as usize, world.size().unsigned_abs() as usize);
        let local_rank = world.split_shared(world.rank()).rank().unsigned_abs() as usize;
        Ok((Self { _universe: universe }, ProcessGroup::of(Arc::new(World { rank, count }), local_rank)))
    }

    /// Ends all processes at once.
    pub(super) fn abort(&self, code: u8) -> ! {
        SimpleCommunicator::world().abort(i32::from(code))
    }
}

/// Checks that any thread may call MPI, one at a time.
fn check(threading: Threading) -> Result<()> {
    ensure!(
        threading >= Threading::Serialized,
        "this MPI library supports calls from one thread only ({threading:?}), and gradients are summed by a second one: use a library \
         that was built with support of threads (MPI_THREAD_SERIALIZED), as Open MPI from 3.0 on and MPICH are unless they were built \
         without it"
    );
    Ok(())
}

impl World {
    /// Waits until all processes have arrived. It sleeps between checks, so that waiting takes no processor time, except for the
    /// `spin_time` at the start.
    fn all_come(communicator: &SimpleCommunicator, spin_time: Duration, poll_interval: Duration) {
        let begun = Instant::now();
        let mut arrival = communicator.immediate_barrier();
        while let Err(waiting) = arrival.test() {
            arrival = waiting;
            match begun.elapsed() < spin_time {
                true => thread::yield_now(),
                false => thread::sleep(poll_interval),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if thread::panicking() {
            // The end of MPI would wait for the others, which wait for this process.
            self.abort(101);
        }
    }
}

impl Peers for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn wait_for_all(&self) -> CoreResult<()> {
        Self::all_come(&SimpleCommunicator::world(), SPIN_TIME, POLL_INTERVAL_IN_STEP);
        Ok(())
    }

    fn all_gather(&self, own: &[f32], counts: &[usize]) -> CoreResult<Vec<f32>> {
        let all: usize = counts.iter().sum();
        if counts.get(self.rank) != Some(&own.len()) || i32::try_from(all).is_err() {
            let reason = format!("{all} numbers cannot be gathered from {} processes", self.count);
            return Err(Error::Peers { reason });
        }
        let mut numbers = vec![0.0_f32; all];
        let counts: Vec<i32> = counts.iter().map(|&count| count as i32).collect();
        let starts = counts.iter().scan(0, |sum, count| {
            let start = *sum;
            *sum += count;
            Some(start)
        });
        let starts: Vec<i32> = starts.collect();
        let mut parts = PartitionMut::new(&mut numbers[..], counts, starts);
        SimpleCommunicator::world().all_gather_varcount_into(own, &mut parts);
        Ok(numbers)
    }

    fn sum(&self, values: &mut [f32]) -> CoreResult<()> {
        for part in values.chunks_mut(AT_ONCE) {
            let own = part.to_vec();
            SimpleCommunicator::world().all_reduce_into(&own[..], part, SystemOperation::sum());
        }
        Ok(())
    }

    fn sum_in_background(&self, values: &mut [f32]) -> CoreResult<()> {
        Self::all_come(&SimpleCommunicator::world(), Duration::ZERO, POLL_INTERVAL_IN_STEP);
        self.sum(values)
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) -> CoreResult<()> {
        let world = SimpleCommunicator::world();
        Self::all_come(&world, Duration::ZERO, POLL_INTERVAL);
        let leader = world.process_at_rank(0);
        let mut length = bytes.len() as u64;
        leader.broadcast_into(&mut length);
        bytes.resize(length as usize, 0);
        for part in bytes.chunks_mut(AT_ONCE) {
            leader.broadcast_into(part);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_library_for_one_thread_is_refused() {
        for enough in [Threading::Serialized, Threading::Multiple] {
            check(enough).unwrap();
        }
        for little in [Threading::Single, Threading::Funneled] {
            let error = check(little).unwrap_err().to_string();
            assert!(error.contains("MPI_THREAD_SERIALIZED"), "{error}");
        }
    }
}
