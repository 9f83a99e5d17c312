//! Ctrl-C: the first asks the run to stop after its step, the second stops the process at once.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};

use crate::console::line;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Starts listening.
///
/// # Errors
/// If the system lets no handler be set.
pub(crate) fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        line("stopping after this step; press Ctrl-C again to stop at once");
    })
    .context("cannot listen for Ctrl-C")
}

/// Whether the user asked the run to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
