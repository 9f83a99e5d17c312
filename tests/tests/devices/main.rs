//! What every device of the binary has to find as the CPU does. One program, because an adapter in software keeps one
//! core busy for minutes with compiling: its tests run side by side.
//! `SIMILE_REQUIRE_DEVICES=cpu,wgpu` makes a device that is missing a failure.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod training;
mod vectors;
