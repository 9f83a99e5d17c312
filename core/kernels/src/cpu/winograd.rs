//! 3×3 convolutions at stride 1 with a padding of 1, by Winograd's minimal filtering `F(4×4, 3×3)`: 36 products where
//! the definition has 144 (Lavin & Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016).
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
//! Sums round worse than by the definition: to some 1e-5 of the largest value.

use faer::MatRef;

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
/// A part of the batch has at least so many tiles: enough for the products, and few enough for the cache.
const TILES: usize = 32;
/// Parts whose entries are kept at once for the gradient of the kernel.
const ROUND: usize = 16;

/// With fewer tiles, bringing the kernel into its form costs more than it saves.
const FEWEST_TILES: usize = 8;

/// Whether the convolution has this form, its channels fill the lanes, and there is enough to do.
pub fn applies(geometry: &Geometry) -> bool {
    let [rows, columns] = Grid::of(geometry).tiles;
    (geometry.kernel, geometry.stride, geometry.padding) == (KERNEL, 1, 1)
        && geometry.inputs.is_multiple_of(LANES)
        && geometry.outputs.is_multiple_of(LANES)
        && geometry.n * rows * columns >= FEWEST_TILES
}

/// Values of a kernel that is [`transform`]ed: four times as many as the weight has.
pub fn transformed(geometry: &Geometry) -> usize {
    geometry.inputs * ENTRIES * geometry.outputs
}

/// Brings `[out, in, 3, 3]` into the form `G g G^T`: `[in, 36, out]`, so that the inputs can be made side by side.
pub fn transform(weight: &[f32], geometry: &Geometry, kernel: &mut [f32]) {
    let Geometry { inputs, outputs, .. } = *geometry;
    parallel::map(kernel.chunks_exact_mut(ENTRIES * outputs).enumerate(), |(input, entries)| {
        vectorised!({
            for first in (0..outputs).step_by(LANES) {
                let tap = |row, column| {
                    let at = row * KERNEL + column;
                    Lanes::from_fn(|lane| weight[((first + lane) * inputs + input) * 9 + at])
                };
                both(tap, &of_kernel, |row, column, value| {
                    value.store(&mut entries[(row * INPUTS + column) * outputs + first..]);
                });
            }
        });
    });
}

/// The convolution of maps with a kernel that is [`transform`]ed, in place of what `found` holds. `after` is called for each
/// part of `found` while it lies in the cache, with the place of its first value; its results come in order.
pub fn forward<T: Send>(
    maps: &[f32],
    kernel: &[f32],
    geometry: &Geometry,
    found: &mut [f32],
    after: impl Fn(usize, &mut [f32]) -> T + Sync + Send,
) -> Vec<T> {
    let grid = Grid::of(geometry);
    let Geometry { inputs, outputs, .. } = *geometry;
    let size = grid.images * grid.places() * outputs;
    let parts = maps.chunks(grid.images * geometry.image()).zip(found.chunks_mut(size)).enumerate();
    parallel::map_in(
        parts,
        Default::default,
        |[entries, products]: &mut [Vec<f32>; 2], (at, (maps, found))| {
            grid.gather_inputs(maps, inputs, entries);
            entry_by_entry(entries, kernel, [inputs, outputs], false, products);
            grid.write(products, found, outputs);
            after(at * size, found)
        },
    )
}

