//! The images of a run as a table: the file, the split, the class, the attributes, a place in a plane, and the vector of each.

use std::path::Path;

use anyhow::Result;
use simile_core::data::{Condition, Dataset, ImageSet, Split};
use simile_core::eval::projection::Pca;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::{Buffer, Rows as _};

use crate::experiment::features::Features;
use crate::experiment::prepare::splits::Splits;
use crate::parquet::{CellKind, Cells, VECTOR, Writer};
use crate::run_folder::atomic_file::AtomicFile;

/// The columns beside the attributes.
const OWN: [&str; 7] = ["path", "index", "split", "class", "x", "y", VECTOR];
/// Rows that are written at a time.
const BLOCK: usize = 1024;

/// Writes the images of all splits; returns the number of rows and of the numbers of a vector. `x` and `y` are the places on
/// the first two principal components of the images on which probes are measured.
///
/// # Errors
/// As `features`, which computes the vectors of images; if the file cannot be written.
pub(crate) fn write(
    path: &Path,
    splits: &Splits,
    features: impl Fn(&ImageSet) -> Result<Features>,
) -> Result<[usize; 2]> {
    // A place that cannot be written to is an error before an image is embedded.
    let out = AtomicFile::begin(path)?;
    let test_features = features(&splits.test.images)?;
    let dimensions = test_features.columns();
    let axes = 2.min(dimensions).min(test_features.rows());
    let plane = Pca::fit(&test_features, axes)?;
    let has_files = splits.train.images.file(0).is_some();
    let names = columns(&splits.train, has_files, dimensions);
    let named: Vec<(&str, CellKind)> = names.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    let mut file = Writer::begin(out, &named)?;
    let mut rows = 0;
    let validation = splits.validation.as_ref().map(|set| (Split::Validation, set));
    let sets = [Some((Split::Train, &splits.train)), validation, Some((Split::Test, &splits.test))];
    for (split, dataset) in sets.into_iter().flatten() {
        let computed = if split == Split::Test { None } else { Some(features(&dataset.images)?) };
        let vectors = computed.as_ref().unwrap_or(&test_features);
        let table = Rows { split, dataset, vectors, plane: &plane, has_files };
        for first in (0..dataset.len()).step_by(BLOCK) {
            file.push(table.block(first, BLOCK.min(dataset.len() - first))?)?;
        }
        rows += dataset.len();
    }
    file.finish()?.finish()?;
    Ok([rows, dimensions])
}

/// The columns of a table, in order.
fn columns(dataset: &Dataset, has_files: bool, dimensions: usize) -> Vec<(String, CellKind)> {
    let own = |name: &str, kind| (name.to_owned(), kind);
    let file = has_files.then(|| own("path", CellKind::Text));
    let head = [own("index", CellKind::Whole), own("split", CellKind::Text), own("class", CellKind::Text)];
    let attributes = dataset.conditions.iter().map(|(name, condition)| {
        let name = if OWN.contains(&name.as_str()) { format!("attribute_{name}") } else { name.clone() };
        let kind = match condition {
            Condition::Categorical { .. } => CellKind::Text,
            Condition::Numeric(values) if values.columns() == 1 => CellKind::Number,
            Condition::Numeric(values) => CellKind::List(values.columns()),
        };
        (name, kind)
    });
    let place =
        [own("x", CellKind::Number), own("y", CellKind::Number), own(VECTOR, CellKind::List(dimensions))];
    file.into_iter().chain(head).chain(attributes).chain(place).collect()
}

/// The rows of a split.
struct Rows<'a> {
    split: Split,
    dataset: &'a Dataset,
    vectors: &'a Features,
    plane: &'a Pca,
    has_files: bool,
}

impl Rows<'_> {
    /// The cells of rows, in the order of [`columns`].
    fn block(&self, first: usize, count: usize) -> Result<Vec<Cells>> {
        let Self { split, dataset, vectors, plane, has_files } = self;
        let rows: Vec<usize> = (first..first + count).collect();
        let length = vectors.columns();
        let mut values = vec![0.0_f32; count * length];
        vectors.read(first, Buffer::Single(&mut values))?;
        let places =
            plane.project(&Matrix::from_fn(count, length, |row, at| f64::from(values[row * length + at])))?;
        let on_axis = |axis: usize| {
            let place = |row: &[f64]| row.get(axis).copied().unwrap_or(0.0);
            Cells::Number(places.iter_rows().map(place).collect())
        };
        let text = |of: &dyn Fn(usize) -> Option<String>| {
            Cells::Text(rows.iter().map(|&row| of(row).unwrap_or_default()).collect())
        };
        let file = has_files.then(|| text(&|row| Some(dataset.images.file(row)?.path)));
        let head = [
            Cells::Whole(rows.iter().map(|&row| row as i64).collect()),
            text(&|_| Some(split.name().to_owned())),
            text(&|row| dataset.classes.get(*dataset.labels.get(row)?).cloned()),
        ];
        let attributes = dataset.conditions.values().map(|condition| match condition.select(&rows) {
            Condition::Categorical { values, names } => Cells::Text(
                values.iter().map(|&value| names.get(value).cloned().unwrap_or_default()).collect(),
            ),
            Condition::Numeric(values) if values.columns() == 1 => Cells::Number(values.data().to_vec()),
            Condition::Numeric(values) => Cells::List {
                length: values.columns(),
                values: values.data().iter().map(|&value| value as f32).collect(),
            },
        });
        let place = [on_axis(0), on_axis(1), Cells::List { length, values }];
        Ok(file.into_iter().chain(head).chain(attributes).chain(place).collect())
    }
}
