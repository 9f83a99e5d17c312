//! Losses of a positive against negatives: InfoNCE, its corrections and its queues.

pub mod cmc;
pub mod dc;
pub mod dcl;
pub mod hcl;
pub mod info_nce;
pub mod moco;
pub mod nt_xent;
pub mod weaksup_info_nce;
