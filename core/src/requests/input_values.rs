//! The numbers of an input, out of a document or in the memory of a program.

use burn::tensor::{DType, Device};
use serde_json::Value;

use super::input::{check_range, parse_condition, parse_integers, parse_rows};
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::spec::{InputKind, Spec, is_further_view};
use crate::numeric::matrix::Matrix;

/// The numbers of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum InputValues {
    /// Rows: embeddings, scores, conditioning values.
    Rows(Matrix),
    /// An integer for each sample.
    Integers(Vec<i64>),
    /// Rows for each of several views: the queues of `swav`.
    Queues(Vec<Matrix>),
}

/// The name of an input for one of several views.
fn view_name(name: &str, view: usize) -> String {
    format!("{name}_{view}")
}

/// True if an input in a document is a list of matrices.
pub(super) fn has_views(value: &Value) -> bool {
    value.get(0).and_then(|rows| rows.get(0)).is_some_and(Value::is_array)
}

/// Checks that an input for each of several views, such as the queues of `swav`, is one, that the queue of one view, such as that of
/// `moco`, is none, and that there are no more views than the objective compares: each would be left out.
///
/// # Errors
/// Names the input.
pub(super) fn check_views(spec: &Spec, name: &str, has_views: bool) -> Result<()> {
    if is_further_view(name) && !spec.reads(name) {
        return Err(Error::shape(
            name,
            format!("two views: `{}` compares no more", spec.name),
            "another one",
        ));
    }
    match spec.input(name) {
        None if !has_views && spec.input(&view_name(name, 0)).is_some() => {
            Err(Error::shape(name, "a matrix for each view", "one matrix"))
        }
        // Another objective takes one of this name for each view.
        Some(input) if has_views && loss::input_kind(&view_name(name, 0)).is_some() => {
            Err(Error::shape(name, format!("one matrix, {}", input.shape), "several matrices"))
        }
        _ => Ok(()),
    }
}

impl InputValues {
    /// Reads them from a document, in the form that the input of that name has.
    ///
    /// # Errors
    /// Names the input if it has another form, or a value that is not finite.
    pub(super) fn parse(name: &str, value: &Value) -> Result<Self> {
        if has_views(value) && loss::input_kind(&view_name(name, 0)).is_some() {
            let queues = value.as_array().into_iter().flatten().enumerate();
            let rows = queues.map(|(at, rows)| parse_rows(&view_name(name, at), rows));
            return Ok(Self::Queues(rows.collect::<Result<_>>()?));
        }
        Ok(match loss::input_kind(name) {
            Some(InputKind::Integers | InputKind::Clusters) => Self::Integers(parse_integers(name, value)?),
            Some(InputKind::Host) => Self::Rows(parse_condition(name, value)?),
            Some(InputKind::Embeddings | InputKind::Rows) | None => Self::Rows(parse_rows(name, value)?),
        })
    }

    /// Adds them to a batch as the input of that name.
    ///
    /// # Errors
    /// Names the input if it is made of other numbers, or has one that the float type cannot represent.
    pub(super) fn add_to(self, batch: Batch, name: &str, device: &Device, dtype: DType) -> Result<Batch> {
        let kind = loss::input_kind(name);
        let is_integer = matches!(kind, Some(InputKind::Integers | InputKind::Clusters));
        match self {
            Self::Integers(values) if is_integer => Ok(batch.with_integers(name, values)),
            Self::Integers(_) => Err(Error::shape(name, "rows of numbers", "integers")),
            Self::Rows(_) | Self::Queues(_) if is_integer => {
                Err(Error::shape(name, "a list of integers", "rows of numbers"))
            }
            Self::Rows(rows) if kind == Some(InputKind::Host) => Ok(batch.with_condition(name, rows)),
            Self::Rows(rows) => {
                check_range(name, &rows, dtype)?;
                Ok(batch.with_matrix(name, rows, device, dtype))
            }
            Self::Queues(queues) => queues.into_iter().enumerate().try_fold(batch, |batch, (at, rows)| {
                let name = view_name(name, at);
                check_range(&name, &rows, dtype)?;
                Ok(batch.with_matrix(&name, rows, device, dtype))
            }),
        }
    }

    /// Checks that all are finite.
    ///
    /// # Errors
    /// [`Error::NotFinite`] names the input and the first row.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        let finite = |name: &str, rows: &Matrix| match rows.first_not_finite() {
            Some(row) => Err(Error::NotFinite { input: name.into(), row }),
            None => Ok(()),
        };
        match self {
            Self::Rows(rows) => finite(name, rows),
            Self::Integers(_) => Ok(()),
            Self::Queues(queues) => {
                queues.iter().enumerate().try_for_each(|(at, rows)| finite(&view_name(name, at), rows))
            }
        }
    }

    /// All numbers.
    pub(super) fn each(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self {
            Self::Rows(rows) => Box::new(rows.data().iter().copied()),
            Self::Integers(values) => Box::new(values.iter().map(|&value| value as f64)),
            Self::Queues(queues) => Box::new(queues.iter().flat_map(|rows| rows.data().iter().copied())),
        }
    }
}
