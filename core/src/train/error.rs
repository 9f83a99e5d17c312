//! The reasons for which a run cannot continue.

use crate::error::Error;
use crate::nn::checkpoint::CheckpointError;

/// The reason for which a run cannot continue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// An input or a parameter that cannot be used.
    #[error(transparent)]
    Input(#[from] Error),
    /// The state of a run cannot be read or written.
    #[error(transparent)]
    State(#[from] CheckpointError),
    /// The loss became infinite or NaN.
    #[error(
        "the loss is not a finite number between steps {from} and {to}; lower the learning rate, raise the temperature, \
         or set optimizer.clip_norm"
    )]
    Diverged {
        /// The first step since the loss was last read.
        from: u64,
        /// The step after the last one.
        to: u64,
    },
}
