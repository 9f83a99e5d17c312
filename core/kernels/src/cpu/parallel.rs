//! Loops of the host whose rounds do not depend on each other.
//!
//! The crate starts no thread. With the feature `rayon` the rounds go to the pool that Burn's CPU backend computes on
//! anyway; without, as in a page, they run one after the other. What a round covers is the caller's choice and never
//! follows from the number of threads, and results come in order, so that both give the same numbers.

/// What `work` makes of each item, in the order of the items.
#[cfg(feature = "rayon")]
pub fn map<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync + Send,
) -> Vec<T> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};

    let items: Vec<I> = items.into_iter().collect();
    items.into_par_iter().map(work).collect()
}

/// What `work` makes of each item, in the order of the items.
#[cfg(not(feature = "rayon"))]
pub fn map<I, T>(items: impl IntoIterator<Item = I>, work: impl Fn(I) -> T) -> Vec<T> {
    items.into_iter().map(work).collect()
}

/// As [`map`], with something to work in that `begin` makes and that passes from item to item: memory that is used again
/// costs no fresh pages. What `work` makes of an item must not depend on what it finds there.
#[cfg(feature = "rayon")]
pub fn map_in<I: Send, S, T: Send>(
    items: impl IntoIterator<Item = I>,
    begin: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, I) -> T + Sync + Send,
) -> Vec<T> {
    use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

    let items: Vec<I> = items.into_iter().collect();
    let least = items.len() / (RUNS_OF_THREAD * rayon::current_num_threads()).max(1);
    items.into_par_iter().with_min_len(least.max(1)).map_init(begin, work).collect()
}

/// Runs of items that share what they work in, for each thread: enough that none waits long for another.
#[cfg(feature = "rayon")]
const RUNS_OF_THREAD: usize = 2;

/// As [`map`], with something to work in that `begin` makes and that passes from item to item.
#[cfg(not(feature = "rayon"))]
pub fn map_in<I, S, T>(
    items: impl IntoIterator<Item = I>,
    begin: impl Fn() -> S,
    work: impl Fn(&mut S, I) -> T,
) -> Vec<T> {
    let mut scratch = begin();
    items.into_iter().map(|item| work(&mut scratch, item)).collect()
}

/// The sum of what parts have found, each `length` numbers, in the order of the parts.
pub fn sum(parts: Vec<Vec<f32>>, length: usize) -> Vec<f32> {
    let mut total = vec![0.0; length];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total
}

/// So many zeros. A large vector is cleared by all threads: for one thread, that takes as long as a pass of a network's layer.
#[cfg(feature = "rayon")]
pub fn zeros(length: usize) -> Vec<f32> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};

    if length < SMALL || !length.is_multiple_of(RUN) {
        return vec![0.0; length];
    }
    let runs: Vec<[f32; RUN]> = (0..length / RUN).into_par_iter().map(|_| [0.0; RUN]).collect();
    runs.into_flattened()
}

/// Values that a thread clears at once.
#[cfg(feature = "rayon")]
const RUN: usize = 64;
/// Fewer values are cleared sooner than another thread is woken.
#[cfg(feature = "rayon")]
const SMALL: usize = 1 << 17;

/// So many zeros.
#[cfg(not(feature = "rayon"))]
pub fn zeros(length: usize) -> Vec<f32> {
    vec![0.0; length]
}
