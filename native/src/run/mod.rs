//! A run: its folder, its data, its steps, what it records, and how it is continued.

pub(crate) mod context;
mod doubts;
pub(crate) mod draw;
mod events;
mod feed;
pub(crate) mod folder;
pub(crate) mod interrupt;
pub(crate) mod jobs;
mod memory;
pub(crate) mod needs;
mod pictures;
pub(crate) mod prepared;
pub(crate) mod prior;
pub(crate) mod record;
mod rehearsal;
mod room;
mod selection;
pub(crate) mod session;
pub(crate) mod splits;
pub(crate) mod start;
pub(crate) mod state;
mod training;
mod untrained;
mod weights;
