//! Checks that the counts of a recipe fit into memory, before anything of that size is allocated: a count that is too
//! large by a few digits is refused by its name, where it would otherwise end the process. The estimate is a lower
//! bound, so that a run which passes can still need more memory than available.
//!
//! Each count is checked alone: the images that a data set generates for a split; the columns of an attribute; the widths of the two
//! layers of a head; the rows that a method keeps; the batch whose weights the host solves for. Their bytes are not added up. `step`
//! adds up those of a training step.

use std::ops::RangeInclusive;

use anyhow::Result;
use simile_core::algorithm::StoredRows;
use simile_core::data::{Condition, Dataset};
use simile_core::kernel::conditional::DenseSolve;
use simile_core::nn::head::HeadConfig;

use crate::config::Recipe;
use crate::config::objective::BatchRule;
use crate::config::variant::RecipeVariant;
use crate::console::line;
use crate::data::DataSection;
use crate::data::source::Medium;
use crate::exit::usage;
use crate::experiment::memory::available::available;
use crate::units;

/// Bytes of a number on a device, an `f32`.
const F32_BYTES: u128 = 4;
/// Bytes of a number on the host, an `f64`.
const F64_BYTES: u128 = 8;
/// Solves of batches up to this size are left out: they take less than 80 MB, and some of them fewer bytes a pair than larger ones.
const SMALL_BATCH: usize = 1024;
/// Bytes of a dense solve for each pair of samples, at least: `K`, `K + ridge I`, its inverse, and its factor or `W`.
const LEAST_SOLVE_BYTES: u128 = 4 * F64_BYTES;
/// The same beside `W` of the present step and of the next one. A matrix that is not positive definite takes half as many again.
const SOLVE_BYTES_AHEAD: u128 = 6 * F64_BYTES;

/// A count of a recipe, and the least memory that it needs.
struct Need<'a> {
    key: &'a str,
    count: usize,
    bytes: u128,
}

impl Need<'_> {
    /// # Errors
    /// A usage error that names the count if it takes more than `available` bytes.
    fn check_within(&self, available: u64) -> Result<()> {
        let Self { key, count, bytes } = *self;
        if bytes <= u128::from(available) {
            return Ok(());
        }
        Err(usage(format_args!(
            "`{key}` is {count}, which needs {} of memory, and {} are free; lower it",
            units::bytes(bytes),
            units::bytes(available.into())
        )))
    }
}

/// Checks the number of generated images, before they are generated.
///
/// # Errors
/// A usage error that names the count.
pub(crate) fn check_drawn(section: &DataSection) -> Result<()> {
    let Medium::Drawn(set) = section.dataset.medium() else { return Ok(()) };
    // The host and the device have a copy each.
    let image_bytes = 2 * set.bytes() as u128;
    for (key, count) in [("data.train", section.train), ("data.test", section.test)] {
        let count = count.unwrap_or_default();
        Need { key, count, bytes: image_bytes * count as u128 }.check_within(available())?;
    }
    Ok(())
}

/// Checks an attribute with `count` columns for the images of a data set, before it is computed.
///
/// # Errors
/// A usage error that names the count.
pub(crate) fn check_columns(key: &str, count: usize, images: usize) -> Result<()> {
    Need { key, count, bytes: F64_BYTES * count as u128 * images as u128 }.check_within(available())
}

/// Checks the heads, methods and solves of a run on these images, and reports a batch that can never be full, or whose solves may take
/// more memory than is free.
///
/// # Errors
/// A usage error that names the count.
pub(crate) fn check_run(recipe: &Recipe, train: &Dataset) -> Result<()> {
    let free = available();
    let batch = recipe.train.batch;
    if let Some(note) = never_full(recipe, train.len()) {
        line(note);
    }
    let embedding = recipe.encoder.config.embedding_size();
    for variant in recipe.variants() {
        let head = recipe.head.of(variant.scores(train.classes.len(), 0));
        head_needs(&head, embedding).into_iter().try_for_each(|need| need.check_within(free))?;
        algorithm_needs(&variant, head.output)?.into_iter().try_for_each(|need| need.check_within(free))?;
        // Without an attribute of the data set, the network computes the condition, for which its device may solve.
        let condition = variant.objective.condition().and_then(|name| train.conditions.get(&name));
        let (Some(condition), Some(samples)) = (condition, most_samples(&variant, batch, train.len())) else {
            continue;
        };
        if let Some(bytes) = solve_bytes(&variant, samples, columns(condition))? {
            Need { key: "train.batch", count: batch, bytes: *bytes.start() }.check_within(free)?;
            if let Some(warning) = solve_warning(samples, *bytes.end(), free) {
                line(format_args!("warning: {}: {warning}", variant.name));
            }
        }
    }
    Ok(())
}

