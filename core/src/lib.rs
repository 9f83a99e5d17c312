#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! The crate reads no clock and prints nothing, so that the same code runs in the command-line trainer and, compiled for wasm32,
//! in a page. With the feature `rayon` its loops on the host use the thread pool of Burn's CPU backend. Every function works on the
//! device of the tensors that it is given.
//!
//! | module | contents |
//! |---|---|
//! | [`numeric`] | host matrices, unit rows, rows that share a label |
//! | [`kernel`] | kernels, Gram matrices, low rank, the weights by a condition |
//! | [`data`] | formats parsed from bytes, annotated sets of pictures, generated digits |
//! | [`augment`] | batched views; pictures of any size for an encoder |
//! | [`nn`] | encoders, heads, layers, the model and its file format |
//! | [`loss`] | the inputs of an objective, the equation that most objectives share, one file for each objective |
//! | [`optim`] | optimisers and schedules |
//! | [`algorithm`] | training methods: an objective with the state it needs (queue, second network, prototypes) |
//! | [`peers`] | the processes that share a step |
//! | [`step_stage`] | the stages of a step, for a profile |
//! | [`train`] | the step, the order of samples, the state of a run |
//! | [`eval`] | probes, metrics, projections, clustering |
//! | [`requests`] | one objective, probe or optimiser on the numbers of a JSON document |
#![forbid(unsafe_code)]

pub mod algorithm;
pub mod augment;
pub mod data;
pub mod error;
pub mod eval;
pub mod kernel;
pub mod loss;
pub mod nn;
pub mod numeric;
pub mod optim;
pub mod peers;
pub mod requests;
pub mod step_stage;
pub mod train;
