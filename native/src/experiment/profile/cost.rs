//! The arithmetic, memory traffic and uploads of a step, computed by formula: without data, without a device, for any batch.

use anyhow::Result;
use serde::Serialize;
use simile_core::augment::Augmentation;
use simile_core::loss;
use simile_core::loss::spec::{InputKind, Needed};
use simile_core::train::{PictureForm, StepCost, StoredPictures};

use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::exit::usage;
use crate::experiment::step_settings::{batches_ahead, side_of_pictures, step_settings, step_size};

/// Bytes of a number and of an index on a device.
const NUMBER: u64 = 4;
/// Most numbers of an image that its class, cluster and bias become: the groups of both views, with their order and their sizes, forward
/// and backward.
const LABEL_NUMBERS: u64 = 16;

/// The cost of a step of a variant.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Cost {
    /// Arithmetic and memory traffic.
    #[serde(flatten)]
    pub(crate) step: StepCost,
    pub(crate) uploads: Uploads,
    /// A lower bound of the memory of a GPU for a step in bytes, including pictures that are read ahead.
    pub(crate) memory: u64,
}

/// The bytes that a step copies to a GPU, without the arguments of kernels, which are some kilobytes, and without the few numbers of
/// an image that `tests/src/uploads.rs` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Uploads {
    /// The pictures of a set that is read in batches, one byte a value, once for both views.
    pub(crate) pictures: u64,
    /// The indices of the pictures of a set that stays on the device.
    pub(crate) indices: u64,
    /// The parameters of views.
    pub(crate) views: u64,
    /// The index of each projection's partner, forward and backward, if an objective compares projections: an upper bound.
    pub(crate) partners: u64,
    /// Classes, clusters and biases, if the objective reads any: an upper bound.
    pub(crate) labels: u64,
    /// The weights of a conditional objective that the host solves for: an upper bound, since weights in factors are fewer.
    pub(crate) weights: u64,
}

impl Uploads {
    /// Everything but the pictures.
    pub(crate) fn besides(&self) -> u64 {
        self.indices + self.views + self.partners + self.labels + self.weights
    }

    fn of(recipe: &Recipe, variant: &RecipeVariant) -> Result<Self> {
        let side = side_of_pictures(recipe);
        let picture = (recipe.encoder.config.channels * side.pow(2)) as u64;
        let (algorithm, batch) = (&variant.algorithm, recipe.train.batch as u64);
        let numbers = |augmentation: &Augmentation| -> Result<u64> {
            Ok(augmentation.numbers([side; 2]).map_err(usage)? as u64)
        };
        let (mut images, mut view_numbers) = (batch, 2 * batch * numbers(&recipe.augment)?);
        if algorithm.takes_plain(&variant.objective.name) {
            view_numbers += batch * numbers(&Augmentation::default())?;
        }
        if let Some(section) = recipe.classified.as_ref().filter(|_| algorithm.takes_images_to_classify()) {
            images += section.batch as u64;
            view_numbers += section.batch as u64 * numbers(&section.augment)?;
        }
        let objective = variant.objective.config().map_err(usage)?.build().map_err(usage)?;
        let inputs = loss::spec(&variant.objective.name).map_err(usage)?.inputs;
        let reads_labels = inputs.iter().any(|input| {
            let is_label = matches!(input.kind, InputKind::Integers | InputKind::Clusters);
            is_label && input.needed == Needed::Always
        });
        let partners = if variant.scores(1, 1).is_none() { 2 * 2 * batch } else { 0 };
        // The device solves for a condition that is the representation itself, which is computed there.
        let solved = variant.objective.condition().and_then(|_| objective.conditioned_by_kernel());
        let weights = solved.map_or(0, |weights| *weights.stored_numbers(recipe.train.batch).end());
        Ok(Self {
            pictures: images * picture,
            indices: NUMBER * images,
            views: NUMBER * view_numbers,
            partners: NUMBER * partners,
            labels: if reads_labels { NUMBER * LABEL_NUMBERS * images } else { 0 },
            weights: NUMBER * weights,
        })
    }
}

