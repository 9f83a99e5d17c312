//! Objectives on a frozen network: the loss of its outputs for two views.
//!
//! Views are made as in training, by the same generator for every network, and batch norm stands as it was trained. Images
//! are shuffled once; an incomplete last batch is left out, as many losses grow with the batch.

use anyhow::{Context as _, Result};
use burn::module::Module as _;
use burn::tensor::{Device, Tensor};
use simile_core::augment::{Augmentation, Normalisation};
use simile_core::data::Dataset;
use simile_core::loss::with_representations;
use simile_core::nn::Encoder;
use simile_core::nn::head::ProjectionHead;
use simile_core::train::{Purpose, Sampler, Sampling, ViewMaker, stream};

use crate::config::measured::{MeasuredObjective, Output};
use crate::exit::usage;
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::prefetch::Prefetcher;
use crate::metrics::Metrics;
use crate::metrics::metric::OBJECTIVE_SPLITS;

/// The same views of the same batches for every network.
const SEED: u64 = 0;

/// The augmentation of views, and the device.
pub(crate) struct Viewing<'a> {
    pub(crate) augmentation: &'a Augmentation,
    pub(crate) normalisation: &'a Normalisation,
    pub(crate) device: &'a Device,
}

/// A frozen network; a model file holds no head.
pub(crate) struct Frozen {
    encoder: Encoder,
    head: Option<ProjectionHead>,
}

impl Frozen {
    pub(crate) fn new(encoder: &Encoder, head: Option<&ProjectionHead>) -> Self {
        Self { encoder: encoder.valid(), head: head.map(|head| head.valid()) }
    }

    fn embed(&self, images: Tensor<4>) -> Tensor<2> {
        self.encoder.forward(images.without_autodiff())
    }

    /// The compared output for an image's embedding; none if the head is needed and missing.
    fn output(&self, of: Output, embedding: &Tensor<2>) -> Option<Tensor<2>> {
        match of {
            Output::Representation => Some(embedding.clone()),
            Output::Projection => self.head.as_ref().map(|head| head.forward(embedding.clone())),
        }
    }
}

/// `NAME_train` and `NAME_test`, on the training and on the evaluation images, of every objective that the network has the layers for.
///
/// # Errors
/// If an objective is not defined on a batch, or its data lack an input.
pub(crate) fn measure(
    sections: &[MeasuredObjective],
    network: &Frozen,
    viewing: &Viewing<'_>,
    sets: [&Dataset; 2],
) -> Result<Metrics> {
    let mut metrics = Metrics::new();
    for section in sections {
        for (split, set) in OBJECTIVE_SPLITS.into_iter().zip(sets) {
            let value = mean(section, network, viewing, set)
                .with_context(|| format!("measuring {} on {split} images", section.objective.name))?;
            metrics.extend(value.map(|value| (section.metric(split), value)));
        }
    }
    Ok(metrics)
}

/// The mean over the batches of a data set.
fn mean(
    section: &MeasuredObjective,
    network: &Frozen,
    viewing: &Viewing<'_>,
    set: &Dataset,
) -> Result<Option<f64>> {
    let objective = section.objective.config().map_err(usage)?.build()?;
    let context = Context::new(&section.objective, set, SEED)?;
    let Viewing { augmentation, normalisation, device } = *viewing;
    let views = ViewMaker::new(augmentation.clone(), normalisation.clone());
    let batch = section.batch.min(set.len());
    let mut sampler = Sampler::new(Sampling { samples: set.len(), batch, drop_last: true, seed: SEED })?;
    let batches = sampler.batches_per_epoch();
    let plan = (0..batches).map(move |step| sampler.batch(step).to_vec());
    let mut images = Prefetcher::new(set.images.clone(), plan, None, device)?;
    let mut sum = 0.0;
    for step in 0..batches {
        let (indices, images) = images.next()?;
        let stretches = set.images.stretches(&indices);
        let (a, b) =
            views.pair(images, stretches.as_deref(), &mut stream(SEED, Purpose::Augmentation, step))?;
        let embeddings = [network.embed(a), network.embed(b)];
        let [a, b] = embeddings.each_ref().map(|embedding| network.output(section.of, embedding));
        let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
        let inputs = with_representations(objective.as_ref(), context.of(&indices), || Ok(embeddings))?;
        let inputs = inputs.with_tensor("view_a", a).with_tensor("view_b", b);
        let loss = pollster::block_on(objective.evaluate(&inputs)?.loss.into_data_async());
        let loss =
            loss.map_err(|error| anyhow::anyhow!("the device could not return the loss ({error:?})"))?;
        sum += loss.iter::<f64>().next().unwrap_or(f64::NAN);
    }
    let mean = sum / batches as f64;
    anyhow::ensure!(mean.is_finite(), "the loss is not a finite number");
    Ok(Some(mean))
}
