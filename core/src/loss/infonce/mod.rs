//! Losses of a positive against negatives: InfoNCE, its corrections and its queues.

mod bank;
pub mod cmc;
pub(crate) mod corrected;
pub mod dc;
pub mod dcl;
pub mod hcl;
pub mod info_nce;
pub mod moco;
pub mod nt_xent;
pub mod weaksup_info_nce;