/// The note that a batch can never be full; none if it can, or if there are too few images for any batch.
fn never_full(recipe: &Recipe, images: usize) -> Option<String> {
    let batch = recipe.train.batch;
    let is_shuffled = |variant: &RecipeVariant| variant.objective.batch_rule() == Ok(BatchRule::Shuffled);
    ((2..batch).contains(&images) && recipe.variants().iter().any(is_shuffled)).then(|| {
        format!(
            "`train.batch` is {batch} and there are {images} training images: every shuffled batch holds all of them; set \
             train.batch={images} or less"
        )
    })
}

/// The most samples of a batch of a variant; none if it is of one cluster, whose size is not known yet, or if it cannot be drawn, which
/// is an error of the variant.
pub(in crate::experiment) fn most_samples(
    variant: &RecipeVariant,
    batch: usize,
    images: usize,
) -> Option<usize> {
    match variant.objective.batch_rule().ok()? {
        BatchRule::Shuffled | BatchRule::ConditionGroups(_) => Some(batch.min(images)),
        // Drawn with replacement.
        BatchRule::Oversampled(_) => Some(batch),
        BatchRule::OneCluster => None,
    }
}

/// The number of columns of a condition as numbers.
fn columns(condition: &Condition) -> usize {
    match condition {
        Condition::Numeric(rows) => rows.columns(),
        Condition::Categorical { names, .. } => names.len(),
    }
}

/// The widths of the layers of a head, which need the weights of each layer with their gradients.
fn head_needs(head: &HeadConfig, embedding: usize) -> [Need<'static>; 2] {
    let hidden = head.hidden.unwrap_or(embedding);
    let layer_bytes = |inputs: usize, outputs: usize| 2 * F32_BYTES * inputs as u128 * outputs as u128;
    [
        Need { key: "head.hidden", count: hidden, bytes: layer_bytes(embedding, hidden) },
        Need { key: "head.output", count: head.output, bytes: layer_bytes(hidden, head.output) },
    ]
}

/// The rows of projections of a width that a method keeps beside its networks.
fn algorithm_needs(variant: &RecipeVariant, width: usize) -> Result<Vec<Need<'static>>> {
    let rows = variant.algorithm.stored_rows(&variant.objective.config().map_err(usage)?).map_err(usage)?;
    let need = |StoredRows { key, count, times }| {
        // The host and the device have a copy each.
        let bytes = 2 * F32_BYTES * (times * width) as u128 * count as u128;
        Need { key, count, bytes }
    };
    Ok(rows.into_iter().map(need).collect())
}

/// The bytes of the host that a dense solve for a condition with `columns` columns of a batch takes, from the least to the most. The
/// least is 0 where the values of the condition decide whether it is dense; `None` if it is small, or not dense as a rule.
fn solve_bytes(
    variant: &RecipeVariant,
    samples: usize,
    columns: usize,
) -> Result<Option<RangeInclusive<u128>>> {
    if samples <= SMALL_BATCH {
        return Ok(None);
    }
    let objective = variant.objective.config().map_err(usage)?.build().map_err(usage)?;
    let Some(weights) = objective.conditioned_by_kernel() else { return Ok(None) };
    let bytes =
        |pair_bytes: u128| (samples as u128).saturating_mul(samples as u128).saturating_mul(pair_bytes);
    let least = match weights.dense_solve(samples, columns) {
        DenseSolve::Rare => return Ok(None),
        DenseSolve::Possible => 0,
        DenseSolve::Certain => bytes(LEAST_SOLVE_BYTES),
    };
    Ok(Some(least..=bytes(SOLVE_BYTES_AHEAD)))
}

