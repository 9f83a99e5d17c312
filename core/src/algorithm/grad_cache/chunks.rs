//! Computes the chunks of a process one after another, each normalised by its own statistics.

use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor};

use super::all_reduce::GradientReducer;
use super::by_sections::BySections;
use super::chunk_outputs::ChunkOutputs;
use crate::algorithm::Views;
use crate::algorithm::passes::{self, ViewOutputs};
use crate::error::Result;
use crate::nn::Model;

/// The chunks of this process, each on its device, with the passes whose graphs are kept.
#[derive(Debug)]
pub(super) struct Chunks {
    replicas: Vec<Replica>,
    /// Samples of a chunk.
    size: usize,
}

/// The settings of the first passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkOptions {
    /// Samples of a chunk.
    pub(super) size: usize,
    /// True if the outputs include the embeddings.
    pub(super) needs_embeddings: bool,
    /// True if the chunk that is differentiated last goes section by section, for the sake of other processes, which wait for its
    /// gradients.
    pub(super) last_by_sections: bool,
}

/// The copy of the network on one device in one step, with the chunks of this device.
#[derive(Debug)]
struct Replica {
    model: Model,
    chunks: Vec<Chunk>,
}

/// Some samples with the gradients of the loss with respect to their projections.
#[derive(Debug)]
struct Chunk {
    views: Views,
    pass: Option<Pass>,
    gradients: [Option<Tensor<2>>; 2],
}

/// A pass of both views through a network, with its graph, or with those of its sections.
#[derive(Debug)]
struct Pass {
    embeddings: ViewOutputs,
    projections: [Tensor<2>; 2],
    by_sections: Option<BySections>,
}

impl Chunks {
    /// The first pass of every chunk, and the outputs of all of them. `models` are the network on the first device and on each of
    /// `helpers`; `chunks` lie on the first device.
    pub(super) fn forward(
        models: Vec<Model>,
        helpers: &[Device],
        chunks: Vec<Views>,
        ChunkOptions { size, needs_embeddings, last_by_sections }: ChunkOptions,
    ) -> (Self, ChunkOutputs) {
        let replica = |model| Replica { model, chunks: Vec::new() };
        let mut replicas: Vec<Replica> = models.into_iter().map(replica).collect();
        let first_kept = chunks.len().saturating_sub(replicas.len());
        let last = last_by_sections.then(|| chunks.len().min(replicas.len()).saturating_sub(1));
        let mut projections = [Vec::new(), Vec::new()];
        let mut embeddings = [Vec::new(), Vec::new()];
        for (index, views) in chunks.into_iter().enumerate() {
            let device = index % replicas.len();
            let views = match device {
                0 => views,
                helper => views.to_device(&helpers[helper - 1]),
            };
            let is_kept = index >= first_kept;
            let pass = match is_kept && last == Some(index) {
                true => Pass::by_sections(&replicas[device].model, &views),
                false => Pass::of(&replicas[device].model, &views),
            };
            for (view_parts, projections) in projections.iter_mut().zip(&pass.projections) {
                view_parts.push(projections.clone().without_autodiff());
            }
            if needs_embeddings {
                for (view_parts, embeddings) in embeddings.iter_mut().zip(pass.embeddings.split()) {
                    view_parts.push(embeddings.without_autodiff());
                }
            }
            let pass = is_kept.then_some(pass);
            replicas[device].chunks.push(Chunk { views, pass, gradients: [None, None] });
        }
        (Self { replicas, size }, ChunkOutputs { embeddings, projections })
    }

    /// Hands every chunk the gradients of its projections, from those of the samples of this process.
    pub(super) fn with_gradients(mut self, grad_views: &[Option<Tensor<2>>; 2]) -> Self {
        let count = self.replicas.len();
        for (device, Replica { chunks, .. }) in self.replicas.iter_mut().enumerate() {
            for (round, chunk) in chunks.iter_mut().enumerate() {
                let start = (round * count + device) * self.size;
                let rows = start..start + chunk.views.samples();
                let to = chunk.views.a.device();
                let rows_of_chunk = |grad_view: Tensor<2>| grad_view.slice([rows.clone()]).to_device(&to);
                chunk.gradients = grad_views.clone().map(|grad_view| grad_view.map(rows_of_chunk));
            }
        }
        self
    }

    /// The gradients of the parameters from the chunks of each device.
    ///
    /// # Errors
    /// The loss depends on no network.
    pub(super) fn gradients(self) -> Result<Vec<GradientsParams>> {
        self.replicas.into_iter().map(Replica::gradients).collect()
    }

    /// Adds the gradients of the parameters from all chunks to the sums over processes. The last chunk adds those of one section after
    /// another, so that a section is summed while those before it are differentiated.
    ///
    /// # Errors
    /// The loss depends on no network.
    pub(super) fn add_to(mut self, reducer: &mut GradientReducer) -> Result<()> {
        let last = self.replicas.iter_mut().rev().find(|replica| !replica.chunks.is_empty());
        let last = last.map(|replica| (replica.model.clone(), replica.chunks.remove(0)));
        for replica in self.replicas {
            reducer.add(replica.gradients()?);
        }
        last.map_or(Ok(()), |(model, chunk)| chunk.add_sections(reducer, &model))
    }
}

impl Replica {
    /// The gradients of the parameters from all chunks of this device.
    fn gradients(self) -> Result<GradientsParams> {
        let mut accumulator = GradientsAccumulator::new();
        // The chunk with a graph first, so that its memory is freed for the others.
        for chunk in self.chunks.into_iter().rev() {
            accumulator.accumulate(&self.model, chunk.gradients(&self.model)?);
        }
        Ok(accumulator.grads())
    }
}

impl Chunk {
    /// The gradients of the parameters, from those of the chunk's projections.
    fn gradients(self, model: &Model) -> Result<GradientsParams> {
        let Pass { projections, .. } = self.pass.unwrap_or_else(|| Pass::of(model, &self.views));
        match passes::surrogate_loss(projections.into_iter().zip(self.gradients)) {
            Some(sum) => passes::gradients(model, sum),
            None => Ok(GradientsParams::new()),
        }
    }

    /// Adds the gradients of the parameters to the sums over processes, section by section.
    fn add_sections(self, reducer: &mut GradientReducer, model: &Model) -> Result<()> {
        let by_sections = self.pass.and_then(|pass| pass.by_sections);
        let pass = by_sections.unwrap_or_else(|| BySections::forward(model, &self.views));
        pass.backward(model, self.gradients, |grad_section| reducer.add_section(grad_section))
    }
}

impl Pass {
    fn of(model: &Model, views: &Views) -> Self {
        let embeddings = passes::embed(model, views);
        let projections = embeddings.project(model).split();
        Self { embeddings, projections, by_sections: None }
    }

    fn by_sections(model: &Model, views: &Views) -> Self {
        let pass = BySections::forward(model, views);
        Self { embeddings: pass.embeddings(), projections: pass.projections(), by_sections: Some(pass) }
    }
}
