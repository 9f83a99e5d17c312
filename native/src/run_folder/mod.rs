//! The files of a run: recipe, metrics, models, state, result and figures, with atomic writing and detection of damage.

pub(crate) mod atomic_file;
mod checkpoint_writer;
pub(crate) mod data_digests;
pub(crate) mod digest;
pub(crate) mod figures;
pub(crate) mod finished;
pub(crate) mod folder;
pub(crate) mod hits;
mod ledger;
pub(crate) mod lock;
mod log;
pub(crate) mod model;
pub(crate) mod record;
mod sealed;
pub(crate) mod state;
pub(crate) mod store;
pub(crate) mod tensorboard;
#[cfg(test)]
pub(crate) mod testing;
mod variant_state;
