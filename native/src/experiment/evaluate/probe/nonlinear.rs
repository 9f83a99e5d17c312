//! The nonlinear probe: ridge regression, or a linear classifier, on the representation and random features of it side
//! by side.
//!
//! Its penalty is chosen on held-out training images. The linear probe is evaluated on the same images, and the random
//! features are used only if they are clearly better there: so this probe is never worse than the linear one on those
//! images.

use anyhow::Result;
use simile_core::eval::linear_probe::LinearProbeConfig;
use simile_core::eval::penalty::Choice;
use simile_core::eval::probe::{FittedProbe, ProbeTargets};
use simile_core::eval::random_features::RandomFeatures;
use simile_core::eval::standardise::{Standardise, Standardised};
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::{FeatureTable, Rows};
use simile_core::numeric::split::split_validation;
use simile_core::train::{Purpose, stream};

use super::fit::{Fitted, TrainingRows, config};
use super::span::{ProbeRows, Span};
use crate::config::probe::ProbeSection;
use crate::run_folder::record::ProbeFit;

/// Random features beside those of the representation.
const RANDOM_FEATURES: usize = 512;
/// Most training images for its fit.
const FITTED: usize = 10_000;
/// Least deviation of a random feature, as a fraction of the largest: one that few training images activate, and hardly, would be
/// magnified on test images so far that it alone decides.
const LEAST_DEVIATION: f64 = 0.1;
/// The same split and the same random features for every run, so that runs are compared by the same probe.
const SEED: u64 = 0;
/// Candidate penalties: more features need stronger ones.
const PENALTIES: [f64; 4] = [1.0, 1e-1, 1e-2, 1e-3];

/// A probe of rows beside their random features.
pub(super) struct NonlinearProbe {
    features: RandomFeatures,
    form: WideForm,
    probe: FittedProbe,
    pub(super) fit: ProbeFit,
}

impl NonlinearProbe {
    /// Fits a probe to standardised rows, those of `known` before any projection: in a projection each direction would have the
    /// same weight as any other. `None` if it is not better than the linear probe, which was fitted to the rows of `known`.
    ///
    /// # Errors
    /// If the probe cannot be fitted.
    pub(super) fn fit(
        section: &ProbeSection,
        known: &TrainingRows<'_>,
        standardised: &dyn Rows,
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
        let features = RandomFeatures::draw(standardised.columns(), RANDOM_FEATURES, &mut rng);
        let wide = |some: &[usize]| -> Result<FeatureTable> {
            Ok(features.beside(&FeatureTable::gather(standardised, some)?)?)
        };
        let (form, wide_fitted) = WideForm::of(wide(&fitted)?)?;
        let wide_validation = form.hold(wide(&validation)?)?;
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
        let (form, wide_all) = WideForm::of(wide(&all)?)?;
        // The rows of two spans have different columns.
        let from = (wide_all.columns() == wide_fitted.columns()).then_some(&nonlinear.probe);
        let config = LinearProbeConfig { regularisation: nonlinear.penalty, ..config };
        let probe = FittedProbe::fit(&config, &known.watched(&wide_all), &targets.select(&all), from)?;
        let fit = ProbeFit {
            ridge: nonlinear.penalty,
            held_out: validation.len(),
            random_features: RANDOM_FEATURES,
        };
        Ok(Some(Self { features, form, probe, fit }))
    }

    /// Class scores, or predicted values, of standardised rows.
    ///
    /// # Errors
    /// If the rows have another width.
    pub(super) fn scores(&self, standardised: &dyn Rows) -> Result<Matrix> {
        let wide = self.form.scale.of(self.features.of(standardised))?;
        Ok(self.probe.scores(&self.form.span.stream(wide))?)
    }
}

/// Some of the samples, in memory.
///
/// # Errors
/// If rows cannot be read.
fn part(rows: &dyn Rows, targets: &ProbeTargets, some: &[usize]) -> Result<(FeatureTable, ProbeTargets)> {
    Ok((FeatureTable::gather(rows, some)?, targets.select(some)))
}

/// The form in which a linear probe reads rows beside their random features: on one scale, in the span of the training images.
struct WideForm {
    scale: Standardise,
    span: Span,
}

/// Rows in such a form.
type WideRows = ProbeRows<Standardised<FeatureTable>>;

impl WideForm {
    /// The form of training rows, and these rows in it.
    fn of(wide: FeatureTable) -> Result<(Self, WideRows)> {
        let inputs = wide.columns().saturating_sub(RANDOM_FEATURES);
        let scale = Standardise::fit(&wide)?.with_least(inputs, LEAST_DEVIATION);
        let span = Span::of(&scale.of(&wide)?)?;
        let form = Self { scale, span };
        let rows = form.hold(wide)?;
        Ok((form, rows))
    }

    /// Some training rows in it.
    fn hold(&self, wide: FeatureTable) -> Result<WideRows> {
        self.span.hold(self.scale.of(wide)?)
    }
}
