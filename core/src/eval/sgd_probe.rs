//! The linear probe by stochastic gradient descent, as most papers fit it: cross-entropy, batches in random order, momentum
//! and a rate that falls in steps. Each parameter is updated as by PyTorch's `SGD`, the bias decays like the
//! weights, and all of them start at 0.
//!
//! | | rate | momentum | epochs | batch | rate is multiplied by | at these fractions of the epochs |
//! |---|---|---|---|---|---|---|
//! | default; ConTeX | 0.2 | 0.9 | 100 | 512 | 0.2 | 0.6, 0.75, 0.9 |
//! | Decoupled Uniformity | 0.1 | 0.9 | 300 | 512 | | when the loss stops falling; here at given epochs |
//!
//! The first line is ConTeX's paper; its README has a rate of 5 at a batch of 512, its parser one of 0.1 at 256.
//!
//! [`linear_probe`](super::linear_probe) computes the minimiser of the same loss; the result of descent that ends
//! before it depends on all of these settings.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use simile_kernels::cpu::parallel;

use super::blocks::check_finite;
use super::sgd_batch::BatchGradient;
use super::{check_labels, regression};
use crate::error::{Error, Result, positive, single, within};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::Rows;
use crate::optim::schedule::{Progress, Schedule};

/// Parameters that a thread updates at once.
const TOGETHER: usize = 1 << 16;

/// Settings of the descent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SgdProbeConfig {
    /// Learning rate, above 0 to 3.4e38. Default: 0.2.
    pub learning_rate: f64,
    /// Momentum, 0 to 1. Default: 0.9.
    pub momentum: f64,
    /// Weight decay of weights and bias, 0 to 3.4e38. Default: 0.
    pub weight_decay: f64,
    /// Passes over the samples, 1 or more. Default: 100.
    pub epochs: usize,
    /// Samples of a batch, 1 or more. Default: 512.
    pub batch: usize,
    /// Fractions of the epochs, in rising order, at which the rate falls. Default: 0.6, 0.75, 0.9.
    pub milestones: Vec<f64>,
    /// Factor of the rate at each milestone, 0 to 1. Default: 0.2.
    pub factor: f64,
    /// Seed of the order of samples. Default: 0.
    pub seed: u64,
}

impl Default for SgdProbeConfig {
    fn default() -> Self {
        Self {
            learning_rate: 0.2,
            momentum: 0.9,
            weight_decay: 0.0,
            epochs: 100,
            batch: 512,
            milestones: vec![0.6, 0.75, 0.9],
            factor: 0.2,
            seed: 0,
        }
    }
}

/// A linear classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SgdProbe {
    /// `[classes, d]`.
    pub weight: Matrix,
    /// `[classes]`.
    pub bias: Vec<f64>,
}

impl SgdProbe {
    /// `W x + b` for every row of `features` (`[n, d]`): `[n, classes]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of features differs.
    pub fn scores(&self, features: &dyn Rows) -> Result<Matrix> {
        regression::affine(features, &self.weight, &self.bias)
    }
}

impl SgdProbeConfig {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the setting that is out of range.
    pub fn validate(&self) -> Result<()> {
        single("probe.sgd.learning_rate", positive("probe.sgd.learning_rate", self.learning_rate)?)?;
        within("probe.sgd.momentum", self.momentum, 0.0, 1.0)?;
        single("probe.sgd.weight_decay", self.weight_decay)?;
        within("probe.sgd.factor", self.factor, 0.0, 1.0)?;
        for (name, count) in [("probe.sgd.epochs", self.epochs), ("probe.sgd.batch", self.batch)] {
            if count == 0 {
                return Err(Error::parameter(name, count, "expected 1 or more"));
            }
        }
        for &milestone in &self.milestones {
            within("probe.sgd.milestones", milestone, 0.0, 1.0)?;
        }
        Ok(())
    }

    /// The learning rate of an epoch.
    fn rate(&self, epoch: usize) -> f64 {
        let schedule = Schedule::Step { milestones: self.milestones.clone(), factor: self.factor };
        let at = Progress { step: epoch as u64, steps: self.epochs as u64, steps_per_epoch: 1 };
        self.learning_rate * schedule.factor(at)
    }

    /// Descends from zero weights, in `f64`. The rows of a batch are in memory together, no more of them. The result does not depend
    /// on the number of threads.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`] or [`Error::Parameter`] for unusable inputs, [`Error::Degenerate`] if it
    /// diverges.
    pub fn fit(&self, features: &dyn Rows, labels: &[usize], classes: usize) -> Result<SgdProbe> {
        self.validate()?;
        check_finite("features", features)?;
        check_labels("labels", labels, features.rows(), classes)?;
        let mut probe =
            SgdProbe { weight: Matrix::zeros(classes, features.columns()), bias: vec![0.0; classes] };
        let mut velocity = probe.clone();
        let mut gradient = BatchGradient::new(classes, features.columns());
        let mut order: Vec<usize> = (0..features.rows()).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        for epoch in 0..self.epochs {
            order.shuffle(&mut rng);
            let rate = self.rate(epoch);
            for batch in order.chunks(self.batch) {
                gradient.compute((&probe.weight, &probe.bias), features, labels, batch)?;
                let settings = (self.momentum, self.weight_decay, rate);
                let (weight, bias) = (gradient.weight.data(), &gradient.bias);
                descend(probe.weight.data_mut(), weight, velocity.weight.data_mut(), settings);
                descend(&mut probe.bias, bias, &mut velocity.bias, settings);
            }
        }
        if probe.weight.first_not_finite().is_some() {
            return Err(Error::Degenerate {
                reason: "the probe diverged".into(),
                remedy: "lower `probe.sgd.learning_rate`".into(),
            });
        }
        Ok(probe)
    }
}

