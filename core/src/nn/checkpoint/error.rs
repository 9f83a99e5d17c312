//! Errors of checkpoints and of the state of a run.

/// Result of reading or writing a checkpoint or the state of a run.
pub type Result<T, E = CheckpointError> = std::result::Result<T, E>;

/// An invalid file, or a file that cannot be written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CheckpointError {
    /// The bytes are not a safetensors file, or an incomplete one.
    #[error("not a safetensors file: {reason}; was the download complete?")]
    Format {
        /// The parser's message.
        reason: String,
    },
    /// The header has no `simile` metadata, or metadata that cannot be read.
    #[error("the header's `{key}` metadata {reason}")]
    Metadata {
        /// `simile` for a checkpoint, `simile_state` for the state of a run.
        key: &'static str,
        /// The reason: it is absent, not JSON, or lacks a field.
        reason: String,
    },
    /// A format version that this program does not know.
    #[error(
        "format version {found} is not known to this program, which reads version {known}; update simile"
    )]
    Version {
        /// The version of the file.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// A field of the metadata that contradicts other fields.
    #[error("`{field}` in the header is {found}, expected {expected}")]
    Field {
        /// Name of the field.
        field: String,
        /// The value in the file.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// A network with more values than the file.
    #[error(
        "it holds {found} numbers and the network in its header has {expected} or more; is this the file of another \
         encoder?"
    )]
    TooFew {
        /// Number of values in the file.
        found: u64,
        /// Lower bound of the number of values of the network.
        expected: u64,
    },
    /// A tensor of the network that is missing in the file.
    #[error("tensor `{name}` is missing; is this the file of another encoder?")]
    MissingTensor {
        /// Its name.
        name: String,
    },
    /// A tensor of the file that does not belong to the network.
    #[error("tensor `{name}` does not belong to this network; is this the file of another encoder?")]
    UnknownTensor {
        /// Its name.
        name: String,
    },
    /// Tensors of an imported network for which the encoder has no place.
    #[error(
        "{} of the network's tensors have no place in this encoder: {}; {likely}",
        .names.len(),
        first(.names)
    )]
    LeftOver {
        /// Their names.
        names: Vec<String>,
        /// The network that it seems to be.
        likely: String,
    },
    /// A file with several networks that match.
    #[error("the tensors of this encoder are there under {}; choose one by its prefix", either(.prefixes))]
    Ambiguous {
        /// The prefix of the names of each.
        prefixes: Vec<String>,
    },
    /// A prefix that was asked for and that no name has.
    #[error("no tensor has a name that begins with `{prefix}`")]
    NoPrefix {
        /// The prefix.
        prefix: String,
    },
    /// A tensor of another shape.
    #[error("tensor `{name}` has shape {found:?}, expected {expected:?}")]
    Shape {
        /// Its name.
        name: String,
        /// The shape in the network.
        expected: Vec<usize>,
        /// The shape in the file.
        found: Vec<usize>,
    },
    /// A tensor of another element type.
    #[error("tensor `{name}` holds {found}, expected F32; convert it first")]
    ElementType {
        /// Its name.
        name: String,
        /// The type in the file.
        found: String,
    },
    /// A value that is not a finite number.
    #[error("tensor `{name}` holds {value} at position {position}; {}", cause(*value))]
    NotFinite {
        /// Its name.
        name: String,
        /// Position in row order.
        position: usize,
        /// The value.
        value: f32,
    },
    /// The device could not return its tensors.
    #[error("the device could not return tensor `{name}`: {reason}")]
    Device {
        /// The requested tensor.
        name: String,
        /// The device's message.
        reason: String,
    },
}

impl CheckpointError {
    /// The same error with other names of its tensors.
    pub(super) fn renamed(self, other: impl Fn(String) -> String) -> Self {
        match self {
            Self::MissingTensor { name } => Self::MissingTensor { name: other(name) },
            Self::UnknownTensor { name } => Self::UnknownTensor { name: other(name) },
            Self::LeftOver { names, likely } => {
                Self::LeftOver { names: names.into_iter().map(other).collect(), likely }
            }
            Self::Shape { name, expected, found } => Self::Shape { name: other(name), expected, found },
            Self::ElementType { name, found } => Self::ElementType { name: other(name), found },
            Self::NotFinite { name, position, value } => {
                Self::NotFinite { name: other(name), position, value }
            }
            error => error,
        }
    }
}

/// The likely cause of a value that is not finite.
fn cause(value: f32) -> &'static str {
    match value.is_infinite() {
        true => {
            "the network did not train, or has numbers that are too large for 32-bit floats, which end at 3.4e38"
        }
        false => "the network did not train",
    }
}

fn first(names: &[String]) -> String {
    const FEW: usize = 3;
    let shown: Vec<String> = names.iter().take(FEW).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > FEW { ", ..." } else { "" };
    shown.join(", ") + more
}

fn either(prefixes: &[String]) -> String {
    prefixes.iter().map(|prefix| format!("`{prefix}`")).collect::<Vec<_>>().join(" and ")
}
