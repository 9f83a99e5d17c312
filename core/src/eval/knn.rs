//! Weighted k-nearest-neighbour classification (Wu et al., CVPR 2018), the monitor of the released DCL and
//! HCL code.
//!
//! ```text
//! score(q, c) = Σ over the k rows b of the bank with the largest q.b and label c of exp(q.b / temperature)
//! ```
//!
//! Rows are compared by their scalar product as given: pass unit rows ([`unit_rows`]) for the cosine. Where
//! two rows of the bank are equally near, the earlier one is taken. The bank is read in blocks, so that no
//! table of all queries by all rows is formed.

use serde::{Deserialize, Serialize};

use super::{check_labels, check_matrix, check_size, check_table, dense, metrics};
use crate::error::{Error, Result, positive};
use crate::numeric::matrix::Matrix;
use crate::numeric::unit_rows::SMALLEST_NORM;

/// Largest exponent whose sum over neighbours stays finite.
const LARGEST_EXPONENT: f64 = 690.0;
/// Queries compared with the bank at once.
const QUERIES: usize = 64;

/// Settings of the classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KnnConfig {
    /// Number of voting neighbours, from 1 to the rows of the bank. Default: `200`.
    pub k: usize,
    /// Temperature of a vote, above 0. Default: `0.5`, as released.
    pub temperature: f64,
}

impl Default for KnnConfig {
    fn default() -> Self {
        Self { k: 200, temperature: 0.5 }
    }
}

/// The votes of the neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct KnnVotes {
    /// `[queries, classes]`.
    pub scores: Matrix,
    /// For every query, the similarity of the last voting neighbour minus that of the next row; `None` if the whole
    /// bank votes.
    pub gap: Vec<Option<f64>>,
}

impl KnnVotes {
    /// The class with the largest score of every query; the lower class where two are equal.
    ///
    /// # Errors
    /// [`Error::Shape`] without queries.
    pub fn predictions(&self) -> Result<Vec<usize>> {
        metrics::predictions(&self.scores)
    }
}

impl KnnConfig {
    /// Lets the rows of `bank` (`[n, d]`, one label below `classes` each) vote on every row of `queries`
    /// (`[m, d]`).
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs; [`Error::Parameter`] if `k` is 0 or
    /// above `n`, or if the temperature is so low that a vote overflows.
    pub fn vote(
        &self,
        bank: &Matrix,
        labels: &[usize],
        classes: usize,
        queries: &Matrix,
    ) -> Result<KnnVotes> {
        check_matrix("bank", bank)?;
        check_matrix("queries", queries)?;
        check_labels("bank_labels", labels, bank.rows(), classes)?;
        check_size("queries", queries, queries.rows(), bank.columns())?;
        positive("temperature", self.temperature)?;
        if self.k == 0 || self.k > bank.rows() {
            let range = format!("expected 1 to {}, the rows of the bank", bank.rows());
            return Err(Error::parameter("k", self.k, &range));
        }
        check_table("classes", classes, queries.rows())?;
        let mut votes = KnnVotes { scores: Matrix::zeros(queries.rows(), classes), gap: Vec::new() };
        for start in (0..queries.rows()).step_by(QUERIES) {
            let rows = QUERIES.min(queries.rows() - start);
            for (offset, mut nearest) in self.nearest(bank, queries, start, rows).into_iter().enumerate() {
                let next = nearest.finish();
                for &(similarity, row) in &nearest.kept {
                    votes.scores[(start + offset, labels[row])] += self.weight(similarity)?;
                }
                let last = nearest.kept.iter().map(|n| n.0).fold(f64::INFINITY, f64::min);
                votes.gap.push(next.map(|next| last - next));
            }
        }
        Ok(votes)
    }

    /// The nearest rows of the bank for `rows` queries from `start` on.
    fn nearest(&self, bank: &Matrix, queries: &Matrix, start: usize, rows: usize) -> Vec<Nearest> {
        let mut all: Vec<Nearest> = (0..rows).map(|_| Nearest::new(self.k)).collect();
        let step = dense::block_rows(rows);
        for first in (0..bank.rows()).step_by(step) {
            let size = step.min(bank.rows() - first);
            let block = dense::view(bank).subrows(first, size);
            let similarities = dense::times_transpose(dense::view(queries).subrows(start, rows), block);
            for (nearest, row) in all.iter_mut().zip(similarities.iter_rows()) {
                row.iter().enumerate().for_each(|(j, &s)| nearest.offer(s, first + j));
            }
        }
        all
    }

    fn weight(&self, similarity: f64) -> Result<f64> {
        let exponent = similarity / self.temperature;
        if exponent <= LARGEST_EXPONENT {
            Ok(exponent.exp())
        } else {
            Err(Error::parameter(
                "temperature",
                self.temperature,
                &format!("a vote of similarity {similarity} overflows; raise it, or pass unit rows"),
            ))
        }
    }
}

