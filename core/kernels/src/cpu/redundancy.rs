//! Cross-correlations of the standardised columns of two matrices, and their gradient with respect to the original
//! columns, in a few passes over parts of the rows.
//!
//! ```text
//! dL/dA = ( G - mean_rows(G) - A mean_rows(G A) ) / s,   G = B D^T / b,   D = 2 w (C - I)
//! ```
//!
//! with the standardised columns `A`, `B`, their deviations `s`, the weights `w` and means over rows by column; the same
//! for `B` with `G = A D / b`.

use faer::MatRef;

use super::gemm::{assign, gemm, matrix};
use super::parallel;

/// Number of rows in one iteration of a loop.
const PART: usize = 512;

/// `sum_kl w_kl (C_kl - I_kl)^2` with `w` 1 on the diagonal and `off_diagonal` elsewhere, and its gradients with respect to
/// both views, matrices of `width` columns. The views are standardised in place.
pub(crate) fn redundancy(
    views: [&mut [f32]; 2],
    width: usize,
    off_diagonal: f32,
    eps: f32,
) -> (f32, [Vec<f32>; 2]) {
    let rows = views[0].len() / width;
    // Both views in parallel: the passes are short, and starting the threads costs as much as one of them.
    let of = |values| Standardised::new(values, rows, width, eps);
    let Ok([a, b]) = <[Standardised<'_>; 2]>::try_from(parallel::map(views, of)) else {
        return (0.0, [Vec::new(), Vec::new()]);
    };

    let parts = parallel::map(a.parts().zip(b.parts()), |(a, b)| {
        gemm(matrix(a, width).transpose(), matrix(b, width))
    });
    let share = 1.0 / rows as f32;
    let mut grad_correlation = parallel::sum(parts, width * width);
    let mut loss = 0.0_f64;
    for (k, row) in grad_correlation.chunks_exact_mut(width).enumerate() {
        for (l, entry) in row.iter_mut().enumerate() {
            let (target, weight) = if k == l { (1.0, 1.0) } else { (0.0, off_diagonal) };
            let difference = *entry * share - target;
            loss += f64::from(weight * difference * difference);
            *entry = 2.0 * weight * difference * share;
        }
    }
    let grad_correlation = matrix(&grad_correlation, width);
    let sides = [(&a, &b, grad_correlation.transpose()), (&b, &a, grad_correlation)];
    let gradients =
        parallel::map(sides, |(view, other, grad_correlation)| view.pull_back(other, grad_correlation));
    (loss as f32, gradients.try_into().unwrap_or_default())
}

/// A view whose columns have mean 0 and variance 1.
struct Standardised<'a> {
    values: &'a [f32],
    rows: usize,
    width: usize,
    /// `1 / sqrt(var + eps)` by column.
    scale: Vec<f32>,
}

impl<'a> Standardised<'a> {
    fn new(values: &'a mut [f32], rows: usize, width: usize, eps: f32) -> Self {
        let share = 1.0 / rows as f32;
        let size = PART * width;
        let sums = parallel::map(values.chunks(size), |part| column_sums(part, width, |x| x));
        let means: Vec<f32> = parallel::sum(sums, width).into_iter().map(|sum| sum * share).collect();
        let squares = parallel::map(values.chunks_mut(size), |part| {
            for row in part.chunks_exact_mut(width) {
                vectorised!(row.iter_mut().zip(&means).for_each(|(x, mean)| *x -= mean));
            }
            column_sums(part, width, |x| x * x)
        });
        let scale: Vec<f32> = parallel::sum(squares, width)
            .into_iter()
            .map(|square| (square * share + eps).sqrt().recip())
            .collect();
        parallel::map(values.chunks_mut(size), |part| {
            for row in part.chunks_exact_mut(width) {
                vectorised!(row.iter_mut().zip(&scale).for_each(|(x, scale)| *x *= scale));
            }
        });
        Self { values, rows, width, scale }
    }

    fn parts(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks(PART * self.width)
    }

    /// The gradient with respect to the original view, from `G = other grad_correlation`.
    fn pull_back(&self, other: &Self, grad_correlation: MatRef<'_, f32>) -> Vec<f32> {
        let (width, size) = (self.width, PART * self.width);
        let mut pulled = vec![0.0_f32; self.values.len()];
        let parts = pulled.chunks_mut(size).zip(self.parts()).zip(other.parts());
        let sums = parallel::map(parts, |((gradient, own), other)| {
            assign(gradient, matrix(other, width), grad_correlation);
            let mut along = vec![0.0_f32; width];
            for (g, x) in gradient.chunks_exact(width).zip(own.chunks_exact(width)) {
                let add = |(sum, (g, x)): (&mut f32, (&f32, &f32))| *sum += g * x;
                vectorised!(along.iter_mut().zip(g.iter().zip(x)).for_each(add));
            }
            (column_sums(gradient, width, |g| g), along)
        });
        let share = 1.0 / self.rows as f32;
        let (means, along): (Vec<Vec<f32>>, Vec<Vec<f32>>) = sums.into_iter().unzip();
        let mean = |sums| parallel::sum(sums, width).into_iter().map(|sum| sum * share).collect();
        let (means, along): (Vec<f32>, Vec<f32>) = (mean(means), mean(along));
        parallel::map(pulled.chunks_mut(size).zip(self.parts()), |(gradient, own)| {
            for (gradient, x) in gradient.chunks_exact_mut(width).zip(own.chunks_exact(width)) {
                vectorised!({
                    let with_statistics = x.iter().zip(means.iter().zip(&along)).zip(&self.scale);
                    for (g, ((x, (mean, along)), scale)) in gradient.iter_mut().zip(with_statistics) {
                        *g = (*g - mean - x * along) * scale;
                    }
                });
            }
        });
        pulled
    }
}

/// The sums by column of `value` of each entry.
fn column_sums(rows: &[f32], width: usize, value: impl Fn(f32) -> f32 + Copy) -> Vec<f32> {
    let mut sums = vec![0.0_f32; width];
    for row in rows.chunks_exact(width) {
        vectorised!(sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += value(*x)));
    }
    sums
}
