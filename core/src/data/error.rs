//! What can be wrong with a data set, said so that the reader knows which file to repair.

/// Result of reading or making a data set.
pub type Result<T, E = DatasetError> = std::result::Result<T, E>;

/// A data set that cannot be used. `origin` is the name that the caller gave to the bytes, a file name as a rule.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DatasetError {
    /// A field of a header does not hold what the format asks for.
    #[error("{origin}: {field} is {found}, expected {expected}; this is not the official file, get it again")]
    Header {
        /// Name of the source.
        origin: String,
        /// The field.
        field: String,
        /// What the format asks for.
        expected: String,
        /// What the bytes hold.
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
        /// Bytes that are there.
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
        /// Bytes that are there.
        found: usize,
    },
    /// Content of another form than the one that is read.
    #[error("{origin}: {field} is {found}, expected {expected}")]
    Format {
        /// Name of the source.
        origin: String,
        /// What it is about.
        field: String,
        /// What is read.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A line of an annotation file that is not understood.
    #[error("{origin}, line {line}: {reason}")]
    Line {
        /// Name of the source.
        origin: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
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
        /// How many classes there are.
        classes: usize,
    },
    /// Images, labels or conditions that do not belong together.
    #[error("{what} has {found} entries but there are {expected} images; take both from the same data set")]
    Count {
        /// What was counted: the labels' source, or a condition.
        what: String,
        /// Number of images.
        expected: usize,
        /// Entries found.
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
        /// What was expected: height x width x channels.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A parameter outside its range.
    #[error("`{name}` is {value}, {reason}")]
    Parameter {
        /// Name of the parameter as the user writes it.
        name: String,
        /// The value given.
        value: String,
        /// Its range, or what to write instead.
        reason: String,
    },
}

impl DatasetError {
    pub(crate) fn parameter(name: &str, value: impl ToString, reason: &str) -> Self {
        Self::Parameter { name: name.into(), value: value.to_string(), reason: reason.into() }
    }
}
