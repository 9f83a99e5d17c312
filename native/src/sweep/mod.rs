//! `simile sweep`: a run for each point of a grid of settings, and the point that is best by validation.

pub(crate) mod axis;
pub(crate) mod final_images;
pub(crate) mod front;
pub(crate) mod leak;
pub(crate) mod noise;
pub(crate) mod outcome;
pub(crate) mod output;
mod page;
pub(crate) mod plan;
pub(crate) mod search;
