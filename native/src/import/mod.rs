//! Weights that other programs wrote.

pub(crate) mod torch;
