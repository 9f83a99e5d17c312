//! The description of an objective, written once, in the objective's own file.
//!
//! A [`Spec`] is a constant beside the formula that it describes. It is the source of the list of names, the ranges of
//! parameters, the kind of each input, the algorithms that train an objective, `simile loss --describe`, the page's controls and
//! the tables of the documentation. Tests compare it with the objective: its defaults are those of the type, the absence of a
//! required input is an error, and its variants differ.

mod form;
mod formula;
mod input;
mod parameter;

use serde::Serialize;

use crate::error::{Error, Result};

pub use form::Form;
pub use formula::MARKS;
pub use input::{
    BIAS, BIASED_A, BIASED_B, CLASSES, CLUSTERS, FURTHER_VIEWS, Input, InputKind, LOGITS, Needed, VIEW_A,
    VIEW_B, Z, Z_A, Z_B,
};
pub use parameter::{DefaultValue, Kind, Parameter, Range, Scale, Slider};

/// True for `view_c`, `view_d` and so on.
pub(crate) fn is_further_view(name: &str) -> bool {
    let letter = name.strip_prefix("view_").filter(|letter| letter.len() == 1);
    letter.is_some_and(|letter| ("c"..="z").contains(&letter))
}

/// An objective with a description.
pub trait Described {
    /// Its description.
    const SPEC: Spec;
}

/// Access to the description of an objective whose type is not known. Every [`Described`] type implements it.
pub trait Specified {
    /// Its description.
    fn spec(&self) -> &'static Spec;

    /// Checks its parameters against their ranges.
    ///
    /// # Errors
    /// As [`Spec::check`].
    fn check_ranges(&self) -> Result<()>;
}

impl<T: Described + Serialize> Specified for T {
    fn spec(&self) -> &'static Spec {
        const { &T::SPEC }
    }

    fn check_ranges(&self) -> Result<()> {
        T::SPEC.check(self)
    }
}

/// The description of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spec {
    /// The name in recipes and request files.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The group of objectives in which tables list it.
    pub family: Family,
    /// The signal that it learns from.
    pub summary: &'static str,
    /// The publication and its equation.
    pub work: &'static str,
    /// The loss as text with the marks of [`MARKS`]; its page shows it without them.
    #[serde(serialize_with = "formula::serialize")]
    pub formula: &'static str,
    /// The meaning of the symbols in the formula that are not parameters.
    pub symbols: &'static str,
    /// Named inputs, in the order in which users are asked for them.
    pub inputs: &'static [Input],
    /// The output of a network that it reads.
    pub head: Head,
    /// The networks that compute its inputs.
    pub networks: InputNetworks,
    /// The algorithms that train it, which recipes call methods.
    #[serde(rename = "methods")]
    pub algorithms: &'static [&'static str],
    /// The algorithms that train it beside another objective, which a recipe names.
    #[serde(skip)]
    pub part_of: &'static [&'static str],
    /// Its forms, the default one first, which are the values of the setting `variant`. Empty if the form of the paper and that of
    /// the released code are the same; a single entry if the other form is missing or has another name.
    pub variants: &'static [Form],
    /// True if only the first views are anchors, so that the loss changes if the views are swapped. A parameter
    /// `symmetric` averages both directions.
    pub directed: bool,
    /// True if it has weights that depend on its inputs and are constants in its gradient.
    pub detached: bool,
    /// True if samples of similar conditioning values are its positives, so that an embedding keeps the variable; if they are its
    /// negatives, an embedding hides it.
    #[serde(skip)]
    pub keeps_condition: bool,
    /// Its parameters beside `variant`.
    pub parameters: &'static [Parameter],
    /// PyTorch source of the same loss. Some objectives have one; it is `None` for the others, such as `fair-cclk-trainable`. Its
    /// last function has the objective's name and takes the required inputs in their order, the parameters by name (`lambda` as
    /// `lambda_`), and `variant` if there are several forms. `hardneg_cclk` takes `z_a` and `z_b` in place of `z`. The source leaves out
    /// `approximation`, which changes how `W` is solved.
    pub pytorch: Option<&'static str>,
    /// The module that documents it, by `module_path!()`.
    #[serde(skip)]
    pub module: &'static str,
}

/// A group of objectives that tables list together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// A positive against negatives.
    InfoNce,
    /// Conditional contrastive learning with kernels.
    Cclk,
    /// Contrast by class and by bias.
    Labelled,
    /// Negatives weighted by their difficulty.
    Difficulty,
    /// Alignment and uniformity, and small batches.
    Uniformity,
    /// Other ways to learn without labels.
    Representation,
    /// Losses of class scores.
    ClassScores,
}

impl Family {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::InfoNce,
        Self::Cclk,
        Self::Labelled,
        Self::Difficulty,
        Self::Uniformity,
        Self::Representation,
        Self::ClassScores,
    ];

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::InfoNce => "InfoNCE and its corrections",
            Self::Cclk => "CCL-K",
            Self::Labelled => "ConTeX and bias labels",
            Self::Difficulty => "Difficulty-based",
            Self::Uniformity => "Decoupled Uniformity",
            Self::Representation => "Other representations",
            Self::ClassScores => "On class scores",
        }
    }
}

/// The output of a network that an objective reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// Embeddings or projections of any width.
    Projection,
    /// A score for each class.
    ClassScores,
    /// A score for each class and value of the bias.
    ClassScoresByBias,
    /// Other inputs, as their descriptions state.
    Other,
}

