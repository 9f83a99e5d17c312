//! Synthetic data: coloured and biased digits, digits drawn from strokes, tables of attributes.

pub mod attributes;
pub mod biased_mnist;
pub mod colour_mnist;
pub mod digits;
mod glyph;
