//! What would stop a run sooner or later, found out before it has a folder and before hours are spent on other arms.

use anyhow::{Context as _, Result};
use simile_core::dataset::Dataset;
use simile_core::train::Trainer;

use super::context::Context;
use super::doubts::{self, Doubts};
use super::room;
use super::splits::Splits;
use super::training::{config, share};
use crate::console::line;
use crate::device::Team;
use crate::exit::usage;
use crate::recipe::Recipe;

/// Prepares every arm as far as that takes no images: its condition, its clusters, its networks and its probes. Returns
/// what of each arm to doubt.
///
/// # Errors
/// What the run would be refused for.
pub(super) fn rehearse(recipe: &Recipe, splits: &Splits, team: &Team) -> Result<Doubts> {
    let Splits { train, test, .. } = splits;
    let seed = recipe.train.seed;
    probed(recipe, train)?;
    let of_probes = doubts::of_probes(recipe, train);
    let mut doubted = Doubts::new();
    room::check_run(recipe, train)?;
    for arm in recipe.arms() {
        let prepared = || -> Result<Vec<String>> {
            let context = Context::new(&arm.objective, train, seed)?;
            if let Some(groups) = arm.objective.neighbourhoods {
                context.neighbourhoods(groups, recipe.train.batch, seed)?;
            }
            match (arm.objective.neighbourhoods, arm.objective.oversample) {
                (Some(_), Some(_)) => {
                    return Err(usage(
                        "`neighbourhoods` and `oversample` both say which images a batch has; leave one out",
                    ));
                }
                (None, Some(most)) => drop(context.weighted(most, recipe.train.batch, seed)?),
                (_, None) => {}
            }
            let config = config(&arm, recipe, &context, (train, 1), None)?;
            let trainer = Trainer::new(config, &context.training_set(), &team.first.device);
            share(&mut trainer.map_err(usage)?, recipe.train.batch, team)?;
            doubts::of_arm(&arm, recipe, &context, train)
        };
        let mut found = prepared().with_context(|| format!("arm `{}`", arm.name))?;
        found.iter().for_each(|doubt| line(format_args!("warning: {}: {doubt}", arm.name)));
        found.extend(of_probes.iter().cloned());
        doubted.insert(arm.name, found);
    }
    of_probes.iter().for_each(|doubt| line(format_args!("warning: {doubt}")));
    for measured in &recipe.probe.objectives {
        let name = &measured.objective.name;
        Context::new(&measured.objective, test, seed).with_context(|| format!("measuring `{name}`"))?;
    }
    Ok(doubted)
}

/// The variables to read off are there, unless there is none at all.
fn probed(recipe: &Recipe, train: &Dataset) -> Result<()> {
    let known: Vec<&str> = train.conditions.keys().map(String::as_str).collect();
    let mut names = std::iter::once(&recipe.probe.condition).chain(&recipe.probe.also);
    match names.find(|name| !known.is_empty() && !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(usage(format_args!(
            "the data set has no variable `{name}` to probe; name one with `probe.condition`: {}",
            known.join(", ")
        ))),
    }
}
