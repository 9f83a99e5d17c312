//! The self-test of a device: sums, a product of matrices and training steps of a small network, compared with exact results
//! or with those of the CPU. It covers the parts of a device's compiler that fail if a driver lacks something: memory that a
//! work group shares, and every kind of kernel that training starts.

use anyhow::{Context as _, Result, bail, ensure};
use burn::tensor::{Device, Tensor, TensorData};
use simile_core::algorithm::TrainingSet;
use simile_core::loss::ObjectiveConfig;
use simile_core::loss::batch::Batch;
use simile_core::optim::OptimizerConfig;
use simile_core::optim::rules::Sgd;
use simile_core::train::{Trainer, TrainerConfig};

/// Rows, inner side and columns of the product.
const SIDES: [usize; 3] = [96, 160, 64];
/// Images of a training step.
const BATCH: usize = 8;
/// Number of steps. The loss of the second step depends on the gradient of the first one.
const STEPS: u64 = 2;
const LEARNING_RATE: f64 = 1.0;
/// Most relative difference of a loss. Tensor cores round the factors of a product to 11 bits.
const TOLERANCE: f64 = 0.01;

/// Tests a device. Losses are compared with those of `cpu`, and only have to be numbers where there is no such device.
///
/// # Errors
/// A result differs from the expected one, or the device fails.
pub(crate) fn run(device: &Device, cpu: Option<&Device>) -> Result<()> {
    sums(device)?;
    gemm(device)?;
    let losses = losses(device)?;
    match cpu {
        Some(cpu) => agree(&losses, &self::losses(cpu).context("on the CPU")?),
        None => Ok(()),
    }
}

/// Whole numbers of -3 to 3, which every precision holds and adds exactly.
fn small_integers(count: usize, factor: usize) -> Vec<i32> {
    (0..count).map(|i| (i * factor % 31 % 7) as i32 - 3).collect()
}

fn matrix(values: &[i32], shape: [usize; 2], device: &Device) -> Tensor<2> {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn sums(device: &Device) -> Result<()> {
    let [rows, columns, _] = SIDES;
    let values = small_integers(rows * columns, 13);
    let expected: Vec<i32> = values.chunks(columns).map(|row| row.iter().sum()).collect();
    equal("sums of rows", matrix(&values, [rows, columns], device).sum_dim(1), &expected)
}

fn gemm(device: &Device) -> Result<()> {
    let [rows, inner, columns] = SIDES;
    let (a, b) = (small_integers(rows * inner, 13), small_integers(inner * columns, 17));
    let entry = |row: usize, column: usize| -> i32 {
        (0..inner).map(|k| a[row * inner + k] * b[k * columns + column]).sum()
    };
    let expected: Vec<i32> = (0..rows * columns).map(|i| entry(i / columns, i % columns)).collect();
    let product = matrix(&a, [rows, inner], device).matmul(matrix(&b, [inner, columns], device));
    equal("a product of matrices", product, &expected)
}

fn equal(name: &str, values: Tensor<2>, expected: &[i32]) -> Result<()> {
    let values = pollster::block_on(values.into_data_async());
    let values = values.map_err(|error| anyhow::anyhow!("{name}: the device failed ({error:?})"))?;
    let wrong = values.iter::<f32>().zip(expected).filter(|(value, expected)| *value != **expected as f32);
    match wrong.count() {
        0 => Ok(()),
        count => bail!("{name}: {count} of {} are wrong", expected.len()),
    }
}

/// The losses of the first steps of LeNet-5 on made images.
fn losses(device: &Device) -> Result<Vec<f64>> {
    let config = TrainerConfig {
        objective: ObjectiveConfig::named("nt-xent"),
        optimizer: OptimizerConfig::Sgd(Sgd { learning_rate: LEARNING_RATE, ..Sgd::default() }),
        steps: STEPS,
        steps_per_epoch: STEPS,
        ..TrainerConfig::default()
    };
    let (channels, side) = (config.encoder.channels, config.encoder.input_size);
    let view = |factor: usize| -> Tensor<4> {
        let values: Vec<f32> =
            (0..BATCH * channels * side * side).map(|i| (i * factor % 257) as f32 / 256.0).collect();
        Tensor::from_data(TensorData::new(values, [BATCH, channels, side, side]), device)
    };
    let mut trainer = Trainer::new(config, &TrainingSet::default(), device)?;
    let mut losses = vec![];
    while !trainer.is_finished() {
        trainer.step(view(7919), view(104_729), Batch::default())?;
        let loss = pollster::block_on(trainer.mean_loss())?;
        losses.push(loss.context("a training step without a loss")?);
    }
    Ok(losses)
}

fn agree(losses: &[f64], expected: &[f64]) -> Result<()> {
    for (step, (loss, expected)) in losses.iter().zip(expected).enumerate() {
        ensure!(
            (loss - expected).abs() <= TOLERANCE * expected.abs(),
            "the loss of training step {} is {loss:.4}, and {expected:.4} on the CPU",
            step + 1
        );
    }
    Ok(())
}

#[cfg(all(test, feature = "flex"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_passes() {
        run(&Device::flex(), Some(&Device::flex())).unwrap();
    }

    #[test]
    fn a_wrong_gradient_would_change_the_second_loss() {
        let losses = losses(&Device::flex()).unwrap();
        assert_eq!(losses.len(), STEPS as usize);
        assert!((losses[1] - losses[0]).abs() > 5.0 * TOLERANCE * losses[0], "{losses:?}");
        let unchanged = [losses[0], losses[0]];
        let error = agree(&unchanged, &losses).unwrap_err().to_string();
        assert!(error.contains("training step 2"), "{error}");
    }

    #[test]
    fn a_wrong_entry_is_counted() {
        let device = Device::flex();
        let error = equal("sums", matrix(&[1, 2, 3], [1, 3], &device), &[1, 5, 4]).unwrap_err();
        assert_eq!(error.to_string(), "sums: 2 of 3 are wrong");
        assert!(small_integers(31, 13).iter().any(|value| *value != 0));
    }
}
