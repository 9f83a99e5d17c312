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

use std::marker::PhantomData;

use faer::MatRef;
use pulp::{Arch, Simd, WithSimd};

use super::gemm::{add, assign, matrix, spread};
use super::geometry::Geometry;
use super::lanes::{LANES, Lanes};
use super::upstream::Upstream;
use super::{parallel, scratch};

/// Side of the outputs of a tile.
const OUTPUTS: usize = 4;
/// Side of its inputs.
const INPUTS: usize = 6;
/// Side of the kernel.
pub const KERNEL: usize = 3;
const ENTRIES: usize = INPUTS * INPUTS;
/// Minimum number of tiles of a part of the batch: enough for the products, and few enough for the cache.
const TILES: usize = 32;
/// Number of parts whose entries are stored at once for the gradient of the kernel.
const ROUND: usize = 16;

/// Number of outputs whose gradient of the kernel is transformed back in one iteration of a loop.
const BLOCK: usize = 64;

/// With fewer tiles, the transform of the kernel costs more than it saves.
const FEWEST_TILES: usize = 8;

/// True if the convolution has this form, its channels fill the lanes, and there is enough work.
pub fn applies(geometry: &Geometry) -> bool {
    let [rows, columns] = Grid::of(geometry).tiles;
    (geometry.kernel, geometry.stride, geometry.padding) == (KERNEL, 1, 1)
        && geometry.inputs.is_multiple_of(LANES)
        && geometry.outputs.is_multiple_of(LANES)
        && geometry.n * rows * columns >= FEWEST_TILES
}

/// Number of values of a [`transform`]ed kernel: four times as many as in the weight.
pub fn transformed(geometry: &Geometry) -> usize {
    geometry.inputs * ENTRIES * geometry.outputs
}

/// Transforms `[out, in, 3, 3]` into the form `G g G^T`: `[in, 36, out]`, so that the inputs can be transformed in
/// parallel.
pub fn transform(weight: &[f32], geometry: &Geometry, kernel: &mut [f32]) {
    let Geometry { inputs, outputs, .. } = *geometry;
    let rows = kernel.chunks_exact_mut(ENTRIES * outputs).enumerate();
    parallel::map_in(rows, Vec::new, |taps, (input, entries)| {
        // Output by output first: the values of one vector lie far apart.
        taps.resize(KERNEL * KERNEL * outputs, 0.0);
        for (output, weight) in weight.chunks_exact(inputs * KERNEL * KERNEL).enumerate() {
            let window = &weight[input * KERNEL * KERNEL..(input + 1) * KERNEL * KERNEL];
            taps.iter_mut().skip(output).step_by(outputs).zip(window).for_each(|(tap, value)| *tap = *value);
        }
        Arch::new().dispatch(TransformKernel { taps, entries, outputs });
    });
}

/// Writes the convolution of maps with a [`transform`]ed kernel to `output`. `after` is called for each part of
/// `output` while it is in the cache, with the index of its first value; its results are returned in order.
pub fn forward<T: Send>(
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
pub fn backward(
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
    let mut targets: Vec<&mut [f32]> = match grad_maps {
        Some(grad_maps) => grad_maps.chunks_mut(size).collect(),
        None => maps.chunks(size).map(|_| Default::default()).collect(),
    };
    // Apart from each other as the matrices of [`Entries`] are.
    let stride = inputs * outputs + Entries::GAP;
    let mut grad_kernel = is_weight_wanted.then(|| scratch::take(ENTRIES * stride));
    let mut parts = maps.chunks(size).zip(targets.drain(..)).enumerate().peekable();
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

/// `G g G^T` of the windows of one input, `[9, out]` to `[36, out]`.
struct TransformKernel<'a> {
    taps: &'a [f32],
    entries: &'a mut [f32],
    outputs: usize,
}

impl WithSimd for TransformKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { taps, entries, outputs } = self;
        for first in (0..outputs).step_by(S::F32_LANES) {
            both::<S, OfKernel, KERNEL, INPUTS>(
                simd,
                #[inline(always)]
                |row, column| Lanes::load(simd, &taps[(row * KERNEL + column) * outputs + first..]),
                #[inline(always)]
                |row, column, value| value.store(&mut entries[(row * INPUTS + column) * outputs + first..]),
            );
        }
    }
}

