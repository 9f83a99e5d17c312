//! A network in steps that end where a batch norm needs the statistics of its input, so that a batch can go through it in
//! chunks and yet be normalised as a whole: every chunk takes a step before any takes the next.
//!
//! Steps are joined to segments. A batch is kept between segments, and its chunks are computed once more within one.

use burn::tensor::{Device, Tensor};
use simile_kernels::Statistics;

use super::layers::BatchNorm;

/// The tensors of a chunk between two steps.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    /// `[n, height, width, channels]`; images, before the first step, are `[n, channels, height, width]`. Rows `[n, d]` are
    /// maps of one place.
    pub(crate) maps: Tensor<4>,
    /// The other branch of a residual block.
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

    /// The rows `[n, d]` of maps of one place.
    pub(crate) fn rows(self) -> Tensor<2> {
        self.maps.flatten(1, 3)
    }

    /// The same change of both branches.
    pub(crate) fn map(self, mut of: impl FnMut(Tensor<4>) -> Tensor<4>) -> Self {
        Self { maps: of(self.maps), branch: self.branch.map(of) }
    }

    /// A layer of the main branch.
    pub(super) fn through(self, layer: impl FnOnce(Tensor<4>) -> Tensor<4>) -> Self {
        Self { maps: layer(self.maps), ..self }
    }
}

/// A batch norm that waits for the statistics of its input.
pub(crate) struct Pending<'n> {
    norm: &'n BatchNorm,
    /// A bias of the layer before it, which cancels with the mean, and so is left out.
    bias: Option<Tensor<1>>,
}

impl Pending<'_> {
    /// Number of channels.
    pub(crate) fn channels(&self) -> usize {
        self.norm.channels()
    }

    /// The device of its numbers.
    pub(crate) fn device(&self) -> Device {
        self.norm.device()
    }

    /// Updates the running statistics.
    pub(crate) fn observe(&self, Statistics { mean, variance }: &Statistics, samples: usize) {
        let mean = match &self.bias {
            Some(bias) => mean.clone().autodiff() + bias.clone(),
            None => mean.clone().autodiff(),
        };
        self.norm.observe(mean, variance.clone().autodiff(), samples);
    }
}

/// What is known of the inputs of a step's batch norms, or its gradient: that of the maps and that of the other branch.
pub(crate) type Moments = [Option<Statistics>; 2];

/// Batch norms, and the layers after them up to the next ones.
pub(crate) struct Step<'n> {
    norms: [Option<Pending<'n>>; 2],
    layers: Box<dyn Fn(Flow) -> Flow + 'n>,
}

/// Steps between two places at which a batch is kept.
pub(crate) type Segment<'n> = Vec<Step<'n>>;

impl<'n> Step<'n> {
    /// Layers without a batch norm before them.
    pub(super) fn of(layers: impl Fn(Flow) -> Flow + 'n) -> Self {
        Self { norms: [None, None], layers: Box::new(layers) }
    }

    /// The same layers after a batch norm of the maps.
    pub(super) fn after(mut self, norm: &'n BatchNorm) -> Self {
        self.norms[0] = Some(Pending { norm, bias: None });
        self
    }

    /// The same layers after a batch norm of maps whose convolution has a bias.
    pub(super) fn after_biased(mut self, norm: &'n BatchNorm, bias: Tensor<1>) -> Self {
        self.norms[0] = Some(Pending { norm, bias: Some(bias) });
        self
    }

    /// The same layers after a batch norm of the other branch, if it has one.
    pub(super) fn after_branch(mut self, norm: Option<&'n BatchNorm>) -> Self {
        self.norms[1] = norm.map(|norm| Pending { norm, bias: None });
        self
    }

    /// The batch norms of the maps and of the other branch.
    pub(crate) fn norms(&self) -> &[Option<Pending<'n>>; 2] {
        &self.norms
    }

    /// The step of a chunk, with the statistics of the whole batch.
    pub(crate) fn forward(&self, flow: Flow, moments: &Moments) -> Flow {
        let ([of_maps, of_branch], [maps, branch]) = (&self.norms, moments);
        let normalised =
            |input, norm: &Option<Pending>, statistics: &Option<Statistics>| match (norm, statistics) {
                (Some(pending), Some(statistics)) => pending.norm.by_places(input, statistics),
                _ => input,
            };
        (self.layers)(Flow {
            maps: normalised(flow.maps, of_maps, maps),
            branch: flow.branch.map(|input| normalised(input, of_branch, branch)),
        })
    }
}
