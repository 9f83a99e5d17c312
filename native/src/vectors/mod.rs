//! Reads vectors from files of this program or another one, with the class and the attributes of each, for probes.

mod annotations;
mod columns;
mod parts;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use simile_core::data::{Catalogue, Dataset, DatasetError, ImageSet, ImageShape, ImageSource, Split};
use simile_core::numeric::rows::{Buffer, Rows as _};

use self::annotations::Annotations;
use self::parts::Chunk;
use crate::console::line;
use crate::data::EvaluationSplit;
use crate::exit::usage;
use crate::experiment::evaluate::probe::LabelledFeatures;
use crate::experiment::features::{Collector, Features};

/// One in this many rows is held out for the test if no column gives the split.
const HELD_OUT: usize = 5;
/// Seed of the choice of the held-out rows.
const HOLD_OUT_SEED: u64 = 0;
/// Number of rows that are copied at a time.
const BLOCK: usize = 1024;

/// The files of vectors, and the settings of their annotations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// Files of vectors, in the order of the rows.
    pub(crate) parts: &'a [PathBuf],
    /// A CSV file with a line for each vector, in the same order.
    pub(crate) table: Option<&'a Path>,
    /// The column of the class in it.
    pub(crate) label: Option<&'a str>,
    /// An attribute that must be known.
    pub(crate) condition: Option<&'a str>,
}

/// Vectors of one split, with their classes and attributes.
pub(crate) struct SplitVectors {
    pub(crate) features: Features,
    pub(crate) dataset: Dataset,
}

impl SplitVectors {
    /// The form that probes take.
    pub(crate) fn labelled(&self) -> LabelledFeatures<'_> {
        LabelledFeatures { features: &self.features, dataset: &self.dataset }
    }
}

/// Vectors to fit probes to, and those to measure them on.
pub(crate) struct ProbeVectors {
    pub(crate) train: SplitVectors,
    pub(crate) test: SplitVectors,
    pub(crate) evaluation_split: EvaluationSplit,
}

impl ProbeVectors {
    /// Reads vectors and annotations.
    ///
    /// # Errors
    /// Names the file that cannot be read or differs from the others; a usage error if annotations are missing or do not belong
    /// to the vectors.
    pub(crate) fn read(sources: Sources<'_>) -> Result<Self> {
        let annotations = match sources.table {
            Some(table) => Annotations::from_table(table, sources.label, sources.condition)?,
            None => Annotations::from_parts(sources.parts, sources.condition)?,
        };
        check_rows(sources, annotations.catalogue.len())?;
        let all = vectors(sources, &annotations)?;
        let Annotations { catalogue, has_split, .. } = annotations;
        let rows = catalogue.len();
        let has = |split: Split| catalogue.splits.contains(&split);
        let is_validated = has(Split::Validation) && !has(Split::Test);
        let (catalogue, split, evaluation_split) = match has_split {
            true if is_validated => (catalogue, Split::Validation, EvaluationSplit::Validation),
            true => (catalogue, Split::Test, EvaluationSplit::Test),
            false => {
                let held_out = (rows / HELD_OUT).max(1);
                let divided = catalogue.hold_out(Split::Train, Split::Test, held_out, HOLD_OUT_SEED)?;
                (divided, Split::Test, EvaluationSplit::NoColumn)
            }
        };
        Ok(Self {
            train: vectors_of(&catalogue, &all, Split::Train)?,
            test: vectors_of(&catalogue, &all, split)?,
            evaluation_split,
        })
    }
}

/// Checks that there is a row to fit probes to, and one to measure them on.
fn check_rows(sources: Sources<'_>, rows: usize) -> Result<()> {
    if rows > 1 {
        return Ok(());
    }
    let origin = sources.table.or(sources.parts.first().map(PathBuf::as_path));
    Err(usage(format_args!(
        "{}: at least 2 rows are needed, one to train on and one to test on, and there is {rows}",
        origin.unwrap_or(Path::new("")).display()
    )))
}

