//! Random streams: each follows from the seed of a run, a purpose and a number, and from nothing else.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The use of random numbers. Each has streams of its own, so that drawing more for one does not change another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The initial values of a network.
    Initialisation = 0,
    /// The order of samples in an epoch.
    Order = 1,
    /// The views of a step.
    Augmentation = 2,
    /// The random numbers of an objective, such as the first centres of k-means.
    Objective = 3,
}

/// The generator for a purpose in step or epoch `index`.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((index << 2) | purpose as u64);
    rng
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let first = |seed, purpose, index| stream(seed, purpose, index).next_u64();
        let all = [
            first(1, Purpose::Augmentation, 0),
            first(1, Purpose::Augmentation, 1),
            first(1, Purpose::Order, 0),
            first(2, Purpose::Augmentation, 0),
        ];
        assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])));
        assert_eq!(all[0], first(1, Purpose::Augmentation, 0));
    }
}