/// The gradient of the weight, `[out, in, 3, 3]`, if it is wanted, from that of the convolution; adds that of the maps to
/// `of_maps`, if it is wanted.
pub fn backward(
    maps: &[f32],
    kernel: &[f32],
    geometry: &Geometry,
    upstream: &impl Upstream,
    of_maps: Option<&mut [f32]>,
    is_weight_wanted: bool,
) -> Option<Vec<f32>> {
    let grid = Grid::of(geometry);
    let Geometry { inputs, outputs, .. } = *geometry;
    let (image, result) = (geometry.image(), grid.places() * outputs);
    let size = grid.images * image;
    let mut targets: Vec<&mut [f32]> = match of_maps {
        Some(of_maps) => of_maps.chunks_mut(size).collect(),
        None => maps.chunks(size).map(|_| Default::default()).collect(),
    };
    let mut of_kernel = is_weight_wanted.then(|| scratch::take(kernel.len()));
    let mut parts = maps.chunks(size).zip(targets.drain(..)).enumerate().peekable();
    let mut round: [[Vec<f32>; 2]; ROUND] = Default::default();
    let mut how: fn(&mut [f32], MatRef<'_, f32>, MatRef<'_, f32>) = assign;
    while parts.peek().is_some() {
        let places = round.iter_mut().zip(parts.by_ref());
        let used = parallel::map_in(
            places,
            Default::default,
            |[products, slope]: &mut [Vec<f32>; 2], (entries, (at, (maps, target)))| {
                let [of_input, of_output] = entries;
                let first = at * grid.images * result;
                let slope = upstream.part(first..first + maps.len() / image * result, slope);
                grid.gather_outputs(slope, outputs, of_output);
                if !target.is_empty() {
                    entry_by_entry(of_output, kernel, [outputs, inputs], true, products);
                    grid.scatter(products, target, inputs);
                }
                if is_weight_wanted {
                    grid.gather_inputs(maps, inputs, of_input);
                }
            },
        );
        let targets = of_kernel.iter_mut().flat_map(|kernel| kernel.chunks_exact_mut(inputs * outputs));
        parallel::map(targets.enumerate(), |(entry, target)| {
            for (at, [of_input, of_output]) in round.iter().take(used.len()).enumerate() {
                let left = matrix(entry_of(of_input, entry), inputs);
                let how = if at == 0 { how } else { add };
                how(target, left.transpose(), matrix(entry_of(of_output, entry), outputs));
            }
        });
        how = add;
    }
    let of_kernel = of_kernel?;
    let weight = of_weight(&of_kernel, inputs, outputs);
    scratch::give(of_kernel);
    Some(weight)
}

/// The product of each of the 36 matrices of `entries`, `[tiles, from]`, with that of the kernel.
fn entry_by_entry(
    entries: &[f32],
    kernel: &[f32],
    [from, to]: [usize; 2],
    transposed: bool,
    products: &mut Vec<f32>,
) {
    let tiles = entries.len() / (ENTRIES * from);
    products.resize(ENTRIES * tiles * to, 0.0);
    let (inputs, outputs) = if transposed { (to, from) } else { (from, to) };
    let pairs = products.chunks_exact_mut(tiles * to).zip(entries.chunks_exact(tiles * from));
    for (entry, (product, left)) in pairs.enumerate() {
        let right = spread(&kernel[entry * outputs..], inputs, outputs, ENTRIES * outputs);
        assign(product, matrix(left, from), if transposed { right.transpose() } else { right });
    }
}

/// One of the 36 parts.
fn entry_of(entries: &[f32], at: usize) -> &[f32] {
    let size = entries.len() / ENTRIES;
    &entries[at * size..(at + 1) * size]
}

/// `G^T u G` for `[36, in, out]`: `[out, in, 3, 3]`.
fn of_weight(kernel: &[f32], inputs: usize, outputs: usize) -> Vec<f32> {
    let columns = parallel::map((0..outputs).step_by(LANES), |first| {
        let mut weight = vec![0.0; LANES * inputs * 9];
        vectorised!({
            for input in 0..inputs {
                let entry = |row, column| {
                    Lanes::load(&kernel[((row * INPUTS + column) * inputs + input) * outputs + first..])
                };
                both(entry, &to_kernel, |row, column, value| {
                    for (lane, value) in value.0.iter().enumerate() {
                        weight[(lane * inputs + input) * 9 + row * KERNEL + column] = *value;
                    }
                });
            }
        });
        weight
    });
    columns.concat()
}

/// How a map is cut into tiles.
#[derive(Debug, Clone, Copy)]
struct Grid {
    height: usize,
    width: usize,
    /// Tiles of a column and of a row.
    tiles: [usize; 2],
    /// Images of a part of the batch.
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

