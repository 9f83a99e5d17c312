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
const RANDOM_FEATURES: usize = 512;
/// Most training images for its fit.
const FITTED: usize = 10_000;
/// Candidate penalties: more features need stronger ones.
const PENALTIES: [f64; 4] = [1.0, 1e-1, 1e-2, 1e-3];

/// A probe of rows beside their random features.
pub(super) struct NonlinearProbe {
    features: RandomFeatures,
    scale: Standardise,
    probe: FittedProbe,
    pub(super) fit: ProbeFit,
}

impl NonlinearProbe {
    /// Fits a probe; `None` if it is not better than the linear probe.
    ///
    /// # Errors
    /// If the probe cannot be fitted.
    pub(super) fn fit(
        section: &ProbeSection,
        known: &TrainingRows<'_>,
        linear: &Fitted,
    ) -> Result<Option<Self>> {
        let &TrainingRows { rows, targets, subjects, .. } = known;
        let Some((fitted, validation)) = split_validation(rows.rows(), subjects, FITTED, SEED) else {
            return Ok(None);
        };
        let config = config(section);
        let (fitted_part, validation_part) =
            (part(rows, targets, &fitted)?, part(rows, targets, &validation)?);
        let linear_choice = Choice::among(
            &[linear.fit.ridge],
            &config,
            (&known.watched(&fitted_part.0), &fitted_part.1),
            (&validation_part.0, &validation_part.1),
        )?;

        let mut rng = stream(SEED, Purpose::Initialisation, 0);
        let features = RandomFeatures::draw(rows.columns(), RANDOM_FEATURES, &mut rng);
        let (scale, wide_fitted) = standardised(&features, &fitted_part.0)?;
        let wide_validation = scale.of(features.beside(&validation_part.0)?)?;
        let nonlinear = Choice::among(
            &PENALTIES,
            &config,
            (&known.watched(&wide_fitted), &fitted_part.1),
            (&wide_validation, &validation_part.1),
        )?;
        if !nonlinear.is_clearly_better_than(&linear_choice) {
            return Ok(None);
        }
        let mut all = [fitted, validation.clone()].concat();
        all.sort_unstable();
        let (all, of_all) = part(rows, targets, &all)?;
        let (scale, wide) = standardised(&features, &all)?;
        let config = LinearProbeConfig { regularisation: nonlinear.penalty, ..config };
        let probe = FittedProbe::fit(&config, &known.watched(&wide), &of_all, Some(&nonlinear.probe))?;
        let fit = ProbeFit {
            ridge: nonlinear.penalty,
            held_out: validation.len(),
            random_features: RANDOM_FEATURES,
        };
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
    let wide = features.beside(rows)?;
    let scale = Standardise::fit(&wide)?;
    let rows = scale.of(wide)?;
    Ok((scale, rows))
}
