//! Learning-rate schedules, as multiples of a base rate. Burn's schedulers reject rates above 1, and LARS needs 4.8.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, within};

/// The learning-rate schedule of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// A linear ramp, then half a cosine to 0, changing at each step (SimCLR). With `w = round(warm_up · steps)`:
    /// `(step + 1) / w` while `step < w`, then `½ (1 + cos(π (step − w) / (steps − w)))`. SimCLR's ramp is `step / w`, which
    /// begins at 0.
    Cosine {
        /// Fraction of the steps for warm-up, 0 to 1. Default: 0.
        #[serde(default)]
        warm_up: f64,
    },
    /// As in the released code of CCL-K, changing once an epoch: `min(½(1 + cos(π epoch / epochs)), (1 + epoch) / 10)`,
    /// a linear ramp over ten epochs under a cosine.
    Released {},
    /// The base rate throughout.
    Constant {},
    /// The base rate, multiplied by `factor` at each of `milestones`.
    Step {
        /// Fractions of the run, 0 to 1, in rising order.
        milestones: Vec<f64>,
        /// Factor of the rate at each milestone, 0 to 1. Default: 0.1.
        #[serde(default = "default_factor")]
        factor: f64,
    },
}

impl Default for Schedule {
    fn default() -> Self {
        Self::Constant {}
    }
}

fn default_factor() -> f64 {
    0.1
}

/// The progress of a run: the current step, the number of steps, and the steps of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of completed steps.
    pub step: u64,
    /// Number of steps of the whole run.
    pub steps: u64,
    /// Steps of one epoch.
    pub steps_per_epoch: u64,
}

impl Schedule {
    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Cosine { warm_up } => within("schedule.warm_up", *warm_up, 0.0, 1.0).map(drop),
            Self::Released {} | Self::Constant {} => Ok(()),
            Self::Step { milestones, factor } => {
                within("schedule.factor", *factor, 0.0, 1.0)?;
                for milestone in milestones {
                    within("schedule.milestones", *milestone, 0.0, 1.0)?;
                }
                if milestones.is_sorted() {
                    Ok(())
                } else {
                    Err(Error::parameter(
                        "schedule.milestones",
                        format!("{milestones:?}"),
                        "expected rising numbers",
                    ))
                }
            }
        }
    }

    /// Factor of the base rate at this step, 0 to 1.
    pub fn factor(&self, at: Progress) -> f64 {
        let steps = at.steps.max(1) as f64;
        let step = at.step as f64;
        match self {
            Self::Constant {} => 1.0,
            Self::Cosine { warm_up } => {
                let warm = (warm_up * steps).round();
                if step < warm {
                    (step + 1.0) / warm
                } else {
                    half_cosine((step - warm) / (steps - warm).max(1.0))
                }
            }
            Self::Released {} => {
                let per_epoch = at.steps_per_epoch.max(1);
                let epoch = (at.step / per_epoch) as f64;
                let epochs = at.steps.div_ceil(per_epoch).max(1) as f64;
                half_cosine(epoch / epochs).min((1.0 + epoch) / 10.0)
            }
            Self::Step { milestones, factor } => {
                let passed = milestones.iter().filter(|&&m| has_reached(step, m, steps)).count();
                factor.powi(i32::try_from(passed).unwrap_or(i32::MAX))
            }
        }
    }
}

/// True if `done` is at least a share of `all`. The share of 0.55 of 100 is 55, although its product is larger in the last digit.
fn has_reached(done: f64, share: f64, all: f64) -> bool {
    done * (1.0 + 1e-9) >= share * all
}

fn half_cosine(share: f64) -> f64 {
    0.5 * (1.0 + (std::f64::consts::PI * share.min(1.0)).cos())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn factors(schedule: &Schedule, steps: u64, steps_per_epoch: u64) -> Vec<f64> {
        (0..steps).map(|step| schedule.factor(Progress { step, steps, steps_per_epoch })).collect()
    }

    #[test]
    fn cosine_rises_linearly_and_then_falls_to_nearly_zero() {
        let factors = factors(&Schedule::Cosine { warm_up: 0.1 }, 100, 10);
        for (step, factor) in factors.iter().take(10).enumerate() {
            assert!((factor - (step + 1) as f64 / 10.0).abs() < 1e-12);
        }
        assert!((factors[10] - 1.0).abs() < 1e-12);
        assert!(factors[10..].windows(2).all(|pair| pair[0] > pair[1]));
        assert!((factors[55] - 0.5).abs() < 1e-12);
        assert!(factors[99] > 0.0 && factors[99] < 1e-3);
    }

    #[test]
    fn released_is_a_ten_epoch_ramp_under_a_cosine_that_changes_once_an_epoch() {
        // [min(0.5 * (1 + math.cos(math.pi * e / 20)), (1 + e) / 10) for e in (0, 4, 9, 10, 19)]
        let factors = factors(&Schedule::Released {}, 60, 3);
        for (epoch, expected) in
            [(0, 0.1), (4, 0.5), (9, 0.578_217_232_520_115_4), (10, 0.5), (19, 0.006_155_829_702_431_115)]
        {
            assert!((factors[3 * epoch] - expected).abs() < 1e-12, "epoch {epoch}: {}", factors[3 * epoch]);
            assert_eq!(factors[3 * epoch], factors[3 * epoch + 2]);
        }
    }

    #[test]
    fn a_milestone_is_reached_at_its_step_whatever_its_product_rounds_to() {
        for (share, steps, at) in [(0.55, 100, 55), (0.28, 25, 7), (0.14, 50, 7), (0.5, 9, 5)] {
            let factors = factors(&Schedule::Step { milestones: vec![share], factor: 0.1 }, steps, 1);
            assert_eq!(factors.iter().position(|factor| *factor < 1.0), Some(at), "{share} of {steps}");
        }
    }

    #[test]
    fn step_multiplies_at_each_milestone() {
        let schedule = Schedule::Step { milestones: vec![0.5, 0.75], factor: 0.1 };
        let factors = factors(&schedule, 8, 1);
        assert_eq!(factors[3], 1.0);
        assert_eq!(factors[4], 0.1);
        assert!((factors[6] - 0.01).abs() < 1e-15);
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let wrong = Schedule::Cosine { warm_up: 1.5 };
        assert!(wrong.validate().unwrap_err().to_string().contains("schedule.warm_up"));
        let wrong = Schedule::Step { milestones: vec![0.7, 0.5], factor: 0.1 };
        assert!(wrong.validate().unwrap_err().to_string().contains("schedule.milestones"));
    }

    #[test]
    fn a_recipe_reads_as_it_is_written() {
        let schedule: Schedule = serde_json::from_str(r#"{"name":"cosine","warm_up":0.05}"#).unwrap();
        assert_eq!(schedule, Schedule::Cosine { warm_up: 0.05 });
        assert!(serde_json::from_str::<Schedule>(r#"{"name":"cosine","warmup":0.05}"#).is_err());
        for (name, schedule) in [("constant", Schedule::Constant {}), ("released", Schedule::Released {})] {
            let text = format!(r#"{{"name":"{name}"}}"#);
            assert_eq!(serde_json::to_string(&schedule).expect("written"), text);
            assert_eq!(serde_json::from_str::<Schedule>(&text).expect("read"), schedule);
            let error = serde_json::from_str::<Schedule>(&format!(r#"{{"name":"{name}","warm_up":0.05}}"#));
            assert!(error.unwrap_err().to_string().contains("unknown field `warm_up`"), "{name}");
        }
    }
}
