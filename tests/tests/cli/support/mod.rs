//! Helpers of several tests: the program and what it says, runs and their folders, recipes, pictures and other files.

#[cfg(unix)]
pub(crate) mod cluster;
pub(crate) mod help;
pub(crate) mod mnist;
pub(crate) mod models;
pub(crate) mod pictures;
#[cfg(unix)]
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod python;
pub(crate) mod recipes;
pub(crate) mod run;
pub(crate) mod scans;
