//! augment
