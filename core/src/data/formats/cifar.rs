//! The binary layout of CIFAR-10 and CIFAR-100, from bytes: records of one (CIFAR-10) or two (CIFAR-100: coarse,
//! fine) label bytes and 3072 pixel bytes, the red, green and blue plane of a 32×32 image one after the other.

use super::interleaved;
use crate::data::{Condition, Dataset, DatasetError, Images, Result};

const SIDE: usize = 32;
const PLANE: usize = SIDE * SIDE;

/// One of the two data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cifar {
    /// Ten classes, one label byte.
    Ten,
    /// A hundred classes in twenty groups, two label bytes; the group becomes the condition `coarse`.
    Hundred,
}

impl Cifar {
    /// Number of classes.
    pub fn classes(self) -> usize {
        match self {
            Self::Ten => 10,
            Self::Hundred => 100,
        }
    }

    /// Bytes of one record.
    pub fn record(self) -> usize {
        3 * PLANE
            + match self {
                Self::Ten => 1,
                Self::Hundred => 2,
            }
    }
}

/// Reads one or several batch files as one data set. Each comes with the name that messages use for it; `classes`
/// and, for CIFAR-100, `groups` are the names of the labels (see [`names`]).
///
/// # Errors
/// [`DatasetError::Empty`] without a record, [`DatasetError::Records`] for a truncated file,
/// [`DatasetError::Label`] for a label outside the classes, [`DatasetError::Parameter`] for a wrong number of names.
pub fn parse(
    cifar: Cifar,
    files: &[(&[u8], &str)],
    classes: Vec<String>,
    groups: Vec<String>,
) -> Result<Dataset> {
    check_names("classes", classes.len(), cifar.classes())?;
    let mut pixels = Vec::with_capacity(files.iter().map(|(bytes, _)| bytes.len()).sum());
    let mut labels = Vec::new();
    let mut coarse = Vec::new();
    for &(bytes, origin) in files {
        let record = cifar.record();
        if bytes.is_empty() {
            return Err(DatasetError::Empty { origin: origin.into(), missing: "images" });
        }
        if !bytes.len().is_multiple_of(record) {
            return Err(DatasetError::Records { origin: origin.into(), record, found: bytes.len() });
        }
        for (sample, bytes) in bytes.chunks_exact(record).enumerate() {
            let (head, planes) = bytes.split_at(record - 3 * PLANE);
            let label = head.last().copied().map_or(0, usize::from);
            if label >= cifar.classes() {
                return Err(DatasetError::Label {
                    origin: origin.into(),
                    sample,
                    label,
                    classes: cifar.classes(),
                });
            }
            labels.push(label);
            if cifar == Cifar::Hundred {
                coarse.push(head.first().copied().map_or(0, usize::from));
            }
            pixels.extend(interleaved(planes));
        }
    }
    let dataset = Dataset::new(Images::new(SIDE, SIDE, 3, pixels)?, labels, classes)?;
    match cifar {
        Cifar::Ten => Ok(dataset),
        Cifar::Hundred => {
            check_names("groups", groups.len(), 20)?;
            dataset.with_condition("coarse", Condition::Categorical { values: coarse, names: groups })
        }
    }
}

/// Reads the names of a text file (`batches.meta.txt`, `fine_label_names.txt`): one a line, empty lines skipped.
pub fn names(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
}

fn check_names(what: &str, count: usize, expected: usize) -> Result<()> {
    if count == expected {
        return Ok(());
    }
    Err(DatasetError::parameter(what, format!("{count} names"), &format!("expected {expected} names")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn numbered(n: usize) -> Vec<String> {
        (0..n).map(|i| i.to_string()).collect()
    }

    fn record(labels: &[u8]) -> Vec<u8> {
        let planes = (0..3 * PLANE).map(|at| (at / PLANE * 50 + at % PLANE % 50) as u8);
        labels.iter().copied().chain(planes).collect()
    }

    #[test]
    fn planes_become_pixels_and_the_fine_label_is_the_class() {
        let bytes = [record(&[3, 71]), record(&[19, 99])].concat();
        let dataset = parse(Cifar::Hundred, &[(&bytes, "train.bin")], numbered(100), numbered(20)).unwrap();
        assert_eq!(dataset.labels, [71, 99]);
        assert_eq!(dataset.images.read(&[1]).unwrap().pixels[3 * 7..3 * 7 + 3], [7, 57, 107]);
        let Condition::Categorical { values, .. } = &dataset.conditions["coarse"] else { unreachable!() };
        assert_eq!(values, &[3, 19]);
    }

    #[test]
    fn corrupt_files_are_named() {
        let ten = |bytes: &[u8]| parse(Cifar::Ten, &[(bytes, "data_batch_2.bin")], numbered(10), vec![]);
        let good = record(&[9]);
        assert_eq!(ten(&good).unwrap().labels, [9]);
        let error = ten(&good[..3000]).unwrap_err().to_string();
        assert!(error.contains("data_batch_2.bin: 3000 bytes") && error.contains("3073"), "{error}");
        let error = ten(&record(&[10])).unwrap_err().to_string();
        assert!(error.contains("label 10 of sample 0"), "{error}");
        assert!(ten(&[]).is_err());
        assert!(parse(Cifar::Ten, &[(&good, "f")], numbered(9), vec![]).is_err());
    }
}
