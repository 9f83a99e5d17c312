//! The nonlinear probe: ridge regression, or a linear classifier, on the representation and random features of it side
//! by side.
//!
//! Its penalty is chosen on held-out training images. The linear probe is evaluated on the same images, and the random
//! features are used only if they are clearly better there: so this probe is never worse than the linear one on those
//! images.

use anyhow::Result;
use simile_core::eval::choice::{Choice, FittedProbe, split_validation};
use simile_core::eval::linear_probe::LinearProbeConfig;
use simile_core::eval::random_features::RandomFeatures;
use simile_core::eval::standardise::{Standardise, Standardised};
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::{FeatureTable, Rows};
use simile_core::train::{Purpose, stream};

use super::fit::{Fitted, SEED, TrainingRows, config, part};
use crate::config::probe::ProbeSection;
use crate::run_folder::record::ProbeFit;

/// Random features beside those of the representation.
const LIFTED: usize = 512;
/// Most training images for its fit.
const FITTED: usize = 10_000;
/// Candidate penalties: more features need stronger ones.
const PENALTIES: [f64; 4] = [1.0, 1e-1, 1e-2, 1e-3];

/// A probe of rows beside their random features.
pub(super) struct Lifted {
    features: RandomFeatures,
    scale: Standardise,
    probe: FittedProbe,
    pub(super) fit: ProbeFit,
}

impl Lifted {
    /// Fits a probe; `None` if it is not better than the linear probe.
    ///
    /// # Errors
    /// If the probe cannot be fitted.
    pub(super) fn fit(
        section: &ProbeSection,
        known: &TrainingRows<'_>,
        linear: &Fitted,
    ) -> Result<Option<Self>> {
        let &TrainingRows { rows, targets, subjects } = known;
        let Some((fitted, validation)) = split_validation(rows.rows(), subjects, FITTED, SEED) else {
            return Ok(None);
        };
        let config = config(section);
        let (to, by) = (part(rows, targets, &fitted)?, part(rows, targets, &validation)?);
        let plain = Choice::among(&[linear.fit.ridge], &config, (&to.0, &to.1), (&by.0, &by.1))?;

        let mut rng = stream(SEED, Purpose::Initialisation, 0);
        let features = RandomFeatures::draw(rows.columns(), LIFTED, &mut rng);
        let (scale, lifted_to) = standardised(&features, &to.0)?;
        let lifted_by = scale.of(features.beside(&by.0)?)?;
        let lifted = Choice::among(&PENALTIES, &config, (&lifted_to, &to.1), (&lifted_by, &by.1))?;
        if !lifted.is_clearly_better_than(&plain) {
            return Ok(None);
        }
        let mut all = [fitted, validation.clone()].concat();
        all.sort_unstable();
        let (all, of_all) = part(rows, targets, &all)?;
        let (scale, whole) = standardised(&features, &all)?;
        let config = LinearProbeConfig { regularisation: lifted.penalty, ..config };
        let probe = FittedProbe::fit(&config, &whole, &of_all, Some(&lifted.probe))?;
        let fit = ProbeFit { ridge: lifted.penalty, held_out: validation.len(), random_features: LIFTED };
        Ok(Some(Self { features, scale, probe, fit }))
    }

    /// Class scores, or predicted values, of standardised rows.
    ///
    /// # Errors
    /// If the rows have another width.
    pub(super) fn scores(&self, rows: &dyn Rows) -> Result<Matrix> {
        Ok(self.probe.scores(&self.scale.of(self.features.beside(rows)?)?)?)
    }
}

/// Rows beside their random features, on one scale.
fn standardised(
    features: &RandomFeatures,
    rows: &FeatureTable,
) -> Result<(Standardise, Standardised<FeatureTable>)> {
    let lifted = features.beside(rows)?;
    let scale = Standardise::fit(&lifted)?;
    let rows = scale.of(lifted)?;
    Ok((scale, rows))
}
