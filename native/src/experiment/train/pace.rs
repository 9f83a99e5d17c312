//! The pace of training since the last note of it, with the memory that it takes and the time that is left.

use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

use indicatif::HumanDuration;

use crate::experiment::memory::used::UsedMemory;
use crate::units::gigabytes;

/// Images and time since the last note.
#[derive(Default)]
pub(super) struct Pace {
    images: usize,
    spent: Duration,
    /// The end of the first step of this process, which takes longer than others.
    started: Option<Instant>,
    /// Number of steps since.
    steps: u64,
}

/// The numbers of a note.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Note {
    /// Images a second, each of which gives two views.
    images_per_second: f64,
    /// The share of the time that steps have waited for images and solves, if any are prepared ahead.
    waiting: Option<f64>,
    /// Seconds to the last step, evaluations and checkpoints included, at the pace of all steps but the first.
    seconds_left: Option<f64>,
    /// Seconds to the last step of all further variants, if there are any.
    seconds_left_of_all: Option<f64>,
    memory: UsedMemory,
}

impl Pace {
    /// Counts a step on `images` images.
    pub(super) fn add(&mut self, images: usize, spent: Duration) {
        self.images += images;
        self.spent += spent;
        match self.started {
            Some(_) => self.steps += 1,
            None => self.started = Some(Instant::now()),
        }
    }

    /// The numbers since the last note, with the steps that are left and those of the variants that follow. The next note begins
    /// here.
    pub(super) fn note(
        &mut self,
        waited: Option<Duration>,
        steps_left: u64,
        steps_of_following: u64,
        memory: UsedMemory,
    ) -> Note {
        let (images, spent) = (std::mem::take(&mut self.images), std::mem::take(&mut self.spent));
        let seconds = spent.as_secs_f64().max(1e-9);
        let seconds_of_step = |started: Instant| started.elapsed().as_secs_f64() / self.steps as f64;
        let seconds_of_step = self.started.filter(|_| self.steps > 0).map(seconds_of_step);
        Note {
            images_per_second: images as f64 / seconds,
            waiting: waited.map(|waited| waited.as_secs_f64() / seconds),
            seconds_left: seconds_of_step.map(|seconds| steps_left as f64 * seconds),
            seconds_left_of_all: seconds_of_step
                .filter(|_| steps_of_following > 0)
                .map(|seconds| (steps_left + steps_of_following) as f64 * seconds),
            memory,
        }
    }
}

impl Note {
    /// The numbers by their names in TensorBoard.
    pub(super) fn scalars(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let in_gigabytes = |bytes: Option<u64>| bytes.map(gigabytes);
        let numbers = [
            ("pace/images_per_second", Some(self.images_per_second)),
            ("pace/waiting_for_data", self.waiting),
            ("pace/seconds_left", self.seconds_left),
            ("memory/host_gb", in_gigabytes(self.memory.host)),
            ("memory/device_gb", in_gigabytes(self.memory.device)),
        ];
        numbers.into_iter().filter_map(|(name, number)| Some((name, number?)))
    }
}

impl Display for Note {
    /// The time left of the variant is part of the line of progress already.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} images/s", self.images_per_second)?;
        if let Some(waiting) = self.waiting {
            write!(f, "  {:.0} % waiting for data", 100.0 * waiting)?;
        }
        write!(f, "{}", self.memory)?;
        match self.seconds_left_of_all {
            Some(seconds) => {
                let time_left = Duration::from_secs_f64(seconds.min(1e9));
                write!(f, "  {} left for all variants", HumanDuration(time_left))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_the_numbers_since_the_one_before() {
        let mut pace = Pace::default();
        let memory = UsedMemory { host: Some(2_500_000_000), device: None };
        pace.add(64, Duration::from_secs(40));
        let first = pace.note(None, 10, 0, memory);
        assert_eq!((first.images_per_second, first.seconds_left), (1.6, None));
        assert_eq!(first.to_string(), "2 images/s  2.5 GB");
        (0..3).for_each(|_| pace.add(100, Duration::from_millis(500)));
        let second = pace.note(Some(Duration::from_millis(375)), 8, 0, memory);
        assert_eq!((second.images_per_second, second.waiting), (200.0, Some(0.25)));
        assert!(second.seconds_left.is_some_and(|seconds| (0.0..10.0).contains(&seconds)), "{second:?}");
        assert_eq!(second.to_string(), "200 images/s  25 % waiting for data  2.5 GB");
        let third = pace.note(None, 8, 600, memory);
        assert!(third.to_string().ends_with(" left for all variants"), "{third}");
        let names: Vec<&str> = second.scalars().map(|(name, _)| name).collect();
        let expected =
            ["pace/images_per_second", "pace/waiting_for_data", "pace/seconds_left", "memory/host_gb"];
        assert_eq!(names, expected);
    }
}
