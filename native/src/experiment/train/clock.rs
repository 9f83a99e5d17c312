//! The times of a variant's training: since its start, since its last checkpoint, and spent on checkpoints and best networks.

use std::time::{Duration, Instant};

use crate::console::line;

/// The largest share of the training time that checkpoints may take.
const SHARE: f64 = 0.01;
/// Checkpoints that have delayed a run by less than this in total are always allowed.
const NOTICED: Duration = Duration::from_secs(1);

/// The clock of a variant.
pub(super) struct Clock {
    started: Instant,
    /// Seconds of training before this process.
    seconds_before: f64,
    checkpoint: Instant,
    /// Minutes between two checkpoints.
    minutes: f64,
    costs: CheckpointCosts,
}

/// The delays of the run by checkpoints and best networks of this process.
#[derive(Debug, Clone, Copy, Default)]
struct CheckpointCosts {
    last: Duration,
    all: Duration,
    /// Those of checks that took the place of checkpoints. Neither these nor `best` count against the next checkpoint, which would
    /// never be made.
    checks: Duration,
    /// Those of taking the best networks of `[selection]`, which checkpoints write: one each time that an evaluation is the best.
    best: Duration,
}

impl CheckpointCosts {
    /// True if one more checkpoint, as long as the last one, would keep the total within its share of `elapsed`.
    fn allow_one_more(self, elapsed: Duration) -> bool {
        let all = self.all + self.last;
        all <= NOTICED || all.as_secs_f64() <= SHARE * elapsed.as_secs_f64()
    }

    /// All delays together.
    fn total(self) -> Duration {
        self.all + self.checks + self.best
    }

    /// The share of `elapsed` that they took.
    fn share(self, elapsed: Duration) -> f64 {
        self.total().as_secs_f64() / elapsed.as_secs_f64().max(1e-9)
    }

    /// The same at the end of a run without the last checkpoint, which every run makes, if that is too large: fewer would help.
    fn excess(self, elapsed: Duration) -> Option<f64> {
        let others = Self { all: self.all.saturating_sub(self.last), ..self };
        let share = others.share(elapsed);
        (others.total() > NOTICED && share > SHARE).then_some(share)
    }

    /// The complaint about an [excess](Self::excess), with its remedy. The checks in the place of checkpoints are counted as these.
    fn complaint(self, elapsed: Duration) -> Option<String> {
        let share = 100.0 * self.excess(elapsed)?;
        let (best_networks, every) = match self.best.is_zero() {
            true => ("", ""),
            false => (" and best networks", ", or selection.every"),
        };
        Some(format!(
            "checkpoints{best_networks} took {share:.0} % of the training time; raise train.checkpoint_every{every}"
        ))
    }

    fn add(&mut self, cost: Duration) {
        self.last = cost;
        self.all += cost;
    }
}

impl Clock {
    pub(super) fn new(minutes: f64, seconds_before: f64) -> Self {
        let now = Instant::now();
        Self { started: now, seconds_before, checkpoint: now, minutes, costs: CheckpointCosts::default() }
    }

