//! Checks that the figures of a run can be drawn.

use anyhow::{Context as _, Result};

use super::stand_in::{FEATURES, random_features};
use super::would_fail;
use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::experiment::evaluate::draw::Drawing;
use crate::experiment::prepare::splits::Splits;
use crate::run_folder::figures::Figures;

/// Number of images for figures.
const FEW: usize = 24;

/// Checks that the figures of a variant can be drawn.
pub(super) fn check_figures(
    variant: &RecipeVariant,
    recipe: &Recipe,
    Splits { train, evaluated, .. }: &Splits,
) -> Result<()> {
    let test = &evaluated.dataset;
    let few = test.subset(&(0..test.len().min(FEW)).collect::<Vec<_>>())?;
    let condition = &recipe.probe.condition;
    let width = recipe.encoder.config.embedding_size().min(FEATURES);
    let features = random_features([few.len(), width], 1)?;
    Drawing { variant, condition, train, test: &few, features: &features, guesses: &few.labels }
        .add_to(&mut Figures::default())
        .context(format!("drawing {} {} images", test.len(), evaluated.split))
        .map_err(would_fail)
}