impl Cost {
    /// Computes the cost of a step of a variant.
    ///
    /// # Errors
    /// The settings of the variant are invalid.
    pub(crate) fn of(recipe: &Recipe, variant: &RecipeVariant) -> Result<Self> {
        let config = step_settings(recipe, variant, variant.algorithm.clone())?;
        let size = step_size(recipe, &config, recipe.train.batch);
        let uploads = Uploads::of(recipe, variant)?;
        let (side, ahead) = (side_of_pictures(recipe), batches_ahead(uploads.pictures));
        let stored = StoredPictures { side, ahead, form: PictureForm::Numbers };
        let memory = config.step_memory(size, stored, 1).total();
        Ok(Self { step: config.step_cost(size), uploads, memory })
    }
}

/// The costs of a recipe.
#[derive(Debug, Serialize)]
pub(crate) struct Costs {
    pub(crate) recipe: String,
    pub(crate) batch: usize,
    #[serde(rename = "arms")]
    pub(crate) variants: Vec<VariantCost>,
}

/// The cost of a variant.
#[derive(Debug, Serialize)]
pub(crate) struct VariantCost {
    pub(crate) name: String,
    pub(crate) cost: Cost,
}

/// Computes the cost of a step of every variant.
///
/// # Errors
/// The settings of a variant are invalid.
pub(crate) fn costs(recipe: &Recipe) -> Result<Costs> {
    let of_variant =
        |variant: RecipeVariant| Ok(VariantCost { cost: Cost::of(recipe, &variant)?, name: variant.name });
    let variants = recipe.variants().into_iter().map(of_variant).collect::<Result<_>>()?;
    Ok(Costs { recipe: recipe.name.clone(), batch: recipe.train.batch, variants })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Changes;

    fn cost(recipe: &str, set: &[&str]) -> Cost {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        let recipe = Recipe::load(recipe, &Changes { set: &set, ..Changes::default() }).unwrap();
        let variant = recipe.variants().remove(0);
        Cost::of(&recipe, &variant).unwrap()
    }

    /// A debugger counted wgpu's uploads of a step at 4 and at 8 images: 4144 and 4832 bytes, with the set on the device.
    #[test]
    fn uploads_grow_by_as_many_bytes_an_image_as_were_counted() {
        let at = |batch: &str| cost("cifar-10", &[batch]).uploads;
        let [four, eight] = [at("train.batch=4"), at("train.batch=8")];
        assert_eq!(eight.besides() - four.besides(), 4832 - 4144);
        assert!(four.besides() < 4144, "the rest is what kernels are started with");
        assert_eq!(four.pictures, 4 * 3 * 32 * 32);
    }

    #[test]
    fn a_condition_uploads_its_weights_and_labels_their_classes() {
        let objective = |name: &str| {
            let set = [format!("objective={{ name = \"{name}\" }}"), "train.batch=64".into()];
            cost("cifar-10", &set.each_ref().map(String::as_str)).uploads
        };
        assert_eq!(objective("nt-xent").labels + objective("nt-xent").weights, 0);
        assert_eq!(objective("supcon").labels, 4 * 16 * 64);
        assert_eq!(objective("fair-cclk").weights, 4 * 64 * 64);
        let of_rank = "objective={ name = \"fair-cclk\", approximation = { rank = 8 } }";
        assert_eq!(cost("cifar-10", &[of_rank, "train.batch=64"]).uploads.weights, 4 * 2 * 64 * 8);
    }

    /// At 4096 images: the pictures of 500 pixels, and less than a megabyte of other uploads for each 1024 images.
    #[test]
    fn the_pictures_of_a_large_batch_are_nearly_all_that_is_uploaded() {
        let uploads = cost("imagenet-100", &["train.batch=4096"]).uploads;
        assert_eq!(uploads.pictures, 4096 * 3 * 500 * 500);
        assert!(uploads.besides() < 4_000_000, "{uploads:?}");
    }

    /// BENCHMARKS.md states this as the exception.
    #[test]
    fn a_condition_that_the_host_solves_is_more_than_a_megabyte_at_1024() {
        let objective = "objective={ name = \"fair-cclk\", kernel = { name = \"rbf\", sigma = 1.0 } }";
        let uploads = cost("imagenet-100", &["train.batch=1024", objective]).uploads;
        assert_eq!(uploads.weights, 4_194_304);
        assert!(uploads.besides() - uploads.weights < 1_000_000, "{uploads:?}");
        let of_representation =
            "objective={ name = \"hardneg-cclk\", kernel = { name = \"rbf\", sigma = 1.0 } }";
        assert_eq!(cost("imagenet-100", &["train.batch=1024", of_representation]).uploads.weights, 0);
    }
}
