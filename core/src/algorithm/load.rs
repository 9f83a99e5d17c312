//! The size of a step of each algorithm: how many images go through which network, and how many parameters there are.

use super::biased::biased_network;
use super::config::compares_views;
use super::{AlgorithmConfig, BatchStatistics, Networks, class_scores};
use crate::nn::dcgan::Generator;
use crate::nn::vae::VaeDecoder;
use crate::nn::{Activations, EncoderConfig, Work};

/// The samples of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepSize {
    /// The samples of which two views are compared.
    pub samples: usize,
    /// The images that are classified, if they are a separate batch.
    pub classified: Option<usize>,
}

/// The size of a step: the least count of numbers in memory, and the work of its passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Parameters that are trained.
    pub(crate) trained: u64,
    /// Parameters of networks that follow others, or are fixed.
    pub(crate) fixed: u64,
    /// The count of numbers that all passes together keep for the gradient.
    pub(crate) activations: u64,
    /// The count of numbers in the largest tensor.
    pub(crate) largest: u64,
    /// Images of the parts of the batch that wait for their turn, beside the views.
    pub(crate) waiting: u64,
    /// The multiply-adds of all passes and of their gradients.
    pub(crate) products: u64,
    /// The numbers that all passes and their gradients read and write.
    pub(crate) moved: u64,
    /// The pairs of rows that the objective compares.
    pub(crate) pairs: Pairs,
}

/// Anchors that are compared with candidates; none for an objective of each sample alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pairs {
    pub(crate) anchors: u64,
    pub(crate) candidates: u64,
    /// Numbers in a row.
    pub(crate) width: u64,
}

/// A network with its head.
#[derive(Debug, Clone, Copy)]
struct Network {
    activations: Activations,
    /// The work of the encoder and that of the head.
    work: [Work; 2],
}

impl Load {
    /// Adds a pass of `images` images at once, with its gradients.
    fn pass(&mut self, images: u64, of_one: &Network) {
        let Activations { kept: activations, largest, .. } = of_one.activations;
        self.activations = self.activations.saturating_add(images.saturating_mul(activations));
        self.largest = self.largest.max(images.saturating_mul(largest));
        self.learn(images, of_one);
    }

    /// Adds the work of a pass with its gradients. The gradients of the weights and those of the inputs each take as much as a
    /// forward pass. (The first layer has no gradient of its inputs; in ResNet-50 at 224 pixels that is 1 % of all work.)
    fn learn(&mut self, images: u64, of_one: &Network) {
        (0..3).for_each(|_| self.follow(images, of_one));
    }

    /// Adds the work of a pass without gradients.
    fn follow(&mut self, images: u64, of_one: &Network) {
        for Work { products, moved, weights } in of_one.work {
            self.products = self.products.saturating_add(images.saturating_mul(products));
            self.moved = self.moved.saturating_add(images.saturating_mul(moved).saturating_add(weights));
        }
    }
}

impl Load {
    /// Adds chunks of the pairs of a batch, whose network normalises each by its own statistics.
    fn chunks(&mut self, samples: u64, chunk: u64, network: &Network) {
        let chunk = samples.min(chunk);
        self.pass(2 * chunk, network);
        // Every other chunk goes forward twice.
        let others = samples - chunk;
        for start in (0..others).step_by(chunk.max(1) as usize) {
            let images = 2 * chunk.min(others - start);
            self.follow(images, network);
            self.learn(images, network);
        }
    }

    /// Adds the same with the statistics of the whole batch, for which all chunks wait after each layer.
    fn chunks_with_common_statistics(&mut self, samples: u64, chunk: u64, network: &Network) {
        let chunk = 2 * samples.min(chunk);
        let Activations { between, largest, .. } = network.activations;
        self.activations =
            (2 * samples).saturating_mul(between).saturating_add(chunk.saturating_mul(largest));
        self.largest = chunk.saturating_mul(largest);
        self.waiting = 2 * samples;
        (0..2).for_each(|_| self.follow(2 * samples, network));
        self.learn(2 * samples, network);
    }
}

