//! A training run in the page, on digits that core draws or on images of the page, with the training step and the
//! probes of the command line.

mod fault;
mod image_split;
mod probe;
mod settings;
mod warnings;

use serde_json::Value;
use simile_core::algorithm::TrainingSet;
use simile_core::augment::preprocess::fit;
use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::data::synthetic::digits::{SIDE, draw_digits};
use simile_core::data::{Dataset, Images};
use simile_core::error::Error;
use simile_core::nn::checkpoint::Metadata;
use simile_core::requests::Warning;
use simile_core::train::{self, Sampler, TEST_SEED, TrainError};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use self::fault::refused;
use self::image_split::ImageSplit;
pub use self::probe::Probe;
use self::settings::Settings;
use self::warnings::warnings;
use crate::device::Device;
use crate::warning::kind;

/// A training run: the state of the trainer and its images.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Trainer {
    settings: Settings,
    recipe: Value,
    warnings: Vec<Warning>,
    run: train::Trainer,
    sampler: Sampler,
    train: ImageSplit,
    test: ImageSplit,
    device: burn::tensor::Device,
}

#[wasm_bindgen]
impl Trainer {
    /// Draws the digits and starts a run. `settings` is the JSON of `Settings`.
    ///
    /// # Errors
    /// The settings are not valid.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &str, device: &Device) -> Result<Self, JsError> {
        let settings = read(settings)?;
        let seed = u64::from(settings.seed);
        let train = draw_digits(settings.images, Colours::Palette, seed)?;
        let test = draw_digits(settings.test_images, Colours::Palette, seed ^ TEST_SEED)?;
        let recipe = settings.recipe();
        Self::begin(settings, recipe, train, test, device)
    }

    /// Starts a run on images of the page: `pixels` are those of `fit_to_train`, one image after the other, `labels`
    /// the class of each. Of `settings.images` images `settings.testImages` are held out as the test set.
    ///
    /// # Errors
    /// The settings or the images are not valid.
    pub fn on_images(
        settings: &str,
        pixels: Vec<u8>,
        labels: Vec<u16>,
        device: &Device,
    ) -> Result<Self, JsError> {
        let mut settings = read(settings)?;
        let labels = labels.into_iter().map(usize::from).collect();
        let (train, test) = image_split::page_images(pixels, SIDE, labels)?
            .split(settings.test_images, settings.seed.into())?;
        settings.images = train.len();
        // The command line does not have the images.
        Self::begin(settings, Value::Null, train, test, device)
    }

    /// Number of steps done.
    #[wasm_bindgen(getter)]
    pub fn step_number(&self) -> u32 {
        self.run.step_number() as u32
    }

    /// Number of steps of the whole run.
    #[wasm_bindgen(getter)]
    pub fn iterations(&self) -> u32 {
        self.settings.iterations
    }

    /// The run as a recipe of the command line, in JSON; null for images of the page.
    #[wasm_bindgen(getter)]
    pub fn recipe(&self) -> String {
        self.recipe.to_string()
    }

    /// The reasons why the run is meaningless though its settings are valid: images of one colour in the first step, a kernel that
    /// tells all of them apart, or none, and parameters that the form of the objective does not read.
    #[wasm_bindgen(getter)]
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.iter().map(|warning| warning.text.clone()).collect()
    }

    /// The kind of each of the warnings.
    #[wasm_bindgen(getter)]
    pub fn warning_kinds(&self) -> Vec<String> {
        self.warnings.iter().map(|warning| kind(warning.degeneracy).to_owned()).collect()
    }

    /// The digits, or classes, of the images that maps show.
    #[wasm_bindgen(getter)]
    pub fn mapped_labels(&self) -> Vec<u16> {
        let first = self.test.labels.iter().take(probe::MAPPED);
        first.filter_map(|&label| self.test.numbers.get(label).copied()).collect()
    }

    /// The colours of their backgrounds, RGB.
    #[wasm_bindgen(getter)]
    pub fn mapped_colours(&self) -> Vec<u8> {
        let colours = self.test.colours.iter_rows().take(probe::MAPPED).flatten();
        colours.map(|&channel| channel as u8).collect()
    }

    /// One step; resolves with the loss before it, and with nothing at the end of the run: an error would be taken for a lost device.
    ///
    /// # Errors
    /// The loss is not finite, or the device failed.
    pub async fn step(&mut self) -> Result<Option<f64>, JsError> {
        if self.run.is_finished() {
            return Ok(None);
        }
        let done = advance(&mut self.run, &mut self.sampler, &self.train).await;
        done.map(Some).map_err(|error| refused(error, &self.settings.objective.name))
    }

    /// The loss of the first step of such a run, on which a device has to agree with the CPU before it is used.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub async fn first_loss(&self) -> Result<f64, JsError> {
        let in_words = |error| refused(error, &self.settings.objective.name);
        let mut run = start(&self.settings, &self.device).map_err(in_words)?;
        advance(&mut run, &mut self.sampler.clone(), &self.train).await.map_err(in_words)
    }

    /// The state of the run, in bytes for [`resume`](Self::resume).
    ///
    /// # Errors
    /// A value is not finite, or the device failed.
    pub async fn state(&self) -> Result<Vec<u8>, JsError> {
        Ok(self.run.to_bytes().await?)
    }

    /// Restores the state of another run with the same settings and images, on any device.
    ///
    /// # Errors
    /// The bytes are damaged, or belong to a run with other settings.
    pub fn resume(&mut self, state: &[u8]) -> Result<(), JsError> {
        let config = self.settings.config();
        self.run = train::Trainer::resume(config, &TrainingSet::default(), &self.device, state)?;
        Ok(())
    }

    /// Fits the probes of digit and colour on the first `fitted` training images (without it on all of them, with the
    /// budget of `simile evaluate`), and measures them on the test images.
    ///
    /// # Errors
    /// The device failed, or the network has diverged.
    pub async fn probe(&self, fitted: Option<usize>) -> Result<Probe, JsError> {
        Ok(Probe::run(self.run.encoder(), &self.train, &self.test, fitted).await?)
    }

    /// The current encoder, as the bytes of a `.safetensors` file that `simile` and `Encoder` read.
    ///
    /// # Errors
    /// A weight is not finite, or the device failed.
    pub async fn checkpoint(&self) -> Result<Vec<u8>, JsError> {
        let normalisation = image_split::normalisation();
        let encoder = self.run.config().encoder.clone();
        let mut metadata = Metadata::new(encoder, normalisation.mean, normalisation.std);
        metadata.recipe = self.recipe.clone();
        Ok(self.run.checkpoint(metadata).to_bytes().await?)
    }
}

