//! Every registered objective on batches that no reference vector covers: gradients, properties, identities
//! and degenerate inputs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod batches;
mod degenerate;
mod described;
mod detached;
mod documented;
mod gradients;
mod identities;
mod key_queue;
mod properties;
mod released;
