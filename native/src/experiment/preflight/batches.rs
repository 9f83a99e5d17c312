//! Checks that the objectives of a run take all of its batches, the short ones too.

use anyhow::Result;
use simile_core::data::Dataset;
use simile_core::error::Error;
use simile_core::loss::{ConditionedByKernel, Objective};
use simile_core::train::Sampler;

use crate::config::Recipe;
use crate::config::objective::BatchRule;
use crate::config::variant::RecipeVariant;
use crate::exit::usage;
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::order::Order;
use crate::experiment::prepare::splits::Splits;

/// A batch that does not make the ridge that the objective expects.
struct RefusedBatch {
    error: Error,
    /// The reason why it is short; none for a full batch.
    short: Option<&'static ShortBatch>,
}

/// A reason why a batch is short.
struct ShortBatch {
    reason: &'static str,
    /// The remedy before a run.
    remedy: &'static str,
    /// The settings of another run, because one that was begun keeps its own.
    another: &'static str,
}

const LAST_OF_EPOCH: ShortBatch = ShortBatch {
    reason: "the last batch of an epoch is so short",
    remedy: "leave it out with train.drop_last = true",
    another: "with train.drop_last = true",
};
const SMALL_CLUSTER: ShortBatch = ShortBatch {
    reason: "a cluster is smaller than a batch",
    remedy: "take fewer clusters or leave lambda_effective out",
    another: "with fewer clusters or without lambda_effective",
};

/// Checks the batches of a run that is made longer: it comes to some that it did not have before.
///
/// # Errors
/// A usage error names the variant that cannot be made so long.
pub(crate) fn check_length(recipe: &Recipe, splits: &Splits) -> Result<()> {
    let train = &splits.train;
    for variant in recipe.variants() {
        let objective = objective_of(&variant)?;
        // Most objectives take any batch, and it takes time to find clusters.
        let Some(weights) = objective.conditioned_by_kernel() else { continue };
        let context = Context::new(&variant.objective, train, recipe.train.seed)?;
        if let Some(RefusedBatch { error, short }) =
            refused_batch(weights, &variant, recipe, &context, train)?
        {
            let (reason, another) = match short {
                Some(ShortBatch { reason, another, .. }) => (format!("; {reason}"), *another),
                None => (String::new(), "with another lambda_effective"),
            };
            return Err(usage(format_args!(
                "`{}` cannot be made so long, and stays as it is: {error}{reason}; begin another run {another}",
                variant.name
            )));
        }
    }
    Ok(())
}

/// Checks that the batches of a run, the short ones included, make the ridge that the objective expects.
///
/// # Errors
/// A usage error names the number of images of a batch that does not.
pub(super) fn check_batches(
    variant: &RecipeVariant,
    recipe: &Recipe,
    context: &Context,
    train: &Dataset,
) -> Result<()> {
    let objective = objective_of(variant)?;
    let Some(weights) = objective.conditioned_by_kernel() else { return Ok(()) };
    match refused_batch(weights, variant, recipe, context, train)? {
        None => Ok(()),
        Some(RefusedBatch { error, short: None }) => Err(usage(error)),
        Some(RefusedBatch { error, short: Some(ShortBatch { reason, remedy, .. }) }) => {
            Err(usage(format_args!("{error}; {reason}, {remedy}")))
        }
    }
}

fn objective_of(variant: &RecipeVariant) -> Result<Box<dyn Objective>> {
    variant.objective.config().map_err(usage)?.build().map_err(usage)
}

/// The first batch that does not make the ridge that `weights` expect; none if all do.
fn refused_batch(
    weights: &dyn ConditionedByKernel,
    variant: &RecipeVariant,
    recipe: &Recipe,
    context: &Context,
    train: &Dataset,
) -> Result<Option<RefusedBatch>> {
    let is_refused = |samples: &usize| weights.ridge(*samples).is_err();
    let batch = recipe.train.batch;
    let order = || Order::of(&variant.objective, context, recipe.train.sampling(train.len()));
    let size_and_reason = match variant.objective.batch_rule().map_err(usage)? {
        // It takes time to draw all batches of a run.
        BatchRule::OneCluster if (1..=batch).any(|samples| is_refused(&samples)) => {
            let mut order = order()?;
            let mut sizes = (0..recipe.train.iterations as u64).map(|step| order.batch(step).len());
            let refused = sizes.find(is_refused);
            refused.map(|samples| (samples, (samples < batch).then_some(&SMALL_CLUSTER)))
        }
        BatchRule::OneCluster => None,
        rule => {
            let first = order()?.batch(0).len();
            match rule {
                _ if is_refused(&first) => Some((first, None)),
                BatchRule::Shuffled => {
                    let last = last_of_epoch(recipe, train)?.filter(is_refused);
                    last.map(|samples| (samples, Some(&LAST_OF_EPOCH)))
                }
                _ => None,
            }
        }
    };
    let refused = |(samples, short)| Some(RefusedBatch { error: weights.ridge(samples).err()?, short });
    Ok(size_and_reason.and_then(refused))
}

