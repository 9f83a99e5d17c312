//! The state of one variant of a run.

use serde::{Deserialize, Serialize};

use crate::run_folder::record::{SelectionEvaluation, VariantResult, best};

/// The state of one variant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct VariantState {
    pub(crate) name: String,
    /// Number of finished iterations.
    pub(crate) iteration: u64,
    /// Wall time of its training so far in seconds.
    pub(crate) seconds: f64,
    /// File of the trainer's state, once the variant was begun.
    pub(crate) trainer: Option<String>,
    /// File of the trainer's state at the last multiple of `checkpoint_every`, which is restored if the run diverges. It must not
    /// depend on the times of other checkpoints.
    #[serde(rename = "good")]
    pub(crate) last_finite: Option<String>,
    /// File of the best network among the evaluated ones.
    pub(crate) best: Option<String>,
    /// Evaluations so far.
    pub(crate) evaluations: Vec<SelectionEvaluation>,
    /// Its result, once it is done.
    pub(crate) result: Option<VariantResult>,
}

impl VariantState {
    /// Lets it take further steps. One that diverged has evaluations after its last iteration, which it now reaches on another
    /// schedule. If the best network was of one of them, no other is kept, and no evaluation so far can be chosen.
    pub(super) fn reopen(&mut self) {
        self.result = None;
        let last = self.iteration;
        if best(&self.evaluations).is_some_and(|best| best.iteration > last) {
            self.best = None;
            self.evaluations.clear();
        }
        self.evaluations.retain(|evaluation| evaluation.iteration <= last);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Its evaluations after the network that was kept counted twice.
    #[test]
    fn a_variant_that_diverged_and_is_made_longer_evaluates_again() {
        let left = |values: [f64; 3]| {
            let evaluations = [4, 8, 16].into_iter().zip(values);
            let evaluated =
                |(iteration, value)| SelectionEvaluation { iteration, value, metrics: BTreeMap::new() };
            let evaluations = evaluations.map(evaluated).collect();
            let best = Some("best".into());
            let mut state = VariantState { iteration: 15, best, evaluations, ..VariantState::default() };
            state.reopen();
            let left: Vec<u64> = state.evaluations.iter().map(|left| left.iteration).collect();
            (left, state.best.is_some())
        };
        assert_eq!(left([0.5, 0.6, 0.4]), (vec![4, 8], true));
        assert_eq!(left([0.5, 0.6, 0.7]), (vec![], false));
    }
}
