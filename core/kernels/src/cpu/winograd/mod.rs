//! 3×3 convolutions at stride 1 with a padding of 1, by Winograd's minimal filtering `F(4×4, 3×3)`: 36 products
//! where the definition needs 144 (Lavin & Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016).
//!
//! ```text
//! Y = A^T [ sum_c (G g G^T) * (B^T d B) ] A
//! ```
//!
//! for every tile of 4×4 outputs `Y`, its 6×6 inputs `d` and the kernel `g`, `*` entry by entry; the sum over channels is
//! a product of matrices for each of the 36 entries. The gradient is the adjoint of that, in the same entries:
//!
//! ```text
//! E = A dY A^T,   dd = B [ sum_k (G g G^T) * E ] B^T,   dg = G^T [ sum_tiles (B^T d B) * E ] G
//! ```
//!
//! Rounding errors are larger than by the definition: about 1e-5 of the largest value.

mod grid;
mod kernel;
mod transforms;

use std::iter::repeat_with;

use faer::MatRef;

use self::grid::Grid;
use self::kernel::weight_from_tiles;
pub(crate) use self::kernel::{transform, transformed};
use super::gemm::{add, assign, matrix, spread};
use super::geometry::Geometry;
use super::lanes::LANES;
use super::upstream::Upstream;
use super::{parallel, scratch};

/// Side of the outputs of a tile.
const OUTPUTS: usize = 4;
/// Side of its inputs.
const INPUTS: usize = 6;
/// Side of the kernel.
pub(crate) const KERNEL: usize = 3;
const ENTRIES: usize = INPUTS * INPUTS;
/// Number of parts whose entries are stored at once for the gradient of the kernel.
const ROUND: usize = 16;
/// With fewer tiles, the transform of the kernel costs more than it saves.
const FEWEST_TILES: usize = 8;

/// True if the convolution has this form, its channels fill the lanes, and there is enough work.
pub(crate) fn applies(geometry: &Geometry) -> bool {
    let [rows, columns] = Grid::of(geometry).tiles;
    (geometry.kernel, geometry.stride, geometry.padding) == (KERNEL, 1, 1)
        && geometry.inputs.is_multiple_of(LANES)
        && geometry.outputs.is_multiple_of(LANES)
        && geometry.n * rows * columns >= FEWEST_TILES
}

/// Writes the convolution of maps with a [`transform`]ed kernel to `output`. `after` is called for each part of
/// `output` while it is in the cache, with the index of its first value; its results are returned in order.
pub(crate) fn forward<T: Send>(
    maps: &[f32],
    kernel: &[f32],
    geometry: &Geometry,
    output: &mut [f32],
    after: impl Fn(usize, &mut [f32]) -> T + Sync + Send,
) -> Vec<T> {
    let grid = Grid::of(geometry);
    let Geometry { inputs, outputs, .. } = *geometry;
    let size = grid.images * grid.places() * outputs;
    let parts = maps.chunks(grid.images * geometry.image()).zip(output.chunks_mut(size)).enumerate();
    parallel::map_in(parts, Default::default, |[entries, products]: &mut [Entries; 2], (at, (maps, part))| {
        grid.gather_inputs(maps, inputs, entries);
        entry_by_entry(entries, kernel, outputs, false, products);
        grid.write(products, part);
        after(at * size, part)
    })
}

/// The gradient of the weight, `[out, in, 3, 3]`, if requested, from that of the convolution; adds that of the maps
/// to `grad_maps`, if requested.
pub(crate) fn backward(
    maps: &[f32],
    kernel: &[f32],
    geometry: &Geometry,
    upstream: &impl Upstream,
    grad_maps: Option<&mut [f32]>,
    is_weight_wanted: bool,
) -> Option<Vec<f32>> {
    let grid = Grid::of(geometry);
    let Geometry { inputs, outputs, .. } = *geometry;
    let (image, result) = (geometry.image(), grid.places() * outputs);
    let size = grid.images * image;
    let targets = grad_maps.unwrap_or_default().chunks_mut(size).chain(repeat_with(Default::default));
    // Apart from each other as the matrices of [`Entries`] are.
    let stride = inputs * outputs + Entries::GAP;
    let mut grad_kernel = is_weight_wanted.then(|| scratch::take(ENTRIES * stride));
    let mut parts = maps.chunks(size).zip(targets).enumerate().peekable();
    let mut round: [[Entries; 2]; ROUND] = Default::default();
    let mut how: fn(&mut [f32], MatRef<'_, f32>, MatRef<'_, f32>) = assign;
    while parts.peek().is_some() {
        let places = round.iter_mut().zip(parts.by_ref());
        let used = parallel::map_in(
            places,
            Default::default,
            |(products, slope): &mut (Entries, Vec<f32>), (entries, (at, (maps, target)))| {
                let [input_entry, output_entry] = entries;
                let first = at * grid.images * result;
                let slope = upstream.part(first..first + maps.len() / image * result, slope);
                grid.gather_outputs(slope, outputs, output_entry);
                if !target.is_empty() {
                    entry_by_entry(output_entry, kernel, inputs, true, products);
                    grid.scatter(products, target);
                }
                if is_weight_wanted {
                    grid.gather_inputs(maps, inputs, input_entry);
                }
            },
        );
        let targets = grad_kernel.iter_mut().flat_map(|kernel| kernel.chunks_exact_mut(stride));
        parallel::map(targets.enumerate(), |(entry, target)| {
            let target = &mut target[..inputs * outputs];
            for (at, [input_entry, output_entry]) in round.iter().take(used.len()).enumerate() {
                let how = if at == 0 { how } else { add };
                how(target, input_entry.matrix(entry).transpose(), output_entry.matrix(entry));
            }
        });
        how = add;
    }
    let grad_kernel = grad_kernel?;
    let weight = weight_from_tiles(&grad_kernel, stride, inputs, outputs);
    scratch::give(grad_kernel);
    Some(weight)
}

/// The 36 entries of some tiles, a matrix `[tiles, channels]` each.
#[derive(Debug, Default)]
struct Entries {
    values: Vec<f32>,
    tiles: usize,
    channels: usize,
}

impl Entries {
    /// Number of values between two matrices. Without a gap, the same value of all 36 would often map to one cache line.
    const GAP: usize = LANES;

    /// Resizes it; the values are arbitrary.
    fn reshape(&mut self, tiles: usize, channels: usize) {
        (self.tiles, self.channels) = (tiles, channels);
        self.values.resize(ENTRIES * self.stride(), 0.0);
    }

    /// Number of values from the beginning of a matrix to that of the next.
    fn stride(&self) -> usize {
        self.tiles * self.channels + Self::GAP
    }

    fn matrix(&self, entry: usize) -> MatRef<'_, f32> {
        let first = entry * self.stride();
        matrix(&self.values[first..first + self.tiles * self.channels], self.channels)
    }
}

/// The product of each of the 36 matrices of `entries` with that of the kernel, with `to` channels.
fn entry_by_entry(entries: &Entries, kernel: &[f32], to: usize, transposed: bool, products: &mut Entries) {
    let (tiles, from) = (entries.tiles, entries.channels);
    products.reshape(tiles, to);
    let (inputs, outputs) = if transposed { (to, from) } else { (from, to) };
    let stride = products.stride();
    for (entry, product) in products.values.chunks_exact_mut(stride).enumerate() {
        let right = spread(&kernel[entry * outputs..], inputs, outputs, ENTRIES * outputs);
        let right = if transposed { right.transpose() } else { right };
        assign(&mut product[..tiles * to], entries.matrix(entry), right);
    }
}
