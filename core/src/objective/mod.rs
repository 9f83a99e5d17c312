//! objective
