//! Lines turned, so that the values of a column lie side by side: then a filter along lines is a sum of vectors.

/// Lines that are turned together.
pub(super) const LINES: usize = 16;
/// Values of a square block.
const BLOCK: usize = LINES * LINES;

/// A value of each of some lines.
pub(super) type Column<T> = [T; LINES];

/// Turns at most [`LINES`] lines of `stride` values, from value `start` of each on. Lines that are missing leave values unchanged.
#[inline(always)]
pub(super) fn turn<T: Copy + Default>(lines: &[T], stride: usize, start: usize, turned: &mut [Column<T>]) {
    let all = lines.len() == LINES * stride;
    for (at, turned) in turned.chunks_mut(LINES).enumerate() {
        let width = turned.len();
        let parts = lines.chunks_exact(stride).map(|line| &line[start + at * LINES..][..width]);
        if all && width == LINES {
            let mut block = [T::default(); BLOCK];
            block.chunks_exact_mut(LINES).zip(parts).for_each(|(line, part)| line.copy_from_slice(part));
            turned.as_flattened_mut().copy_from_slice(&transposed(&block));
        } else {
            for (line, part) in parts.enumerate() {
                turned.iter_mut().zip(part).for_each(|(column, &value)| column[line] = value);
            }
        }
    }
}

/// Turns lines back, each of one value a column.
#[inline(always)]
pub(super) fn turn_back<T: Copy + Default>(turned: &[Column<T>], lines: &mut [T]) {
    let stride = turned.len();
    let all = lines.len() == LINES * stride;
    for (at, turned) in turned.chunks(LINES).enumerate() {
        let parts = lines.chunks_exact_mut(stride).map(|line| &mut line[at * LINES..][..turned.len()]);
        match turned.as_flattened().first_chunk::<BLOCK>() {
            Some(block) if all => {
                let block = transposed(block);
                parts.zip(block.chunks_exact(LINES)).for_each(|(part, line)| part.copy_from_slice(line));
            }
            _ => {
                for (line, part) in parts.enumerate() {
                    part.iter_mut().zip(turned).for_each(|(value, column)| *value = column[line]);
                }
            }
        }
    }
}

/// A block of 16 by 16 with rows and columns exchanged: value `ab` of 256, in digits of 16, goes to `ba`, by four rounds that
/// interleave both halves.
#[inline(always)]
fn transposed<T: Copy + Default>(block: &[T; BLOCK]) -> [T; BLOCK] {
    interleaved(&interleaved(&interleaved(&interleaved(block))))
}

#[inline(always)]
fn interleaved<T: Copy + Default>(block: &[T; BLOCK]) -> [T; BLOCK] {
    let (first, second) = block.split_at(BLOCK / 2);
    let mut output = [T::default(); BLOCK];
    for at in 0..BLOCK / 2 {
        output[2 * at] = first[at];
        output[2 * at + 1] = second[at];
    }
    output
}
