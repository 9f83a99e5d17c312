//! `probe.ridge`: the ridge penalty of the weights of a probe.

use serde::{Deserialize, Serialize};
use simile_core::eval::penalty::PENALTIES;

/// One penalty, or several to choose from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`probe.ridge` is neither a number nor a list of numbers")]
pub(crate) enum Penalty {
    /// A fixed penalty.
    Given(f64),
    /// The one that is best on held-out training images.
    Best(Vec<f64>),
}

impl Default for Penalty {
    fn default() -> Self {
        Self::Best(PENALTIES.to_vec())
    }
}

impl Penalty {
    /// All candidates.
    pub(crate) fn all(&self) -> &[f64] {
        match self {
            Self::Given(one) => std::slice::from_ref(one),
            Self::Best(several) => several,
        }
    }

    /// In words, for a protocol.
    pub(crate) fn in_words(&self) -> String {
        let written: Vec<String> = self.all().iter().map(|penalty| format!("{penalty:e}")).collect();
        match written.as_slice() {
            [one] => format!("ridge {one}"),
            several => {
                format!("the ridge of {} that is best on held-out training images", several.join(", "))
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.all().is_empty() {
            return Err("`probe.ridge` is an empty list; write a penalty, or several to choose from".into());
        }
        match self.all().iter().find(|penalty| !(penalty.is_finite() && **penalty >= 0.0)) {
            Some(wrong) => Err(format!("`probe.ridge` is {wrong}; expected 0 or more, such as 1e-3")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Section {
        ridge: Penalty,
    }

    fn read(text: &str) -> Result<Penalty, String> {
        toml::from_str::<Section>(text).map(|section| section.ridge).map_err(|error| error.message().into())
    }

    #[test]
    fn a_number_is_taken_and_a_list_is_chosen_from() {
        let given = read("ridge = 1e-5").unwrap();
        assert_eq!((&given, given.in_words().as_str()), (&Penalty::Given(1e-5), "ridge 1e-5"));
        assert_eq!(read("ridge = 1").unwrap().all(), [1.0]);
        let several = read("ridge = [1e-6, 1, 0.1]").unwrap();
        assert!(several.in_words().contains("1e-6, 1e0, 1e-1") && several.check().is_ok());
        assert!(read("ridge = 'weak'").unwrap_err().contains("neither a number nor a list"));
    }

    #[test]
    fn what_cannot_be_a_penalty_is_named() {
        for (wrong, named) in
            [("-1", "-1"), ("nan", "NaN"), ("inf", "inf"), ("[1e-3, -2]", "-2"), ("[]", "empty")]
        {
            let reason = read(&format!("ridge = {wrong}")).unwrap().check().unwrap_err();
            assert!(reason.contains("probe.ridge") && reason.contains(named), "{wrong}: {reason}");
        }
    }
}
