//! The allocator of the program. Each training step frees and allocates the same large buffers; the
//! system's allocator gives them back and pays for fresh pages in the next step, and so would mimalloc after a second.
//!
//! Each program names its global allocator itself. Benchmarks and tests are both compiled with `cfg(test)`, and the tests have
//! an allocator that counts, so this module cannot choose one by `cfg`.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// `mi_option_purge_delay`, to which the crate gives no name.
const PURGE_DELAY: mi_option_t = 15;
/// Milliseconds, longer than a step and the time between two steps.
const KEPT_FOR: c_long = 20_000;

/// Keeps freed memory for some seconds, unless `MIMALLOC_PURGE_DELAY` in the environment says otherwise.
#[allow(unsafe_code)]
pub(crate) fn keep_freed_memory() {
    // SAFETY: sets a number that the allocator reads as it frees; the call has no other condition.
    unsafe { mi_option_set_default(PURGE_DELAY, KEPT_FOR) }
}
