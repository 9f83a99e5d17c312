//! An experiment: the run of a recipe. [`run`] contains it from beginning to end: prepare, train, evaluate, write. The other files hold
//! the functions that it calls, and the other entry points: resuming a run ([`resume`]), one of several runs ([`several`],
//! [`run_outcome`]), a process that shares the steps of another ([`follow`]), the times of its steps ([`profile`]), and the speed of its
//! images ([`measure`]).

pub(crate) mod estimate;
pub(crate) mod evaluate;
pub(crate) mod features;
pub(crate) mod follow;
pub(crate) mod jobs;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod preflight;
pub(crate) mod prepare;
pub(crate) mod profile;
pub(crate) mod resume;
mod resumed_recipe;
pub(crate) mod run;
pub(crate) mod run_outcome;
mod session;
pub(crate) mod several;
mod step_settings;
pub(crate) mod train;
mod write;
