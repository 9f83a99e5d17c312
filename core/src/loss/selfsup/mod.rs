//! Objectives on views without negatives: a moving average, correlations, prototypes, pixels.

pub mod barlow_twins;
pub mod byol;
pub mod swav;
pub mod vae;
