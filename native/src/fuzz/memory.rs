//! The allocator of the tests: it counts the bytes in use, and refuses allocations above a limit.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST_USED: AtomicUsize = AtomicUsize::new(0);
static ALLOWED: AtomicUsize = AtomicUsize::new(usize::MAX);

struct Counted;

/// Counts bytes before their allocation, unless they exceed the limit.
fn claim(bytes: usize) -> bool {
    let used = USED.fetch_add(bytes, Relaxed).saturating_add(bytes);
    if used > ALLOWED.load(Relaxed) {
        USED.fetch_sub(bytes, Relaxed);
        return false;
    }
    MOST_USED.fetch_max(used, Relaxed);
    true
}

// SAFETY: every call goes to mimalloc with the same arguments, or returns the null pointer of a failed allocation.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if claim(layout.size()) { unsafe { MiMalloc.alloc(layout) } } else { ptr::null_mut() }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if claim(layout.size()) { unsafe { MiMalloc.alloc_zeroed(layout) } } else { ptr::null_mut() }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { MiMalloc.dealloc(place, layout) };
        USED.fetch_sub(layout.size(), Relaxed);
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // During a reallocation both buffers can exist.
        if !claim(size) {
            return ptr::null_mut();
        }
        let moved = unsafe { MiMalloc.realloc(place, layout, size) };
        USED.fetch_sub(if moved.is_null() { size } else { layout.size() }, Relaxed);
        moved
    }
}

/// Limits further allocations to `bytes` beside those in use.
pub(super) fn allow(bytes: usize) {
    let used = USED.load(Relaxed);
    ALLOWED.store(used.saturating_add(bytes), Relaxed);
    MOST_USED.store(used, Relaxed);
}

/// The peak of bytes in use beside those at the last call of [`allow`].
pub(super) fn most(allowed: usize) -> usize {
    MOST_USED.load(Relaxed).saturating_sub(ALLOWED.load(Relaxed).saturating_sub(allowed))
}