    /// The tiles of so many images, and the place of each: its image and the row and column of its first output.
    fn corners(&self, images: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let [rows, columns] = self.tiles;
        (0..images * rows * columns).map(move |tile| {
            let (image, within) = (tile / (rows * columns), tile % (rows * columns));
            (image, within / columns * OUTPUTS, within % columns * OUTPUTS)
        })
    }

    /// Where in a map's rows the values of a tile lie, which begins `before` the first output; `None` outside.
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
    fn gather_inputs(&self, maps: &[f32], channels: usize, entries: &mut Vec<f32>) {
        self.gather::<INPUTS>(maps, channels, 1, &of_input, entries);
    }

    /// `A dY A^T` of the gradient of outputs.
    fn gather_outputs(&self, upstream: &[f32], channels: usize, entries: &mut Vec<f32>) {
        self.gather::<OUTPUTS>(upstream, channels, 0, &from_output, entries);
    }

    fn gather<const SIDE: usize>(
        &self,
        maps: &[f32],
        channels: usize,
        before: usize,
        transform: &impl Fn(&[Lanes; SIDE]) -> [Lanes; INPUTS],
        entries: &mut Vec<f32>,
    ) {
        let images = maps.len() / (self.places() * channels);
        let tiles = images * self.tiles[0] * self.tiles[1];
        entries.resize(ENTRIES * tiles * channels, 0.0);
        vectorised!({
            for (tile, corner) in self.corners(images).enumerate() {
                let places = self.places_of::<SIDE>(corner, before);
                for first in (0..channels).step_by(LANES) {
                    let load = |row: usize, column: usize| match places[row][column] {
                        Some(place) => Lanes::load(&maps[place * channels + first..]),
                        None => Lanes::ZERO,
                    };
                    both(load, transform, |row, column, value| {
                        let entry = row * INPUTS + column;
                        value.store(&mut entries[(entry * tiles + tile) * channels + first..]);
                    });
                }
            }
        });
    }

    /// The outputs of products, `[36, tiles, channels]`.
    fn write(&self, products: &[f32], target: &mut [f32], channels: usize) {
        self.results::<OUTPUTS>(products, channels, 0, &to_output, |place, value| {
            value.store(&mut target[place..]);
        });
    }

    /// Adds the gradients of inputs.
    fn scatter(&self, products: &[f32], target: &mut [f32], channels: usize) {
        self.results::<INPUTS>(products, channels, 1, &to_input, |place, value| {
            (Lanes::load(&target[place..]) + value).store(&mut target[place..]);
        });
    }

    fn results<const SIDE: usize>(
        &self,
        products: &[f32],
        channels: usize,
        before: usize,
        transform: &impl Fn(&[Lanes; INPUTS]) -> [Lanes; SIDE],
        mut put: impl FnMut(usize, Lanes),
    ) {
        let tiles = products.len() / (ENTRIES * channels);
        let images = tiles / (self.tiles[0] * self.tiles[1]);
        vectorised!({
            for (tile, corner) in self.corners(images).enumerate() {
                let places = self.places_of::<SIDE>(corner, before);
                for first in (0..channels).step_by(LANES) {
                    let load = |row: usize, column: usize| {
                        let entry = row * INPUTS + column;
                        Lanes::load(&products[(entry * tiles + tile) * channels + first..])
                    };
                    both(load, transform, |row, column, value| {
                        if let Some(place) = places[row][column] {
                            put(place * channels + first, value);
                        }
                    });
                }
            }
        });
    }
}

/// A transform of the rows of a square, and then of the columns, from and to memory: arrays of a whole square would be
/// copied about.
#[inline(always)]
fn both<const FROM: usize, const TO: usize>(
    load: impl Fn(usize, usize) -> Lanes,
    transform: &impl Fn(&[Lanes; FROM]) -> [Lanes; TO],
    mut store: impl FnMut(usize, usize, Lanes),
) {
    let mut rows = [[Lanes::ZERO; TO]; FROM];
    for (at, row) in rows.iter_mut().enumerate() {
        *row = transform(&std::array::from_fn(|column| load(at, column)));
    }
    for column in 0..TO {
        let values = transform(&rows.each_ref().map(|row| row[column]));
        for (row, value) in values.into_iter().enumerate() {
            store(row, column, value);
        }
    }
}

