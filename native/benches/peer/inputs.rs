//! Inputs of a case: deterministic values without structure.

use anyhow::{Context, Result};
use burn::tensor::{Device, Tensor, TensorData};
use simile_core::loss::batch::Batch;
use simile_core::numeric::matrix::Matrix;

use crate::WIDTH;
use crate::cases::Case;

/// The inputs that `case.inputs` lists, for `b` samples.
pub(crate) fn batch(case: &Case, b: usize, device: &Device) -> Result<Batch> {
    case.inputs.split(' ').enumerate().try_fold(Batch::default(), |batch, (at, input)| {
        if let Some((name, kinds)) = input.split_once('#') {
            let kinds: usize = kinds.parse()?;
            return Ok(batch.with_indices(name, (0..b).map(|i| i % kinds).collect()));
        }
        if let Some((name, shape)) = input.split_once('@') {
            let (rows, columns) = shape_of(shape, b)?;
            let values = values(rows * columns, at as u64);
            let scale = if name == "prior" { 1.0 } else { 255.0 };
            let z = Matrix::from_fn(rows, columns, |i, j| (f64::from(values[i * columns + j]) + 0.5) * scale);
            return Ok(batch.with_condition(name, z));
        }
        let (name, shape) = input.split_once('=').unwrap_or((input, ""));
        let (rows, columns) = if shape.is_empty() { (b, WIDTH) } else { shape_of(shape, b)? };
        let data = TensorData::new(values(rows * columns, at as u64), [rows, columns]);
        Ok(batch.with_tensor(name, Tensor::from_data(data, device)))
    })
}

/// `RxC`, or `C` for `b` rows.
fn shape_of(text: &str, b: usize) -> Result<(usize, usize)> {
    let number = |text: &str| text.parse::<usize>().with_context(|| format!("{text} is no size"));
    match text.split_once('x') {
        Some((rows, columns)) => Ok((number(rows)?, number(columns)?)),
        None => Ok((b, number(text)?)),
    }
}

/// Values from -0.5 to 0.5.
pub(crate) fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    };
    std::iter::repeat_with(next).take(count).collect()
}
