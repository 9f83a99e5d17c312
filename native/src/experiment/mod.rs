//! An experiment: a recipe that is run. [`run`] tells it from beginning to end: prepare, train, evaluate, write. The other
//! files are what it calls, and the ways to it: a run that goes on ([`resume`]), and one of several ([`settle`]).

pub(crate) mod evaluate;
pub(crate) mod jobs;
mod longer;
mod memory;
mod preflight;
pub(crate) mod prepare;
pub(crate) mod resume;
pub(crate) mod run;
mod session;
pub(crate) mod settle;
mod train;
mod write;
