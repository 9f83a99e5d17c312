//! conditional
