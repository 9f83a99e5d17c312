//! Maps to the entries of their tiles, and back.

use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};

use super::transforms::{FromOutput, OfInput, ToInput, ToOutput, Transform, both};
use super::{Entries, INPUTS, OUTPUTS};
use crate::cpu::geometry::Geometry;
use crate::cpu::lanes::Lanes;

/// Minimum number of tiles of a part of the batch: enough for the products, and few enough for the cache.
const TILES: usize = 32;

/// The partition of a map into tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    height: usize,
    width: usize,
    /// Number of tiles of a column and of a row.
    pub(super) tiles: [usize; 2],
    /// Number of images of a part of the batch.
    pub(super) images: usize,
}

impl Grid {
    pub(super) fn of(geometry: &Geometry) -> Self {
        let Geometry { height, width, .. } = *geometry;
        let tiles = [height.div_ceil(OUTPUTS), width.div_ceil(OUTPUTS)];
        let images = TILES.div_ceil((tiles[0] * tiles[1]).max(1));
        Self { height, width, tiles, images }
    }

    pub(super) fn places(&self) -> usize {
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
    pub(super) fn gather_inputs(&self, maps: &[f32], channels: usize, entries: &mut Entries) {
        self.gather::<OfInput, INPUTS>(maps, channels, 1, entries);
    }

    /// `A dY A^T` of the gradient of outputs.
    pub(super) fn gather_outputs(&self, upstream: &[f32], channels: usize, entries: &mut Entries) {
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
    pub(super) fn write(&self, products: &Entries, target: &mut [f32]) {
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
    pub(super) fn scatter(&self, products: &Entries, target: &mut [f32]) {
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
