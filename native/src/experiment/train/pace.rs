//! The pace of training since the last line about it.

use std::time::Duration;

/// Images and time since the last note.
#[derive(Default)]
pub(super) struct Pace {
    images: usize,
    spent: Duration,
}

impl Pace {
    /// Counts a step on so many images.
    pub(super) fn add(&mut self, images: usize, spent: Duration) {
        self.images += images;
        self.spent += spent;
    }

    /// Images a second and, if images are read ahead, the share of the time that steps have waited for them. The next note
    /// begins here.
    pub(super) fn note(&mut self, waited: Option<Duration>) -> String {
        let Self { images, spent } = std::mem::take(self);
        let seconds = spent.as_secs_f64().max(1e-9);
        let rate = format!("{:.0} images/s", images as f64 / seconds);
        match waited {
            Some(waited) => {
                format!("{rate}  {:.0} % waiting for data", 100.0 * waited.as_secs_f64() / seconds)
            }
            None => rate,
        }
    }
}
