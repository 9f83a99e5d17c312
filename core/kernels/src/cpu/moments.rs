//! Mean and variance of channels over several parts.

/// Mean and sum of squared deviations by channel.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    /// Number of values of a channel.
    pub(super) count: usize,
    pub(super) means: Vec<f32>,
    pub(super) squares: Vec<f32>,
}

impl Moments {
    /// The moments of no values.
    pub(super) fn none(channels: usize) -> Self {
        Self { count: 0, means: vec![0.0; channels], squares: vec![0.0; channels] }
    }

    /// The moments of all parts together. Deviations are taken from the mean of a part, and parts are combined as by Chan, Golub &
    /// LeVeque (1983), so that a mean far from zero costs no digits.
    pub(crate) fn joined(parts: impl IntoIterator<Item = Self>, channels: usize) -> Self {
        parts.into_iter().fold(Self::none(channels), Self::with)
    }

    fn with(mut self, other: Self) -> Self {
        let count = self.count + other.count;
        let share = other.count as f32 / count.max(1) as f32;
        let between = self.count as f32 * share;
        let ours = self.means.iter_mut().zip(&mut self.squares);
        for ((mean, square), (other_mean, other_square)) in ours.zip(other.means.iter().zip(&other.squares)) {
            let difference = other_mean - *mean;
            *mean += difference * share;
            *square += other_square + difference * difference * between;
        }
        Self { count, ..self }
    }

    /// Means and biased variances.
    pub(crate) fn into_mean_and_variance(self) -> [Vec<f32>; 2] {
        let count = self.count as f32;
        [self.means, self.squares.into_iter().map(|square| square / count).collect()]
    }
}
