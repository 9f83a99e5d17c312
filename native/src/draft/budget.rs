//! The network and the number of steps that fit pictures and device.

use std::path::Path;

use simile_core::data::catalogue::train_count;

use super::folder::{Contents, Layout};
use crate::config::Recipe;
use crate::config::usual::{BATCH, LEARNING_RATE};
use crate::console::quietly;
use crate::devices::DeviceSet;
use crate::experiment::estimate::training_seconds;
use crate::experiment::prepare::splits::Splits;
use crate::units;
use crate::words::number_of;

/// The share of the pictures that is held out, where nothing says which, and the most.
const HELD_OUT: f64 = 0.2;
const MOST_HELD_OUT: usize = 10_000;
/// Fewest pictures that are held out: the figures show the features of those in a plane, for which one is too few.
const FEWEST_HELD_OUT: usize = 2;
/// Fewest pictures that can be divided: beside those, one of each of two classes.
const FEWEST: usize = FEWEST_HELD_OUT + 2;
/// Epochs over the pictures, within a least and a largest number of steps.
const EPOCHS: f64 = 100.0;
const STEPS: [f64; 2] = [300.0, 1000.0];
const STEPS_OF_GPU: [f64; 2] = [1000.0, 20_000.0];
/// The learning rate of a network for a GPU.
const LEARNING_RATE_OF_GPU: f64 = 0.001;
/// Most seconds of training in a first run on a CPU.
const MAX_FIRST_RUN_SECONDS: f64 = 480.0;

/// The network and the length of a run.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) encoder: Encoder,
    pub(super) learning_rate: f64,
    pub(super) batch: usize,
    pub(super) iterations: usize,
    /// Pictures that are held out to test on.
    pub(super) held_out: usize,
    /// The share of the pictures of a folder for each class that holds out as many.
    pub(super) share: f64,
    /// The reason why the pictures cannot be divided, if they are too few for that.
    pub(super) too_few: Option<String>,
    /// The expected time of training, in words.
    pub(super) time: Option<String>,
    /// Iterations before they were shortened to that time.
    pub(super) shortened_from: Option<usize>,
}

/// The lines of the recipe about the encoder.
#[derive(Debug)]
pub(super) struct Encoder {
    pub(super) name: &'static str,
    pub(super) stem: Option<&'static str>,
    pub(super) side: usize,
    /// The comment beside its name.
    pub(super) remark: &'static str,
}

/// A small network for a CPU.
const CPU_ENCODER: Encoder = Encoder {
    name: "lenet5",
    stem: None,
    side: 32,
    remark: "small, for a CPU; with a GPU take \"resnet18\", or \"resnet50\"",
};
/// A network for a GPU, for small pictures.
const GPU_ENCODER: Encoder =
    Encoder { name: "resnet18", stem: Some("cifar"), side: 32, remark: "or resnet50" };

impl Budget {
    pub(super) fn new(contents: &Contents, on_gpu: bool) -> Self {
        let usable = contents.usable;
        let has_split = match &contents.layout {
            Layout::Table(table) => table.split.is_some(),
            Layout::Folders { split } => *split,
        };
        let held_out = held_out(usable);
        let train = usable.saturating_sub(if has_split { 0 } else { held_out });
        let is_one = usable - train_count(usable, HELD_OUT) < FEWEST_HELD_OUT;
        let share = if is_one { 2.0 * HELD_OUT } else { HELD_OUT };
        let too_few = (!has_split && usable < FEWEST).then(|| {
            format!(
                "{} too few: a run needs {FEWEST_HELD_OUT} to test on, and one of each of two classes to train \
                 on; add some",
                number_of(usable, "picture is", "pictures are")
            )
        });
        let batch = [BATCH, 128, 64, 32].into_iter().find(|batch| 4 * batch <= train).unwrap_or(16);
        let [fewest, most] = if on_gpu { STEPS_OF_GPU } else { STEPS };
        let steps = (EPOCHS * train as f64 / batch as f64).clamp(fewest, most);
        let (encoder, learning_rate) = match (on_gpu, contents.sizes.shorter) {
            (false, _) => (CPU_ENCODER, LEARNING_RATE),
            (true, ..=48) => (GPU_ENCODER, LEARNING_RATE_OF_GPU),
            (true, ..=96) => (Encoder { side: 64, ..GPU_ENCODER }, LEARNING_RATE_OF_GPU),
            (true, _) => (Encoder { stem: Some("imagenet"), side: 128, ..GPU_ENCODER }, LEARNING_RATE_OF_GPU),
        };
        let iterations = hundreds(steps);
        Self {
            encoder,
            learning_rate,
            batch,
            iterations,
            held_out,
            share,
            too_few,
            time: None,
            shortened_from: None,
        }
    }

