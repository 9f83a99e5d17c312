//! What a run needs before its first step: images and their variables, weights to start from, and files that must be
//! there.

pub(crate) mod context;
pub(crate) mod images;
pub(crate) mod missing;
mod pictures;
pub(crate) mod prior;
pub(crate) mod splits;
pub(crate) mod weights;
