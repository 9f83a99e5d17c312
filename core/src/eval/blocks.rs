//! Sums over the rows of a set, by blocks that fit the cache, on all threads of the pool.
//!
//! The blocks are divided into parts, each with sums of its own, which are added in their order. Sizes depend on the shape of the
//! problem alone, so that the result does not depend on the number of threads.

use simile_kernels::cpu::parallel;

use crate::error::{Error, Result};
use crate::numeric::rows::{Real, Rows};

/// Values of a block: two megabytes of `f32`.
const VALUES: usize = 1 << 19;
/// Fewest rows of a block whose columns are many, so that the sums of a block are added to those of a part seldom.
const ROWS: usize = 512;
/// Most values of a block, before it has fewer rows than that.
const MOST_VALUES: usize = 1 << 22;
/// Most values that the sums of all parts hold together, 256 MiB of `f64`.
const SUMS: usize = 1 << 25;
/// Bounds of the number of parts.
const PARTS: [usize; 2] = [8, 64];

/// Some adjacent rows, in row order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a, T> {
    pub(super) values: &'a [T],
    /// The number of the first row in the set.
    pub(super) first: usize,
    pub(super) rows: usize,
}

/// Number of rows of a block with `columns` columns.
pub(super) fn rows_of_block(columns: usize) -> usize {
    let columns = columns.max(1);
    (VALUES / columns).max(ROWS.min(MOST_VALUES / columns)).max(1)
}

/// The sums of each part, in the order of the parts: `add` adds a block, with its numbers in the type `T`, to sums that
/// `begin` made. `size` is the number of values in the sums of a part.
///
/// # Errors
/// If rows cannot be read; the errors of `add`.
pub(super) fn fold<T: Real, S: Send>(
    source: &dyn Rows,
    size: usize,
    begin: impl Fn() -> S + Sync + Send,
    add: impl Fn(&mut S, Block<'_, T>) -> Result<()> + Sync + Send,
) -> Result<Vec<S>> {
    let (rows, columns) = (source.rows(), source.columns());
    let step = rows_of_block(columns);
    let blocks = rows.div_ceil(step);
    let parts = (SUMS / size.max(1)).clamp(PARTS[0], PARTS[1]).min(blocks);
    let of_part = |part: usize| {
        let (mut sums, mut values) = (begin(), Vec::new());
        for block in blocks * part / parts..blocks * (part + 1) / parts {
            let first = block * step;
            let rows = step.min(rows - first);
            values.resize(rows * columns, T::default());
            source.read(first, T::buffer(&mut values))?;
            add(&mut sums, Block { values: &values, first, rows })?;
        }
        Ok(sums)
    };
    parallel::map(0..parts, of_part).into_iter().collect()
}

/// Checks that there are rows and that all values are finite, and names the first row with one that is not.
///
/// # Errors
/// [`Error::Shape`] or [`Error::NotFinite`].
pub(super) fn check_finite(name: &str, source: &dyn Rows) -> Result<()> {
    check_any(name, source)?;
    let columns = source.columns().max(1);
    let begin = || None;
    let firsts = fold(source, 1, begin, |first: &mut Option<usize>, block: Block<'_, f64>| {
        let at = block.values.iter().position(|value| !value.is_finite());
        *first = first.or(at.map(|at| block.first + at / columns));
        Ok(())
    })?;
    match firsts.into_iter().flatten().next() {
        None => Ok(()),
        Some(row) => Err(Error::NotFinite { input: name.into(), row }),
    }
}

/// Checks that there are rows.
///
/// # Errors
/// [`Error::Shape`].
pub(super) fn check_any(name: &str, source: &dyn Rows) -> Result<()> {
    if source.rows() == 0 {
        return Err(Error::shape(name, "at least one row", "none"));
    }
    Ok(())
}

/// Checks that rows have the columns of the set that something was fitted to.
///
/// # Errors
/// [`Error::Shape`].
pub(super) fn check_columns(source: &dyn Rows, fitted: usize) -> Result<()> {
    if source.columns() == fitted {
        return Ok(());
    }
    let expected = format!("{fitted} columns, as in the set that was fitted");
    Err(Error::shape("features", expected, format!("{} columns", source.columns())))
}

/// Adds `addend` to `total`.
pub(super) fn accumulate(total: &mut [f64], addend: &[f64]) {
    total.iter_mut().zip(addend).for_each(|(total, addend)| *total += addend);
}

#[cfg(test)]
pub(super) mod testing {
    use super::rows_of_block;
    use crate::error::{Error, Result};
    use crate::numeric::matrix::Matrix;
    use crate::numeric::rows::{Buffer, Rows};

    /// Rows of which no more than a block can be read at once.
    pub(in crate::eval) struct InBlocks<'a>(pub(in crate::eval) &'a Matrix);

    impl Rows for InBlocks<'_> {
        fn is_single(&self) -> bool {
            false
        }

        fn rows(&self) -> usize {
            self.0.rows()
        }

        fn columns(&self) -> usize {
            self.0.columns()
        }

        fn read(&self, first: usize, out: Buffer<'_>) -> Result<()> {
            let most = rows_of_block(self.columns()) * self.columns();
            if out.len() > most {
                return Err(Error::shape("rows", format!("at most {most} numbers"), out.len().to_string()));
            }
            self.0.read(first, out)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::numeric::matrix::Matrix;
    use crate::numeric::rows::FeatureTable;

    #[test]
    fn every_row_is_in_one_block() {
        for (rows, columns) in [(1, 1), (9, 70_000), (1030, 512), (70_000, 33)] {
            let table = FeatureTable::new(rows, columns, vec![1.0; rows * columns]).unwrap();
            let add = |(read_rows, total): &mut (Vec<usize>, f64), block: Block<'_, f32>| {
                read_rows.extend(block.first..block.first + block.rows);
                *total += block.values.iter().map(|&value| f64::from(value)).sum::<f64>();
                Ok(())
            };
            let parts = fold(&table, 1, || (Vec::new(), 0.0), add).unwrap();
            let total: f64 = parts.iter().map(|part| part.1).sum();
            let read_rows: Vec<usize> = parts.into_iter().flat_map(|part| part.0).collect();
            assert_eq!((read_rows, total), ((0..rows).collect(), (rows * columns) as f64));
        }
    }

    #[test]
    fn the_first_bad_row_of_all_blocks_is_named() {
        let mut matrix = Matrix::zeros(5000, 300);
        for row in [4000, 1999] {
            matrix[(row, 7)] = f64::NAN;
        }
        assert_eq!(check_finite("x", &matrix), Err(Error::NotFinite { input: "x".into(), row: 1999 }));
        assert!(matches!(check_finite("x", &Matrix::zeros(0, 3)), Err(Error::Shape { .. })));
    }
}
