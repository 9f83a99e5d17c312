//! Weighted k-nearest-neighbour classification (Wu et al., CVPR 2018), the monitor of the released DCL and
//! HCL code.
//!
//! ```text
//! score(q, c) = Σ exp(q.b / temperature) over those of the k rows b of the bank with the largest q.b that have label c
//! ```
//!
//! Rows are compared by their scalar product as given: pass unit rows ([`Unit`](super::unit::Unit)) for the cosine. Where
//! two rows of the bank are equally near, the earlier one is taken. The bank is read once, in blocks, so that no
//! table of all queries by all rows is formed.
//!
//! # How a bound rules a row out
//!
//! The neighbours are exact, although most rows are only compared by products of numbers in 16 bits ([`near`]), which are fast.
//! A query needs its `w = k + 1` nearest rows: `k` vote, and the next one gives the gap. Let the products have errors of at most
//! `e`, and let `t` be the `w`-th largest product so far. Each of the `w` rows with products from `t` on has an exact
//! product of at least `t - e`. A row with a product below `t - 2 e` has an exact product below `t - e`: these `w` rows are all
//! nearer, and the row is ruled out. The remaining rows are the candidates of the query. The products of candidates are computed
//! in `f64`, and these order them and weigh the votes.
//!
//! These products are those with the direction of the query, which is the query divided by its length. So `e` does not depend on
//! the query's length, and the order of the rows stays the same.
//!
//! # The order of the work
//!
//! 1. `candidates_of_queries` rounds the queries in groups (`QueryGroup`), then reads the bank by blocks (`BankBlock`), some at a
//!    time, and compares every group with each block.
//! 2. In each block a group first finds `e`, then offers the rows to the queries, tile by tile. `Candidates` takes the rows
//!    whose products reach the threshold `t - 2 e`, which rises as nearer rows come. If many rows are equally near, their
//!    products in `f64` decide after the block, so that memory is bounded.
//! 3. After the last block, `votes_of_group` orders the candidates of each query by their products in `f64`
//!    (`ExactProducts`), and the first `k` vote.

mod candidates;

use std::ops::Range;

use simile_kernels::cpu::near::{self, LARGEST, Products, Tile, Tiles};
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::vectors::dot;

use self::candidates::{Candidates, ExactProducts, Neighbour};
use super::blocks::check_any;
use super::{check_labels, check_table, metrics};
use crate::error::{Error, Result, positive};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, Rows};

/// Largest exponent whose sum over neighbours stays finite.
const LARGEST_EXPONENT: f64 = 690.0;
/// Queries of a group, which one thread compares with a block: some whole tiles.
const GROUP_QUERIES: usize = 20 * near::QUERIES;
/// Most rows of a block of the bank.
const BLOCK_ROWS: usize = 512;
/// Most blocks that are read at the same time, and most values of them: fewer or smaller blocks if rows have many columns.
const BLOCKS: usize = 16;
const BLOCKS_VALUES: usize = 1 << 23;
/// Values of those tiles of a block that all queries of a group are compared with while they stay in the processor's cache.
const CACHED_VALUES: usize = 1 << 18;
/// The error of a product in `f64`, beside that of rounding to 16 bits.
const DOUBLE_ERROR: f64 = 1e-11;

/// Settings of the classifier.
#[derive(Debug, Clone, PartialEq)]
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

/// The scores of the classes for one query, and its gap.
type QueryVotes = (Vec<f64>, Option<f64>);

impl KnnConfig {
    /// Lets the rows of `bank` (`[n, d]`, one label below `classes` each) vote on every row of `queries`
    /// (`[m, d]`). Beside both, memory is that of the queries in 16 bits and of some `8 (k + 1)` candidates of each.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`] or [`Error::TooLarge`] for unusable inputs; [`Error::Parameter`] if `k` is 0
    /// or above `n`, or if the temperature is so low that a vote overflows.
    pub fn vote(
        &self,
        bank: &dyn Rows,
        labels: &[usize],
        classes: usize,
        queries: &dyn Rows,
    ) -> Result<KnnVotes> {
        check_any("bank", bank)?;
        check_any("queries", queries)?;
        check_labels("bank_labels", labels, bank.rows(), classes)?;
        if queries.columns() != bank.columns() {
            let columns = format!("{} columns", queries.columns());
            return Err(Error::shape("queries", format!("{} columns, as the bank", bank.columns()), columns));
        }
        positive("temperature", self.temperature)?;
        if self.k == 0 || self.k > bank.rows() {
            let range = format!("expected 1 to {}, the rows of the bank", bank.rows());
            return Err(Error::parameter("k", self.k, &range));
        }
        check_table("classes", classes, queries.rows())?;
        let mut groups = self.candidates_of_queries(bank, queries)?;
        let of_group = |group: &mut QueryGroup| self.votes_of_group(group, bank, queries, (labels, classes));
        let mut votes = KnnVotes { scores: Matrix::zeros(queries.rows(), classes), gap: Vec::new() };
        for (group, results) in parallel::map(&mut groups, of_group).into_iter().enumerate() {
            for (offset, (scores, gap)) in results?.into_iter().enumerate() {
                votes.scores.row_mut(group * GROUP_QUERIES + offset).copy_from_slice(&scores);
                votes.gap.push(gap);
            }
        }
        Ok(votes)
    }

