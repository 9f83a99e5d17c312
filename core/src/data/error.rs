//! Errors of data sets. Each message tells the reader which file to repair.

/// Result of reading or making a data set.
pub type Result<T, E = DatasetError> = std::result::Result<T, E>;

/// A data set that cannot be used. `origin` is the name that the caller gave to the bytes, usually a file name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DatasetError {
    /// A field of a header does not hold the value that the format requires.
    #[error("{origin}: {field} is {found}, expected {expected}; this is not the official file, get it again")]
    Header {
        /// Name of the source.
        origin: String,
        /// The field.
        field: String,
        /// The value that the format requires.
        expected: String,
        /// The value in the bytes.
        found: String,
    },
    /// Too few or too many bytes.
    #[error(
        "{origin}: {found} bytes, expected {expected}; the file is {}, get it again",
        if found < expected { "truncated" } else { "followed by other bytes" }
    )]
    Size {
        /// Name of the source.
        origin: String,
        /// Bytes that the header, or the format, announces.
        expected: u64,
        /// Number of bytes given.
        found: u64,
    },
    /// A file whose length is not a whole number of records.
    #[error(
        "{origin}: {found} bytes are not a whole number of records of {record} bytes; get the file again"
    )]
    Records {
        /// Name of the source.
        origin: String,
        /// Bytes of one record.
        record: usize,
        /// Number of bytes given.
        found: usize,
    },
    /// Content in another form than the supported one.
    #[error("{origin}: {field} is {found}, expected {expected}")]
    Format {
        /// Name of the source.
        origin: String,
        /// The field in question.
        field: String,
        /// The supported value.
        expected: String,
        /// The value in the file.
        found: String,
    },
    /// A line of an annotation file that cannot be parsed.
    #[error("{origin}, line {line}: {reason}")]
    Line {
        /// Name of the source.
        origin: String,
        /// The line, from 1.
        line: usize,
        /// The fault, and the expected content.
        reason: String,
    },
    /// A label outside the classes.
    #[error(
        "{origin}: label {label} of sample {sample} is outside 0..{classes}; the file is corrupt, get it again"
    )]
    Label {
        /// Name of the source.
        origin: String,
        /// Index of the sample.
        sample: usize,
        /// Its label.
        label: usize,
        /// Number of classes.
        classes: usize,
    },
    /// Images, labels or conditions that do not belong together.
    #[error("{what} has {found} entries but there are {expected} images; take both from the same data set")]
    Count {
        /// The counted entries: the labels' source, or a condition.
        what: String,
        /// Number of images.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// No image, or no class.
    #[error("{origin} holds no {missing}; give a data set that is not empty")]
    Empty {
        /// Name of the source.
        origin: String,
        /// `images` or `classes`.
        missing: &'static str,
    },
    /// Images of another size than asked for.
    #[error("{origin}: images are {found}, expected {expected}")]
    Shape {
        /// Name of the source.
        origin: String,
        /// Expected size: height x width x channels.
        expected: String,
        /// Given size: height x width x channels.
        found: String,
    },
    /// Images that cannot be read when they are needed.
    #[error("cannot read {origin}: {reason}")]
    Unreadable {
        /// The images, and where they lie.
        origin: String,
        /// The reason and the remedy.
        reason: String,
    },
    /// A parameter outside its range.
    #[error("`{name}` is {value}, {reason}")]
    Parameter {
        /// Name of the parameter as the user writes it.
        name: String,
        /// The value given.
        value: String,
        /// Its range, or the value to use instead.
        reason: String,
    },
}

impl DatasetError {
    /// A parameter outside its range.
    pub fn parameter(name: &str, value: impl ToString, reason: &str) -> Self {
        Self::Parameter { name: name.into(), value: value.to_string(), reason: reason.into() }
    }

    /// The same error; if it is about a parameter, with the `name` by which a user gave it.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        match self {
            Self::Parameter { value, reason, .. } => Self::Parameter { name: name.into(), value, reason },
            other => other,
        }
    }
}
