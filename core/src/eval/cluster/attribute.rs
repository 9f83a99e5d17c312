//! Clusters of samples with equal values of the most informative binary attributes (Cl-InfoNCE, Tsai et al., ICLR
//! 2022).
//!
//! Columns are ranked by their entropy in bits, `H(p) = -p log2 p - (1 - p) log2(1 - p)` with `p` the
//! fraction of ones; the `k` columns of largest entropy are kept, and samples with equal kept columns form
//! one cluster. More columns give smaller clusters. CCL-K's released script computes this order, but returns the columns
//! unsorted; here the `k` of largest entropy are kept.

use std::collections::BTreeMap;

use crate::error::{Error, Result, shown};
use crate::numeric::matrix::Matrix;

/// Clusters of equal attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeClusters {
    /// The selected columns, by falling entropy; the earlier column of two equal ones first.
    pub columns: Vec<usize>,
    /// Cluster of every sample, numbered in the order in which they first occur.
    pub ids: Vec<usize>,
    /// Number of clusters.
    pub count: usize,
}

/// Groups the rows of `attributes` (`[n, m]`, values 0 and 1) by their `k` columns of largest entropy.
///
/// If `k` is above the number of columns, all are kept.
///
/// # Errors
/// [`Error::Shape`] without rows or if a value is neither 0 nor 1, [`Error::Parameter`] if `k` is 0.
pub fn attribute_clusters(attributes: &Matrix, k: usize) -> Result<AttributeClusters> {
    if k == 0 {
        return Err(Error::parameter("k", 0, "expected at least 1 attribute"));
    }
    let (n, ones) = (attributes.rows(), count_ones(attributes)?);
    let mut columns: Vec<usize> = (0..attributes.columns()).collect();
    // The entropy grows with the rarer value's count, which compares exactly where logarithms round.
    columns.sort_by_key(|&j| std::cmp::Reverse(ones[j].min(n - ones[j])));
    columns.truncate(k);
    let mut names: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    let ids = attributes
        .iter_rows()
        .map(|row| {
            let next = names.len();
            *names.entry(columns.iter().map(|&j| row[j] == 1.0).collect()).or_insert(next)
        })
        .collect();
    Ok(AttributeClusters { columns, ids, count: names.len() })
}

fn count_ones(attributes: &Matrix) -> Result<Vec<usize>> {
    if attributes.rows() == 0 {
        return Err(Error::shape("attributes", "at least one row", "none"));
    }
    let mut ones = vec![0_usize; attributes.columns()];
    for (i, row) in attributes.iter_rows().enumerate() {
        for (count, &value) in ones.iter_mut().zip(row) {
            if value != 0.0 && value != 1.0 {
                return Err(Error::shape(
                    "attributes",
                    "values 0 and 1",
                    format!("{} in row {i}", shown(value)),
                ));
            }
            *count += usize::from(value == 1.0);
        }
    }
    Ok(ones)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn attributes() -> Matrix {
        Matrix::try_from(vec![
            vec![1.0, 0.0, 0.0, 1.0],
            vec![1.0, 1.0, 0.0, 0.0],
            vec![1.0, 0.0, 1.0, 1.0],
            vec![1.0, 1.0, 0.0, 0.0],
        ])
        .unwrap()
    }

    /// Entropy in bits of every column.
    fn column_entropy(attributes: &Matrix) -> Vec<f64> {
        let bits = |ones: usize| {
            let p = ones as f64 / attributes.rows() as f64;
            [p, 1.0 - p].into_iter().filter(|&q| q > 0.0).map(|q| -q * q.log2()).sum::<f64>()
        };
        count_ones(attributes).unwrap().into_iter().map(bits).collect()
    }

    #[test]
    fn the_order_by_counts_is_the_order_by_entropy() {
        let n = 57;
        let table = Matrix::from_fn(n, n + 1, |i, j| f64::from(u8::from(i < j)));
        let entropy = column_entropy(&table);
        let columns = attribute_clusters(&table, n + 1).unwrap().columns;
        assert!(columns.windows(2).all(|pair| entropy[pair[0]] >= entropy[pair[1]] - 1e-15));
    }

    #[test]
    fn rows_with_equal_kept_columns_share_a_cluster() {
        let clusters = attribute_clusters(&attributes(), 2).unwrap();
        assert_eq!(clusters.columns, [1, 3]);
        assert_eq!(clusters.ids, [0, 1, 0, 1]);
        let finer = attribute_clusters(&attributes(), 3).unwrap();
        assert_eq!((finer.ids, finer.count), (vec![0, 1, 2, 1], 3));
        assert_eq!(attribute_clusters(&attributes(), 99).unwrap().columns.len(), 4);
    }

    #[test]
    fn more_columns_never_merge_clusters() {
        let table = Matrix::from_fn(200, 8, |i, j| ((i * (j + 3) * 31 + j) % 7 < 3) as u8 as f64);
        let counts: Vec<usize> = (1..=8).map(|k| attribute_clusters(&table, k).unwrap().count).collect();
        assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn values_that_are_not_binary_are_an_error() {
        let bad = Matrix::new(2, 1, vec![1.0, 0.5]).unwrap();
        assert!(matches!(attribute_clusters(&bad, 1), Err(Error::Shape { .. })));
        assert!(matches!(attribute_clusters(&attributes(), 0), Err(Error::Parameter { .. })));
        assert!(matches!(attribute_clusters(&Matrix::zeros(0, 3), 1), Err(Error::Shape { .. })));
    }
}
