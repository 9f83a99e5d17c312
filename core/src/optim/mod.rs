//! Optimisers and learning-rate schedules.
//!
//! An [`Optimizer`] stores its state under the names of the tensors it updates, so that a run can be continued in
//! another process; Burn uses parameter identities as keys, which are new for every module. The rules are those of
//! PyTorch: coupled weight decay in SGD and Adam, decoupled in AdamW, and a bias correction of Adam's moments that
//! counts the steps of each tensor, so that a tensor that joins later starts like one at the beginning.

mod accumulate;
mod config;
pub mod lars;
mod optimizer;
pub mod rules;
pub mod schedule;
#[cfg(test)]
mod tests;
mod update;

pub use config::OptimizerConfig;
pub use optimizer::{Optimizer, StepCounts};
