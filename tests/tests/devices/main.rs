//! Every device of the binary has to give the results of the CPU. One program, because an adapter in software compiles
//! for minutes on one core: its tests run concurrently. With `SIMILE_REQUIRE_DEVICES=cpu,wgpu` a missing device is a
//! failure.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod self_test;
mod training;
mod vectors;