/// The `k + 1` best candidates so far, and some that may still drop out.
struct Nearest {
    k: usize,
    threshold: f64,
    kept: Vec<(f64, usize)>,
}

impl Nearest {
    fn new(k: usize) -> Self {
        Self { k, threshold: f64::NEG_INFINITY, kept: Vec::new() }
    }

    fn offer(&mut self, similarity: f64, row: usize) {
        if similarity > self.threshold || self.kept.len() <= self.k {
            self.kept.push((similarity, row));
            if self.kept.len() >= 4 * (self.k + 1) {
                self.prune(self.k + 1);
            }
        }
    }

    /// Keeps the best `count` candidates and returns the least of them.
    fn prune(&mut self, count: usize) {
        if count < self.kept.len() {
            self.kept.select_nth_unstable_by(count - 1, order);
            self.kept.truncate(count);
            self.threshold = self.kept.iter().map(|n| n.0).fold(f64::INFINITY, f64::min);
        }
    }

    /// Keeps the best `k` and returns the similarity of the next one.
    fn finish(&mut self) -> Option<f64> {
        self.kept.sort_unstable_by(order);
        let next = self.kept.get(self.k).map(|n| n.0);
        self.kept.truncate(self.k);
        next
    }
}

/// Nearest first; the earlier row where two are equally near.
fn order(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// Every row divided by its Euclidean length; a row shorter than 1e-12 becomes zero.
#[must_use]
pub fn unit_rows(matrix: &Matrix) -> Matrix {
    let mut out = matrix.clone();
    for i in 0..out.rows() {
        let norm = dense::dot_self(out.row(i)).sqrt();
        let scale = if norm > SMALLEST_NORM { 1.0 / norm } else { 0.0 };
        out.row_mut(i).iter_mut().for_each(|v| *v *= scale);
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn wave(rows: usize, columns: usize, phase: f64) -> Matrix {
        unit_rows(&Matrix::from_fn(rows, columns, |i, j| ((i * columns + j) as f64 * 1.7 + phase).sin()))
    }

    #[test]
    fn streamed_votes_equal_a_full_sort() {
        let (bank, queries) = (wave(9000, 5, 0.0), wave(70, 5, 0.3));
        let labels: Vec<usize> = (0..9000).map(|i| i % 4).collect();
        let config = KnnConfig { k: 17, temperature: 0.1 };
        let votes = config.vote(&bank, &labels, 4, &queries).unwrap();
        for q in [0, 63, 64, 69] {
            let mut all: Vec<(f64, usize)> =
                (0..9000).map(|i| (dense::dot(bank.row(i), queries.row(q)), i)).collect();
            all.sort_by(order);
            let mut expected = [0.0; 4];
            all[..17].iter().for_each(|&(s, i)| expected[labels[i]] += (s / 0.1).exp());
            for (found, expected) in votes.scores.row(q).iter().zip(expected) {
                assert!((found - expected).abs() <= 1e-9 * expected.max(1.0));
            }
            assert!((votes.gap[q].unwrap() - (all[16].0 - all[17].0)).abs() < 1e-12);
        }
    }

    #[test]
    fn equally_near_rows_are_taken_in_order() {
        let bank = Matrix::new(4, 1, vec![1.0; 4]).unwrap();
        let config = KnnConfig { k: 2, temperature: 1.0 };
        let votes = config.vote(&bank, &[1, 1, 0, 0], 2, &Matrix::column(&[1.0])).unwrap();
        assert_eq!(votes.predictions().unwrap(), [1]);
        assert_eq!(votes.gap, [Some(0.0)]);
    }

    #[test]
    fn the_whole_bank_may_vote_and_no_more() {
        let (bank, queries) = (wave(6, 3, 0.0), wave(2, 3, 1.0));
        let all = KnnConfig { k: 6, temperature: 0.5 };
        assert_eq!(all.vote(&bank, &[0; 6], 1, &queries).unwrap().gap, [None, None]);
        for k in [0, 7] {
            let config = KnnConfig { k, temperature: 0.5 };
            assert!(matches!(config.vote(&bank, &[0; 6], 1, &queries), Err(Error::Parameter { .. })));
        }
    }

    #[test]
    fn an_overflowing_temperature_is_an_error_not_an_infinity() {
        let bank = wave(3, 3, 0.0);
        let config = KnnConfig { k: 1, temperature: 1e-4 };
        assert!(matches!(config.vote(&bank, &[0; 3], 1, &bank), Err(Error::Parameter { .. })));
    }

    #[test]
    fn zero_rows_stay_zero() {
        assert_eq!(unit_rows(&Matrix::zeros(1, 3)), Matrix::zeros(1, 3));
    }
}
