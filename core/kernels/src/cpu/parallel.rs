//! Parallel loops of the host, with independent iterations.
//!
//! The crate starts no thread. With the feature `rayon` the iterations use the pool of Burn's CPU backend; without,
//! as in a page, they run one after the other. The caller chooses the size of an iteration, never by the number of
//! threads, and results are in order, so that both give the same numbers.

use std::ops::Range;

/// Parts of a range, each of `size` numbers but the last.
pub(crate) fn parts(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = range;
    (start..end).step_by(size).map(move |first| first..(first + size).min(end))
}

/// The results of `work` on each item, in the order of the items.
#[cfg(feature = "rayon")]
pub fn map<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync + Send,
) -> Vec<T> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};

    let items: Vec<I> = items.into_iter().collect();
    if needs_one_thread(items.len()) {
        return items.into_iter().map(work).collect();
    }
    items.into_par_iter().map(work).collect()
}

/// The results of `work` on each item, in the order of the items.
#[cfg(not(feature = "rayon"))]
pub fn map<I, T>(items: impl IntoIterator<Item = I>, work: impl Fn(I) -> T) -> Vec<T> {
    items.into_iter().map(work).collect()
}

/// As [`map`], for items of very different length: a thread takes one at a time, in their order, where it would take a
/// quarter of them.
#[cfg(feature = "rayon")]
pub fn map_one_by_one<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync + Send,
) -> Vec<T> {
    use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

    let items: Vec<I> = items.into_iter().collect();
    if needs_one_thread(items.len()) {
        return items.into_iter().map(work).collect();
    }
    items.into_par_iter().with_max_len(1).map(work).collect()
}

/// As [`map`], for items of very different length.
#[cfg(not(feature = "rayon"))]
pub fn map_one_by_one<I, T>(items: impl IntoIterator<Item = I>, work: impl Fn(I) -> T) -> Vec<T> {
    map(items, work)
}

/// As [`map`], with scratch memory from `begin` that is reused from item to item: reused memory needs no fresh
/// pages. The result of `work` on an item must not depend on the content of the scratch memory.
#[cfg(feature = "rayon")]
pub fn map_in<I: Send, S, T: Send>(
    items: impl IntoIterator<Item = I>,
    begin: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) -> T + Sync + Send,
) -> Vec<T> {
    use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

    let items: Vec<I> = items.into_iter().collect();
    if needs_one_thread(items.len()) {
        let mut scratch = begin();
        return items.into_iter().map(|item| work(&mut scratch, item)).collect();
    }
    let least = items.len() / (RUNS_OF_THREAD * rayon::current_num_threads()).max(1);
    items.into_par_iter().with_min_len(least.max(1)).map_init(begin, work).collect()
}

/// True if there is one thread or one item. A thread of the pool would do the work, while the one that asks sleeps: two switches
/// between threads for each loop.
#[cfg(feature = "rayon")]
fn needs_one_thread(items: usize) -> bool {
    // In this order, any loop begins the pool: the memory that a later one keeps does not depend on the length of the first.
    rayon::current_num_threads() < 2 || items < 2
}

/// Number of runs of items per thread that share scratch memory: enough that no thread waits long for another.
#[cfg(feature = "rayon")]
const RUNS_OF_THREAD: usize = 2;

/// As [`map`], with scratch memory from `begin` that is reused from item to item.
#[cfg(not(feature = "rayon"))]
pub fn map_in<I, S, T>(
    items: impl IntoIterator<Item = I>,
    begin: impl Fn() -> S,
    work: impl Fn(&mut S, I) -> T,
) -> Vec<T> {
    let mut scratch = begin();
    items.into_iter().map(|item| work(&mut scratch, item)).collect()
}

/// The sum of the results of parts, each `length` numbers, in the order of the parts.
pub(crate) fn sum(parts: Vec<Vec<f32>>, length: usize) -> Vec<f32> {
    let mut total = vec![0.0; length];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total
}

/// A vector of zeros. All threads clear a large vector: one thread takes as long for it as for a pass of a layer.
#[cfg(feature = "rayon")]
pub fn zeros(length: usize) -> Vec<f32> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};

    if length < SMALL || !length.is_multiple_of(RUN) || needs_one_thread(length / RUN) {
        return vec![0.0; length];
    }
    let runs: Vec<[f32; RUN]> = (0..length / RUN).into_par_iter().map(|_| [0.0; RUN]).collect();
    runs.into_flattened()
}

/// Number of values that a thread clears at once.
#[cfg(feature = "rayon")]
const RUN: usize = 64;
/// Fewer values than this are cleared faster than another thread starts.
#[cfg(feature = "rayon")]
const SMALL: usize = 1 << 17;

/// So many zeros.
#[cfg(not(feature = "rayon"))]
pub fn zeros(length: usize) -> Vec<f32> {
    vec![0.0; length]
}

#[cfg(all(test, feature = "rayon"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;
    use std::{env, thread};

    use super::*;

    /// The size of the pool, which a process chooses once.
    const SIZE: &str = "RAYON_NUM_THREADS";

    #[test]
    fn one_item_stays_on_the_thread_that_asks() {
        let asks = thread::current().id();
        let of = |_| thread::current().id();
        let ids = [map([0], of), map_one_by_one([0], of), map_in([0], || (), |(), at| of(at))];
        assert!(ids.iter().flatten().all(|&id| id == asks), "{ids:?}, asked by {asks:?}");
    }

    #[test]
    fn with_one_thread_work_stays_on_the_thread_that_asks() {
        if env::var(SIZE).as_deref() != Ok("1") {
            let mut command = Command::new(env::current_exe().unwrap());
            command.arg("with_one_thread_work_stays").env(SIZE, "1");
            let output = command.output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
            return;
        }
        let asks = thread::current().id();
        let of = |_| thread::current().id();
        let ids = [map(0..9, of), map_one_by_one(0..9, of), map_in(0..9, || (), |(), at| of(at))];
        assert!(ids.iter().flatten().all(|&id| id == asks), "{ids:?}, asked by {asks:?}");
    }
}
