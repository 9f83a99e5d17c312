//! Scalar products of many rows with many others in numbers of 16 bits, which rule out almost all of the rows that are not near.
//!
//! A row of length at most 1 is rounded to multiples of 1/32767. A vector instruction multiplies twice as many of these numbers as
//! of floats, and integer sums are exact: the error of a product follows from that of its rows alone. By the Cauchy-Schwarz
//! inequality, with `|a|, |b| ≤ 1` and roundings of length `|â − a| ≤ α` and `|b̂ − b| ≤ β`,
//!
//! ```text
//! |â·b̂ − a·b| ≤ α + (1 + α) β
//! ```
//!
//! and `|â·b̂| ≤ (1 + α) (1 + β)`, so that no sum of 32 bits overflows.

/// The largest integer of a row; a product of unit rows is this squared.
pub const LARGEST: f64 = 32767.0;
/// Rows of a tile of queries.
pub const QUERIES: usize = 12;
/// Rows of a tile of others.
pub const OTHERS: usize = 32;

/// The products of two tiles, each query with every other row.
pub type Products = [[i32; OTHERS]; QUERIES];

/// Two adjacent columns of some rows.
type Pairs<const ROWS: usize> = [[i16; 2]; ROWS];

/// Rows in tiles of `ROWS`, each in the order in which products read them; the last one ends with zeros.
pub struct Tiles<const ROWS: usize> {
    /// Pairs of columns.
    pairs: usize,
    values: Vec<Pairs<ROWS>>,
    /// The length of the longest rounding of a row.
    error: f64,
}

impl<const ROWS: usize> Tiles<ROWS> {
    /// Rounds rows of `columns` values, each multiplied by its factor: the result has at most the length 1.
    pub fn new(rows: &[f64], columns: usize, factor: impl Fn(usize) -> f64) -> Self {
        let (columns, pairs) = (columns.max(1), columns.div_ceil(2));
        let count = rows.len() / columns;
        let mut values = vec![[[0; 2]; ROWS]; pairs * count.div_ceil(ROWS)];
        let mut largest = 0.0_f64;
        for (at, row) in rows.chunks_exact(columns).enumerate() {
            let factor = factor(at) * LARGEST;
            let tile = &mut values[pairs * (at / ROWS)..][..pairs];
            let mut errors = 0.0;
            for (pair, values) in tile.iter_mut().zip(row.chunks(2)) {
                for (integer, value) in pair[at % ROWS].iter_mut().zip(values) {
                    let exact = value * factor;
                    *integer = exact.round_ties_even() as i16;
                    errors += (exact - f64::from(*integer)).powi(2);
                }
            }
            largest = largest.max(errors);
        }
        Self { pairs, values, error: largest.sqrt() / LARGEST }
    }

    /// The length of the longest rounding of a row.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The tiles.
    pub fn iter(&self) -> impl Iterator<Item = Tile<'_, ROWS>> {
        self.values.chunks_exact(self.pairs.max(1)).map(Tile)
    }
}

/// Some rows.
#[derive(Clone, Copy)]
pub struct Tile<'a, const ROWS: usize>(&'a [Pairs<ROWS>]);

impl Tile<'_, QUERIES> {
    /// The products with other rows, multiplied by [`LARGEST`] squared.
    pub fn products(self, others: Tile<'_, OTHERS>) -> Products {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = x86::Fused::try_new() {
            let (integers, words) = (simd.avx512f, simd.avx512bw);
            return simd.vectorize(x86::Wide { integers, words, queries: self.0, others: others.0 });
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V4::try_new() {
            let (integers, words) = (simd.avx512f, simd.avx512bw);
            return simd.vectorize(x86::Wide { integers, words, queries: self.0, others: others.0 });
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(x86::Narrow { simd, queries: self.0, others: others.0 });
        }
        let mut products = [[0; OTHERS]; QUERIES];
        vectorised!(plain(self.0, others.0, &mut products));
        products
    }
}

/// The same products without vector instructions, for any processor.
#[inline(always)]
fn plain(queries: &[Pairs<QUERIES>], others: &[Pairs<OTHERS>], products: &mut Products) {
    for (queries, others) in queries.iter().zip(others) {
        for (sums, &[a, b]) in products.iter_mut().zip(queries) {
            let (a, b) = (i32::from(a), i32::from(b));
            for (sum, &[c, d]) in sums.iter_mut().zip(others) {
                *sum = sum.wrapping_add(a * i32::from(c) + b * i32::from(d));
            }
        }
    }
}

