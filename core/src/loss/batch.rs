//! The inputs of an objective, by name.
//!
//! The names are those of the request files that `simile loss` reads. [`Spec::inputs`](crate::loss::spec::Spec::inputs) states those of
//! an objective with their kinds, and each kind has methods that add it:
//!
//! | input | added by |
//! |---|---|
//! | rows on the device: embeddings, scores, queues | [`Batch::with_tensor`], [`Batch::with_matrix`] |
//! | an integer for each sample: classes, biases, clusters | [`Batch::with_indices`], [`Batch::with_integers`] |
//! | rows on the host, in `f64`: conditions, `prior` | [`Batch::with_condition`] |
//!
//! An objective refuses an input in another form. A few may have either of two forms, tensors or rows on the host: `z_a` and `z_b` of
//! `hardneg-cclk` (both the same one), `weights`, `log_sigma` and `bias_features`.
//!
//! If a data loader gives everything as tensors, read the classes and the condition yourself, once, as below; best from tensors on the
//! CPU, because a read from a GPU waits for all of its work.
//!
//! ```
//! use burn::tensor::{Device, Int, Tensor};
//! use simile_core::error::Result;
//! use simile_core::loss::batch::Batch;
//! use simile_core::numeric::matrix::Matrix;
//!
//! fn inputs(views: [Tensor<2>; 2], classes: Tensor<1, Int>, ages: Tensor<2>) -> Result<Batch> {
//!     let [view_a, view_b] = views;
//!     Ok(Batch::views(view_a, view_b)
//!         .with_integers("labels", classes.into_data().iter::<i64>().collect())
//!         .with_condition("z", Matrix::from_data(&ages.into_data())?))
//! }
//!
//! # fn main() -> Result<()> {
//! let device = Device::flex();
//! let view = || Tensor::<2>::from_data([[3.0, 4.0], [1.0, 0.0]], &device);
//! let classes = Tensor::<1, Int>::from_data([0, 1], &device);
//! let ages = Tensor::<2>::from_data([[20.0], [61.0]], &device);
//! let batch = inputs([view(), view()], classes, ages)?;
//! assert!(batch.has_condition("z"));
//! # Ok(())
//! # }
//! ```

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
    host_copies: BTreeMap<String, Matrix>,
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
        self.host_copies.remove(name);
        self.tensors.insert(name.into(), tensor);
        self
    }

    /// Adds a tensor input with its host copy: an objective that needs it on the host need not read it back, which
    /// a page cannot do from WebGPU. [`with_condition`](Self::with_condition) adds a matrix that stays on the host.
    #[must_use]
    pub fn with_matrix(mut self, name: &str, matrix: Matrix, device: &Device, dtype: DType) -> Self {
        self.tensors.insert(name.into(), matrix.to_tensor(device, dtype));
        self.host_copies.insert(name.into(), matrix);
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
    /// the objective does not solve for it again. Keep `z` in the batch too: it is solved for where the result is one of another number
    /// of samples. CCL-K's objectives read neither `z` nor the result if `z_a` or `z_b` is given.
    #[must_use]
    pub fn with_solution(mut self, solution: Option<SolvedCondition>) -> Self {
        self.solution = solution;
        self
    }

    /// The [solution](Self::with_solution) for the condition that was computed ahead, if it is one of `rows` samples, as many as the
    /// batch has. `None` if there is none, or one of another number of samples: the objective then solves for the condition itself.
    pub fn solution(&self, rows: usize) -> Option<&SolvedCondition> {
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

    /// The processes that share the anchors, if [`with_peers`](Self::with_peers) named them.
    /// [`PairwiseLoss::with_peers`](crate::loss::pairwise::PairwiseLoss::with_peers) takes this value.
    pub fn peers(&self) -> Option<Arc<dyn Peers>> {
        self.peers.clone()
    }

    /// True if embeddings are taken as unit rows.
    pub fn has_unit_rows(&self) -> bool {
        self.unit
    }

    /// A tensor input, without its autodiff history.
    ///
    /// # Errors
    /// [`Error::MissingInput`] if there is no input of that name, [`Error::InputForm`] if it is no tensor.
    pub fn tensor(&self, objective: &str, name: &str) -> Result<Tensor<2>> {
        let tensor = self.tracked(name).map(|t| t.clone().without_autodiff());
        tensor.ok_or_else(|| self.absent(objective, name, "with_tensor"))
    }

    /// A tensor input unchanged, with its autodiff history.
    pub fn tracked(&self, name: &str) -> Option<&Tensor<2>> {
        self.tensors.get(name)
    }

    /// A tensor input on the host: the copy given to [`with_matrix`](Self::with_matrix), else read back.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor), or [`Error::Degenerate`] if the device failed, or is WebGPU in a page, where reading must be
    /// asynchronous.
    pub fn host(&self, objective: &str, name: &str) -> Result<Matrix> {
        if let Some(matrix) = self.host_copies.get(name) {
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
    /// As [`tensor`](Self::tensor).
    pub(crate) fn in_memory(&self, objective: &str, name: &str) -> Result<Option<Matrix>> {
        if let Some(matrix) = self.host_copies.get(name) {
            return Ok(Some(matrix.clone()));
        }
        read::in_memory(&self.tensor(objective, name)?).map(|data| Matrix::from_data(&data)).transpose()
    }

    /// A tensor input as unit rows.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor), or [`Error::Shape`] if it has no rows or no columns.
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
    /// As [`groups`](Self::groups), or [`Error::Shape`] if an entry is negative.
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
    /// [`Error::MissingInput`] if there is no input of that name, or as [`optional_groups`](Self::optional_groups).
    pub fn groups(&self, objective: &str, name: &str, rows: usize) -> Result<&[i64]> {
        let groups = self.optional_groups(objective, name, rows)?;
        groups.ok_or_else(|| self.absent(objective, name, "with_integers"))
    }

    /// An integer input of `rows` entries, whose values are group ids, if present.
    ///
    /// # Errors
    /// [`Error::InputForm`] if the input is not made of integers, [`Error::Shape`] if the length differs.
    pub fn optional_groups(&self, objective: &str, name: &str, rows: usize) -> Result<Option<&[i64]>> {
        match self.integers.get(name) {
            Some(integers) => check_rows(name, rows, integers.len()).map(|()| Some(integers.as_slice())),
            None if self.is_given(name) => Err(self.absent(objective, name, "with_integers")),
            None => Ok(None),
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
    /// [`Error::MissingInput`] if there is no input of that name, [`Error::InputForm`] if it was added by another method,
    /// [`Error::NotFinite`], or [`Error::TooLarge`] for a value above 1e100.
    pub fn table(&self, objective: &str, name: &str) -> Result<&Matrix> {
        let matrix = self.host_matrices.get(name);
        let matrix = matrix.ok_or_else(|| self.absent(objective, name, "with_condition"))?;
        check_values(name, matrix).map(|()| matrix)
    }

    /// True if [`with_condition`](Self::with_condition) added a matrix of that name.
    pub fn has_condition(&self, name: &str) -> bool {
        self.host_matrices.contains_key(name)
    }

    /// True if there is an input of that name, in any form.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.added_by(name).is_some()
    }

    /// The method that added the input of that name.
    fn added_by(&self, name: &str) -> Option<&'static str> {
        let methods = [
            ("with_matrix", self.host_copies.contains_key(name)),
            ("with_tensor", self.tensors.contains_key(name)),
            ("with_integers", self.integers.contains_key(name)),
            ("with_condition", self.host_matrices.contains_key(name)),
        ];
        methods.into_iter().find_map(|(method, has_added)| has_added.then_some(method))
    }

    /// The error of an input that is not there as the method `expected` adds it.
    fn absent(&self, objective: &str, input: &str, expected: &'static str) -> Error {
        let added_by = self.added_by(input);
        let (objective, input) = (objective.into(), input.into());
        match added_by {
            None => Error::MissingInput { objective, input },
            Some(given) => Error::InputForm { objective, input, given, expected },
        }
    }
}

/// Checks the number of rows of an input.
pub(crate) fn check_rows(name: &str, expected: usize, rows: usize) -> Result<()> {
    if expected == rows {
        Ok(())
    } else {
        Err(Error::shape(name, format!("{expected} rows"), format!("{rows} rows")))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::loss::build;
    use crate::loss::finite_difference::{random, read, value};

    /// HardNeg-CCLK took the views in place of such a condition, ConTeX left out such a bias, and cross-entropy such weights; required
    /// inputs were called missing.
    #[test]
    fn an_input_in_another_form_is_neither_missing_nor_passed_over() {
        let [tensor, integers, condition] = ["with_tensor", "with_integers", "with_condition"];
        let (rows, on_host, ids) = (|| random(4, 3, 3), || read(random(4, 3, 3)), || vec![0, 1, 0, 1]);
        let views = Batch::views(random(4, 3, 1), random(4, 3, 2));
        let labelled = views.clone().with_integers("labels", ids());
        let scored = labelled.clone().with_tensor("logits", rows());
        let placed = views.clone().with_matrix("z", on_host(), &Device::flex(), DType::F64);
        let of_each_view = views.clone().with_tensor("z_a", rows()).with_tensor("z_b", rows());
        let of_both_forms = views.clone().with_condition("z_a", on_host()).with_tensor("z_b", rows());
        let assigned = views.clone().with_tensor("prototypes", rows());
        for (objective, batch, [input, given, expected]) in [
            ("fair-cclk", views.clone().with_tensor("z", rows()), ["z", tensor, condition]),
            ("fair-cclk", placed, ["z", "with_matrix", condition]),
            ("fair-cclk", of_each_view.clone(), ["z_a", tensor, condition]),
            ("weaksup-cclk", of_each_view.with_condition("z", on_host()), ["z_a", tensor, condition]),
            ("hardneg-cclk", views.clone().with_tensor("z", rows()), ["z", tensor, condition]),
            ("hardneg-cclk", views.clone().with_integers("z", ids()), ["z", integers, condition]),
            ("hardneg-cclk", views.clone().with_integers("z_a", ids()), ["z_a", integers, tensor]),
            ("hardneg-cclk", of_both_forms, ["z_b", tensor, condition]),
            ("contex", labelled.clone().with_condition("bias", on_host()), ["bias", condition, integers]),
            ("contex-p", labelled.with_tensor("bias", rows()), ["bias", tensor, integers]),
            ("weaksup-info-nce", views.clone().with_tensor("labels", rows()), ["labels", tensor, integers]),
            ("cross-entropy", scored.with_integers("weights", ids()), ["weights", integers, condition]),
            (
                "decoupled-uniformity",
                views.with_condition("view_c", on_host()),
                ["view_c", condition, tensor],
            ),
            ("swav", assigned.with_condition("queue_0", on_host()), ["queue_0", condition, tensor]),
        ] {
            let error = build(objective, None, Value::Null).unwrap().evaluate(&batch).unwrap_err();
            let (objective, input) = (objective.into(), input.into());
            assert_eq!(error, Error::InputForm { objective, input, given, expected });
        }
        // The second method is the remedy.
        let on_device = Batch::views(random(4, 3, 1), random(4, 3, 2)).with_tensor("z", rows());
        let error = build("fair-cclk", None, Value::Null).unwrap().evaluate(&on_device).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`z` was added by `Batch::with_tensor`; `fair-cclk` needs it by `Batch::with_condition` here"
        );
    }

    /// HardNeg-CCLK took `z` in place of the tensors, and each objective a `z` that was solved for ahead in place of rows on the host.
    #[test]
    fn conditions_of_each_view_stand_in_place_of_z_in_both_forms_and_with_its_solution() {
        let hardneg = build("hardneg-cclk", None, Value::Null).unwrap();
        let loss = |batch: &Batch| value(hardneg.as_ref(), batch);
        let views = Batch::views(random(4, 3, 1), random(4, 3, 2));
        let [z, z_a, z_b] = [5, 6, 7].map(|seed| random(4, 3, seed));
        let solution =
            hardneg.conditioned_by_kernel().unwrap().solve(&read(z.clone()), &Device::flex()).unwrap();
        let of_tensors = views.clone().with_tensor("z_a", z_a.clone()).with_tensor("z_b", z_b.clone());
        let on_host = views.clone().with_condition("z_a", read(z_a)).with_condition("z_b", read(z_b));
        let fair = build("fair-cclk", None, Value::Null).unwrap();
        let solved =
            of_tensors.clone().with_condition("z", read(z.clone())).with_solution(Some(solution.clone()));
        assert!(matches!(fair.evaluate(&solved), Err(Error::InputForm { .. })), "as without the solution");
        let expected = loss(&on_host);
        assert_ne!(loss(&views.with_condition("z", read(z.clone()))), expected);
        for alone in [of_tensors, on_host] {
            let beside = alone.clone().with_condition("z", read(z.clone()));
            let solved = beside.clone().with_solution(Some(solution.clone()));
            for batch in [alone.clone(), alone.with_tensor("z", z.clone()), beside, solved] {
                assert_eq!(loss(&batch), expected);
            }
        }
    }
}