    /// Seconds of training.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds_before + self.started.elapsed().as_secs_f64()
    }

    /// True if the time between two checkpoints has passed.
    pub(super) fn is_due(&self) -> bool {
        self.checkpoint.elapsed().as_secs_f64() >= 60.0 * self.minutes
    }

    /// True if another checkpoint now would keep checkpoints within their share of the time.
    pub(super) fn affords_checkpoint(&self) -> bool {
        self.costs.allow_one_more(self.started.elapsed())
    }

    /// The share of the time since the start of this process's training in which checkpoints and best networks held it up.
    pub(super) fn checkpoint_share(&self) -> f64 {
        self.costs.share(self.started.elapsed())
    }

    /// Restarts the time until the next checkpoint, after one that has delayed the run by `cost`.
    pub(super) fn rewind(&mut self, cost: Duration) {
        self.checkpoint = Instant::now();
        self.costs.add(cost);
    }

    /// Counts a delay of the run by `cost`, from a check that took the place of a checkpoint.
    pub(super) fn spend_on_check(&mut self, cost: Duration) {
        self.costs.checks += cost;
    }

    /// Counts a delay of the run by `cost`, from taking a best network.
    pub(super) fn spend_on_best(&mut self, cost: Duration) {
        self.costs.best += cost;
    }

    /// Reports it if checkpoints and best networks took more than their share nevertheless.
    pub(super) fn warn_of_checkpoints(&self, variant: &str) {
        if let Some(complaint) = self.costs.complaint(self.started.elapsed()) {
            line(format_args!("warning: {variant}: {complaint}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps after which a checkpoint is made, if a step takes a second and a checkpoint `cost` seconds.
    fn checkpoint_steps(steps: u64, every: u64, cost: f64) -> Vec<u64> {
        let (mut costs, mut elapsed, mut checkpoints) = (CheckpointCosts::default(), Duration::ZERO, vec![]);
        for step in 1..=steps {
            elapsed += Duration::from_secs(1);
            if step % every == 0 && costs.allow_one_more(elapsed) {
                let cost = Duration::from_secs_f64(cost);
                costs.add(cost);
                elapsed += cost;
                checkpoints.push(step);
            }
        }
        // The cost of the first checkpoint is not known before it is made.
        assert!(costs.all <= costs.last.max(NOTICED) || costs.excess(elapsed).is_none(), "{costs:?}");
        checkpoints
    }

    #[test]
    fn checkpoints_take_at_most_a_hundredth_of_the_time() {
        // A checkpoint takes a thousandth of the time between two, so all are made.
        assert_eq!(checkpoint_steps(1000, 200, 0.2), [200, 400, 600, 800, 1000]);
        // A checkpoint takes a tenth of that time, so some are left out.
        assert_eq!(checkpoint_steps(10_000, 200, 20.0), [200, 4000, 6000, 8000, 10_000]);
        // A user may have a checkpoint after every step as long as they hardly delay the run.
        assert_eq!(checkpoint_steps(9, 1, 0.1).len(), 9);
        assert_eq!(checkpoint_steps(60, 1, 0.1), (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn checkpoints_that_took_more_are_complained_of() {
        let mut costs = CheckpointCosts::default();
        costs.add(Duration::from_secs(5));
        assert!(!costs.allow_one_more(Duration::from_secs(999)));
        assert!(costs.allow_one_more(Duration::from_secs(1000)));
        costs.add(Duration::from_secs(5));
        assert_eq!(costs.excess(Duration::from_secs(100)), Some(0.05));
        assert_eq!(costs.excess(Duration::from_secs(501)), None);
    }

    /// A run of one iteration was told to make fewer, and made one at its end alone.
    #[test]
    fn the_last_checkpoint_is_not_complained_of() {
        let mut costs = CheckpointCosts::default();
        costs.add(Duration::from_secs(5));
        assert_eq!(costs.excess(Duration::from_secs(100)), None);
    }

    /// With a check after every step no checkpoint by time would be made again.
    #[test]
    fn checks_in_the_place_of_checkpoints_do_not_end_them() {
        let mut costs = CheckpointCosts::default();
        costs.add(Duration::from_secs(2));
        costs.checks += Duration::from_secs(50);
        let elapsed = Duration::from_secs(400);
        assert!(costs.allow_one_more(elapsed));
        assert_eq!(costs.excess(elapsed), Some(0.125));
    }

    /// They were written in the training thread, and not counted.
    #[test]
    fn best_networks_are_counted_and_their_key_is_named() {
        let (mut costs, elapsed) = (CheckpointCosts::default(), Duration::from_secs(400));
        costs.checks = Duration::from_secs(52);
        let of_checks = costs.complaint(elapsed).unwrap_or_default();
        assert!(
            of_checks.contains("checkpoints took 13 %") && of_checks.ends_with("train.checkpoint_every"),
            "{of_checks}"
        );
        costs.best = Duration::from_secs(8);
        assert!(costs.allow_one_more(elapsed), "they do not end checkpoints");
        let of_both = costs.complaint(elapsed).unwrap_or_default();
        assert!(
            of_both.contains("best networks took 15 %") && of_both.ends_with("or selection.every"),
            "{of_both}"
        );
    }

    #[test]
    fn a_checkpoint_begins_the_minutes_until_the_next() {
        let mut clock = Clock::new(10.0, 0.0);
        assert!(!clock.is_due() && clock.affords_checkpoint());
        clock.minutes = 1e-9;
        assert!(clock.is_due());
        assert_eq!(clock.checkpoint_share(), 0.0);
        clock.rewind(Duration::from_secs(2));
        assert!(!clock.affords_checkpoint() && clock.checkpoint_share() > SHARE);
    }
}
