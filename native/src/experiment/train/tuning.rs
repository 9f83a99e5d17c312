//! The first step of a variant on a GPU, which takes far longer than the others: kernels are compiled, and the fastest of
//! several chosen by trying them. The user is told, so that nobody takes it for a fault.

use std::sync::Arc;
use std::time::Instant;

use simile_kernels::Launches;

use crate::console::{Meanwhile, line};

/// A first step in progress.
pub(super) struct FirstStep {
    variant: String,
    launches: Arc<Launches>,
    began: Instant,
    _meanwhile: Meanwhile,
}

impl FirstStep {
    /// Says that the step begins, and from time to time how many kernels were started.
    pub(super) fn begin(variant: &str) -> Self {
        line(format_args!(
            "{variant}: the first step compiles and tunes kernels for the GPU, which may take minutes; the others are fast"
        ));
        let launches = Arc::new(Launches::count());
        let (counted, name) = (launches.clone(), variant.to_owned());
        let so_far = move || format!("{name}: tuning, {} kernels started so far", counted.so_far());
        Self {
            variant: variant.to_owned(),
            launches,
            began: Instant::now(),
            _meanwhile: Meanwhile::say(so_far),
        }
    }

    /// Says that the step has ended.
    pub(super) fn end(self) {
        let Self { variant, launches, began, .. } = self;
        line(format_args!(
            "{variant}: the first step took {:.1} s and started {} kernels",
            began.elapsed().as_secs_f64(),
            launches.so_far()
        ));
    }
}
