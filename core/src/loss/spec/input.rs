//! The named inputs of an objective.

use serde::Serialize;

/// An input that an objective reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Input {
    /// Its name in a [`Batch`](crate::loss::batch::Batch) and in request files.
    pub name: &'static str,
    /// The kind of its numbers.
    pub kind: InputKind,
    /// Its shape: `b` samples, `n` samples of a loss of class scores, `d` numbers of an embedding.
    pub shape: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Whether the objective requires it.
    pub needed: Needed,
    /// True if it is a constant of the loss, whose gradient is 0.
    pub constant: bool,
}

/// The kind of an input's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// Rows on the device that are brought to length one.
    Embeddings,
    /// Rows on the device that are not normalised.
    Rows,
    /// An integer for each sample.
    Integers,
    /// An integer for each sample: its cluster by a variable of the data set, or its class.
    Clusters,
    /// Rows on the host, in `f64`.
    Host,
}

impl InputKind {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Embeddings => "rows, normalised",
            Self::Rows => "rows",
            Self::Integers | Self::Clusters => "integers",
            Self::Host => "rows, on the host",
        }
    }
}

/// How strictly an objective requires an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needed {
    /// Its absence is an error.
    Always,
    /// Without it, the samples' own representations are used.
    OrRepresentation,
    /// It is optional.
    Optional,
    /// Its absence is an error under one value of a setting.
    If {
        /// The setting.
        setting: &'static str,
        /// Its value, as JSON.
        value: &'static str,
    },
}

impl Needed {
    /// In words.
    pub fn in_words(self) -> String {
        match self {
            Self::Always => "required".into(),
            Self::OrRepresentation => "else the representation".into(),
            Self::Optional => "optional".into(),
            Self::If { setting, value } => format!("if {setting} = {value}"),
        }
    }
}

impl Input {
    const fn new(name: &'static str, kind: InputKind, shape: &'static str, meaning: &'static str) -> Self {
        Self { name, kind, shape, meaning, needed: Needed::Always, constant: false }
    }

    /// Rows that are brought to length one.
    pub const fn embeddings(name: &'static str, shape: &'static str, meaning: &'static str) -> Self {
        Self::new(name, InputKind::Embeddings, shape, meaning)
    }

    /// Rows that are not normalised.
    pub const fn rows(name: &'static str, shape: &'static str, meaning: &'static str) -> Self {
        Self::new(name, InputKind::Rows, shape, meaning)
    }

    /// An integer for each sample.
    pub const fn integers(name: &'static str, shape: &'static str, meaning: &'static str) -> Self {
        Self::new(name, InputKind::Integers, shape, meaning)
    }

    /// Rows on the host.
    pub const fn host(name: &'static str, shape: &'static str, meaning: &'static str) -> Self {
        Self::new(name, InputKind::Host, shape, meaning)
    }

    /// The same input with another requirement.
    pub const fn needed(self, needed: Needed) -> Self {
        Self { needed, ..self }
    }

    /// The same input, but optional.
    pub const fn optional(self) -> Self {
        self.needed(Needed::Optional)
    }

    /// The same input in another shape.
    pub const fn shape(self, shape: &'static str) -> Self {
        Self { shape, ..self }
    }

    /// The same input as a constant of the loss.
    pub const fn constant(self) -> Self {
        Self { constant: true, ..self }
    }

    /// The sizes of its shape, such as `[n, domains * classes]`, given the value of each name.
    pub fn dims(&self, number: impl Fn(&str) -> usize) -> Vec<usize> {
        let side = |side: &str| -> usize {
            side.split(" * ").map(|name| name.parse().unwrap_or_else(|_| number(name))).product()
        };
        self.shape.trim_matches(['[', ']']).split(", ").map(side).collect()
    }

    /// True if its rows are samples of the batch.
    pub fn is_by_sample(&self) -> bool {
        let first = self.shape.trim_start_matches('[').split([',', ']']).next();
        matches!(first, Some("b" | "n" | "m"))
    }

    /// True if its rows are embeddings of the samples, normalised or not.
    pub fn is_embedding(&self) -> bool {
        let is_rows = self.kind == InputKind::Rows && self.name.starts_with("view_");
        self.is_by_sample() && (is_rows || self.kind == InputKind::Embeddings)
    }

    /// The same input with another meaning.
    pub const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }
}

/// The embeddings of the first views.
pub const VIEW_A: Input = Input::embeddings("view_a", "[b, d]", "embeddings of the first views");
/// The embeddings of the second views.
pub const VIEW_B: Input =
    Input::embeddings("view_b", "[b, d]", "embeddings of the second views, row by row of the same samples");
/// The embeddings of further views.
pub const FURTHER_VIEWS: Input =
    Input::embeddings("view_c", "[b, d]", "embeddings of a third view; view_d and so on for more").optional();
/// The embeddings of the first views by the network that learns the bias.
pub const BIASED_A: Input =
    Input::embeddings("view_a_biased", "[b, e]", "embeddings of the first views by the biased network");
/// The embeddings of the second views by the network that learns the bias.
pub const BIASED_B: Input =
    Input::embeddings("view_b_biased", "[b, e]", "embeddings of the second views by the biased network");
/// The scores of each class.
pub const LOGITS: Input = Input::rows("logits", "[n, classes]", "the score of each class");
/// The class of each sample.
pub const CLASSES: Input = Input::integers("labels", "[b]", "the class of each sample");
/// The cluster of each sample.
pub const CLUSTERS: Input = Input::new("labels", InputKind::Clusters, "[b]", "the cluster of each sample");
/// The bias attribute of each sample.
pub const BIAS: Input = Input::integers("bias", "[b]", "the bias attribute of each sample");
/// The conditioning variable.
pub const Z: Input = Input::host("z", "[b, e]", "the conditioning variable of each sample");
/// The conditioning variable of the first views.
pub const Z_A: Input =
    Input::host("z_a", "[b, e]", "in place of z, that of the first views; with z_b").optional();
/// The conditioning variable of the second views.
pub const Z_B: Input =
    Input::host("z_b", "[b, e]", "in place of z, that of the second views; with z_a").optional();
