//! The images on which the best point of a sweep is evaluated in the end.

use std::path::Path;

use simile_core::data::Split;

use crate::data::DataSection;
use crate::data::keys::values::JudgedBy;

/// The images on which the best point is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinalImages {
    Test,
    /// The validation split of data without test images; the settings were chosen on held-out training images.
    Validation,
    /// The validation split, on which the settings were chosen too.
    ValidationAgain,
}

impl FinalImages {
    /// Those of a sweep over data: the test images, unless there are none.
    pub(super) fn of(data: &DataSection, folder: Option<&Path>) -> Self {
        // Data that are not on this machine may have some.
        let has_test = || {
            let all = folder.and_then(|folder| data.catalogue(folder).ok());
            all.is_none_or(|all| all.splits.contains(&Split::Test))
        };
        if data.judged_by == JudgedBy::Test || has_test() {
            return Self::Test;
        }
        if data.validation > 0 { Self::Validation } else { Self::ValidationAgain }
    }

    /// The command that evaluates the best point on them, with the meaning of its numbers.
    pub(super) fn remark(self, command: &str) -> String {
        match self {
            Self::Test => format!("On the test images: `{command}`"),
            Self::Validation => {
                format!("On the validation images, because these data have no test images: `{command}`")
            }
            Self::ValidationAgain => format!(
                "These data have no test images, so this command evaluates on the validation images, which chose the \
                 settings; its numbers are optimistic: `{command}`. With --set data.validation=N, N training images choose \
                 them instead."
            ),
        }
    }
}