impl Trainer {
    fn begin(
        settings: Settings,
        recipe: Value,
        train: Dataset,
        test: Dataset,
        device: &Device,
    ) -> Result<Self, JsError> {
        let device = device.inner.clone();
        let mut sampler = Sampler::new(settings.sampling(train.len()))?;
        if test.len() < 2 {
            return Err(Error::parameter("testImages", test.len(), "expected at least 2").into());
        }
        if train.classes.len() < 2 {
            let reason = "expected at least 2 classes, by their `label`";
            return Err(Error::parameter("images", "of one class", reason).into());
        }
        let run = start(&settings, &device).map_err(|error| refused(error, &settings.objective.name))?;
        let (train, test) = (ImageSplit::new(train, &device)?, ImageSplit::new(test, &device)?);
        let warnings = warnings(&settings, &train, sampler.batch(0));
        Ok(Self { settings, recipe, warnings, run, sampler, train, test, device })
    }
}

/// Converts an RGBA picture of any size to the input of a trainer: `[side, side, 3]`.
///
/// # Errors
/// The number of bytes is not four for each pixel.
#[wasm_bindgen]
pub fn fit_to_train(rgba: Vec<u8>, width: usize, height: usize) -> Result<Vec<u8>, JsError> {
    Ok(fit(&Images::new(height, width, 4, rgba)?, SIDE, SIDE, 3)?.pixels)
}

fn read(settings: &str) -> Result<Settings, JsError> {
    serde_json::from_str(settings)
        .map_err(|error| JsError::new(&format!("the settings of the run cannot be used: {error}")))
}

fn start(settings: &Settings, device: &burn::tensor::Device) -> Result<train::Trainer, TrainError> {
    train::Trainer::new(settings.config(), &TrainingSet::default(), device)
}

