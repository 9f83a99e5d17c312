//! The files of a run: recipe, metrics, models, state, result and figures; how each is written whole and found damaged.

mod digest;
mod exact;
pub(crate) mod figures;
pub(crate) mod folder;
mod lock;
pub(crate) mod log;
pub(crate) mod model;
pub(crate) mod record;
pub(crate) mod state;
pub(crate) mod tensorboard;