/// `v ← μ v + g + β w`, `w ← w − γ v`.
fn descend(
    values: &mut [f64],
    gradient: &[f64],
    velocity: &mut [f64],
    (momentum, decay, rate): (f64, f64, f64),
) {
    let values = values.chunks_mut(TOGETHER);
    let parts = values.zip(gradient.chunks(TOGETHER)).zip(velocity.chunks_mut(TOGETHER));
    parallel::map(parts, |((values, gradient), velocity)| {
        for ((value, gradient), velocity) in values.iter_mut().zip(gradient).zip(velocity) {
            *velocity = momentum * *velocity + gradient + decay * *value;
            *value -= rate * *velocity;
        }
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LABELS: [usize; 12] = [0, 1, 1, 0, 1, 1, 0, 1, 2, 0, 1, 1];

    fn features() -> Matrix {
        Matrix::from_fn(12, 3, |i, j| {
            let (i, j) = (i as f64, j as f64);
            (1.7 * i + 0.9 * j * j + 0.3 * i * j).sin()
        })
    }

    /*
    Equivalent PyTorch, float64: lin = Linear(3, 3) of zeros, SGD(lr=0.5, momentum=0.9, weight_decay=0.01),
    MultiStepLR(milestones=[3, 6], gamma=0.2), eight epochs of one batch.
    */
    #[test]
    fn whole_batches_descend_as_in_pytorch() {
        let config = SgdProbeConfig {
            learning_rate: 0.5,
            weight_decay: 0.01,
            epochs: 8,
            batch: 12,
            milestones: vec![3.0 / 8.0, 6.0 / 8.0],
            ..SgdProbeConfig::default()
        };
        let probe = config.fit(&features(), &LABELS, 3).unwrap();
        let weight = [
            -0.344_578_025_569_138,
            0.458_014_059_527_856,
            -0.851_770_595_688_902,
            0.079_196_957_748_412,
            -0.136_425_271_162_610,
            0.803_814_765_945_905,
            0.265_381_067_820_726,
            -0.321_588_788_365_246,
            0.047_955_829_742_997,
        ];
        let bias = [-0.005_042_887_078_714, 0.785_909_993_813_818, -0.780_867_106_735_103];
        let parameters = probe.weight.data().iter().chain(&probe.bias);
        for (parameter, expected) in parameters.zip(weight.iter().chain(&bias)) {
            assert!((parameter - expected).abs() < 1e-12, "{parameter} {expected}");
        }
    }

    #[test]
    fn small_batches_end_near_the_minimiser_and_repeat() {
        let config = SgdProbeConfig {
            learning_rate: 0.05,
            weight_decay: 0.02,
            epochs: 2000,
            batch: 5,
            ..SgdProbeConfig::default()
        };
        let probe = config.fit(&features(), &LABELS, 3).unwrap();
        assert_eq!(probe, config.fit(&features(), &LABELS, 3).unwrap());
        assert_ne!(probe, SgdProbeConfig { seed: 1, ..config }.fit(&features(), &LABELS, 3).unwrap());
        // The gradient of the cross-entropy and the decay nearly cancel here; at zero weights it is 0.24.
        let all: Vec<usize> = (0..12).collect();
        let mut gradient = BatchGradient::new(3, 3);
        gradient.compute((&probe.weight, &probe.bias), &features(), &LABELS, &all).unwrap();
        let values = probe.weight.data().iter().chain(&probe.bias);
        for (slope, value) in gradient.weight.data().iter().chain(&gradient.bias).zip(values) {
            assert!((slope + 0.02 * value).abs() < 0.012, "{slope} {value}");
        }
    }

    #[test]
    fn what_cannot_be_fitted_is_named() {
        let fit = |config: SgdProbeConfig| config.fit(&features(), &LABELS, 3).unwrap_err().to_string();
        assert!(fit(SgdProbeConfig { batch: 0, ..SgdProbeConfig::default() }).contains("probe.sgd.batch"));
        let steep = SgdProbeConfig { learning_rate: 1e300, weight_decay: 1.0, ..SgdProbeConfig::default() };
        assert!(fit(steep).contains("learning_rate"));
        let few = SgdProbeConfig::default().fit(&features(), &LABELS[1..], 3);
        assert!(matches!(few, Err(Error::Shape { .. })));
    }
}
