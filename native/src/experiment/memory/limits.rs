//! Checks that the counts of a recipe fit into memory, before anything of that size is allocated: a count that is too
//! large by a few digits is refused by its name, where it would otherwise end the process. The estimate is a lower
//! bound, so that a run which passes can still need more memory than available.
//!
//! Each count is checked alone: the images that a data set generates for a split; the columns of a variable; the widths of the two
//! layers of a head; the rows that a method keeps. Their bytes are not added up. `step` adds up those of a training step.

use anyhow::Result;
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
        method_need(&variant, head.output).map_or(Ok(()), |need| need.check_within(free))?;
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

/// The rows of projections of a width that a method keeps beside its networks, if it keeps any.
fn method_need(variant: &RecipeVariant, width: usize) -> Option<Need<'static>> {
    let (key, count) = variant.method().rows_kept()?;
    // The host and the device have a copy each.
    Some(Need { key, count, bytes: 2 * F32_BYTES * count as u128 * width as u128 })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_count_beyond_memory_is_named_with_what_it_needs() {
        let need = Need { key: "method.queue", count: 1_000_000_000, bytes: 4_000_000_000_000 };
        let text = need.check_within(16_000_000_000).unwrap_err().to_string();
        assert!(text.contains("`method.queue` is 1000000000") && text.contains("4 TB"), "{text}");
        assert!(text.contains("16 GB are free") && text.contains("lower it"), "{text}");
        assert!(need.check_within(u64::MAX).is_ok());
    }
}
