//! `[data.split]`: the split of data sets whose authors publish none.

use serde::{Deserialize, Serialize};
use simile_core::data::catalogue::train_count;
use simile_core::data::{Catalogue, DatasetError, Split};

use crate::data::error::Result;
use crate::data::keys::of_dataset::DatasetOption;

/// `[data.split]`: the split for data sets whose authors publish none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SplitSection {
    pub(crate) seed: u64,
    /// Fraction of the pictures to test on.
    pub(crate) test: f64,
    /// Training pictures of each class; all others are for testing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_class: Option<usize>,
}

impl Default for SplitSection {
    fn default() -> Self {
        Self { seed: 0, test: 0.3, per_class: None }
    }
}

impl DatasetOption for SplitSection {
    const KEY: &'static str = "split";
    const MEANINGS: &'static [(&'static str, &'static str)] = &[
        ("", "The split of a data set for which its authors publish none."),
        (
            "per_class",
            "Training pictures of each class; all others are tested on. By default 30 for `caltech-101`, 60 for `caltech-256`, and \
             `data.split.test` for others.",
        ),
        ("seed", "Seed of the split; 0 by default."),
        ("test", "Share of the pictures to test on, between 0 and 1; 0.3 by default."),
    ];

    fn check(&self) -> Result<(), String> {
        let within = self.test > 0.0 && self.test < 1.0;
        if within { Ok(()) } else { Err("`data.split.test` must lie between 0 and 1".into()) }
    }

    fn check_use(&self) -> Result<(), String> {
        let is_ignored = self.per_class.is_some() && self.test != Self::default().test;
        let reason = "`data.split.test` has no effect beside `data.split.per_class`, which tests on all other pictures; leave one \
                      of them out";
        if is_ignored { Err(reason.into()) } else { Ok(()) }
    }
}

impl SplitSection {
    /// The section for a data set whose works train on `per_class` pictures of each class: so many, unless a recipe says otherwise, or how
    /// many to test on.
    pub(super) fn with_per_class(self, per_class: Option<usize>) -> Self {
        let is_asked = self.per_class.is_some() || self.test != Self::default().test;
        if is_asked { self } else { Self { per_class, ..self } }
    }

    /// The catalogue with training pictures held out.
    ///
    /// # Errors
    /// If no picture, or not enough of a class, would be left to train on or to test.
    pub(super) fn split(&self, catalogue: Catalogue) -> Result<Catalogue> {
        Ok(match self.per_class {
            Some(count) => catalogue.keep_per_class(count, self.seed)?,
            None => {
                let train = catalogue.of(Split::Train).len();
                let held_out = train - train_count(train, self.test);
                catalogue
                    .hold_out(Split::Train, Split::Test, held_out, self.seed)
                    .map_err(|error| self.named_by_key(error))?
            }
        })
    }

    /// An error about the number of pictures, as one about the key that gives their share.
    fn named_by_key(&self, error: DatasetError) -> DatasetError {
        match error {
            DatasetError::Parameter { value, reason, .. } => {
                let reason = format!("which holds out {value}: {reason}");
                DatasetError::parameter("data.split.test", self.test, &reason)
            }
            other => other,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_leaves_none_to_train_on_is_named_by_its_key() {
        let files = ["a.png", "b.png"].map(String::from).to_vec();
        let classes = vec!["x".into(), "y".into()];
        let pictures = Catalogue::new("list", files, vec![Split::Train; 2], vec![0, 1], classes).unwrap();
        let section = SplitSection { test: 0.9, ..SplitSection::default() };
        assert_eq!(
            section.split(pictures).unwrap_err().to_string(),
            "`data.split.test` is 0.9, which holds out 2: expected 1 to 1 of 2 pictures"
        );
    }

    #[test]
    fn a_seed_alone_keeps_the_published_number_of_each_class() {
        let given = SplitSection { seed: 4, ..SplitSection::default() };
        assert_eq!(
            given.clone().with_per_class(Some(30)),
            SplitSection { per_class: Some(30), ..given.clone() }
        );
        let own = SplitSection { per_class: Some(5), ..given.clone() };
        assert_eq!(own.clone().with_per_class(Some(30)), own);
        let share = SplitSection { test: 0.5, ..given };
        assert_eq!(share.clone().with_per_class(Some(30)), share);
    }
}
