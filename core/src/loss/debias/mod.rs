//! Debiasing: objectives that use bias labels, or a biased network instead, so that an attribute does not decide.

pub mod bias_balance;
pub mod biascon;
pub mod biascon_total;
pub mod domain_independent;
pub mod end;
pub mod hsic;
pub mod jtt;
pub mod learned_mixin;
pub mod lff;
pub mod lnl;
mod released_epsilon;
pub mod rubi;
pub mod softcon;
pub mod wcl;
