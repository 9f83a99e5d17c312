//! Threads of one process in the place of processes, for tests.

use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;

use super::Peers;
use crate::error::Result;

/// One of several threads.
#[derive(Debug)]
pub(crate) struct Thread {
    rank: usize,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    barrier: Barrier,
    /// The numbers, or bytes, that each of them gives.
    contributions: Vec<Mutex<(Vec<f32>, Vec<u8>)>>,
    traffic: Mutex<Traffic>,
}

/// Numbers of all threads that were gathered, and sums that were formed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) gathered: u64,
    pub(crate) summed: u64,
}

/// The results of `count` threads that do the same work, rank 0 first.
pub(crate) fn together<R: Send>(count: usize, work: impl Fn(Arc<dyn Peers>) -> R + Sync) -> Vec<R> {
    together_counted(count, work).0
}

/// The results as from [`together`], with the count of numbers that were moved.
pub(crate) fn together_counted<R: Send>(
    count: usize,
    work: impl Fn(Arc<dyn Peers>) -> R + Sync,
) -> (Vec<R>, Traffic) {
    let shared = Arc::new(Shared {
        barrier: Barrier::new(count),
        contributions: (0..count).map(|_| Mutex::default()).collect(),
        traffic: Mutex::default(),
    });
    let results = thread::scope(|scope| {
        let begin = |rank: usize| {
            let (peer, work) = (Thread { rank, shared: shared.clone() }, &work);
            scope.spawn(move || work(Arc::new(peer)))
        };
        let threads: Vec<_> = (0..count).map(begin).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let traffic = *shared.traffic.lock().unwrap_or_else(PoisonError::into_inner);
    (results, traffic)
}

impl Thread {
    /// Gives numbers and bytes, and takes those of all.
    fn exchange(&self, numbers: &[f32], bytes: &[u8]) -> Vec<(Vec<f32>, Vec<u8>)> {
        let Shared { barrier, contributions, .. } = self.shared.as_ref();
        *contributions[self.rank].lock().unwrap_or_else(PoisonError::into_inner) =
            (numbers.to_vec(), bytes.to_vec());
        barrier.wait();
        let all = contributions.iter().map(|one| one.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let all = all.collect();
        barrier.wait();
        all
    }

    fn count_traffic(&self, count: impl Fn(&mut Traffic)) {
        if self.rank == 0 {
            count(&mut self.shared.traffic.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Peers for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.shared.contributions.len()
    }

    fn all_gather(&self, own: &[f32], counts: &[usize]) -> Result<Vec<f32>> {
        assert_eq!(own.len(), counts[self.rank]);
        self.count_traffic(|traffic| traffic.gathered += counts.iter().sum::<usize>() as u64);
        Ok(self.exchange(own, &[]).into_iter().flat_map(|(numbers, _)| numbers).collect())
    }

    fn sum(&self, values: &mut [f32]) -> Result<()> {
        self.count_traffic(|traffic| traffic.summed += values.len() as u64);
        let all = self.exchange(values, &[]);
        values.fill(0.0);
        for (numbers, _) in all {
            assert_eq!(numbers.len(), values.len());
            values.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
        Ok(())
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<()> {
        let all = self.exchange(&[], bytes);
        *bytes = all.into_iter().next().map(|(_, bytes)| bytes).unwrap_or_default();
        Ok(())
    }
}