async fn advance(
    run: &mut train::Trainer,
    sampler: &mut Sampler,
    train: &ImageSplit,
) -> Result<f64, TrainError> {
    let indices = sampler.batch(run.step_number());
    let (view_a, view_b) = train.images.pair(indices, &mut run.rng())?;
    let context = train.context(indices, run.config().objective.needs_condition());
    run.step(view_a, view_b, context)?;
    // Reading each loss keeps the queue of the GPU from growing.
    Ok(run.mean_loss().await?.unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::iter;

    use burn::tensor::try_read_sync;
    use serde_json::json;
    use simile_core::nn::checkpoint::Checkpoint;

    use super::*;

    fn trainer(seed: u32) -> Trainer {
        let objective =
            json!({ "name": "fair-cclk", "temperature": 0.5, "kernel": { "name": "rbf", "sigma": 20.0 } });
        let settings = json!({
            "objective": objective, "seed": seed, "batch": 16, "iterations": 3, "learningRate": 4e-3,
            "images": 40, "testImages": 30,
        });
        Trainer::new(&settings.to_string(), &Device::cpu()).unwrap()
    }

    fn losses(trainer: &mut Trainer, steps: usize) -> Vec<f64> {
        (0..steps).map(|_| try_read_sync(trainer.step()).unwrap().unwrap().unwrap()).collect()
    }

    #[test]
    fn a_seed_gives_the_same_run_and_its_checkpoint_says_what_it_learnt_from() {
        let mut trainer = trainer(7);
        let first = try_read_sync(trainer.first_loss()).unwrap().unwrap();
        let curve = losses(&mut trainer, 3);
        assert_eq!(curve[0], first);
        assert_eq!(curve, losses(&mut self::trainer(7), 3));
        assert_ne!(curve, losses(&mut self::trainer(8), 3));
        assert_eq!(trainer.step_number(), 3);
        assert_eq!(try_read_sync(trainer.step()).unwrap().unwrap(), None, "a step after the last");

        let mut stopped = self::trainer(7);
        try_read_sync(stopped.step()).unwrap().unwrap();
        let state = try_read_sync(stopped.state()).unwrap().unwrap();
        let mut resumed = self::trainer(7);
        resumed.resume(&state).unwrap();
        assert_eq!((resumed.step_number(), losses(&mut resumed, 2)), (1, curve[1..].to_vec()));

        let reading = try_read_sync(trainer.probe(None)).unwrap().unwrap();
        assert!((0.0..=1.0).contains(&reading.accuracy) && reading.leak <= 1.0);
        assert_eq!(
            (reading.map().len(), trainer.mapped_labels().len(), trainer.mapped_colours().len()),
            (60, 30, 90)
        );

        let bytes = try_read_sync(trainer.checkpoint()).unwrap().unwrap();
        let read = Checkpoint::from_bytes(&bytes, &Device::cpu().inner).unwrap();
        let recipe = &read.metadata.recipe;
        assert_eq!(
            recipe["data"],
            json!({ "dataset": "digits", "colours": "palette", "train": 40, "test": 30 })
        );
        assert_eq!(recipe["objective"]["condition"], "colour");
        assert_eq!(recipe["train"], json!({ "batch": 16, "iterations": 3, "seed": 7 }));
    }

    #[test]
    fn a_run_whose_kernel_tells_all_images_apart_or_ignores_a_parameter_says_so() {
        let warned_in = |objective: Value, batch: usize| {
            let settings = json!({
                "objective": objective, "seed": 1, "batch": batch, "iterations": 3, "learningRate": 4e-3,
                "images": 40, "testImages": 30,
            });
            let trainer = Trainer::new(&settings.to_string(), &Device::cpu()).unwrap();
            (trainer.warning_kinds(), trainer.warnings().concat())
        };
        let warned = |objective: Value| warned_in(objective, 16);
        let by_exact_match = json!({ "name": "fair-cclk", "kernel": { "name": "exact-match" } });
        let (kinds, of_two) = warned_in(by_exact_match.clone(), 2);
        assert_eq!(kinds, ["all-apart"]);
        assert!(of_two.contains("take larger batches") && !of_two.contains("median"), "{of_two}");
        let (kinds, exact) = warned(by_exact_match);
        assert_eq!(kinds, ["all-apart"]);
        assert!(exact.contains("apart by `colour`"), "{exact}");
        assert!(exact.contains("such as `kernel: { name: \"rbf\", sigma: \"median\" }`"), "{exact}");
        assert!(!exact.contains("kernel.sigma") && !exact.contains("kernel ="), "{exact}");
        let kernel = json!({ "name": "rbf", "sigma": "median" });
        let unread =
            json!({ "name": "fair-cclk", "variant": "paper", "kernel": kernel, "clip_threshold": 0.5 });
        let (kinds, unread) = warned(unread);
        assert_eq!(kinds, ["unread"]);
        assert!(unread.contains("`clip_threshold` has no effect"), "{unread}");
        for objective in [json!({ "name": "fair-cclk", "kernel": kernel }), json!({ "name": "nt-xent" })] {
            assert_eq!(warned(objective).1, "");
        }
    }

    /// A channel of a square of the page: ten colours and two brightnesses, which are the classes.
    fn shade(at: usize, channel: usize) -> u8 {
        ((at % 10 * 25 + channel * 40) / (1 + at % 2)) as u8
    }

    fn trainer_on_squares(classes: [u16; 2]) -> Trainer {
        let pixels = (0..24).flat_map(|at| (0..SIDE * SIDE * 3).map(move |k| shade(at, k % 3))).collect();
        let labels = (0..24).map(|at| classes[at % 2]).collect();
        let settings = json!({
            "objective": { "name": "fair-cclk" }, "seed": 1, "batch": 8, "iterations": 2, "learningRate": 4e-3,
            "images": 24, "testImages": 6,
        });
        Trainer::on_images(&settings.to_string(), pixels, labels, &Device::cpu()).unwrap()
    }

    #[test]
    fn images_of_one_colour_or_of_two_shades_are_warned_of() {
        let warned = |shades: [u8; 2], sigma: Value| {
            let settings = json!({
                "objective": { "name": "fair-cclk", "kernel": { "name": "rbf", "sigma": sigma } },
                "seed": 1, "batch": 8, "iterations": 2, "learningRate": 4e-3, "images": 24, "testImages": 6,
            });
            let pixels = (0..24).flat_map(|at| iter::repeat_n(shades[at % 2], SIDE * SIDE * 3)).collect();
            let labels = (0..24).map(|at| at % 2).collect();
            let trainer = Trainer::on_images(&settings.to_string(), pixels, labels, &Device::cpu()).unwrap();
            (trainer.warning_kinds(), trainer.warnings().concat())
        };
        let (kinds, grey) = warned([100, 100], json!("median"));
        assert_eq!(kinds, ["one-value"], "{grey}");
        assert!(!grey.contains("sigma"), "another kernel would not help: {grey}");
        let (kinds, alike) = warned([100, 101], json!(20.0));
        assert_eq!(kinds, ["all-alike"], "{alike}");
    }

    #[test]
    fn a_map_gives_classes_above_255_their_numbers() {
        let labels = trainer_on_squares([1, 300]).mapped_labels();
        assert!(labels.len() == 6 && labels.iter().all(|label| [1, 300].contains(label)), "{labels:?}");
        assert!(labels.contains(&300), "{labels:?}");
    }

    #[test]
    fn images_of_the_page_are_conditioned_on_their_mean_colour() {
        let mut trainer = trainer_on_squares([0, 1]);
        assert_eq!((trainer.train.labels.len(), trainer.test.labels.len()), (18, 6));
        let colours = [&trainer.train.colours, &trainer.test.colours];
        let expected = |row: &[f64]| (0..24).any(|at| (0..3).all(|c| row[c] == f64::from(shade(at, c))));
        assert!(colours.into_iter().all(|colours| colours.iter_rows().all(expected)));
        try_read_sync(trainer.step()).unwrap().unwrap();
        try_read_sync(trainer.probe(None)).unwrap().unwrap();
        let bytes = try_read_sync(trainer.checkpoint()).unwrap().unwrap();
        assert_eq!(
            Checkpoint::from_bytes(&bytes, &Device::cpu().inner).unwrap().metadata.recipe,
            Value::Null
        );
    }
}
