//! contrast