    /// The groups of all queries, with the candidates of each query.
    fn candidates_of_queries(&self, bank: &dyn Rows, queries: &dyn Rows) -> Result<Vec<QueryGroup>> {
        let starts = (0..queries.rows()).step_by(GROUP_QUERIES);
        let groups = parallel::map(starts, |first| QueryGroup::new(queries, first, self.k + 1));
        let mut groups = groups.into_iter().collect::<Result<Vec<QueryGroup>>>()?;
        let columns = bank.columns().max(1);
        let rows_of_block = (BLOCKS_VALUES / columns).clamp(1, BLOCK_ROWS);
        let at_once = (BLOCKS_VALUES / (rows_of_block * columns)).clamp(1, BLOCKS);
        let block = |first: usize| first..(first + rows_of_block).min(bank.rows());
        let blocks: Vec<Range<usize>> = (0..bank.rows()).step_by(rows_of_block).map(block).collect();
        for blocks in blocks.chunks(at_once) {
            let blocks = parallel::map(blocks.iter().cloned(), |rows| BankBlock::read(bank, rows));
            let blocks = blocks.into_iter().collect::<Result<Vec<BankBlock>>>()?;
            let search = |group: &mut QueryGroup| {
                blocks.iter().try_for_each(|block| group.search(block, bank, queries))
            };
            parallel::map(groups.iter_mut(), search).into_iter().collect::<Result<()>>()?;
        }
        Ok(groups)
    }

    /// The votes on each query of a group, from its candidates of the whole bank.
    fn votes_of_group(
        &self,
        group: &mut QueryGroup,
        bank: &dyn Rows,
        queries: &dyn Rows,
        (labels, classes): (&[usize], usize),
    ) -> Result<Vec<QueryVotes>> {
        let (first, error) = (group.first, group.error);
        let of_query = |(offset, candidates): (usize, &mut Candidates)| {
            candidates.prune(error);
            let mut exact = ExactProducts::new(bank, queries, first + offset)?;
            let nearest = exact.nearest(&candidates.rows, candidates.wanted)?;
            self.votes_of_query(&nearest, labels, classes)
        };
        group.candidates.iter_mut().enumerate().map(of_query).collect()
    }

