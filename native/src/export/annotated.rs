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
use crate::words::number_of;

/// The columns beside the attributes.
const OWN: [&str; 7] = ["path", "index", "split", "class", "x", "y", VECTOR];
/// Rows that are written at a time.
const BLOCK: usize = 1024;

/// Writes the images of all splits but those of [`left_out`]; returns the number of rows and of the numbers of a vector. `x` and `y` are
/// the places on the first two principal components of the images on which probes are measured.
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
    let Splits { train, evaluated, .. } = splits;
    let evaluated_features = features(&evaluated.dataset.images)?;
    let dimensions = evaluated_features.columns();
    let axes = 2.min(dimensions).min(evaluated_features.rows());
    let plane = Pca::fit(&evaluated_features, axes)?;
    let has_files = train.images.file(0).is_some();
    let names = columns(train, has_files, dimensions);
    let named: Vec<(&str, CellKind)> = names.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    let mut file = Writer::begin(out, &named)?;
    let mut rows = 0;
    let mut push = |split: Split, dataset: &Dataset, vectors: &Features| -> Result<()> {
        let table = Rows { split, dataset, vectors, plane: &plane, has_files };
        for first in (0..dataset.len()).step_by(BLOCK) {
            file.push(table.block(first, BLOCK.min(dataset.len() - first))?)?;
        }
        rows += dataset.len();
        Ok(())
    };
    push(Split::Train, train, &features(&train.images)?)?;
    if let Some(dataset) = to_choose(splits) {
        push(Split::Validation, dataset, &features(&dataset.images)?)?;
    }
    push(evaluated.split.in_table(), &evaluated.dataset, &evaluated_features)?;
    file.finish()?.finish()?;
    Ok([rows, dimensions])
}

/// The images by which the encoder was chosen, which are `validation` in a table; none if those that it was evaluated on are too, since
/// `simile evaluate --vectors` would measure on both.
fn to_choose(splits: &Splits) -> Option<&Dataset> {
    splits.to_choose.as_ref().filter(|_| splits.evaluated.split.in_table() != Split::Validation)
}

/// A note on images of a run that have no rows.
pub(crate) fn left_out(splits: &Splits) -> Option<String> {
    let images = splits.to_choose.as_ref().filter(|_| to_choose(splits).is_none())?.len();
    Some(format!(
        "note: {} no row; those that it was evaluated on are `validation` in the file",
        number_of(
            images,
            "image by which the encoder was chosen has",
            "images by which the encoder was chosen have"
        )
    ))
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::File;

    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;

    use super::*;
    use crate::data::EvaluationSplit;
    use crate::experiment::features::Collector;
    use crate::experiment::prepare::splits::Evaluated;
    use crate::parquet::each_group;
    use crate::words::counted;

    /// The words in the column `split` of a run with 6 images to train on, 5 to evaluate on and perhaps 4 to choose the encoder by,
    /// each with the number of its rows; and the note on images without a row.
    fn words(split: EvaluationSplit, is_chosen: bool) -> (Vec<(String, usize)>, Option<String>) {
        let images = |count: usize| draw_digits(count, Colours::Palette, 0).unwrap();
        let evaluated = Evaluated { dataset: images(5), split };
        let splits = Splits { train: images(6), evaluated, to_choose: is_chosen.then(|| images(4)) };
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run.parquet");
        let features = |images: &ImageSet| {
            let mut collector = Collector::new(images.len(), 2)?;
            (0..images.len()).try_for_each(|at| collector.push(&[at as f32, (at * at) as f32]))?;
            collector.finish()
        };
        let [rows, _] = write(&path, &splits, features).unwrap();
        let mut cells = Vec::new();
        let keep = |columns: Vec<(String, Cells)>| {
            cells.extend(columns.into_iter().filter(|(name, _)| name == "split").map(|(_, cells)| cells));
            Ok(())
        };
        each_group(File::open(&path).unwrap(), keep).unwrap();
        let [Cells::Text(cells)] = &cells[..] else { return (Vec::new(), None) };
        assert_eq!(cells.len(), rows);
        (counted(cells.iter().map(String::as_str)), left_out(&splits))
    }

    fn in_pairs<const N: usize>(pairs: [(&str, usize); N]) -> Vec<(String, usize)> {
        Vec::from(pairs.map(|(word, rows)| (word.to_owned(), rows)))
    }

    /// All images that a run was evaluated on were called `test`.
    #[test]
    fn the_images_of_an_evaluation_have_the_word_of_their_split() {
        let of_test = in_pairs([("test", 5), ("train", 6)]);
        let of_validation = in_pairs([("train", 6), ("validation", 5)]);
        assert_eq!(words(EvaluationSplit::Test, false), (of_test, None));
        assert_eq!(words(EvaluationSplit::Validation, false), (of_validation.clone(), None));
        assert_eq!(
            words(EvaluationSplit::HeldOut, false),
            (of_validation, None),
            "no picture of the test split"
        );
    }

    #[test]
    fn images_that_chose_the_encoder_are_not_among_those_that_it_is_evaluated_on() {
        let apart = in_pairs([("test", 5), ("train", 6), ("validation", 4)]);
        assert_eq!(words(EvaluationSplit::Test, true), (apart, None));
        let (of_validation, note) = words(EvaluationSplit::Validation, true);
        assert_eq!(of_validation, in_pairs([("train", 6), ("validation", 5)]));
        assert!(note.unwrap().starts_with("note: 4 images by which the encoder was chosen have no row"));
        let images = |count: usize| draw_digits(count, Colours::Palette, 0).unwrap();
        let evaluated = Evaluated { dataset: images(5), split: EvaluationSplit::Validation };
        let of_one = left_out(&Splits { train: images(6), evaluated, to_choose: Some(images(1)) });
        assert!(of_one.unwrap().starts_with("note: 1 image by which the encoder was chosen has no row"));
    }
}
