//! The transforms of a square of values: of its rows, and then of its columns.

use pulp::Simd;

use super::{INPUTS, KERNEL, OUTPUTS};
use crate::cpu::lanes::Lanes;

/// A transform of a row or a column of a square.
pub(super) trait Transform<const FROM: usize, const TO: usize> {
    fn of<S: Simd>(values: [Lanes<S>; FROM]) -> [Lanes<S>; TO];
}

/// A transform of the rows of a square, and then of the columns, from and to memory.
#[inline(always)]
pub(super) fn both<S: Simd, T: Transform<FROM, TO>, const FROM: usize, const TO: usize>(
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
pub(super) struct OfInput;

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
pub(super) struct ToInput;

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
pub(super) struct ToOutput;

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
pub(super) struct FromOutput;

impl Transform<OUTPUTS, INPUTS> for FromOutput {
    #[inline(always)]
    fn of<S: Simd>([y0, y1, y2, y3]: [Lanes<S>; OUTPUTS]) -> [Lanes<S>; INPUTS] {
        let (even, odd) = (y0 + y2, y1 + y3);
        let (far_even, far_odd) = (y0 + y2 * 4.0, y1 * 2.0 + y3 * 8.0);
        [y0, even + odd, even - odd, far_even + far_odd, far_even - far_odd, y3]
    }
}

/// `G g`.
pub(super) struct OfKernel;

impl Transform<KERNEL, INPUTS> for OfKernel {
    #[inline(always)]
    fn of<S: Simd>([g0, g1, g2]: [Lanes<S>; KERNEL]) -> [Lanes<S>; INPUTS] {
        let (even, odd) = ((g0 + g2) * (-1.0 / 6.0), g1 * (-1.0 / 6.0));
        let (far_even, far_odd) = (g0 * (1.0 / 24.0) + g2 * (1.0 / 6.0), g1 * (1.0 / 12.0));
        [g0 * 0.25, even + odd, even - odd, far_even + far_odd, far_even - far_odd, g2]
    }
}

/// `G^T u`, the adjoint of [`OfKernel`].
pub(super) struct ToKernel;

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