/// The number of images of the last batch of an epoch, if the run comes to one.
fn last_of_epoch(recipe: &Recipe, train: &Dataset) -> Result<Option<usize>> {
    let mut sampler = Sampler::new(recipe.train.sampling(train.len())).map_err(usage)?;
    let batches = sampler.batches_per_epoch();
    Ok((recipe.train.iterations as u64 >= batches).then(|| sampler.batch(batches - 1).len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;

    use super::*;
    use crate::config::Changes;
    use crate::data::EvaluationSplit;
    use crate::experiment::prepare::splits::Evaluated;

    /// A run of one variant with an objective.
    fn of(objective: &str, set: &[&str]) -> Recipe {
        let objective = format!("variant.Fair-CCLK.objective={{ {objective} }}");
        let set: Vec<String> =
            std::iter::once(objective).chain(set.iter().map(|&set| set.to_owned())).collect();
        let variants = ["Fair-CCLK".to_owned()];
        let changes = Changes { set: &set, variants: &variants, ..Changes::default() };
        Recipe::load("fair-digits", &changes).unwrap()
    }

    /// An objective whose ridge is a twentieth of the images of a batch.
    fn ridge(more: &str) -> String {
        format!(
            "name = \"kernel-decoupled-uniformity\", variant = \"paper\", condition = \"colour\", lambda = 0.05, {more}"
        )
    }

    fn digits(images: usize) -> Dataset {
        draw_digits(images, Colours::Palette, 0).unwrap()
    }

    /// The refusal of a run; empty if there is none.
    fn refusal(recipe: &Recipe, images: usize) -> String {
        let (variant, train) = (recipe.variants().remove(0), digits(images));
        let context = Context::new(&variant.objective, &train, recipe.train.seed).unwrap();
        let checked = check_batches(&variant, recipe, &context, &train);
        checked.map_or_else(|error| error.to_string(), |()| String::new())
    }

    fn refusal_of_length(recipe: &Recipe, train: Dataset) -> String {
        let evaluated = Evaluated { dataset: digits(2), split: EvaluationSplit::Test };
        let splits = Splits { train, evaluated, to_choose: None };
        check_length(recipe, &splits).map_or_else(|error| error.to_string(), |()| String::new())
    }

    /// The remedy was left out where the first batch was that of the small cluster.
    #[test]
    fn a_small_cluster_has_its_remedy_in_every_step() {
        // Seven images of some classes and six of others.
        let objective = ridge("one_cluster = true, lambda_effective = 0.35");
        let of_seed = |seed: u64| {
            let seed = format!("train.seed={seed}");
            refusal(&of(&objective, &["train.batch=7", "train.iterations=1", &seed]), 66)
        };
        let said: Vec<String> = (0..20).map(of_seed).collect::<BTreeSet<_>>().into_iter().collect();
        assert!(said.len() == 2 && said[0].is_empty(), "{said:?}");
        let words = "a cluster is smaller than a batch, take fewer clusters or leave lambda_effective out";
        assert!(said[1].contains("6 samples make a ridge of 0.3") && said[1].ends_with(words), "{said:?}");
        // All classes have seven.
        let other = ridge("one_cluster = true, lambda_effective = 0.5");
        let text = refusal(&of(&other, &["train.batch=7"]), 70);
        assert!(text.contains("7 samples make a ridge of 0.35") && !text.contains("cluster"), "{text}");
    }

    /// It was refused as if its first batch had all images, each once.
    #[test]
    fn images_that_are_drawn_with_replacement_fill_a_batch() {
        let objective = |ridge_of_all: f64| {
            ridge(&format!("bias = \"palette\", oversample = 10.0, lambda_effective = {ridge_of_all}"))
        };
        assert_eq!(refusal(&of(&objective(0.8), &["train.batch=16"]), 12), "");
        let text = refusal(&of(&objective(0.6), &["train.batch=16"]), 12);
        assert!(text.contains("16 samples make a ridge of 0.8"), "{text}");
    }

    /// The advice was to change a key that a run keeps.
    #[test]
    fn a_run_that_cannot_be_made_so_long_is_to_be_begun_again() {
        let shuffled = of(&ridge("lambda_effective = 0.8"), &["train.batch=16", "train.iterations=5"]);
        let text = refusal_of_length(&shuffled, digits(66));
        assert!(text.starts_with("`Fair-CCLK` cannot be made so long, and stays as it is: "), "{text}");
        let words = "the last batch of an epoch is so short; begin another run with train.drop_last = true";
        assert!(text.ends_with(words), "{text}");
        assert_eq!(refusal_of_length(&shuffled, digits(64)), "");
        let objective = ridge("one_cluster = true, lambda_effective = 0.35");
        let text = refusal_of_length(&of(&objective, &["train.batch=7"]), digits(66));
        let words = "smaller than a batch; begin another run with fewer clusters or without lambda_effective";
        assert!(text.ends_with(words), "{text}");
    }

    /// They were found, and not used.
    #[test]
    fn clusters_of_an_objective_that_takes_any_batch_are_not_looked_for() {
        let recipe = of("name = \"supcon\", clusters = 3", &["train.batch=16"]);
        let plain = Dataset { conditions: BTreeMap::new(), ..digits(64) };
        assert!(Context::new(&recipe.variants()[0].objective, &plain, 0).is_err());
        assert_eq!(refusal_of_length(&recipe, plain), "");
    }
}
