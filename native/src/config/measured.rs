//! `[[probe.objectives]]`: objectives that are evaluated on the frozen network.

use serde::{Deserialize, Serialize};
use simile_core::loss;

use super::explain::suggestion;
use super::fault::Fault;
use super::objective::ObjectiveSection;
use super::reader_error::ReaderError;
use crate::metrics::metric::name_for_objective;

/// The objectives that compare two views in one network.
fn measured() -> Vec<&'static str> {
    loss::specs().filter(|spec| spec.compares_views()).map(|spec| spec.name).collect()
}

/// An objective and the output on which it is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MeasuredObjective {
    #[serde(default)]
    pub(crate) of: Output,
    /// Images of a batch; an incomplete last batch is not measured.
    #[serde(default = "default_batch")]
    pub(crate) batch: usize,
    #[serde(flatten)]
    pub(crate) objective: ObjectiveSection,
}

/// The output of a network that is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Output {
    /// The output of the encoder.
    #[default]
    Representation,
    /// The output of its head, as in training. Model files hold no head, so that only the run itself measures it.
    Projection,
}

fn default_batch() -> usize {
    256
}

impl MeasuredObjective {
    /// The name of its metric on the images of a split, one of [`OBJECTIVE_SPLITS`](crate::metrics::metric::OBJECTIVE_SPLITS).
    pub(crate) fn metric(&self, split: &str) -> String {
        name_for_objective(&self.objective.name, split)
    }

    /// In words, for a protocol.
    pub(crate) fn in_words(&self) -> String {
        let of = match self.of {
            Output::Representation => "the representation",
            Output::Projection => "the projections",
        };
        format!("{} of {of} of two views, mean over batches of {}", self.objective.name, self.batch)
    }

    fn check(&self) -> Result<(), String> {
        let name = self.objective.name.as_str();
        let known = measured();
        if !known.contains(&name) {
            let hint = suggestion(name, known);
            return Err(format!("`probe.objectives` cannot evaluate `{name}` on a frozen network{hint}"));
        }
        if self.batch < 2 {
            return Err("`probe.objectives.batch` must be at least 2".into());
        }
        let built = self.objective.config()?.build();
        built.map(drop).map_err(|error| ReaderError::of(&error.to_string()).to_string())
    }
}

/// Checks all entries; each metric name may occur once.
pub(super) fn check(all: &[MeasuredObjective]) -> Result<(), Fault> {
    let fault = |reason| Fault::new("probe", "objectives", reason);
    for (at, one) in all.iter().enumerate() {
        one.check().map_err(fault)?;
        if all[..at].iter().any(|before| before.objective.name == one.objective.name) {
            return Err(fault(format!(
                "`probe.objectives` names `{}` twice, and their metrics would have the same names; remove one",
                one.objective.name
            )));
        }
    }
    Ok(())
}
