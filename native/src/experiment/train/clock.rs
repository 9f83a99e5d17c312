//! The times of an arm's training: since its start, since its last checkpoint, and those that checkpoints took.

use std::time::{Duration, Instant};

use crate::console::line;

/// The share of the time that checkpoints may take.
const SHARE: f64 = 0.01;
/// A checkpoint that holds a run up for less is not worth a rule.
const NOTICED: Duration = Duration::from_secs(1);

/// The clock of an arm.
pub(super) struct Clock {
    started: Instant,
    /// Seconds of training before this process.
    seconds_before: f64,
    checkpoint: Instant,
    /// Minutes between two checkpoints.
    minutes: f64,
    /// The time for which the last checkpoint has held the run up.
    cost: Duration,
    /// That of all checkpoints of this process.
    costs: Duration,
}

impl Clock {
    pub(super) fn new(minutes: f64, seconds_before: f64) -> Self {
        let now = Instant::now();
        let (cost, costs) = (Duration::ZERO, Duration::ZERO);
        Self { started: now, seconds_before, checkpoint: now, minutes, cost, costs }
    }

    /// Seconds of training.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds_before + self.started.elapsed().as_secs_f64()
    }

    /// True if it is time for a checkpoint.
    pub(super) fn is_due(&self) -> bool {
        self.checkpoint.elapsed().as_secs_f64() >= self.interval()
    }

    /// Seconds between two checkpoints: as many as are wanted, and where a checkpoint takes long, so many that it takes a
    /// hundredth of them.
    fn interval(&self) -> f64 {
        let least = if self.cost < NOTICED { 0.0 } else { self.cost.as_secs_f64() / SHARE };
        least.max(60.0 * self.minutes)
    }

    /// Begins the time until the next checkpoint, after one that has held the run up for so long.
    pub(super) fn rewind(&mut self, cost: Duration) {
        (self.checkpoint, self.cost) = (Instant::now(), cost);
        self.costs += cost;
    }

    /// Says so if checkpoints took more than their share.
    pub(super) fn complain(&self, arm: &str) {
        let share = self.costs.as_secs_f64() / self.started.elapsed().as_secs_f64().max(1e-9);
        if self.costs >= NOTICED && share > SHARE {
            line(format_args!(
                "{arm}: {:.0} % of the time went into checkpoints; raise train.checkpoint_every",
                100.0 * share
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_that_take_long_are_made_less_often() {
        let mut clock = Clock::new(10.0, 0.0);
        assert_eq!(clock.interval(), 600.0);
        clock.rewind(Duration::from_secs(5));
        assert_eq!(clock.interval(), 600.0);
        clock.rewind(Duration::from_secs(20));
        assert_eq!(clock.interval(), 2000.0);
        // Whoever wants many gets them, unless they hold the run up.
        let mut often = Clock::new(1e-9, 0.0);
        often.rewind(Duration::from_millis(900));
        assert!(often.interval() < 1e-6);
        often.rewind(Duration::from_secs(2));
        assert!(often.interval() == 200.0 && !often.is_due());
    }
}
