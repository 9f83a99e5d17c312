//! Inputs of pages, and the answers of the command line for comparison.

use std::path::{Path, PathBuf};
use std::process::Command;

use burn::tensor::Device;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::data::synthetic::digits::draw_digits;
use simile_core::nn::EncoderConfig;
use simile_core::nn::checkpoint::{Checkpoint, Metadata};
use simile_tests::program;
use tempfile::TempDir;

use crate::succeed;

pub(crate) const IMAGES: usize = 64;

/// A checkpoint and images in a temporary folder.
pub(crate) struct Data {
    pub(crate) folder: TempDir,
    pub(crate) images: Vec<String>,
}

impl Data {
    pub(crate) const CHECKPOINT: &str = "model.safetensors";

    /// With LeNet-5.
    pub(crate) fn write() -> Self {
        Self::write_for(EncoderConfig::default(), IMAGES)
    }

    pub(crate) fn write_for(encoder: EncoderConfig, count: usize) -> Self {
        let folder = simile_tests::place();
        let digits = draw_digits(count, Colours::Palette, 7).unwrap().images.in_memory().unwrap();
        let images: Vec<String> = (0..count).map(|at| format!("{at:02}.png")).collect();
        for (name, pixels) in images.iter().zip(digits.iter()) {
            let image = image::RgbImage::from_raw(digits.width as u32, digits.height as u32, pixels.to_vec());
            image.unwrap().save(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join(Self::CHECKPOINT), checkpoint(encoder)).unwrap();
        Self { folder, images }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The rows that `simile embed` writes.
    pub(crate) fn embed_natively(&self) -> Vec<Vec<f64>> {
        let table = self.path("vectors.csv");
        let mut command = Command::new(program());
        command.current_dir(&self.folder).arg("embed").arg(Self::CHECKPOINT).args(&self.images);
        succeed(command.args(["--device", "cpu", "--out"]).arg(&table));
        let table = std::fs::read_to_string(table).unwrap();
        let numbers =
            |line: &str| line.split(',').skip(1).map(|v| v.parse().ok()).collect::<Option<Vec<f64>>>();
        table.lines().filter_map(numbers).collect()
    }
}

/// An encoder before training, which is enough for a comparison.
fn checkpoint(config: EncoderConfig) -> Vec<u8> {
    let device = Device::flex();
    let encoder = config.init(&device, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let metadata = Metadata::new(config, vec![0.5, 0.4, 0.45], vec![0.25, 0.2, 0.3]);
    pollster::block_on(Checkpoint { metadata, encoder, head: None }.to_bytes()).unwrap()
}

/// The metrics of `simile evaluate` for a file.
pub(crate) fn evaluate(model: &Path) -> Value {
    let mut command = Command::new(program());
    let output = succeed(command.arg("evaluate").arg(model).args(["--device", "cpu", "--json"]));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["metrics"].clone()
}