    /// The votes of the first `k` of the `k + 1` nearest rows; the last one gives the gap.
    fn votes_of_query(&self, nearest: &[Neighbour], labels: &[usize], classes: usize) -> Result<QueryVotes> {
        let (voters, others) = nearest.split_at(self.k.min(nearest.len()));
        let mut scores = vec![0.0; classes];
        for voter in voters {
            scores[labels[voter.row]] += self.weight(voter.product)?;
        }
        let last = voters.last().map_or(f64::INFINITY, |voter| voter.product);
        Ok((scores, others.first().map(|next| last - next.product)))
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

/// The length of the longest row.
///
/// # Errors
/// [`Error::NotFinite`] or [`Error::TooLarge`] names the first row that has no length.
fn largest_length(name: &str, values: &[f64], columns: usize, first: usize) -> Result<f64> {
    let mut longest = 0.0_f64;
    for (row, values) in values.chunks_exact(columns.max(1)).enumerate() {
        let square = dot(values, values);
        if !square.is_finite() {
            let row = first + row;
            let largest = values.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
            return Err(match largest.filter(|value| value.is_finite()) {
                Some(value) => Error::TooLarge { input: name.into(), row, value },
                None => Error::NotFinite { input: name.into(), row },
            });
        }
        longest = longest.max(square.sqrt());
    }
    Ok(longest)
}

/// `1 / length`, and 0 for 0.
fn reciprocal(length: f64) -> f64 {
    if length > 0.0 { 1.0 / length } else { 0.0 }
}

/// Some adjacent rows of the bank, with which all groups of queries are compared.
struct BankBlock {
    /// The rows divided by `largest_length`, so that none is longer than 1.
    tiles: Tiles<{ near::OTHERS }>,
    /// The number of the first row in the bank.
    first: usize,
    rows: usize,
    largest_length: f64,
}

impl BankBlock {
    fn read(bank: &dyn Rows, rows: Range<usize>) -> Result<Self> {
        let columns = bank.columns();
        let mut values = vec![0.0; rows.len() * columns];
        bank.read(rows.start, Buffer::Double(&mut values))?;
        let largest_length = largest_length("bank", &values, columns, rows.start)?;
        let scale = reciprocal(largest_length);
        let tiles = Tiles::new(&values, columns, |_| scale);
        Ok(Self { tiles, first: rows.start, rows: rows.len(), largest_length })
    }
}

/// Some adjacent queries with their candidates.
struct QueryGroup {
    /// The number of the first query.
    first: usize,
    /// The queries, each divided by its length.
    tiles: Tiles<{ near::QUERIES }>,
    /// The candidates of each query.
    candidates: Vec<Candidates>,
    /// The bound `e` of the errors of all products so far.
    error: f64,
}

impl QueryGroup {
    fn new(queries: &dyn Rows, first: usize, wanted: usize) -> Result<Self> {
        let (rows, columns) = (GROUP_QUERIES.min(queries.rows() - first), queries.columns());
        let mut values = vec![0.0; rows * columns];
        queries.read(first, Buffer::Double(&mut values))?;
        largest_length("queries", &values, columns, first)?;
        let scales: Vec<f64> =
            values.chunks_exact(columns.max(1)).map(|row| reciprocal(dot(row, row).sqrt())).collect();
        let tiles = Tiles::new(&values, columns, |row| scales[row]);
        let candidates = (0..rows).map(|_| Candidates::new(wanted)).collect();
        Ok(Self { first, tiles, candidates, error: 0.0 })
    }

    /// Adds the candidates of a block.
    fn search(&mut self, block: &BankBlock, bank: &dyn Rows, queries: &dyn Rows) -> Result<()> {
        self.allow_for_errors_of(block);
        self.offer_rows_of(block, bank.columns());
        for (offset, candidates) in self.candidates.iter_mut().enumerate() {
            if !candidates.is_crowded() {
                continue;
            }
            let exact = ExactProducts::new(bank, queries, self.first + offset)?;
            candidates.reduce_exactly(exact, self.error)?;
        }
        Ok(())
    }

    /// Raises the bound to that of the products with a block ([`near`] derives it for rows of length at most 1), where that is
    /// larger. The thresholds `t - 2 e` of earlier blocks fall with it.
    fn allow_for_errors_of(&mut self, block: &BankBlock) {
        let (query_error, block_error) = (self.tiles.error(), block.tiles.error());
        let error = (query_error + (1.0 + query_error) * block_error + DOUBLE_ERROR) * block.largest_length;
        let increase = (error - self.error).max(0.0);
        self.candidates.iter_mut().for_each(|candidates| candidates.threshold -= 2.0 * increase);
        self.error += increase;
    }

    /// Offers the rows of a block to the queries: as many tiles of the block as stay in the processor's cache to all queries, then
    /// the next ones.
    fn offer_rows_of(&mut self, block: &BankBlock, columns: usize) {
        let block_tiles: Vec<Tile<'_, { near::OTHERS }>> = block.tiles.iter().collect();
        let cached = (CACHED_VALUES / (near::OTHERS * columns.max(1))).max(1);
        for (part, cached_tiles) in block_tiles.chunks(cached).enumerate() {
            let part_start = part * cached * near::OTHERS;
            for (queries, candidates) in self.tiles.iter().zip(self.candidates.chunks_mut(near::QUERIES)) {
                for (others, start) in cached_tiles.iter().zip((part_start..).step_by(near::OTHERS)) {
                    offer_tile(&queries.products(*others), candidates, block, start, self.error);
                }
            }
        }
    }
}

/// Offers the rows of a tile, which begins with row `start` of its block, to the queries of another tile, by their products.
fn offer_tile(
    products: &Products,
    candidates: &mut [Candidates],
    block: &BankBlock,
    start: usize,
    error: f64,
) {
    // A product is its integer times this unit. The last tile of a block ends with rows of zeros, which are not in the bank.
    let (unit, rows) = (block.largest_length / LARGEST.powi(2), near::OTHERS.min(block.rows - start));
    for (products, candidates) in products.iter().zip(candidates) {
        // Few rows are candidates, so the integers are compared first, with one that is at most the threshold: 1 is subtracted
        // because `as` rounds negative numbers up. For the threshold -∞ it is the least integer, which every product reaches.
        let least = (candidates.threshold / unit - 1.0) as i32;
        if products.iter().fold(false, |any, &product| any | (product >= least)) {
            for (row, &product) in (block.first + start..).zip(&products[..rows]) {
                if product >= least {
                    candidates.offer(Neighbour { product: f64::from(product) * unit, row }, error);
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::eval::unit::{Unit, unit_rows};
    use crate::numeric::rows::{FeatureTable, to_matrix};

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
            let neighbour = |row| Neighbour { product: dot(bank.row(row), queries.row(q)), row };
            let mut all: Vec<Neighbour> = (0..9000).map(neighbour).collect();
            all.sort_by(Neighbour::order);
            let mut expected = [0.0; 4];
            all[..17].iter().for_each(|near| expected[labels[near.row]] += (near.product / 0.1).exp());
            for (score, expected) in votes.scores.row(q).iter().zip(expected) {
                assert!((score - expected).abs() <= 1e-9 * expected.max(1.0));
            }
            assert!((votes.gap[q].unwrap() - (all[16].product - all[17].product)).abs() < 1e-12);
        }
    }

    #[test]
    fn rows_nearer_to_each_other_than_single_precision_are_told_apart() {
        // All products with the query differ by less than f32 can hold, and most rows are repeated.
        let bank =
            Matrix::from_fn(9000, 3, |i, j| if j == 0 { 1.0 + (i % 1500) as f64 * 1e-12 } else { 0.3 });
        let queries = Matrix::from_fn(3, 3, |i, _| if i == 2 { 0.0 } else { 1.0 });
        let labels: Vec<usize> = (0..9000).map(|i| usize::from(i % 1500 >= 1499)).collect();
        let votes = KnnConfig { k: 6, temperature: 1.0 }.vote(&bank, &labels, 2, &queries).unwrap();
        assert_eq!(votes.predictions().unwrap(), [1, 1, 0]);
        assert_eq!(votes.scores.row(0)[0], 0.0);
        let gap = votes.gap[1].unwrap();
        assert!(gap > 0.5e-12 && gap < 2e-12, "{gap}");
        assert_eq!(votes.gap[2], Some(0.0));
    }

    #[test]
    fn features_in_single_precision_vote_as_the_same_numbers_do() {
        let rows =
            |matrix: &Matrix| FeatureTable::gather(matrix, &(0..matrix.rows()).collect::<Vec<_>>()).unwrap();
        let (bank, queries) = (rows(&wave(5000, 40, 0.0)), rows(&wave(300, 40, 0.7)));
        let labels: Vec<usize> = (0..5000).map(|i| i * i % 3).collect();
        let config = KnnConfig { k: 30, temperature: 0.07 };
        let votes = config.vote(&Unit(&bank), &labels, 3, &Unit(&queries)).unwrap();
        let unit = |table: &FeatureTable| unit_rows(&to_matrix(table).unwrap());
        assert_eq!(votes, config.vote(&unit(&bank), &labels, 3, &unit(&queries)).unwrap());
    }

    #[test]
    fn a_long_row_in_a_later_block_hides_no_nearer_one() {
        // Beside the long row, which points away, the last row of the second block is rounded to nothing.
        let bank = Matrix::from_fn(6000, 2, |i, j| match (i, j) {
            (5000, 0) => -1e5,
            (5999, 0) => 0.95,
            (..5000, 0) => 0.9 - 1e-6 * i as f64,
            (_, 0) => 0.1,
            _ => 0.0,
        });
        let labels: Vec<usize> = (0..6000).map(|i| usize::from(i == 5999)).collect();
        let votes = KnnConfig { k: 1, temperature: 1.0 }
            .vote(&bank, &labels, 2, &Matrix::new(1, 2, vec![1.0, 0.0]).unwrap())
            .unwrap();
        assert_eq!(votes.predictions().unwrap(), [1]);
        assert!((votes.gap[0].unwrap() - 0.05).abs() < 1e-12, "{:?}", votes.gap);
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
}