/// `G^T u G` of the gradient of the kernel, 36 matrices `[in, out]` that are `stride` values apart: `[out, in, 3, 3]`.
fn weight_from_tiles(kernel: &[f32], stride: usize, inputs: usize, outputs: usize) -> Vec<f32> {
    let mut weight = vec![0.0; inputs * outputs * KERNEL * KERNEL];
    let blocks = weight.chunks_mut(BLOCK * inputs * KERNEL * KERNEL).enumerate();
    parallel::map(blocks, |(block, weight)| {
        let first = block * BLOCK;
        Arch::new().dispatch(WeightFromTiles { kernel, stride, weight, first, inputs, outputs });
    });
    weight
}

/// [`weight_from_tiles`] of some outputs.
struct WeightFromTiles<'a> {
    kernel: &'a [f32],
    stride: usize,
    weight: &'a mut [f32],
    /// The first of the outputs.
    first: usize,
    inputs: usize,
    outputs: usize,
}

impl WithSimd for WeightFromTiles<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { kernel, stride, weight, first, inputs, outputs } = self;
        let window = KERNEL * KERNEL;
        let mut taps = [[0.0; LANES]; KERNEL * KERNEL];
        for input in 0..inputs {
            for (at, weight) in weight.chunks_mut(S::F32_LANES * inputs * window).enumerate() {
                let place = input * outputs + first + at * S::F32_LANES;
                both::<S, ToKernel, INPUTS, KERNEL>(
                    simd,
                    #[inline(always)]
                    |row, column| Lanes::load(simd, &kernel[(row * INPUTS + column) * stride + place..]),
                    #[inline(always)]
                    |row, column, value| value.store(&mut taps[row * KERNEL + column]),
                );
                for (lane, weight) in weight.chunks_exact_mut(inputs * window).enumerate() {
                    let weight = &mut weight[input * window..(input + 1) * window];
                    weight.iter_mut().zip(&taps).for_each(|(value, lanes)| *value = lanes[lane]);
                }
            }
        }
    }
}

/// The partition of a map into tiles.
#[derive(Debug, Clone, Copy)]
struct Grid {
    height: usize,
    width: usize,
    /// Number of tiles of a column and of a row.
    tiles: [usize; 2],
    /// Number of images of a part of the batch.
    images: usize,
}

impl Grid {
    fn of(geometry: &Geometry) -> Self {
        let Geometry { height, width, .. } = *geometry;
        let tiles = [height.div_ceil(OUTPUTS), width.div_ceil(OUTPUTS)];
        let images = TILES.div_ceil((tiles[0] * tiles[1]).max(1));
        Self { height, width, tiles, images }
    }

    fn places(&self) -> usize {
        self.height * self.width
    }

    /// The tiles of `images` images, each with its image and the row and column of its first output.
    fn corners(&self, images: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let [rows, columns] = self.tiles;
        (0..images * rows * columns).map(move |tile| {
            let (image, within) = (tile / (rows * columns), tile % (rows * columns));
            (image, within / columns * OUTPUTS, within % columns * OUTPUTS)
        })
    }

    /// The positions in a map's rows of the values of a tile, which begins `before` the first output; `None`
    /// outside.
    fn places_of<const SIDE: usize>(
        &self,
        (image, top, left): (usize, usize, usize),
        before: usize,
    ) -> [[Option<usize>; SIDE]; SIDE] {
        let within =
            |start: usize, at: usize, end: usize| (start + at).checked_sub(before).filter(|&at| at < end);
        std::array::from_fn(|row| {
            let row = within(top, row, self.height);
            std::array::from_fn(|column| {
                let column = within(left, column, self.width)?;
                Some((image * self.height + row?) * self.width + column)
            })
        })
    }

    /// `B^T d B` of some images' maps, `[36, tiles, channels]`.
    fn gather_inputs(&self, maps: &[f32], channels: usize, entries: &mut Entries) {
        self.gather::<OfInput, INPUTS>(maps, channels, 1, entries);
    }

    /// `A dY A^T` of the gradient of outputs.
    fn gather_outputs(&self, upstream: &[f32], channels: usize, entries: &mut Entries) {
        self.gather::<FromOutput, OUTPUTS>(upstream, channels, 0, entries);
    }

    fn gather<T: Transform<SIDE, INPUTS>, const SIDE: usize>(
        &self,
        maps: &[f32],
        channels: usize,
        before: usize,
        entries: &mut Entries,
    ) {
        let images = maps.len() / (self.places() * channels);
        entries.reshape(images * self.tiles[0] * self.tiles[1], channels);
        Arch::new().dispatch(Gather::<T, SIDE> {
            grid: self,
            maps,
            before,
            images,
            entries,
            how: PhantomData,
        });
    }