/// The vectors of all parts.
fn vectors(sources: Sources<'_>, annotations: &Annotations) -> Result<Features> {
    let expected = annotations.catalogue.len();
    let mut collector: Option<(Collector, usize)> = None;
    let (mut rows, mut is_noted) = (0, false);
    for part in sources.parts {
        let reading = || format!("cannot read the vectors of {}", part.display());
        let (first, mut has_names) = (rows, true);
        let keep = |chunk: Chunk| {
            let (collector, columns) = match &mut collector {
                Some(collector) => collector,
                none => none.insert((Collector::new(expected, chunk.columns)?, chunk.columns)),
            };
            anyhow::ensure!(
                *columns == chunk.columns,
                "they have {} numbers each, and those of {} have {columns}",
                chunk.columns,
                sources.parts[0].display()
            );
            if let Some(at) = chunk.values.iter().position(|value| !value.is_finite()) {
                let (row, number) = (1 + rows - first + at / chunk.columns, 1 + at % chunk.columns);
                let value = chunk.values[at];
                anyhow::bail!("vector {row}, number {number} is {value}, which is no finite number");
            }
            match chunk.names.as_ref().filter(|names| !annotations.are_numbers_of_rows(names, rows)) {
                Some(names) => {
                    annotations.differs(names, rows).map_or(Ok(()), |reason| Err(usage(reason)))?
                }
                None => has_names = false,
            }
            rows += chunk.values.len() / chunk.columns;
            if rows <= expected {
                collector.push(&chunk.values)?;
            }
            Ok(())
        };
        let empty_names = parts::each_chunk(part, keep).with_context(reading)?;
        if let Some(reason) = empty_names.and_then(|cells| annotations.lacks_names(cells)) {
            return Err(usage(reason)).with_context(reading);
        }
        if !has_names && !is_noted {
            annotations.unnamed(part, first).iter().for_each(line);
            is_noted = true;
        }
    }
    if rows != expected {
        let origin = sources.table.map_or_else(String::new, |table| table.display().to_string());
        return Err(usage(format_args!(
            "the files hold {rows} vectors, and {origin} has {expected} rows: one row for each vector is needed, in the same \
             order"
        )));
    }
    let (collector, _) = collector.context("the files hold no vectors")?;
    collector.finish()
}

/// The rows of a split.
fn vectors_of(catalogue: &Catalogue, all: &Features, split: Split) -> Result<SplitVectors> {
    let rows = catalogue.of(split);
    if rows.is_empty() {
        return Err(usage(format_args!(
            "no row is of the split `{}`; rows to train on and rows to test on are needed to fit and to measure probes",
            split.name()
        )));
    }
    let columns = all.columns();
    let mut collector = Collector::new(rows.len(), columns)?;
    let mut block = vec![0.0_f32; BLOCK * columns];
    let mut remaining = rows.iter().copied().peekable();
    for first in (0..all.rows()).step_by(BLOCK) {
        let count = BLOCK.min(all.rows() - first);
        let block = &mut block[..count * columns];
        all.read(first, Buffer::Single(block))?;
        while let Some(row) = remaining.next_if(|row| *row < first + count) {
            let from = (row - first) * columns;
            collector.push(&block[from..from + columns])?;
        }
    }
    let catalogue = catalogue.select(&rows);
    let images = ImageSet::new(Arc::new(NoImages(rows.len())))?;
    Ok(SplitVectors { features: collector.finish()?, dataset: catalogue.into_dataset(images)? })
}

/// The absent images of vectors.
#[derive(Debug)]
struct NoImages(usize);

impl ImageSource for NoImages {
    fn shape(&self) -> ImageShape {
        ImageShape { height: 1, width: 1, channels: 1 }
    }

    fn count(&self) -> usize {
        self.0
    }

    fn read(&self, _: &[u32], _: &mut [u8]) -> Result<(), DatasetError> {
        Err(DatasetError::Unreadable { origin: "a vector".into(), reason: "its image is not given".into() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
