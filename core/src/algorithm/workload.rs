//! The workload of a step, from the settings alone: how many images go through which network, and how many parameters there are.
//! Each algorithm adds up its own.

use super::ModelConfig;
use super::class_scores::class_scores;
use crate::nn::{Activations, Work};

/// The samples of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepSize {
    /// The samples of which two views are compared.
    pub samples: usize,
    /// The images to classify, if they are a separate batch.
    pub to_classify: Option<usize>,
}

/// The workload of a step: the least count of numbers in memory, and the work of its passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Workload {
    /// Parameters that are trained.
    pub(crate) trained: u64,
    /// Parameters of networks that are moving averages of others, or fixed.
    pub(crate) fixed: u64,
    /// The count of numbers that all passes together keep for the gradient.
    pub(crate) activations: u64,
    /// The count of numbers in the largest tensor.
    pub(crate) largest: u64,
    /// Images in memory beside the views: chunks that wait until the others have gone through the same layers.
    pub(crate) extra_images: u64,
    /// The multiply-adds of all passes and of their gradients.
    pub(crate) multiply_adds: u64,
    /// The count of numbers that all passes and their gradients read and write.
    pub(crate) traffic: u64,
    /// The pairs of rows that the objective compares.
    pub(crate) pairs: PairCount,
}

/// The number of anchors that are compared with candidates; none for an objective of each sample alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PairCount {
    pub(crate) anchors: u64,
    pub(crate) candidates: u64,
    /// Numbers in a row.
    pub(crate) width: u64,
}

/// A network with its head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    pub(super) activations: Activations,
    /// The work of the encoder and that of the head.
    work: [Work; 2],
}

impl Workload {
    /// Adds a pass of `images` images at once, with its gradients.
    pub(super) fn add_training_pass(&mut self, images: u64, network: &Network) {
        let Activations { kept: activations, largest, .. } = network.activations;
        self.activations = self.activations.saturating_add(images.saturating_mul(activations));
        self.largest = self.largest.max(images.saturating_mul(largest));
        self.add_training_work(images, network);
    }

    /// Adds the work of a pass with its gradients. The gradients of the weights and those of the inputs each take as much as a
    /// forward pass. (The first layer has no gradient of its inputs; in ResNet-50 at 224 pixels that is 1 % of all work.)
    pub(super) fn add_training_work(&mut self, images: u64, network: &Network) {
        (0..3).for_each(|_| self.add_forward_work(images, network));
    }

    /// Adds the work of a pass without gradients.
    pub(super) fn add_forward_work(&mut self, images: u64, network: &Network) {
        for Work { multiply_adds, traffic, weights } in network.work {
            self.multiply_adds = self.multiply_adds.saturating_add(images.saturating_mul(multiply_adds));
            self.traffic =
                self.traffic.saturating_add(images.saturating_mul(traffic).saturating_add(weights));
        }
    }
}

/// The settings that determine the workload of a step.
#[derive(Debug)]
pub(super) struct StepContext<'a> {
    /// The settings of the main network.
    pub(super) network_config: &'a ModelConfig,
    pub(super) objective: &'a str,
    /// The samples of which two views are compared.
    pub(super) samples: u64,
    /// The images to classify, by an algorithm with a classifier beside its objective.
    pub(super) to_classify: u64,
    /// The main network.
    pub(super) network: Network,
}

impl<'a> StepContext<'a> {
    pub(super) fn new(network_config: &'a ModelConfig, objective: &'a str, size: StepSize) -> Self {
        Self {
            network_config,
            objective,
            samples: size.samples as u64,
            to_classify: size.to_classify.unwrap_or(size.samples) as u64,
            network: Network::of(network_config),
        }
    }

    /// The workload of a step without passes, which trains the main network.
    pub(super) fn base(&self) -> Workload {
        Workload { trained: parameters(self.network_config), ..Workload::default() }
    }

    /// Images of the views that the objective reads: those of view a alone if it reads class scores.
    pub(super) fn views(&self) -> u64 {
        if self.reads_scores() { self.samples } else { 2 * self.samples }
    }

    /// Comparisons of the projections of each view with all others; none by an objective that reads class scores.
    pub(super) fn pairs_of_views(&self) -> PairCount {
        if self.reads_scores() {
            PairCount::default()
        } else {
            self.pairs(2 * self.samples, 2 * self.samples)
        }
    }

    /// Comparisons of projections.
    pub(super) fn pairs(&self, anchors: u64, candidates: u64) -> PairCount {
        PairCount { anchors, candidates, width: self.network_config.head.output as u64 }
    }

    /// Comparisons of embeddings.
    pub(super) fn pairs_of_embeddings(&self, anchors: u64, candidates: u64) -> PairCount {
        PairCount { anchors, candidates, width: self.network_config.encoder.embedding_size() as u64 }
    }

    fn reads_scores(&self) -> bool {
        class_scores(self.objective, 1, 1).is_some()
    }
}

impl Network {
    pub(super) fn of(ModelConfig { encoder, head, .. }: &ModelConfig) -> Self {
        let (per_image, embedding) = (encoder.activations(), encoder.embedding_size());
        let activations = Activations { kept: per_image.kept + head.activations(embedding), ..per_image };
        Self { activations, work: [encoder.work(), head.work(embedding)] }
    }

    /// A network without a head.
    pub(super) fn alone(activations: Activations, work: Work) -> Self {
        Self { activations, work: [work, Work::default()] }
    }
}

/// Parameters of a network with its head.
pub(super) fn parameters(ModelConfig { encoder, head, .. }: &ModelConfig) -> u64 {
    encoder.min_parameters() + head.min_parameters(encoder.embedding_size())
}