/// The warning about solves that may take more than the free memory.
fn solve_warning(samples: usize, bytes: u128, free: u64) -> Option<String> {
    (bytes > u128::from(free)).then(|| {
        format!(
            "the weights of a batch of {samples} take up to {} of the machine's memory where they are solved densely, and {} are free; \
             lower train.batch if the run ends there",
            units::bytes(bytes),
            units::bytes(free.into())
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::numeric::matrix::Matrix;

    use super::*;
    use crate::config::testing::drawn;

    /// A run with batches of 16 and an objective.
    fn recipe(objective: &str) -> Recipe {
        drawn(&format!("[objective]\n{objective}"))
    }

    #[test]
    fn a_count_beyond_memory_is_named_with_what_it_needs() {
        let need = Need { key: "method.queue", count: 1_000_000_000, bytes: 4_000_000_000_000 };
        let text = need.check_within(16_000_000_000).unwrap_err().to_string();
        assert!(text.contains("`method.queue` is 1000000000") && text.contains("4.0 TB"), "{text}");
        assert!(text.contains("16 GB are free") && text.contains("lower it"), "{text}");
        assert!(need.check_within(u64::MAX).is_ok());
    }

    /// A huge queue of SwAV ended the process: its prototypes alone were counted.
    #[test]
    fn each_setting_that_counts_rows_of_a_method_is_a_need() {
        let needs = |objective: &str| {
            let of_method = "[optimizer]\nname = \"adam\"\n\n[method]\nname = \"swav\"\nprototypes = 3\nqueue = 100000000000\n";
            let recipe = recipe(&format!("name = \"swav\"\n{objective}\n\n{of_method}"));
            let needs = algorithm_needs(&recipe.variants().remove(0), 16).unwrap();
            needs.into_iter().map(|need| (need.key, need.bytes)).collect::<Vec<_>>()
        };
        let rows = |count: u128| 2 * 4 * 16 * count;
        let prototypes = ("method.prototypes", rows(3));
        assert_eq!(needs(""), [prototypes, ("method.queue", 2 * rows(100_000_000_000))]);
        let of_one_view = [prototypes, ("method.queue", rows(100_000_000_000))];
        assert_eq!(needs("crops_for_assign = [0]"), of_one_view);
    }

    /// Nothing checked the memory of solves.
    #[test]
    fn a_batch_is_a_need_where_its_weights_are_solved_densely() {
        let of_columns = |columns: usize, objective: &str, samples: usize| {
            solve_bytes(&recipe(objective).variants().remove(0), samples, columns).unwrap()
        };
        let bytes = |objective: &str, samples: usize| of_columns(3, objective, samples);
        let pairs: u128 = 4096 * 4096;
        let uniformity = |more: &str| format!("name = \"kernel-decoupled-uniformity\"\n{more}\n");
        let certain = Some(32 * pairs..=48 * pairs);
        let without_ridge = uniformity("variant = \"paper\"\nlambda = 0.0");
        assert_eq!(bytes(&without_ridge, 4096), certain);
        assert_eq!(bytes(&without_ridge, SMALL_BATCH), None);
        // Set to 1, the diagonal of this kernel is another one.
        let product = "kernel = { name = \"product\", factors = [\
            { start = 0, end = 2, kernel = { name = \"rbf\", sigma = 1.0 } }, { start = 2, end = 3, kernel = { name = \"linear\" } }] }";
        let fair = |more: &str| format!("name = \"fair-cclk\"\n{more}\n");
        assert_eq!(bytes(&fair(&format!("variant = \"released\"\n{product}")), 4096), certain);
        // With a ridge, few or similar values are not solved densely.
        let possible = Some(0..=48 * pairs);
        assert_eq!(bytes(&uniformity("lambda = 0.01"), 4096), possible);
        assert_eq!(bytes(&fair(product), 4096), possible);
        // A cubic kernel of 20 columns has more features than are computed; a cosine has as many as the condition has columns.
        for (columns, kernel) in
            [(20, "{ name = \"polynomial\", degree = 3 }"), (4096, "{ name = \"cosine\" }")]
        {
            let of = |columns: usize, variant: &str| {
                of_columns(columns, &fair(&format!("variant = \"{variant}\"\nkernel = {kernel}")), 4096)
            };
            assert_eq!(of(columns, "released"), certain, "{kernel}");
            assert_eq!(of(columns, "paper"), possible, "{kernel}");
            assert_eq!([of(12, "released"), of(12, "paper")], [None, None], "{kernel}");
        }
        // Unless its diagonal is set to 1, it is solved value by value.
        let by_value = "kernel = { name = \"product\", factors = [\
            { start = 0, end = 2, kernel = { name = \"exact-match\" } }, { start = 2, end = 3, kernel = { name = \"linear\" } }] }";
        assert_eq!(bytes(&fair(by_value), 4096), None);
        assert_eq!(bytes(&fair(&format!("variant = \"released\"\n{by_value}")), 4096), certain);
        let rbf = "kernel = { name = \"rbf\", sigma = 1.0 }\napproximation = { rank = 8 }";
        for other in [
            uniformity("kernel = { name = \"cosine\" }"),
            uniformity("kernel = { name = \"exact-match\" }"),
            fair(rbf),
            "name = \"nt-xent\"\n".to_owned(),
        ] {
            assert_eq!(bytes(&other, 4096), None, "{other}");
        }
    }

    /// A batch of one cluster was taken for a full one, and one that is drawn with replacement for the whole set.
    #[test]
    fn a_batch_has_as_many_samples_as_its_rule_draws() {
        let most = |rule: &str, batch: usize| {
            let objective = format!("name = \"fair-cclk\"\n{rule}\n");
            most_samples(&recipe(&objective).variants().remove(0), batch, 2000)
        };
        for (rule, of_more, of_fewer) in [
            ("", Some(2000), Some(1500)),
            ("neighbourhoods = 4", Some(2000), Some(1500)),
            ("bias = \"palette\"\noversample = 10.0", Some(4096), Some(1500)),
            ("one_cluster = true", None, None),
            // Refused with its line, once the variant is checked.
            ("neighbourhoods = 4\none_cluster = true", None, None),
        ] {
            assert_eq!((most(rule, 4096), most(rule, 1500)), (of_more, of_fewer), "{rule}");
        }
    }

    /// It was said of batches that are drawn with replacement or from one cluster, too.
    #[test]
    fn a_batch_that_is_never_full_is_noted_where_batches_are_shuffled() {
        let note =
            |rule: &str, images: usize| never_full(&recipe(&format!("name = \"nt-xent\"\n{rule}\n")), images);
        let text = note("", 12).unwrap();
        assert!(
            text.contains("`train.batch` is 16") && text.contains("set train.batch=12 or less"),
            "{text}"
        );
        assert_eq!(note("", 16), None);
        assert_eq!(note("", 1), None);
        assert_eq!(note("bias = \"palette\"\noversample = 10.0", 12), None);
        assert_eq!(note("one_cluster = true", 12), None);
    }

    #[test]
    fn a_condition_has_a_column_for_each_of_its_names() {
        let names = ["north", "south", "west"].map(str::to_owned).to_vec();
        for condition in [
            Condition::Categorical { values: vec![0, 2, 0], names },
            Condition::Numeric(Matrix::from_fn(2, 5, |i, j| (i + j) as f64).into()),
        ] {
            assert_eq!(columns(&condition), condition.to_matrix().columns());
        }
    }

    #[test]
    fn solves_that_may_take_more_than_is_free_are_warned_of() {
        let text = solve_warning(16_384, 48 * 16_384 * 16_384, 8_000_000_000).unwrap();
        assert!(
            text.contains("a batch of 16384 take up to 13 GB") && text.contains("8.0 GB are free"),
            "{text}"
        );
        assert_eq!(solve_warning(4096, 48 * 4096 * 4096, 8_000_000_000), None);
    }
}
