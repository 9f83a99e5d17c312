//! Memory that operations on one thread reuse. The operating system clears fresh pages at the first write; a kernel
//! in Winograd's form has up to 40 MB of them a layer.

use std::cell::RefCell;

/// Number of vectors that a thread keeps: as many as one operation uses.
const KEPT: usize = 3;

thread_local! {
    static SPARE: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// A vector of `length` arbitrary values; [`give`] returns it.
pub(crate) fn take(length: usize) -> Vec<f32> {
    let mut values = SPARE.with_borrow_mut(|spare| {
        // The smallest that suffices, so that large vectors are left for large layers.
        let fitting = spare.iter().enumerate().filter(|(_, values)| values.capacity() >= length);
        let best = fitting.min_by_key(|(_, values)| values.capacity()).map(|(at, _)| at);
        best.or(spare.len().checked_sub(1)).map(|at| spare.swap_remove(at)).unwrap_or_default()
    });
    values.resize(length, 0.0);
    values
}

/// Keeps a vector for the next [`take`] on this thread.
pub(crate) fn give(values: Vec<f32>) {
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < KEPT {
            spare.push(values);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_used_again_for_what_fits_into_it() {
        let (large, small) = (take(1000), take(10));
        let at = [large.as_ptr(), small.as_ptr()];
        give(large);
        give(small);
        let (large, small) = (take(900), take(5));
        assert_eq!([large.as_ptr(), small.as_ptr()], at);
        assert_eq!((large.len(), small.len(), take(2000).len()), (900, 5, 2000));
    }
}
