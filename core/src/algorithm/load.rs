//! The size of a step of each algorithm: how many images go through which network, and how many parameters there are.

use super::biased::biased_network;
use super::{AlgorithmConfig, Networks, class_scores};
use crate::nn::dcgan::Generator;
use crate::nn::vae::VaeDecoder;
use crate::nn::{Activations, EncoderConfig};

/// The samples of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepSize {
    /// The samples of which two views are compared.
    pub samples: usize,
    /// The images that are classified beside them, if they are others.
    pub classified: Option<usize>,
}

/// Numbers that a step has in memory at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Parameters that are trained.
    pub(crate) trained: u64,
    /// Parameters of networks that follow others, or are fixed.
    pub(crate) fixed: u64,
    /// The numbers that all passes together keep for the gradient.
    pub(crate) kept: u64,
    /// The numbers of the largest tensor.
    pub(crate) largest: u64,
    /// Images beside the views of the batch: the parts of it that wait for their turn.
    pub(crate) waiting: u64,
}

impl Load {
    /// One more pass of so many images at once.
    fn pass(&mut self, images: u64, of_one: Activations) {
        self.kept = self.kept.saturating_add(images.saturating_mul(of_one.kept));
        self.largest = self.largest.max(images.saturating_mul(of_one.largest));
    }
}

impl AlgorithmConfig {
    /// The size of a step of the algorithm with an objective.
    pub(crate) fn load(&self, networks: &Networks, objective: &str, size: StepSize) -> Load {
        let (own, samples) = (of_network(networks), size.samples as u64);
        let classified = size.classified.unwrap_or(size.samples) as u64;
        let mut load = Load { trained: parameters(networks), ..Load::default() };
        match self {
            Self::Single {} => {
                let views = if class_scores(objective, 1, 1).is_some() { 1 } else { 2 };
                load.pass(views * samples, own);
            }
            Self::Cached { chunk } => {
                load.pass(2 * samples.min(*chunk as u64), own);
                load.waiting = 2 * samples;
            }
            Self::Swav { .. } => load.pass(2 * samples, own),
            Self::WithClassifier { .. } => {
                load.pass(classified, own);
                load.pass(2 * samples, own);
            }
            Self::Moco { .. } => {
                load.fixed = load.trained;
                load.pass(samples, own);
            }
            Self::Byol { .. } => {
                load.fixed = load.trained;
                load.pass(2 * samples, own);
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
                load.pass(samples, of_network(&biased));
            }
            Self::BiasNetwork { encoder, ce_weight, .. } => {
                // Its second stage, in which the biased network is fixed.
                let biased = biased_network(networks, Some(encoder), networks.head.clone());
                load.fixed = parameters(&biased);
                load.pass(if objective == "softcon" { 2 * samples } else { samples }, own);
                if ce_weight.is_some() {
                    load.pass(classified, own);
                }
            }
            Self::Lnl { .. } | Self::Jtt { .. } => load.pass(samples, own),
            Self::Vae {} => {
                let EncoderConfig { channels, input_size, .. } = networks.encoder;
                load.pass(samples, own);
                load.pass(samples, VaeDecoder::activations(channels, input_size));
            }
            Self::Dcgan {} => {
                let EncoderConfig { channels, input_size, .. } = networks.encoder;
                load.pass(samples, Generator::activations(channels, input_size));
                (0..3).for_each(|_| load.pass(samples, own));
            }
        }
        load
    }
}

/// The numbers of an image in a network with its head.
fn of_network(Networks { encoder, head, .. }: &Networks) -> Activations {
    let of_image = encoder.activations();
    Activations { kept: of_image.kept + head.activations(encoder.embedding_size()), ..of_image }
}

fn parameters(Networks { encoder, head, .. }: &Networks) -> u64 {
    encoder.least_numbers() + head.least_numbers(encoder.embedding_size())
}
