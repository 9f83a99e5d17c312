//! Loops of the host whose rounds do not depend on each other.
//!
//! The crate starts no thread. With the feature `rayon` the rounds go to the pool that Burn's CPU backend computes on
//! anyway; without, as in a page, they run one after the other. What a round covers is the caller's choice and never
//! follows from the number of threads, and results come in order, so that both give the same numbers.

/// What `work` makes of each item, in the order of the items.
#[cfg(feature = "rayon")]
pub(crate) fn map<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync + Send,
) -> Vec<T> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};

    let items: Vec<I> = items.into_iter().collect();
    items.into_par_iter().map(work).collect()
}

/// What `work` makes of each item, in the order of the items.
#[cfg(not(feature = "rayon"))]
pub(crate) fn map<I, T>(items: impl IntoIterator<Item = I>, work: impl Fn(I) -> T) -> Vec<T> {
    items.into_iter().map(work).collect()
}
