//! An experiment: the run of a recipe. [`run`] contains it from beginning to end: prepare, train, evaluate, write. The other files hold
//! the functions that it calls, and the other entry points: resuming a run ([`resume`]), several runs of one command ([`several`]), a
//! process that shares the steps of another ([`follow`]), the times of its steps ([`profile`]), and the speed of its images
//! ([`input_speed`]).

pub(crate) mod estimate;
pub(crate) mod evaluate;
pub(crate) mod features;
pub(crate) mod follow;
pub(crate) mod input_speed;
pub(crate) mod memory;
mod outputs;
pub(crate) mod preflight;
pub(crate) mod prepare;
pub(crate) mod profile;
pub(crate) mod resume;
pub(crate) mod run;
mod session;
pub(crate) mod several;
mod step_settings;
#[cfg(test)]
mod testing;
pub(crate) mod train;
