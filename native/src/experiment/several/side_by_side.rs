//! Several runs at a time, each on a separate thread. On the CPU they share one pool of worker threads, so that a
//! second run uses the cores that the first leaves idle without oversubscription.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::console::labelled;
use crate::exit::Interrupted;
use crate::experiment::memory::available::room_beside;
use crate::interrupt;

/// Time after which a run has loaded its data, so that its memory use is known.
const LOADED: Duration = Duration::from_secs(3);

/// The results of `work` on every item, in the order of the items, at most `limit` at a time and as many as fit into
/// memory. An item begins when the earlier item at the index `after` has ended. If there are several, the lines of each
/// begin with its `label`. `work` is given the place, from 0, that the item has among those at the same time.
///
/// # Errors
/// The error of one item: no further item is begun then, and those in progress end normally. [`Interrupted`] if the
/// user requests it.
pub(crate) fn side_by_side<T: Sync, R: Send>(
    limit: usize,
    items: &[T],
    after: impl Fn(&T) -> Option<usize>,
    label: impl Fn(&T) -> String + Sync,
    work: impl Fn(&T, usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let limit = limit.min(items.len());
    let mut results: Vec<Option<Result<R>>> = Vec::new();
    if limit <= 1 {
        for item in items {
            // A signal that came at the end of the item before.
            if interrupt::is_requested() {
                break;
            }
            let result = work(item, 0);
            let failed = result.is_err();
            results.push(Some(result));
            if failed {
                break;
            }
        }
    } else {
        let queue = Queue::new(items.iter().map(after).collect());
        let finished = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let (queue, finished, label, work) = (&queue, &finished, &label, &work);
            for place in 0..limit {
                scope.spawn(move || {
                    while let Some(at) = queue.take() {
                        let mut turn = Turn { queue, at, failed: true };
                        let result = labelled(label(&items[at]), || work(&items[at], place));
                        turn.failed = result.is_err();
                        drop(turn);
                        lock(finished).push((at, result));
                    }
                });
            }
        });
        results.resize_with(items.len(), || None);
        for (at, result) in finished.into_inner().unwrap_or_else(PoisonError::into_inner) {
            results[at] = Some(result);
        }
    }
    collect(results, items.len())
}

/// All results, or the first failure.
fn collect<R>(results: Vec<Option<Result<R>>>, count: usize) -> Result<Vec<R>> {
    let mut done = Vec::with_capacity(count);
    for result in results.into_iter().flatten() {
        match result {
            Ok(result) => done.push(result),
            Err(error) if error.is::<Interrupted>() => {}
            Err(error) => return Err(error),
        }
    }
    if done.len() < count {
        return Err(Interrupted::to_continue().into());
    }
    Ok(done)
}

/// The queue of items.
struct Queue {
    /// For each item the index of the item that must have ended before.
    after: Vec<Option<usize>>,
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    /// Items that have not begun, in order.
    waiting: VecDeque<usize>,
    ended: BTreeSet<usize>,
    running: usize,
    failed: bool,
    begun: Option<Instant>,
}

/// An item in progress. It ends also if its work panics: others may wait for it.
struct Turn<'q> {
    queue: &'q Queue,
    at: usize,
    failed: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.queue.give_back(self.at, self.failed);
    }
}

impl Queue {
    fn new(after: Vec<Option<usize>>) -> Self {
        let state = QueueState { waiting: (0..after.len()).collect(), ..QueueState::default() };
        Self { after, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The next item, as soon as there is room for it; none at the end.
    fn take(&self) -> Option<usize> {
        let mut state = lock(&self.state);
        loop {
            if state.failed || state.waiting.is_empty() || interrupt::is_requested() {
                return None;
            }
            let loaded = state.begun.is_none_or(|begun| begun.elapsed() >= LOADED);
            if (state.running == 0 || (loaded && room_beside(state.running)))
                && let Some(at) = self.ready(&mut state)
            {
                (state.running, state.begun) = (state.running + 1, Some(Instant::now()));
                return Some(at);
            }
            let woken = self.changed.wait_timeout(state, Duration::from_millis(200));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Removes the first item that does not wait for another.
    fn ready(&self, state: &mut QueueState) -> Option<usize> {
        let free = |at: &usize| self.after[*at].is_none_or(|before| state.ended.contains(&before));
        let first = state.waiting.iter().position(free)?;
        state.waiting.remove(first)
    }

    fn give_back(&self, at: usize, failed: bool) {
        let mut state = lock(&self.state);
        state.running -= 1;
        state.ended.insert(at);
        state.failed |= failed;
        self.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for limit in [1, 3] {
            let results =
                side_by_side(limit, &[3, 1, 2], |_| None, |_| String::new(), |&item, _| Ok(item * 10));
            let results = results.unwrap();
            assert_eq!(results, [30, 10, 20]);
        }
    }

    #[test]
    fn an_item_waits_for_the_one_it_goes_on_from() {
        let ended = Mutex::new(Vec::new());
        let after = |&(_, before): &(usize, Option<usize>)| before;
        let items = [(0, None), (1, Some(0)), (2, None), (3, Some(1))];
        side_by_side(
            4,
            &items,
            after,
            |_| String::new(),
            |&(item, before), _| {
                let earlier = before.is_none_or(|before| lock(&ended).contains(&before));
                assert!(earlier, "{item} began before {before:?} had ended");
                thread::sleep(Duration::from_millis(20));
                lock(&ended).push(item);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(lock(&ended).len(), 4);
    }

    #[test]
    fn a_failure_begins_nothing_more_and_is_told() {
        for limit in [1, 2] {
            let begun = AtomicUsize::new(0);
            let error = side_by_side(
                limit,
                &[0, 1, 2, 3, 4, 5],
                |_| None,
                |_| String::new(),
                |&item, _| {
                    begun.fetch_add(1, Ordering::SeqCst);
                    if item == 0 { anyhow::bail!("disk full") } else { Ok(item) }
                },
            );
            assert_eq!(error.unwrap_err().to_string(), "disk full");
            assert!(begun.load(Ordering::SeqCst) <= limit);
        }
    }

    #[test]
    fn a_panic_of_an_item_keeps_nothing_waiting_and_begins_nothing_more() {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let begun = AtomicUsize::new(0);
            let work = |after: &Option<usize>, _| {
                begun.fetch_add(1, Ordering::SeqCst);
                assert!(after.is_some(), "the first item panics in this test");
                Ok(())
            };
            let items = [None, Some(0), Some(1)];
            let all = || side_by_side(3, &items, |&after| after, |_| String::new(), work);
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(all)).is_err();
            sender.send((panicked, begun.into_inner())).unwrap();
        });
        let ended = receiver.recv_timeout(Duration::from_secs(60));
        assert_eq!(ended, Ok((true, 1)), "whether the panic is passed on, and the items that began");
    }

    #[test]
    fn an_interruption_says_how_to_go_on() {
        let stop = || Interrupted("resume this one run".into()).into();
        let all = side_by_side(1, &[0, 1], |_| None, |_| String::new(), |_, _| Err::<(), _>(stop()));
        let error = all.unwrap_err();
        assert!(error.is::<Interrupted>() && error.to_string().contains("same command"), "{error}");
    }
}
