//! Supervised objectives: contrasts within a class, and class scores.

pub mod contex;
pub mod contex_clipped;
mod contex_terms;
pub mod cross_entropy;
pub mod generalised_cross_entropy;
pub mod max_margin;
pub mod supcon;
