//! The inputs of an objective, by name.
//!
//! The names are those of the request files that `simile loss` reads: `view_a`, `view_b` (embeddings of two views,
//! `[b, d]`), `labels`, `bias` (integers), `z` or `z_a`, `z_b` (conditioning variable, host `f64`), and the further
//! inputs of an objective (`logits`, `queue`, `prototypes`, ...).

use std::collections::BTreeMap;
use std::sync::Arc;

use burn::tensor::{DType, Device, Tensor};

use crate::error::{Error, Result};
use crate::kernel::conditional::SolvedCondition;
use crate::numeric::matrix::{Matrix, check_values};
use crate::numeric::read;
use crate::numeric::unit_rows::UnitRows;
use crate::peers::Peers;

/// Named inputs of an objective.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    tensors: BTreeMap<String, Tensor<2>>,
    /// Host copies of some of the tensors.
    on_host: BTreeMap<String, Matrix>,
    integers: BTreeMap<String, Vec<i64>>,
    /// Matrices that stay on the host, in `f64`.
    host_matrices: BTreeMap<String, Matrix>,
    solution: Option<SolvedCondition>,
    unit: bool,
    detailed: bool,
    tile: Option<usize>,
    peers: Option<Arc<dyn Peers>>,
}

impl Batch {
    /// Two views of the same samples, `[b, d]` each; row `i` of both is a positive pair.
    pub fn views(view_a: Tensor<2>, view_b: Tensor<2>) -> Self {
        Self::default().with_tensor("view_a", view_a).with_tensor("view_b", view_b)
    }

    /// Adds a tensor input.
    #[must_use]
    pub fn with_tensor(mut self, name: &str, tensor: Tensor<2>) -> Self {
        self.on_host.remove(name);
        self.tensors.insert(name.into(), tensor);
        self
    }

    /// Adds a tensor input with its host copy: an objective that needs it on the host need not read it back, which
    /// a page cannot do from WebGPU. [`with_condition`](Self::with_condition) adds a matrix that stays on the host.
    #[must_use]
    pub fn with_matrix(mut self, name: &str, matrix: Matrix, device: &Device, dtype: DType) -> Self {
        self.tensors.insert(name.into(), matrix.to_tensor(device, dtype));
        self.on_host.insert(name.into(), matrix);
        self
    }

    /// Adds an integer input, such as `labels` or `bias`, whose values are class indices, or row indices of a table, from 0.
    #[must_use]
    pub fn with_indices(self, name: &str, indices: Vec<usize>) -> Self {
        let integer = |index| i64::try_from(index).unwrap_or(i64::MAX);
        self.with_integers(name, indices.into_iter().map(integer).collect())
    }

    /// Adds an integer input whose values are group ids: any integers, also negative ones.
    #[must_use]
    pub fn with_integers(mut self, name: &str, integers: Vec<i64>) -> Self {
        self.integers.insert(name.into(), integers);
        self
    }

    /// Adds a matrix that stays on the host and is read in `f64`: the conditioning variable `z`, and every other input of an objective
    /// that is no tensor, such as `prior` or `weights`. [`with_matrix`](Self::with_matrix) adds a tensor with its host copy.
    #[must_use]
    pub fn with_condition(mut self, name: &str, matrix: Matrix) -> Self {
        self.host_matrices.insert(name.into(), matrix);
        self
    }

    /// Adds the result of [`ConditionedByKernel::solve`](crate::loss::ConditionedByKernel::solve) for the condition `z`, so that
    /// the objective does not solve for it again.
    #[must_use]
    pub fn with_solution(mut self, solution: Option<SolvedCondition>) -> Self {
        self.solution = solution;
        self
    }

    /// The solution for the condition that was computed ahead, if it is one of `rows` samples.
    pub(crate) fn solution(&self, rows: usize) -> Option<&SolvedCondition> {
        self.solution.as_ref().filter(|solution| solution.rows() == rows)
    }

    /// Marks embeddings as unit rows: they are not normalised again, and gradients are partial derivatives with
    /// respect to the unit rows.
    #[must_use]
    pub fn with_unit_rows(mut self, unit: bool) -> Self {
        self.unit = unit;
        self
    }

    /// Requests intermediate results that cost extra work (`Evaluation::aux`).
    #[must_use]
    pub fn with_details(mut self, detailed: bool) -> Self {
        self.detailed = detailed;
        self
    }

    /// True if intermediate results are requested.
    pub fn is_detailed(&self) -> bool {
        self.detailed
    }

    /// Sets how many anchors are compared with all candidates at once: more take more memory, the loss is the same up to rounding.
    /// `None` chooses by the size of the batch.
    #[must_use]
    pub fn with_tile(mut self, tile: Option<usize>) -> Self {
        self.tile = tile;
        self
    }

    /// Number of anchors that are compared with all candidates at once, if the user chose it.
    pub fn tile(&self) -> Option<usize> {
        self.tile
    }

    /// Lets processes that have the same batch share the anchors of its loss, where the objective allows.
    #[must_use]
    pub fn with_peers(mut self, peers: Arc<dyn Peers>) -> Self {
        self.peers = Some(peers);
        self
    }

    /// The processes that share the anchors.
    pub(crate) fn peers(&self) -> Option<Arc<dyn Peers>> {
        self.peers.clone()
    }

    /// True if embeddings are taken as unit rows.
    pub fn has_unit_rows(&self) -> bool {
        self.unit
    }