/// `B^T d`.
#[inline(always)]
fn of_input([d0, d1, d2, d3, d4, d5]: &[Lanes; INPUTS]) -> [Lanes; INPUTS] {
    let (even, odd) = (*d4 - *d2 * 4.0, *d3 - *d1 * 4.0);
    let (inner, outer) = (*d4 - *d2, (*d3 - *d1) * 2.0);
    [
        *d0 * 4.0 - *d2 * 5.0 + *d4,
        even + odd,
        even - odd,
        inner + outer,
        inner - outer,
        *d1 * 4.0 - *d3 * 5.0 + *d5,
    ]
}

/// `B t`, the adjoint of [`of_input`].
#[inline(always)]
fn to_input([t0, t1, t2, t3, t4, t5]: &[Lanes; INPUTS]) -> [Lanes; INPUTS] {
    let (sum, difference) = (*t1 + *t2, *t1 - *t2);
    let (far_sum, far_difference) = (*t3 + *t4, *t3 - *t4);
    [
        *t0 * 4.0,
        *t5 * 4.0 - difference * 4.0 - far_difference * 2.0,
        *t0 * -5.0 - sum * 4.0 - far_sum,
        difference + far_difference * 2.0 - *t5 * 5.0,
        *t0 + sum + far_sum,
        *t5,
    ]
}

/// `A^T m`.
#[inline(always)]
fn to_output([m0, m1, m2, m3, m4, m5]: &[Lanes; INPUTS]) -> [Lanes; OUTPUTS] {
    let (sum, difference) = (*m1 + *m2, *m1 - *m2);
    let (far_sum, far_difference) = (*m3 + *m4, *m3 - *m4);
    [
        *m0 + sum + far_sum,
        difference + far_difference * 2.0,
        sum + far_sum * 4.0,
        difference + far_difference * 8.0 + *m5,
    ]
}

/// `A y`, the adjoint of [`to_output`].
#[inline(always)]
fn from_output([y0, y1, y2, y3]: &[Lanes; OUTPUTS]) -> [Lanes; INPUTS] {
    let (even, odd) = (*y0 + *y2, *y1 + *y3);
    let (far_even, far_odd) = (*y0 + *y2 * 4.0, *y1 * 2.0 + *y3 * 8.0);
    [*y0, even + odd, even - odd, far_even + far_odd, far_even - far_odd, *y3]
}

/// `G g`.
#[inline(always)]
fn of_kernel([g0, g1, g2]: &[Lanes; KERNEL]) -> [Lanes; INPUTS] {
    let (even, odd) = ((*g0 + *g2) * (-1.0 / 6.0), *g1 * (-1.0 / 6.0));
    let (far_even, far_odd) = (*g0 * (1.0 / 24.0) + *g2 * (1.0 / 6.0), *g1 * (1.0 / 12.0));
    [*g0 * 0.25, even + odd, even - odd, far_even + far_odd, far_even - far_odd, *g2]
}

/// `G^T u`, the adjoint of [`of_kernel`].
#[inline(always)]
fn to_kernel([u0, u1, u2, u3, u4, u5]: &[Lanes; INPUTS]) -> [Lanes; KERNEL] {
    let (sum, difference) = (*u1 + *u2, *u1 - *u2);
    let (far_sum, far_difference) = (*u3 + *u4, *u3 - *u4);
    [
        *u0 * 0.25 - sum * (1.0 / 6.0) + far_sum * (1.0 / 24.0),
        far_difference * (1.0 / 12.0) - difference * (1.0 / 6.0),
        far_sum * (1.0 / 6.0) - sum * (1.0 / 6.0) + *u5,
    ]
}
