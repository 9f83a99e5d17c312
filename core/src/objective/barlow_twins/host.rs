//! Barlow Twins in `f32` on the host: the columns are standardised, and their gradient pulled back through that, in a
//! few passes over parts of the rows.
//!
//! ```text
//! dL/dA = ( G - mean_rows(G) - A mean_rows(G A) ) / s,   G = B D^T / b,   D = 2 w (C - I)
//! ```
//!
//! with the standardised columns `A`, `B`, their deviations `s`, the weights `w` and means over rows by column; the same
//! for `B` with `G = A D / b`.

use burn::tensor::{Device, Tensor};
use faer::MatRef;
use pulp::Arch;

use crate::host::Numbers;
use simile_kernels::cpu::gemm::{assign, matrix, product};
use simile_kernels::cpu::parallel;

use crate::host;

/// Rows in one round of a loop.
const PART: usize = 512;

/// Loss and gradients with respect to both views; `None` where they lie elsewhere.
pub(super) fn evaluate(
    views: [&Tensor<2>; 2],
    lambd: f64,
    bn_eps: f64,
) -> Option<(Tensor<1>, [Tensor<2>; 2])> {
    let device = views[0].device();
    let [rows, width] = views[0].dims();
    let [a, b] = views.map(host::copy);
    let of = |values| Standardised::new(values, rows, width, bn_eps as f32);
    // Both views side by side: the passes are short, and each round of threads costs as much as one of them.
    let [a, b] = parallel::map([a?, b?], of).try_into().ok()?;

    let parts = parallel::map(a.parts().zip(b.parts()), |(a, b)| {
        product(matrix(a, width).transpose(), matrix(b, width))
    });
    let share = 1.0 / rows as f32;
    let mut pull = parallel::sum(parts, width * width);
    let mut loss = 0.0_f64;
    for (at, entry) in pull.iter_mut().enumerate() {
        let on_diagonal = at % width == at / width;
        let (target, weight) = if on_diagonal { (1.0, 1.0) } else { (0.0, lambd as f32) };
        let difference = *entry * share - target;
        loss += f64::from(weight * difference * difference);
        *entry = 2.0 * weight * difference * share;
    }
    let pull = matrix(&pull, width);
    let sides = [(&a, &b, pull.transpose()), (&b, &a, pull)];
    let gradients = parallel::map(sides, |(view, other, pull)| view.pull_back(other, pull, &device));
    Some((host::tensor(vec![loss as f32], [1], &device), gradients.try_into().ok()?))
}

/// A view whose columns have mean 0 and variance 1.
struct Standardised {
    values: Numbers,
    rows: usize,
    width: usize,
    /// `1 / sqrt(var + bn_eps)` by column.
    scale: Vec<f32>,
}

impl Standardised {
    fn new(mut values: Numbers, rows: usize, width: usize, bn_eps: f32) -> Self {
        let share = 1.0 / rows as f32;
        let size = PART * width;
        let sums = parallel::map(values.chunks(size), |part| column_sums(part, width, |x| x));
        let means: Vec<f32> = parallel::sum(sums, width).into_iter().map(|sum| sum * share).collect();
        let squares = parallel::map(values.chunks_mut(size), |part| {
            for row in part.chunks_exact_mut(width) {
                Arch::new().dispatch(|| row.iter_mut().zip(&means).for_each(|(x, mean)| *x -= mean));
            }
            column_sums(part, width, |x| x * x)
        });
        let scale: Vec<f32> = parallel::sum(squares, width)
            .into_iter()
            .map(|square| (square * share + bn_eps).sqrt().recip())
            .collect();
        parallel::map(values.chunks_mut(size), |part| {
            for row in part.chunks_exact_mut(width) {
                Arch::new().dispatch(|| row.iter_mut().zip(&scale).for_each(|(x, scale)| *x *= scale));
            }
        });
        Self { values, rows, width, scale }
    }

    fn parts(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks(PART * self.width)
    }

    /// The gradient with respect to the view as it was, from `G = other pull`.
    fn pull_back(&self, other: &Self, pull: MatRef<'_, f32>, device: &Device) -> Tensor<2> {
        let (width, size) = (self.width, PART * self.width);
        let mut pulled = vec![0.0_f32; self.values.len()];
        let parts = pulled.chunks_mut(size).zip(self.parts()).zip(other.parts());
        let sums = parallel::map(parts, |((gradient, own), other)| {
            assign(gradient, matrix(other, width), pull);
            let mut along = vec![0.0_f32; width];
            for (g, x) in gradient.chunks_exact(width).zip(own.chunks_exact(width)) {
                let add = |(sum, (g, x)): (&mut f32, (&f32, &f32))| *sum += g * x;
                Arch::new().dispatch(|| along.iter_mut().zip(g.iter().zip(x)).for_each(add));
            }
            (column_sums(gradient, width, |g| g), along)
        });
        let share = 1.0 / self.rows as f32;
        let (means, along): (Vec<Vec<f32>>, Vec<Vec<f32>>) = sums.into_iter().unzip();
        let mean = |sums| parallel::sum(sums, width).into_iter().map(|sum| sum * share).collect();
        let (means, along): (Vec<f32>, Vec<f32>) = (mean(means), mean(along));
        parallel::map(pulled.chunks_mut(size).zip(self.parts()), |(gradient, own)| {
            for (gradient, x) in gradient.chunks_exact_mut(width).zip(own.chunks_exact(width)) {
                let of_column = x.iter().zip(means.iter().zip(&along)).zip(&self.scale);
                Arch::new().dispatch(|| {
                    for (g, ((x, (mean, along)), scale)) in gradient.iter_mut().zip(of_column) {
                        *g = (*g - mean - x * along) * scale;
                    }
                });
            }
        });
        host::tensor(pulled, [self.rows, width], device)
    }
}

/// The sums by column of what `value` makes of each entry.
fn column_sums(rows: &[f32], width: usize, value: impl Fn(f32) -> f32 + Copy) -> Vec<f32> {
    let mut sums = vec![0.0_f32; width];
    for row in rows.chunks_exact(width) {
        Arch::new().dispatch(|| sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += value(*x)));
    }
    sums
}