/// The products with AVX-512, whose sums take 24 of 32 registers, and with AVX2.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512i};

    use pulp::core_arch::x86::{Avx512bw, Avx512f};
    use pulp::x86::V3;
    use pulp::{NullaryFnOnce, cast};

    use super::{OTHERS, Pairs, Products, QUERIES};

    /// Queries, and vectors of other rows, whose sums are in registers together with AVX2: 12 of 16, which leaves two for the other
    /// rows, one for a query and one for a product.
    const FEW: usize = 6;
    const COLUMNS: usize = 2;
    /// Numbers of a vector of AVX2.
    const WIDTH: usize = 8;

    pulp::simd_type! {
        /// AVX-512 with an instruction that multiplies and adds, which the compiler takes in place of two.
        pub(super) struct Fused {
            pub(super) avx512f: "avx512f",
            pub(super) avx512bw: "avx512bw",
            pub(super) avx512vl: "avx512vl",
            pub(super) avx512vnni: "avx512vnni",
        }
    }

    pub(super) struct Wide<'a> {
        pub(super) integers: Avx512f,
        pub(super) words: Avx512bw,
        pub(super) queries: &'a [Pairs<QUERIES>],
        pub(super) others: &'a [Pairs<OTHERS>],
    }

    impl NullaryFnOnce for Wide<'_> {
        type Output = Products;

        #[inline(always)]
        fn call(self) -> Products {
            let Self { integers, words, queries, others } = self;
            let mut sums = [[integers._mm512_set1_epi32(0); 2]; QUERIES];
            for (queries, others) in queries.iter().zip(others) {
                let others: [__m512i; 2] = cast(*others);
                for (sums, &pair) in sums.iter_mut().zip(queries) {
                    let pair = integers._mm512_set1_epi32(cast(pair));
                    for (sum, other) in sums.iter_mut().zip(others) {
                        *sum = integers._mm512_add_epi32(*sum, words._mm512_madd_epi16(pair, other));
                    }
                }
            }
            sums.map(cast)
        }
    }

    pub(super) struct Narrow<'a> {
        pub(super) simd: V3,
        pub(super) queries: &'a [Pairs<QUERIES>],
        pub(super) others: &'a [Pairs<OTHERS>],
    }

    impl NullaryFnOnce for Narrow<'_> {
        type Output = Products;

        #[inline(always)]
        fn call(self) -> Products {
            let Self { simd, queries, others } = self;
            let (floats, integers) = (simd.avx, simd.avx2);
            let mut products = [[0; OTHERS]; QUERIES];
            for start in (0..OTHERS).step_by(COLUMNS * WIDTH) {
                for (at, products) in products.chunks_exact_mut(FEW).enumerate() {
                    let mut sums = [[floats._mm256_set1_epi32(0); COLUMNS]; FEW];
                    for (queries, others) in queries.iter().zip(others) {
                        let others = others[start..].as_chunks::<WIDTH>().0;
                        let others: [__m256i; COLUMNS] = [cast(others[0]), cast(others[1])];
                        for (sums, &pair) in sums.iter_mut().zip(&queries[FEW * at..]) {
                            let pair = floats._mm256_set1_epi32(cast(pair));
                            for (sum, other) in sums.iter_mut().zip(others) {
                                let product = integers._mm256_madd_epi16(pair, other);
                                *sum = integers._mm256_add_epi32(*sum, product);
                            }
                        }
                    }
                    for (products, sums) in products.iter_mut().zip(sums) {
                        let sums: [[i32; WIDTH]; COLUMNS] = sums.map(cast);
                        products[start..][..COLUMNS * WIDTH].copy_from_slice(sums.as_flattened());
                    }
                }
            }
            products
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_within_their_error_and_the_same_everywhere() {
        for (count, columns) in [(1, 1), (40, 7), (33, 500)] {
            let value = |i: usize| ((i * i % 977) as f64 * 0.731 + 0.3).sin();
            let rows: Vec<f64> = (0..count * columns).map(value).collect();
            let length = |at: usize| {
                rows[at * columns..][..columns].iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-300)
            };
            let queries = Tiles::<QUERIES>::new(&rows, columns, |at| 1.0 / length(at));
            let others = Tiles::<OTHERS>::new(&rows, columns, |at| 0.5 / length(at));
            let error = queries.error() + (1.0 + queries.error()) * others.error();
            assert!(error < 1e-3, "{error}");
            for (t, query) in queries.iter().enumerate() {
                for (u, other) in others.iter().enumerate() {
                    let products = query.products(other);
                    let mut expected = [[0; OTHERS]; QUERIES];
                    plain(query.0, other.0, &mut expected);
                    assert_eq!(products, expected);
                    #[cfg(target_arch = "x86_64")]
                    if let Some(simd) = pulp::x86::V4::try_new() {
                        let (integers, words) = (simd.avx512f, simd.avx512bw);
                        let wide = x86::Wide { integers, words, queries: query.0, others: other.0 };
                        assert_eq!(simd.vectorize(wide), expected);
                    }
                    #[cfg(target_arch = "x86_64")]
                    if let Some(simd) = pulp::x86::V3::try_new() {
                        let narrow = x86::Narrow { simd, queries: query.0, others: other.0 };
                        assert_eq!(simd.vectorize(narrow), expected);
                    }
                    for (i, j) in (0..QUERIES).flat_map(|i| (0..OTHERS).map(move |j| (i, j))) {
                        let (a, b) = (t * QUERIES + i, u * OTHERS + j);
                        if a >= count || b >= count {
                            assert_eq!(products[i][j], 0);
                            continue;
                        }
                        let pairs = rows[a * columns..].iter().zip(&rows[b * columns..]).take(columns);
                        let exact = pairs.map(|(x, y)| x * y).sum::<f64>() * 0.5 / (length(a) * length(b));
                        let similarity = f64::from(products[i][j]) / LARGEST.powi(2);
                        assert!((similarity - exact).abs() <= error + 1e-12, "{similarity} {exact}");
                    }
                }
            }
        }
    }
}