impl AlgorithmConfig {
    /// The size of a step of the algorithm with an objective.
    pub(crate) fn load(&self, networks: &Networks, objective: &str, size: StepSize) -> Load {
        let (own, samples) = (&Network::of(networks), size.samples as u64);
        let classified = size.classified.unwrap_or(size.samples) as u64;
        let pairs = self.pairs(networks, objective, samples);
        let mut load = Load { trained: parameters(networks), pairs, ..Load::default() };
        match self {
            Self::Single {} => {
                let views = if class_scores(objective, 1, 1).is_some() { 1 } else { 2 };
                load.pass(views * samples, own);
            }
            Self::Cached { chunk, statistics: BatchStatistics::Batch } => {
                load.chunks_with_common_statistics(samples, *chunk as u64, own);
            }
            Self::Cached { chunk, .. } => load.chunks(samples, *chunk as u64, own),
            Self::Swav { .. } => load.pass(2 * samples, own),
            Self::WithClassifier { .. } => {
                load.pass(classified, own);
                load.pass(2 * samples, own);
            }
            Self::Moco { .. } => {
                load.fixed = load.trained;
                load.pass(samples, own);
                load.follow(samples, own);
            }
            Self::Byol { .. } => {
                load.fixed = load.trained;
                load.pass(2 * samples, own);
                load.follow(2 * samples, own);
            }
            Self::Difficulty { .. } => {
                load.trained *= 2;
                load.pass(2 * samples, own);
                load.pass(2 * samples, own);
            }
            Self::Lff { .. } => {
                load.trained *= 2;
                load.pass(samples, own);
                load.pass(samples, own);
            }
            Self::Rebias { encoder, .. } => {
                let biased = biased_network(networks, encoder.as_ref(), networks.head.clone());
                load.trained += parameters(&biased);
                load.pass(samples, own);
                load.pass(samples, &Network::of(&biased));
            }
            Self::BiasNetwork { encoder, ce_weight, .. } => {
                // Its second stage, in which the biased network is fixed.
                let biased = biased_network(networks, Some(encoder), networks.head.clone());
                load.fixed = parameters(&biased);
                load.follow(samples, &Network::of(&biased));
                load.pass(if compares_views(objective) { 2 * samples } else { samples }, own);
                if ce_weight.is_some() {
                    load.pass(classified, own);
                }
            }
            Self::Lnl { .. } | Self::Jtt { .. } => load.pass(samples, own),
            Self::Vae {} => {
                let EncoderConfig { channels, input_size, .. } = networks.encoder;
                load.pass(samples, own);
                let latents = networks.encoder.embedding_size();
                let decoder = VaeDecoder::work(channels, input_size, latents);
                load.pass(samples, &Network::alone(VaeDecoder::activations(channels, input_size), decoder));
            }
            Self::Dcgan {} => {
                let EncoderConfig { channels, input_size, .. } = networks.encoder;
                let generator = Generator::work(channels, input_size);
                load.pass(samples, &Network::alone(Generator::activations(channels, input_size), generator));
                (0..3).for_each(|_| load.pass(samples, own));
            }
        }
        load
    }

    /// The comparisons of an objective: each projection of a batch with every other one, except where the method says
    /// otherwise, or the objective is one of class scores or of each sample alone.
    fn pairs(&self, networks: &Networks, objective: &str, samples: u64) -> Pairs {
        let (of_head, of_encoder) = (networks.head.output, networks.encoder.embedding_size());
        let (anchors, candidates, width) = match self {
            Self::Moco { queue, .. } => (samples, *queue as u64, of_head),
            Self::Swav { prototypes, .. } => (2 * samples, *prototypes as u64, of_head),
            Self::Rebias { .. } => (samples, samples, of_encoder),
            Self::WithClassifier { .. } | Self::BiasNetwork { ce_weight: Some(_), .. } => {
                (2 * samples, 2 * samples, of_encoder)
            }
            Self::Single {} | Self::Cached { .. } | Self::Difficulty { .. } | Self::BiasNetwork { .. }
                if class_scores(objective, 1, 1).is_none() =>
            {
                (2 * samples, 2 * samples, of_head)
            }
            _ => return Pairs::default(),
        };
        Pairs { anchors, candidates, width: width as u64 }
    }
}

impl Network {
    fn of(Networks { encoder, head, .. }: &Networks) -> Self {
        let (of_image, embedding) = (encoder.activations(), encoder.embedding_size());
        let activations = Activations { kept: of_image.kept + head.activations(embedding), ..of_image };
        Self { activations, work: [encoder.work(), head.work(embedding)] }
    }

    /// A network without a head.
    fn alone(activations: Activations, work: Work) -> Self {
        Self { activations, work: [work, Work::default()] }
    }
}

fn parameters(Networks { encoder, head, .. }: &Networks) -> u64 {
    encoder.least_numbers() + head.least_numbers(encoder.embedding_size())
}