    /// A tensor input, without its autodiff history.
    ///
    /// # Errors
    /// [`Error::MissingInput`] if there is no input of that name.
    pub fn tensor(&self, objective: &str, name: &str) -> Result<Tensor<2>> {
        self.tracked(name).map(|t| t.clone().without_autodiff()).ok_or_else(|| missing(objective, name))
    }

    /// A tensor input unchanged, with its autodiff history.
    pub fn tracked(&self, name: &str) -> Option<&Tensor<2>> {
        self.tensors.get(name)
    }

    /// A tensor input on the host: the copy given to [`with_matrix`](Self::with_matrix), else read back.
    ///
    /// # Errors
    /// [`Error::MissingInput`] if there is no input of that name; [`Error::Degenerate`] if the device failed, or is
    /// WebGPU in a page, where reading must be asynchronous.
    pub fn host(&self, objective: &str, name: &str) -> Result<Matrix> {
        if let Some(matrix) = self.on_host.get(name) {
            return Ok(matrix.clone());
        }
        let tensor = self.tensor(objective, name)?;
        let failed = |reason: String| Error::Degenerate {
            reason: format!("`{objective}` needs `{name}` on the host, and {reason}"),
            remedy: format!("give `{name}` as a matrix, or compute on the CPU"),
        };
        Matrix::from_data(&read::values_now(tensor, failed)?)
    }

    /// A tensor input on the host without a read from a device: the copy given to [`with_matrix`](Self::with_matrix), or
    /// the values of a tensor of the CPU. `None` if it lies on another device.
    ///
    /// # Errors
    /// [`Error::MissingInput`] if there is no input of that name.
    pub(crate) fn in_memory(&self, objective: &str, name: &str) -> Result<Option<Matrix>> {
        if let Some(matrix) = self.on_host.get(name) {
            return Ok(Some(matrix.clone()));
        }
        read::in_memory(&self.tensor(objective, name)?).map(|data| Matrix::from_data(&data)).transpose()
    }

    /// A tensor input as unit rows.
    ///
    /// # Errors
    /// [`Error::MissingInput`] if there is no input of that name, [`Error::Shape`] if it has no rows or no columns.
    pub fn unit_rows(&self, objective: &str, name: &str) -> Result<UnitRows> {
        let raw = self.tensor(objective, name)?;
        let [rows, columns] = raw.dims();
        if rows == 0 || columns == 0 {
            return Err(Error::shape(name, "at least one row and one column", format!("{rows}x{columns}")));
        }
        Ok(if self.unit { UnitRows::from_unit(raw) } else { UnitRows::normalise(raw) })
    }

    /// An integer input of `rows` entries, whose values are class indices, or row indices of a table, from 0.
    ///
    /// # Errors
    /// [`Error::MissingInput`], or [`Error::Shape`] if the length differs or an entry is negative.
    pub fn indices(&self, objective: &str, name: &str, rows: usize) -> Result<Vec<usize>> {
        let index = |(row, &value): (usize, &i64)| {
            let negative = |_| Error::shape(name, "integers from 0", format!("{value} in row {row}"));
            usize::try_from(value).map_err(negative)
        };
        self.groups(objective, name, rows)?.iter().enumerate().map(index).collect()
    }

    /// An integer input of `rows` entries, whose values are group ids.
    ///
    /// # Errors
    /// [`Error::MissingInput`], or [`Error::Shape`] if the length differs.
    pub fn groups(&self, objective: &str, name: &str, rows: usize) -> Result<&[i64]> {
        self.optional_groups(name, rows)?.ok_or_else(|| missing(objective, name))
    }

    /// An integer input of `rows` entries, whose values are group ids, if present.
    ///
    /// # Errors
    /// [`Error::Shape`] if the length differs.
    pub fn optional_groups(&self, name: &str, rows: usize) -> Result<Option<&[i64]>> {
        match self.integers.get(name) {
            None => Ok(None),
            Some(integers) => check_rows(name, rows, integers.len()).map(|()| Some(integers.as_slice())),
        }
    }

    /// A matrix of [`with_condition`](Self::with_condition), of `rows` rows.
    ///
    /// # Errors
    /// As [`table`](Self::table), or [`Error::Shape`] if the number of rows differs.
    pub fn condition(&self, objective: &str, name: &str, rows: usize) -> Result<&Matrix> {
        let matrix = self.table(objective, name)?;
        check_rows(name, rows, matrix.rows())?;
        Ok(matrix)
    }

    /// A matrix of [`with_condition`](Self::with_condition), of any number of rows, such as the `prior` of a training set.
    ///
    /// # Errors
    /// [`Error::MissingInput`], [`Error::NotFinite`], or [`Error::TooLarge`] for a value above 1e100.
    pub fn table(&self, objective: &str, name: &str) -> Result<&Matrix> {
        let matrix = self.host_matrices.get(name).ok_or_else(|| missing(objective, name))?;
        check_values(name, matrix).map(|()| matrix)
    }

    /// True if [`with_condition`](Self::with_condition) added a matrix of that name.
    pub fn has_condition(&self, name: &str) -> bool {
        self.host_matrices.contains_key(name)
    }
}

fn missing(objective: &str, input: &str) -> Error {
    Error::MissingInput { objective: objective.into(), input: input.into() }
}

fn check_rows(name: &str, expected: usize, rows: usize) -> Result<()> {
    if expected == rows {
        Ok(())
    } else {
        Err(Error::shape(name, format!("{expected} rows"), format!("{rows} rows")))
    }
}
