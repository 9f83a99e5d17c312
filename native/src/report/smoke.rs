//! The words about a smoke test.

use crate::run_folder::record::{RunResult, SmokeTest};
use crate::units;

/// The meaning of a run that was a smoke test, with the expected time of the whole run.
pub(crate) fn smoke(result: &RunResult) -> Option<String> {
    let SmokeTest { iterations, batch, expected_seconds } = result.smoke.as_ref()?;
    let variants = match result.variants.len() {
        1 => String::new(),
        count => format!("{count} variants of "),
    };
    let size = format!("{variants}{iterations} iterations of {batch} images");
    let expected = match expected_seconds {
        Some(seconds) => {
            format!("Training {size} takes about {} on {}", units::seconds(*seconds), result.device)
        }
        None => format!("The whole run trains {size}"),
    };
    Some(format!("This was a smoke test: its numbers say only that everything works. {expected}."))
}
