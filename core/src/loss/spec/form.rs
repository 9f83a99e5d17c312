//! The forms of an objective whose paper and released code differ.

use serde::Serialize;

use crate::kernel::conditional::WeightScheme;

/// One of several formulas that an objective has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Form {
    /// The value of `variant` that selects it.
    pub name: &'static str,
    /// The difference from the other forms.
    pub meaning: &'static str,
    /// The parameter whose default is the only difference from the default form, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets_only: Option<&'static str>,
    /// A parameter with its default in this form, where that depends on the form.
    #[serde(skip)]
    pub default: Option<(&'static str, f64)>,
    /// True if the ridge of its weights is `lambda` times the number of samples.
    #[serde(skip)]
    pub ridge_grows: bool,
    /// The scheme of its weights; `None` without a kernel.
    #[serde(skip)]
    pub weights: Option<WeightScheme>,
    /// As [`Spec::directed`](super::Spec::directed), of this form.
    pub directed: bool,
    /// As [`Spec::detached`](super::Spec::detached), of this form.
    pub detached: bool,
}

impl Form {
    /// A formula of its own.
    pub const fn new(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            sets_only: None,
            default: None,
            ridge_grows: false,
            weights: None,
            directed: false,
            detached: false,
        }
    }

    /// A form that differs in the default of one parameter alone.
    pub const fn with_default(
        name: &'static str,
        (parameter, value): (&'static str, f64),
        meaning: &'static str,
    ) -> Self {
        Self { sets_only: Some(parameter), ..Self::new(name, meaning).default(parameter, value) }
    }

    /// The same form with its default of a parameter.
    pub const fn default(self, parameter: &'static str, value: f64) -> Self {
        Self { default: Some((parameter, value)), ..self }
    }

    /// The same form, whose ridge is `lambda` times the number of samples.
    pub const fn ridge_grows(self) -> Self {
        Self { ridge_grows: true, ..self }
    }

    /// The same form, whose weights are those of a scheme.
    pub const fn weights(self, scheme: WeightScheme) -> Self {
        Self { weights: Some(scheme), ..self }
    }

    /// The same form, in which the first views alone are anchors.
    pub const fn directed(self) -> Self {
        Self { directed: true, ..self }
    }

    /// The same form, whose gradient takes weights as constants.
    pub const fn detached(self) -> Self {
        Self { detached: true, ..self }
    }
}
