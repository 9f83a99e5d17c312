//! The candidates of a query: the rows of the bank that may be among its nearest, and their exact products.

use simile_kernels::cpu::vectors::dot;

use super::reciprocal;
use crate::error::Result;
use crate::numeric::rows::{Buffer, Rows};

/// A row of the bank, and its product with a query or with the direction of one.
#[derive(Clone, Copy)]
pub(super) struct Neighbour {
    pub(super) product: f64,
    /// The number of the row in the bank.
    pub(super) row: usize,
}

impl Neighbour {
    /// Nearest first; the earlier row where two are equally near.
    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.product.total_cmp(&self.product).then(self.row.cmp(&other.row))
    }
}

/// The rows so far that may be among the nearest of a query, given the errors of their products.
pub(super) struct Candidates {
    /// The number of nearest rows to find, `w` in the documentation of `knn`: the voters and the next row.
    pub(super) wanted: usize,
    /// The least product of a further candidate, `t - 2 e`; -∞ before the first [`Self::prune`].
    pub(super) threshold: f64,
    /// With products with the direction of the query.
    pub(super) rows: Vec<Neighbour>,
}

impl Candidates {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, threshold: f64::NEG_INFINITY, rows: Vec::new() }
    }

    /// Takes a row if its product reaches the threshold. The threshold is raised only now and then, because that orders the rows.
    pub(super) fn offer(&mut self, neighbour: Neighbour, error: f64) {
        if neighbour.product >= self.threshold {
            self.rows.push(neighbour);
            if self.rows.len().is_multiple_of(4 * self.wanted) {
                self.prune(error);
            }
        }
    }

    /// Computes the threshold from the wanted rows with the largest products, and drops the rows below it.
    pub(super) fn prune(&mut self, error: f64) {
        if self.rows.len() > self.wanted {
            let (_, last, _) = self.rows.select_nth_unstable_by(self.wanted - 1, Neighbour::order);
            self.threshold = last.product - 2.0 * error;
            self.rows.retain(|row| row.product >= self.threshold);
        }
    }

    /// True if many candidates are equally near within the error of their products, so that [`Self::prune`] cannot drop them.
    pub(super) fn is_crowded(&self) -> bool {
        self.rows.len() > 8 * self.wanted
    }

    /// Keeps only the wanted rows, by their exact products.
    pub(super) fn reduce_exactly(&mut self, mut exact: ExactProducts<'_>, error: f64) -> Result<()> {
        let scale = reciprocal(exact.length);
        self.rows = exact.nearest(&self.rows, self.wanted)?;
        self.rows.iter_mut().for_each(|row| row.product *= scale);
        self.threshold = self.rows.last().map_or(f64::NEG_INFINITY, |last| last.product - 2.0 * error);
        Ok(())
    }
}

/// Products of a query, as it was given, with rows of the bank in `f64`.
pub(super) struct ExactProducts<'a> {
    bank: &'a dyn Rows,
    query: Vec<f64>,
    /// The length of the query.
    length: f64,
    /// Memory for a row of the bank.
    row: Vec<f64>,
}

impl<'a> ExactProducts<'a> {
    /// The products of the query with the number `at`.
    pub(super) fn new(bank: &'a dyn Rows, queries: &dyn Rows, at: usize) -> Result<Self> {
        let mut query = vec![0.0; queries.columns()];
        queries.read(at, Buffer::Double(&mut query))?;
        let length = dot(&query, &query).sqrt();
        Ok(Self { bank, row: vec![0.0; query.len()], query, length })
    }

    /// The nearest `count` of some rows with their exact products, nearest first.
    pub(super) fn nearest(&mut self, candidates: &[Neighbour], count: usize) -> Result<Vec<Neighbour>> {
        let mut neighbours = Vec::with_capacity(candidates.len());
        for &Neighbour { row, .. } in candidates {
            self.bank.read(row, Buffer::Double(&mut self.row))?;
            neighbours.push(Neighbour { product: dot(&self.row, &self.query), row });
        }
        neighbours.sort_unstable_by(Neighbour::order);
        neighbours.truncate(count);
        Ok(neighbours)
    }
}