impl Head {
    /// The number of scores that the head of a network gives, for `classes` and a bias of `bias_count` values; `None` without scores.
    pub fn scores(self, classes: usize, bias_count: usize) -> Option<usize> {
        match self {
            Self::ClassScores => Some(classes),
            Self::ClassScoresByBias => Some(classes * bias_count.max(1)),
            Self::Projection | Self::Other => None,
        }
    }

    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Projection => "embeddings or projections",
            Self::ClassScores => "a score for each class",
            Self::ClassScoresByBias => "a score for each class and value of the bias",
            Self::Other => "its inputs as they are given",
        }
    }
}

/// The networks that compute the inputs of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputNetworks {
    /// One network.
    One,
    /// A network and a moving average of it.
    Averaged,
    /// A network and another that learns the bias.
    Biased,
    /// A network and another that was trained before it.
    Earlier,
    /// A network and a predictor of the bias on its features.
    Adversary,
    /// A network and a decoder.
    Decoder,
}

impl InputNetworks {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::One => "one network",
            Self::Averaged => "a network and a moving average of it",
            Self::Biased => "a network and another that learns the bias",
            Self::Earlier => "a network and another that was trained before it",
            Self::Adversary => "a network and a predictor of the bias on its features",
            Self::Decoder => "a network and a decoder",
        }
    }
}

/// The source of an objective's conditioning variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conditioning {
    /// No conditioning variable.
    #[default]
    None,
    /// The input `z`, which is required.
    Given,
    /// The samples' own representations, `z_a` and `z_b`, unless `z` is given.
    Representation,
}

/// The inputs that accompany two views of some samples: a condition, classes and bias labels.
const TWO_VIEW_INPUTS: [&str; 5] = ["view_a", "view_b", "z", "labels", "bias"];

impl Spec {
    /// The fields that most objectives share. Each objective fills in its name, formula, inputs and module.
    pub const BASE: Self = Self {
        name: "",
        title: "",
        family: Family::InfoNce,
        summary: "",
        work: "",
        formula: "",
        symbols: "",
        inputs: &[],
        head: Head::Projection,
        networks: InputNetworks::One,
        algorithms: &[],
        part_of: &[],
        variants: &[],
        directed: false,
        detached: false,
        keeps_condition: false,
        parameters: &[],
        pytorch: None,
        module: "",
    };

    /// The inputs that it always requires.
    pub fn required(&self) -> impl Iterator<Item = &'static Input> {
        self.inputs.iter().filter(|input| input.needed == Needed::Always)
    }

    /// True if it has an input of that name. An objective with a `view_c` also accepts `view_d` to `view_z`, one with a `queue_0`
    /// also `queue_1` and so on, or `queue` for all of them.
    pub fn reads(&self, name: &str) -> bool {
        let has = |name: &str| self.input(name).is_some();
        let is_queue =
            name == "queue" || name.strip_prefix("queue_").is_some_and(|at| at.parse::<usize>().is_ok());
        has(name) || is_further_view(name) && has(FURTHER_VIEWS.name) || is_queue && has("queue_0")
    }

    /// The input of that name.
    pub fn input(&self, name: &str) -> Option<&'static Input> {
        self.inputs.iter().find(|input| input.name == name)
    }

    /// The parameters that a form does not read, by their names; the default form without a `variant`.
    pub fn without_effect(&self, variant: Option<&str>) -> impl Iterator<Item = &'static Parameter> {
        let form = variant.or(self.variants.first().map(|form| form.name));
        self.parameters.iter().filter(move |parameter| parameter.form.is_some() && parameter.form != form)
    }

    /// True if it always requires the input of that name.
    pub fn needs(&self, name: &str) -> bool {
        self.required().any(|input| input.name == name)
    }

    /// True if it compares embeddings of two views, whether one network or two compute them.
    pub fn needs_views(&self) -> bool {
        self.needs("view_a") && self.needs("view_b")
    }

    /// True if it weighs samples by a kernel, for which it solves a system of equations.
    pub fn solves(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.kind == Kind::Kernel)
    }

    /// The form of that name, or the default form if no name is given.
    pub fn form(&self, name: Option<&str>) -> Option<&'static Form> {
        let named = |form: &&Form| name.is_none_or(|name| form.name == name);
        self.variants.iter().find(named)
    }

    /// The first required input beside two views, `z`, `labels` and `bias`.
    pub fn missing_beside_views(&self) -> Option<&'static Input> {
        self.required().find(|input| !TWO_VIEW_INPUTS.contains(&input.name))
    }

    /// True if it compares two views of the same samples in one network.
    pub fn compares_views(&self) -> bool {
        self.needs_views() && self.missing_beside_views().is_none() && self.networks == InputNetworks::One
    }

    /// The source of its conditioning variable.
    pub fn conditioning(&self) -> Conditioning {
        match self.input(Z.name).map(|input| input.needed) {
            Some(Needed::Always) => Conditioning::Given,
            Some(Needed::OrRepresentation) => Conditioning::Representation,
            _ => Conditioning::None,
        }
    }

    /// The parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Checks the parameters of an objective against their ranges.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn check(&self, objective: &impl Serialize) -> Result<()> {
        let values = serde_json::to_value(objective)
            .map_err(|error| Error::parameter("params", "not serialisable", &error.to_string()))?;
        self.parameters.iter().try_for_each(|parameter| parameter.check(values.get(parameter.name)))
    }
}
