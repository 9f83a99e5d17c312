//! Conditional contrastive representation learning over [Burn](burn): objectives, kernel estimators, encoders,
//! optimisers and evaluation.
//!
//! The crate opens no file, starts no thread, reads no clock and prints nothing, so that one and the same code
//! runs in the command-line trainer and, compiled for wasm32, in a page. (With the feature `rayon` its loops on the
//! host use the thread pool that Burn's CPU backend does.) It names no backend either: every
//! function works on the device of the tensors that it is given.
//!
//! | module | what it holds |
//! |---|---|
//! | [`batch`] | the named inputs of an objective: views, labels, conditioning variable |
//! | [`similarity`] | unit rows and the pull-back of their gradient |
//! | [`kernel`], [`conditional`] | kernels, Gram matrices and the conditional embedding operator |
//! | [`group`] | rows that share a label |
//! | [`contrast`] | the one equation behind most objectives, with its gradient |
//! | [`objective`] | one file for each objective |
//! | [`case`] | one objective, probe or optimiser on the numbers of a JSON document |
//! | [`cluster`] | k-means, clusters of binary attributes |
//! | [`dataset`], [`augment`] | formats parsed from bytes, the generated digits, batched views |
//! | [`preprocess`] | pictures of any size for an encoder |
//! | [`encoder`], [`checkpoint`] | networks and the file that holds one |
//! | [`optimizer`], [`train`] | LARS, schedules, the step |
//! | [`method`] | objectives that own more than one network: queues, momentum encoders, adversaries |
//! | [`evaluate`] | probes, metrics, projections |
#![forbid(unsafe_code)]

pub mod augment;
pub mod batch;
pub mod case;
pub mod checkpoint;
pub mod cluster;
pub mod conditional;
pub mod contrast;
pub mod dataset;
pub mod encoder;
pub mod error;
pub mod evaluate;
pub mod group;
pub mod kernel;
pub mod matrix;
pub mod method;
pub mod objective;
pub mod optimizer;
pub mod preprocess;
pub mod similarity;
pub mod train;
