//! The stages of a training step, as spans of [`tracing`]. A program that listens to them can tell where the time of a
//! step goes (`simile train --profile`); where none does, a stage costs one load of an atomic number.

use tracing::span::EnteredSpan;
use tracing::trace_span;

/// A stage of a training step. A stage may contain others: [`Data`](Self::Data) contains [`Views`](Self::Views) and
/// [`Waiting`](Self::Waiting).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStage {
    /// Images and conditions of the batch.
    Data,
    /// Augmentation and normalisation; on a CPU also turning bytes into numbers, which is [`Data`](Self::Data) on a GPU.
    Views,
    /// Images to embeddings and projections.
    Forward,
    /// The objective: its value, and its gradient with respect to its inputs.
    Loss,
    /// The gradients of the parameters.
    Backward,
    /// The optimiser's update of the parameters.
    Update,
    /// Waiting for images or solves that the caller's threads prepare ahead of the step. Core prepares nothing ahead, so the caller
    /// enters this stage.
    Waiting,
}

impl StepStage {
    /// All stages, in the order of a step; waiting, which may be part of any, is the last.
    pub const ALL: [Self; 7] =
        [Self::Data, Self::Views, Self::Forward, Self::Loss, Self::Backward, Self::Update, Self::Waiting];

    /// The name of its span.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Views => "views",
            Self::Forward => "forward",
            Self::Loss => "loss",
            Self::Backward => "backward",
            Self::Update => "update",
            Self::Waiting => "waiting",
        }
    }

    /// Begins the stage; it ends when the result is dropped.
    pub fn enter(self) -> EnteredSpan {
        // The name of a span is a constant of its call site.
        let span = match self {
            Self::Data => trace_span!(StepStage::Data.name()),
            Self::Views => trace_span!(StepStage::Views.name()),
            Self::Forward => trace_span!(StepStage::Forward.name()),
            Self::Loss => trace_span!(StepStage::Loss.name()),
            Self::Backward => trace_span!(StepStage::Backward.name()),
            Self::Update => trace_span!(StepStage::Update.name()),
            Self::Waiting => trace_span!(StepStage::Waiting.name()),
        };
        span.entered()
    }
}
