//! The training set, as far as an algorithm depends on it.

/// The properties of the training set that an algorithm may need.
#[derive(Debug, Clone, Default)]
pub struct TrainingSet {
    /// The class of each sample.
    pub labels: Vec<usize>,
    /// Number of values that the bias takes; 0 if there is none.
    pub bias_count: usize,
}