    /// Measures the time of training on some pictures, given the smoke test of the recipe.
    pub(super) fn measure(&mut self, smoke: &Recipe, folder: &Path, devices: &DeviceSet) {
        let Ok(splits) = quietly(|| Splits::of(smoke, Some(folder))) else { return };
        let Some(mut seconds) = training_seconds(smoke, &splits.train, devices, None) else { return };
        if seconds > MAX_FIRST_RUN_SECONDS && !devices.has_gpu() {
            let fewer = self.iterations as f64 * MAX_FIRST_RUN_SECONDS / seconds - 50.0;
            let fewer = hundreds(fewer).min(self.iterations);
            seconds *= fewer as f64 / self.iterations as f64;
            self.shortened_from = (fewer < self.iterations).then_some(self.iterations);
            self.iterations = fewer;
        }
        self.time = Some(format!("about {} of training on {devices}", units::seconds(seconds)));
    }
}

/// The number of pictures to hold out of those that can be used.
fn held_out(usable: usize) -> usize {
    let share = ((usable as f64 * HELD_OUT) as usize).clamp(FEWEST_HELD_OUT, MOST_HELD_OUT);
    // One is left to train on, so that the recipe can be read and says what is wrong.
    share.min(usable.saturating_sub(1)).max(1)
}

/// A number of steps in whole hundreds, at least one.
fn hundreds(steps: f64) -> usize {
    ((steps / 100.0).round() as usize).max(1) * 100
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use simile_core::data::Split;

    use super::*;
    use crate::draft::testing::{drafted, pictures, scans};
    use crate::draft::{Draft, OwnPictureOptions};

    #[test]
    fn a_fifth_of_the_rows_that_can_be_used_is_held_out() {
        let files: Vec<String> = (0..20).map(|at| format!("{at}.png")).collect();
        let folder = pictures(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let site = |at: usize| if at < 10 { ["a", "b"][at / 2 % 2] } else { "" };
        let row = |at| format!("{at}.png,{},{}\n", at % 2, site(at));
        let table = (0..20).map(row).fold("file,label,site\n".to_owned(), |table, row| table + &row);
        fs::write(folder.path().join("images.csv"), table).unwrap();
        assert_eq!(drafted(folder.path(), &["site"], &[]).1.data.test, Some(2));
        assert_eq!(drafted(folder.path(), &[], &[]).1.data.test, Some(4));
        let hide = ["site".to_owned()];
        let draft = Draft::new(
            folder.path(),
            OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() },
            false,
        )
        .unwrap();
        let left_out = "10 of 20 rows are left out: a cell that is needed is empty";
        assert!(draft.notes().iter().any(|note| note == left_out), "{:?}", draft.notes());
    }

    #[test]
    fn two_pictures_are_held_out_of_a_few_and_too_few_are_said() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        let place = folder.path();
        assert_eq!(drafted(place, &["site"], &[]).1.data.test, Some(2));
        let said =
            |place: &Path| Draft::new(place, OwnPictureOptions::default(), false).unwrap().notes().join("\n");
        assert!(!said(place).contains("too few"), "{}", said(place));
        fs::write(place.join("images.csv"), "file,label\n0.png,ill\n1.png,well\n2.png,ill\n").unwrap();
        assert!(said(place).contains("3 pictures are too few: a run needs 2 to test on"), "{}", said(place));
        let tested = |count: usize| {
            let files: Vec<String> =
                (0..count).map(|at| format!("{}/{at}.png", ["a", "b"][at % 2])).collect();
            let folder = pictures(&files.iter().map(String::as_str).collect::<Vec<_>>());
            let (_, recipe) = drafted(folder.path(), &[], &[]);
            recipe.data.catalogue(folder.path()).unwrap().of(Split::Test).len()
        };
        assert_eq!([4, 5, 6, 9, 20].map(tested), [2, 2, 2, 2, 4]);
    }
}