    /// The outputs of products, `[36, tiles, channels]`.
    fn write(&self, products: &Entries, target: &mut [f32]) {
        let how = PhantomData::<ToOutput>;
        Arch::new().dispatch(Results::<_, OUTPUTS> {
            grid: self,
            products,
            before: 0,
            target,
            how,
            is_added: false,
        });
    }

    /// Adds the gradients of inputs.
    fn scatter(&self, products: &Entries, target: &mut [f32]) {
        let how = PhantomData::<ToInput>;
        Arch::new().dispatch(Results::<_, INPUTS> {
            grid: self,
            products,
            before: 1,
            target,
            how,
            is_added: true,
        });
    }
}

/// Entries of the tiles of some images' maps.
struct Gather<'a, T, const SIDE: usize> {
    grid: &'a Grid,
    maps: &'a [f32],
    before: usize,
    images: usize,
    entries: &'a mut Entries,
    how: PhantomData<T>,
}

impl<T: Transform<SIDE, INPUTS>, const SIDE: usize> WithSimd for Gather<'_, T, SIDE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { grid, maps, before, images, entries, .. } = self;
        let (channels, stride) = (entries.channels, entries.stride());
        let entries = entries.values.as_mut_slice();
        for (tile, corner) in grid.corners(images).enumerate() {
            let places = grid.places_of::<SIDE>(corner, before);
            for first in (0..channels).step_by(S::F32_LANES) {
                both::<S, T, SIDE, INPUTS>(
                    simd,
                    #[inline(always)]
                    |row, column| match places[row][column] {
                        Some(place) => Lanes::load(simd, &maps[place * channels + first..]),
                        None => Lanes::zero(simd),
                    },
                    #[inline(always)]
                    |row, column, value| {
                        let entry = row * INPUTS + column;
                        value.store(&mut entries[entry * stride + tile * channels + first..]);
                    },
                );
            }
        }
    }
}

/// Products brought back to maps, written there or added.
struct Results<'a, T, const SIDE: usize> {
    grid: &'a Grid,
    products: &'a Entries,
    before: usize,
    target: &'a mut [f32],
    how: PhantomData<T>,
    is_added: bool,
}

impl<T: Transform<INPUTS, SIDE>, const SIDE: usize> WithSimd for Results<'_, T, SIDE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { grid, products, before, target, is_added, .. } = self;
        let Entries { tiles, channels, ref values } = *products;
        let stride = products.stride();
        let images = tiles / (grid.tiles[0] * grid.tiles[1]);
        for (tile, corner) in grid.corners(images).enumerate() {
            let places = grid.places_of::<SIDE>(corner, before);
            for first in (0..channels).step_by(S::F32_LANES) {
                both::<S, T, INPUTS, SIDE>(
                    simd,
                    #[inline(always)]
                    |row, column| {
                        let entry = row * INPUTS + column;
                        Lanes::load(simd, &values[entry * stride + tile * channels + first..])
                    },
                    #[inline(always)]
                    |row, column, value| {
                        if let Some(place) = places[row][column] {
                            let target = &mut target[place * channels + first..];
                            let value = if is_added { Lanes::load(simd, target) + value } else { value };
                            value.store(target);
                        }
                    },
                );
            }
        }
    }
}

/// A transform of a row or a column of a square.
trait Transform<const FROM: usize, const TO: usize> {
    fn of<S: Simd>(values: [Lanes<S>; FROM]) -> [Lanes<S>; TO];
}

/// A transform of the rows of a square, and then of the columns, from and to memory.
#[inline(always)]
fn both<S: Simd, T: Transform<FROM, TO>, const FROM: usize, const TO: usize>(
    simd: S,
    load: impl Fn(usize, usize) -> Lanes<S>,
    mut store: impl FnMut(usize, usize, Lanes<S>),
) {
    let mut rows = [[Lanes::zero(simd); TO]; FROM];
    for (at, row) in rows.iter_mut().enumerate() {
        // A loop, because library functions that fill arrays are not inlined here.
        let mut values = [Lanes::zero(simd); FROM];
        for (column, value) in values.iter_mut().enumerate() {
            *value = load(at, column);
        }
        *row = T::of(values);
    }
    for column in 0..TO {
        let mut values = [Lanes::zero(simd); FROM];
        for (value, row) in values.iter_mut().zip(&rows) {
            *value = row[column];
        }
        for (row, value) in T::of(values).into_iter().enumerate() {
            store(row, column, value);
        }
    }
}

