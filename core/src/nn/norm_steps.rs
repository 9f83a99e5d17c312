//! A network in steps that end where a batch norm needs the statistics of its input, so that a batch can go through it in
//! chunks and yet be normalised as a whole: every chunk takes a step before any takes the next.
//!
//! Steps are joined to segments. A batch is kept between segments, and its chunks are computed once more within one.

use burn::tensor::{Device, Tensor};
use simile_kernels::Statistics;

use super::layers::BatchNorm;

/// The activations of a chunk between two steps.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    /// `[n, height, width, channels]`. Images, before the first step, are `[n, channels, height, width]`; rows `[n, d]` are held
    /// as maps of one position.
    pub(crate) maps: Tensor<4>,
    /// The maps of the other branch of a residual block.
    pub(crate) branch: Option<Tensor<4>>,
}

impl From<Tensor<4>> for Flow {
    fn from(maps: Tensor<4>) -> Self {
        Self { maps, branch: None }
    }
}

impl Flow {
    /// Rows `[n, d]`.
    pub(crate) fn from_rows(rows: Tensor<2>) -> Self {
        let [n, width] = rows.dims();
        rows.reshape([n, 1, 1, width]).into()
    }

    /// The rows `[n, d]` of maps of one position.
    pub(crate) fn rows(self) -> Tensor<2> {
        self.maps.flatten(1, 3)
    }

    /// Applies the same function to both branches.
    pub(crate) fn map(self, mut of: impl FnMut(Tensor<4>) -> Tensor<4>) -> Self {
        Self { maps: of(self.maps), branch: self.branch.map(of) }
    }

    /// Applies a layer to the main branch.
    pub(super) fn through(self, layer: impl FnOnce(Tensor<4>) -> Tensor<4>) -> Self {
        Self { maps: layer(self.maps), ..self }
    }
}

/// A batch norm that waits for the statistics of its input.
pub(crate) struct PendingNorm<'n> {
    norm: &'n BatchNorm,
    /// The bias of the layer before the norm. It is not added to the maps, because it cancels with the mean.
    bias: Option<Tensor<1>>,
}

impl PendingNorm<'_> {
    /// Number of channels.
    pub(crate) fn channels(&self) -> usize {
        self.norm.channels()
    }

    /// The device of its numbers.
    pub(crate) fn device(&self) -> Device {
        self.norm.device()
    }

    /// Updates the running statistics.
    pub(crate) fn update_running_statistics(
        &self,
        Statistics { mean, variance }: &Statistics,
        samples: usize,
    ) {
        let mean = match &self.bias {
            Some(bias) => mean.clone().autodiff() + bias.clone(),
            None => mean.clone().autodiff(),
        };
        self.norm.update_running_statistics(mean, variance.clone().autodiff(), samples);
    }
}

/// The statistics of the inputs of a step's batch norms, or the gradients with respect to them: of the maps, and of the other branch.
pub(crate) type Moments = [Option<Statistics>; 2];

/// The batch norms of a step, and the layers after them up to the next batch norms.
pub(crate) struct Step<'n> {
    norms: [Option<PendingNorm<'n>>; 2],
    layers: Box<dyn Fn(Flow) -> Flow + 'n>,
}

/// The steps between two points of the network at which the activations of a batch are kept.
pub(crate) type Segment<'n> = Vec<Step<'n>>;

/// The division of a network `N` into segments.
pub(crate) type Segments<N> = for<'n> fn(&'n N) -> Vec<Segment<'n>>;

impl<'n> Step<'n> {
    /// A step of layers without a batch norm before them.
    pub(super) fn of(layers: impl Fn(Flow) -> Flow + 'n) -> Self {
        Self { norms: [None, None], layers: Box::new(layers) }
    }

    /// The same layers after a batch norm of the maps.
    pub(super) fn after(mut self, norm: &'n BatchNorm) -> Self {
        self.norms[0] = Some(PendingNorm { norm, bias: None });
        self
    }

    /// The same layers after a batch norm of maps whose convolution has a bias.
    pub(super) fn after_biased(mut self, norm: &'n BatchNorm, bias: Tensor<1>) -> Self {
        self.norms[0] = Some(PendingNorm { norm, bias: Some(bias) });
        self
    }

    /// The same layers after a batch norm of the other branch, if it has one.
    pub(super) fn after_branch(mut self, norm: Option<&'n BatchNorm>) -> Self {
        self.norms[1] = norm.map(|norm| PendingNorm { norm, bias: None });
        self
    }

    /// The batch norms of the maps and of the other branch.
    pub(crate) fn norms(&self) -> &[Option<PendingNorm<'n>>; 2] {
        &self.norms
    }

    /// Takes a chunk through the step, with the statistics of the whole batch.
    pub(crate) fn forward(&self, flow: Flow, moments: &Moments) -> Flow {
        let ([norm_of_maps, norm_of_branch], [maps, branch]) = (&self.norms, moments);
        let normalised =
            |input, norm: &Option<PendingNorm>, statistics: &Option<Statistics>| match (norm, statistics) {
                (Some(pending), Some(statistics)) => pending.norm.normalise_by(input, statistics),
                _ => input,
            };
        (self.layers)(Flow {
            maps: normalised(flow.maps, norm_of_maps, maps),
            branch: flow.branch.map(|input| normalised(input, norm_of_branch, branch)),
        })
    }
}
