//! Settings that worked on coloured digits and on tinted pictures. A drafted recipe has them, and the report of a run whose variant hides
//! nothing advises them.

/// The divisor of the cosines of an objective.
pub(crate) const TEMPERATURE: f64 = 0.5;
/// The ridge of the kernel weights of an objective.
pub(crate) const LAMBDA: f64 = 0.01;
/// The learning rate of Adam for a small network.
pub(crate) const LEARNING_RATE: f64 = 0.004;
/// Images of a batch in which most anchors have others of their kind.
pub(crate) const BATCH: usize = 256;
