//! Samples that several tests solve.

/// Colours from 0 to 255; a cubic kernel of them reaches 1e15.
pub(super) const BRIGHT: [[f64; 3]; 5] =
    [[239.0, 89.0, 245.0], [166.0, 62.0, 6.0], [23.0, 58.0, 180.0], [9.0, 214.0, 133.0], [251.0, 53.0, 25.0]];
