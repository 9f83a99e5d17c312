//! The command line from the outside: a process, its exit code, its streams and its files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod book;
mod campaign;
mod cluster;
mod data;
mod documents;
mod export;
mod faults;
mod fetch;
mod import;
mod inputs;
mod loss;
mod memory;
mod methods;
mod mpi;
mod newcomer;
mod onnx;
mod own_data;
mod profile;
mod reference;
mod reproduce;
mod resume;
mod runs;
mod schema;
mod selection;
mod sets;
mod several;
mod signals;
mod snapshots;
mod support;
mod sweep;
mod vectors;