/// `B^T d`.
struct OfInput;

impl Transform<INPUTS, INPUTS> for OfInput {
    #[inline(always)]
    fn of<S: Simd>([d0, d1, d2, d3, d4, d5]: [Lanes<S>; INPUTS]) -> [Lanes<S>; INPUTS] {
        let (even, odd) = (d4 - d2 * 4.0, d3 - d1 * 4.0);
        let (inner, outer) = (d4 - d2, (d3 - d1) * 2.0);
        [
            d0 * 4.0 - d2 * 5.0 + d4,
            even + odd,
            even - odd,
            inner + outer,
            inner - outer,
            d1 * 4.0 - d3 * 5.0 + d5,
        ]
    }
}

/// `B t`, the adjoint of [`OfInput`].
struct ToInput;

impl Transform<INPUTS, INPUTS> for ToInput {
    #[inline(always)]
    fn of<S: Simd>([t0, t1, t2, t3, t4, t5]: [Lanes<S>; INPUTS]) -> [Lanes<S>; INPUTS] {
        let (sum, difference) = (t1 + t2, t1 - t2);
        let (far_sum, far_difference) = (t3 + t4, t3 - t4);
        [
            t0 * 4.0,
            t5 * 4.0 - difference * 4.0 - far_difference * 2.0,
            t0 * -5.0 - sum * 4.0 - far_sum,
            difference + far_difference * 2.0 - t5 * 5.0,
            t0 + sum + far_sum,
            t5,
        ]
    }
}

/// `A^T m`.
struct ToOutput;

impl Transform<INPUTS, OUTPUTS> for ToOutput {
    #[inline(always)]
    fn of<S: Simd>([m0, m1, m2, m3, m4, m5]: [Lanes<S>; INPUTS]) -> [Lanes<S>; OUTPUTS] {
        let (sum, difference) = (m1 + m2, m1 - m2);
        let (far_sum, far_difference) = (m3 + m4, m3 - m4);
        [
            m0 + sum + far_sum,
            difference + far_difference * 2.0,
            sum + far_sum * 4.0,
            difference + far_difference * 8.0 + m5,
        ]
    }
}

/// `A y`, the adjoint of [`ToOutput`].
struct FromOutput;

impl Transform<OUTPUTS, INPUTS> for FromOutput {
    #[inline(always)]
    fn of<S: Simd>([y0, y1, y2, y3]: [Lanes<S>; OUTPUTS]) -> [Lanes<S>; INPUTS] {
        let (even, odd) = (y0 + y2, y1 + y3);
        let (far_even, far_odd) = (y0 + y2 * 4.0, y1 * 2.0 + y3 * 8.0);
        [y0, even + odd, even - odd, far_even + far_odd, far_even - far_odd, y3]
    }
}

/// `G g`.
struct OfKernel;

impl Transform<KERNEL, INPUTS> for OfKernel {
    #[inline(always)]
    fn of<S: Simd>([g0, g1, g2]: [Lanes<S>; KERNEL]) -> [Lanes<S>; INPUTS] {
        let (even, odd) = ((g0 + g2) * (-1.0 / 6.0), g1 * (-1.0 / 6.0));
        let (far_even, far_odd) = (g0 * (1.0 / 24.0) + g2 * (1.0 / 6.0), g1 * (1.0 / 12.0));
        [g0 * 0.25, even + odd, even - odd, far_even + far_odd, far_even - far_odd, g2]
    }
}

/// `G^T u`, the adjoint of [`OfKernel`].
struct ToKernel;

impl Transform<INPUTS, KERNEL> for ToKernel {
    #[inline(always)]
    fn of<S: Simd>([u0, u1, u2, u3, u4, u5]: [Lanes<S>; INPUTS]) -> [Lanes<S>; KERNEL] {
        let (sum, difference) = (u1 + u2, u1 - u2);
        let (far_sum, far_difference) = (u3 + u4, u3 - u4);
        [
            u0 * 0.25 - sum * (1.0 / 6.0) + far_sum * (1.0 / 24.0),
            far_difference * (1.0 / 12.0) - difference * (1.0 / 6.0),
            far_sum * (1.0 / 6.0) - sum * (1.0 / 6.0) + u5,
        ]
    }
}
