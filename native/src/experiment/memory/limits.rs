//! Checks that the counts of a recipe fit into memory, before anything of that size is allocated: a count that is too
//! large by a few digits is refused by its name, where it would otherwise end the process. The estimate is a lower
//! bound, so that a run which passes can still need more memory than available.
//!
//! Each count is checked alone: the images that a data set generates for a split; the columns of a variable; the widths of the two
//! layers of a head; the rows that a method keeps. Their bytes are not added up. `step` adds up those of a training step.

use anyhow::Result;
use simile_core::algorithm::KeptRows;
use simile_core::data::Dataset;
use simile_core::nn::head::HeadConfig;

use crate::config::Recipe;
use crate::config::sections::RecipeVariant;
use crate::console::line;
use crate::data::DataSection;
use crate::data::source::Kind;
use crate::exit::usage;
use crate::experiment::memory::available::available;
use crate::experiment::memory::with_unit;

/// Bytes of a number on a device, an `f32`.
const F32_BYTES: u128 = 4;
/// Bytes of a number on the host, an `f64`.
const F64_BYTES: u128 = 8;

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
            with_unit(bytes),
            with_unit(available.into())
        )))
    }
}

/// Checks the number of generated images, before they are generated.
///
/// # Errors
/// A usage error that names the count.
pub(crate) fn check_drawn(section: &DataSection) -> Result<()> {
    let Kind::Drawn(set) = section.dataset.kind() else { return Ok(()) };
    // The host and the device have a copy each.
    let image_bytes = 2 * set.bytes() as u128;
    for (key, count) in [("data.train", section.train), ("data.test", section.test)] {
        let count = count.unwrap_or_default();
        Need { key, count, bytes: image_bytes * count as u128 }.check_within(available())?;
    }
    Ok(())
}

/// Checks a variable with `count` columns for the images of a data set, before it is computed.
///
/// # Errors
/// A usage error that names the count.
pub(crate) fn check_columns(key: &str, count: usize, images: usize) -> Result<()> {
    Need { key, count, bytes: F64_BYTES * count as u128 * images as u128 }.check_within(available())
}

/// Checks the heads and methods of a run on these images, and reports a batch that can never be full.
///
/// # Errors
/// A usage error that names the count.
pub(crate) fn check_run(recipe: &Recipe, train: &Dataset) -> Result<()> {
    let free = available();
    let (batch, images) = (recipe.train.batch, train.len());
    if batch > images {
        line(format_args!(
            "`train.batch` is {batch} and there are {images} training images: every batch holds all of them; set \
             train.batch={images} or less"
        ));
    }
    let embedding = recipe.encoder.config.embedding_size();
    for variant in recipe.variants() {
        let head = recipe.head.of(variant.scores(train.classes.len(), 0));
        head_needs(&head, embedding).into_iter().try_for_each(|need| need.check_within(free))?;
        method_needs(&variant, head.output)?.into_iter().try_for_each(|need| need.check_within(free))?;
    }
    Ok(())
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
fn method_needs(variant: &RecipeVariant, width: usize) -> Result<Vec<Need<'static>>> {
    let rows = variant.method().rows_kept(&variant.objective.config().map_err(usage)?).map_err(usage)?;
    let need = |KeptRows { key, count, times }| {
        // The host and the device have a copy each.
        let bytes = 2 * F32_BYTES * (times * width) as u128 * count as u128;
        Need { key, count, bytes }
    };
    Ok(rows.into_iter().map(need).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_count_beyond_memory_is_named_with_what_it_needs() {
        let need = Need { key: "method.queue", count: 1_000_000_000, bytes: 4_000_000_000_000 };
        let text = need.check_within(16_000_000_000).unwrap_err().to_string();
        assert!(text.contains("`method.queue` is 1000000000") && text.contains("4 TB"), "{text}");
        assert!(text.contains("16 GB are free") && text.contains("lower it"), "{text}");
        assert!(need.check_within(u64::MAX).is_ok());
    }

    /// A huge queue of SwAV ended the process: its prototypes alone were counted.
    #[test]
    fn each_setting_that_counts_rows_of_a_method_is_a_need() {
        let needs = |objective: &str| {
            let recipe = format!(
                "name = \"mine\"\n\n[data]\ndataset = \"digits\"\ntrain = 32\ntest = 8\n\n[optimizer]\nname = \"adam\"\n\n[train]\nbatch = 16\niterations = 2\n\n\
                 [method]\nname = \"swav\"\nprototypes = 3\nqueue = 100000000000\n\n[objective]\nname = \"swav\"\n{objective}"
            );
            let recipe = Recipe::resolved(&recipe, Path::new("mine.toml")).unwrap();
            let needs = method_needs(&recipe.variants().remove(0), 16).unwrap();
            needs.into_iter().map(|need| (need.key, need.bytes)).collect::<Vec<_>>()
        };
        let rows = |count: u128| 2 * 4 * 16 * count;
        let prototypes = ("method.prototypes", rows(3));
        assert_eq!(needs(""), [prototypes, ("method.queue", 2 * rows(100_000_000_000))]);
        let of_one_view = [prototypes, ("method.queue", rows(100_000_000_000))];
        assert_eq!(needs("crops_for_assign = [0]"), of_one_view);
    }
}
