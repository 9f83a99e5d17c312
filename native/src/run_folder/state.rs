//! The state of a run on disk: `state/state.json`, which lists its files with their digests and is replaced last, so
//! that the folder holds one complete state at any time.

use std::mem;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::config::Recipe;
use crate::metrics::Metrics;
use crate::run_folder::data_digests::DataDigests;
use crate::run_folder::digest::{Digest, REMEDY};
use crate::run_folder::figures::Figures;
use crate::run_folder::folder::{LAST_MODEL, MODEL, RunFolder, STATE, WEIGHTS, bytes_of};
use crate::run_folder::hits::StoredHits;
use crate::run_folder::ledger::Ledger;
use crate::run_folder::model::variant_file;
use crate::run_folder::record::{
    EarlierDevice, ImageCounts, KernelFaults, Untrained, VariantResult, Warnings,
};
use crate::run_folder::sealed;
pub(crate) use crate::run_folder::variant_state::VariantState;
use crate::shell::quoted;

/// The state of the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunState {
    version: u32,
    /// The recipe of the run as TOML, with which `recipe.toml` has to agree.
    recipe: String,
    /// The device; another one would change the results.
    pub(crate) device: String,
    /// The devices that it was on before, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) earlier_devices: Vec<EarlierDevice>,
    /// Folder of the data set's files, from the root; earlier versions kept it as it was given.
    pub(crate) data: Option<PathBuf>,
    /// Wall time so far in seconds.
    pub(crate) seconds: f64,
    /// The digest of `metrics.jsonl` at that time.
    pub(crate) metrics: Digest,
    /// Every variant of the recipe, in its order.
    #[serde(rename = "arms")]
    pub(crate) variants: Vec<VariantState>,
    /// The warnings of each variant from before it began, by its name. Those that depend on the length of the run are not among them: it
    /// can be made longer. Older builds kept those too; they are dropped when the run resumes.
    pub(crate) warnings: Warnings,
    /// The faults of the kernels in the first batch, by the name of the variant.
    #[serde(default, skip_serializing_if = "KernelFaults::is_empty")]
    pub(crate) kernel_faults: KernelFaults,
    /// The results of the probes on the encoder before its first step, once measured.
    pub(crate) untrained: Option<Untrained>,
    /// The metrics without any encoder.
    pub(crate) base_rates: Metrics,
    /// The seconds that training of all variants was expected to take when the run began; of a smoke test those of the whole
    /// run.
    #[serde(default)]
    pub(crate) expected_seconds: Option<f64>,
    /// The command that began the run.
    #[serde(default)]
    pub(crate) command: String,
    /// The iterations that it was planned for before it was made longer, each time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) extended_at: Vec<usize>,
    /// The size of its data, once read.
    #[serde(default)]
    pub(crate) images: Option<ImageCounts>,
    /// The digests of its data.
    #[serde(flatten)]
    pub(crate) data_digests: DataDigests,
    /// The digest of the model of its prior, if it has one.
    #[serde(default)]
    pub(crate) prior: Option<Digest>,
    /// The evaluation images that the first variant classifies correctly, once measured.
    #[serde(default)]
    pub(crate) hits: StoredHits,
    /// The images that the encoder before its first step classifies correctly. None if an earlier version measured it.
    #[serde(default)]
    pub(crate) untrained_hits: StoredHits,
    /// File of the figures so far.
    figures: Option<String>,
    /// The date and time at which all variants were done: that of the result, however often it is written.
    #[serde(default)]
    done: Option<String>,
    /// True if result and report are written.
    pub(crate) finished: bool,
    /// Every file that is needed to resume.
    pub(crate) files: Ledger,
}

/// The kind of a checkpoint, which selects one of two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckpointKind {
    /// Made at a number of iterations: for resuming, and for restoring after divergence.
    ByCount,
    /// Made by the clock or on a signal: for resuming.
    ByTime,
}

const DOCUMENT: &str = "state.json";
/// The version of the format that this program writes and reads.
const VERSION: u32 = 4;

impl RunState {
    /// The state at the start of a run.
    ///
    /// # Errors
    /// If the recipe cannot be written.
    pub(crate) fn at_start(recipe: &Recipe, device: String, data: Option<PathBuf>) -> Result<Self> {
        // A path that is not Unicode cannot be stored in JSON; `--data` can give it again.
        let data = data.map(|data| absolute(&data)).filter(|data| data.to_str().is_some());
        let names = recipe.variants().into_iter().map(|variant| variant.name);
        let variants = names.map(|name| VariantState { name, ..VariantState::default() }).collect();
        let recipe = recipe.to_toml()?;
        let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
        let command = std::iter::once("simile".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
        Ok(Self { version: VERSION, recipe, device, data, variants, command, ..Self::default() })
    }

    /// Reads the state of a run; none if it has no such document.
    ///
    /// # Errors
    /// If it is damaged, or another version of this program wrote it.
    pub(crate) fn read(folder: &RunFolder) -> Result<Option<Self>> {
        let path = document(folder);
        if !path.exists() {
            return Ok(None);
        }
        let text = bytes_of(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let damaged = || format!("{} is damaged, or of another version of simile; {REMEDY}", path.display());
        let state: Self = sealed::read(&text).with_context(damaged)?;
        anyhow::ensure!(state.version == VERSION, damaged());
        Ok(Some(state))
    }

    /// The recipe that the run follows.
    ///
    /// # Errors
    /// If it is damaged.
    pub(crate) fn recipe(&self, folder: &RunFolder) -> Result<Recipe> {
        Recipe::resolved(&self.recipe, &document(folder))
    }

    /// Makes the run longer: every variant has further iterations to do, and results, figures and report are computed again.
    ///
    /// # Errors
    /// If the recipe so far is damaged, or the new one cannot be written.
    pub(crate) fn extend(&mut self, folder: &RunFolder, recipe: &Recipe) -> Result<()> {
        self.extended_at.push(self.recipe(folder)?.train.iterations);
        self.recipe = recipe.to_toml()?;
        self.finished = false;
        self.done = None;
        self.figures = None;
        self.variants.iter_mut().for_each(VariantState::reopen);
        self.files.retain(|name| is_of_state(name) || name == WEIGHTS);
        self.forget_outdated();
        Ok(())
    }

    /// Records the device on which the run goes on. One on which it did nothing is left out.
    pub(crate) fn change_device(&mut self, device: String) {
        let Some(at) = self.current().filter(|_| device != self.device) else { return };
        let VariantState { name: variant, iteration, .. } = &self.variants[at];
        // They have done iterations if the run was made longer.
        let others = self.variants.iter().skip(at + 1).filter(|other| other.iteration > 0);
        let earlier = EarlierDevice {
            device: mem::replace(&mut self.device, device),
            variant: variant.clone(),
            iteration: *iteration,
            others: others.map(|other| (other.name.clone(), other.iteration)).collect(),
        };
        // Nothing was done since the last change if all variants are where they were then.
        let place = (&earlier.variant, earlier.iteration, &earlier.others);
        let last = self.earlier_devices.last();
        let last = last.filter(|last| (&last.variant, last.iteration, &last.others) == place);
        match last.map(|last| last.device == self.device) {
            // The run is back on the device before that.
            Some(true) => drop(self.earlier_devices.pop()),
            None if at > 0 || earlier.iteration > 0 || !earlier.others.is_empty() => {
                self.earlier_devices.push(earlier);
            }
            _ => {}
        }
    }

    /// Switches to a recipe that finds the prior in another place.
    ///
    /// # Errors
    /// If the recipe cannot be written.
    pub(crate) fn move_prior(&mut self, recipe: &Recipe) -> Result<()> {
        self.recipe = recipe.to_toml()?;
        Ok(())
    }

    /// Index of the variant in training; none once all are done.
    pub(crate) fn current(&self) -> Option<usize> {
        self.variants.iter().position(|variant| variant.result.is_none())
    }

    /// Results of the variants that are done.
    pub(crate) fn results(&self) -> Vec<VariantResult> {
        self.variants.iter().filter_map(|variant| variant.result.clone()).collect()
    }

    /// The date and time at which all variants were done, which is now if the state knows none yet.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub(crate) fn done(&mut self, folder: &RunFolder) -> Result<String> {
        if let Some(date) = &self.done {
            return Ok(date.clone());
        }
        let date = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        self.done = Some(date.clone());
        self.write(folder)?;
        Ok(date)
    }

    /// Registers a new file for the trainer's state of a variant, and returns its name. The caller writes that file before this state.
    #[must_use]
    pub(crate) fn register_trainer(&mut self, at: usize, bytes: &[u8], kind: CheckpointKind) -> String {
        let stem = format!("{STATE}/arm-{at}-iteration-{}", self.variants[at].iteration);
        let name = self.files.register(&stem, bytes);
        let variant = &mut self.variants[at];
        if kind == CheckpointKind::ByCount {
            variant.last_finite = Some(name.clone());
        }
        variant.trainer = Some(name.clone());
        self.forget_outdated();
        name
    }

    /// Registers a new file for the best network of a variant so far, and returns its name. The caller writes that file before this
    /// state. The file of the best one before stays listed until then, because the state in the folder lists it.
    #[must_use]
    pub(crate) fn register_best(&mut self, at: usize, iteration: u64, bytes: &[u8]) -> String {
        let name = self.files.register(&format!("{STATE}/arm-{at}-best-{iteration}"), bytes);
        self.variants[at].best = Some(name.clone());
        name
    }

    /// Stores the figures of the `done` finished variants.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub(crate) fn keep_figures(&mut self, folder: &RunFolder, done: usize, figures: &Figures) -> Result<()> {
        let name = format!("{STATE}/figures-{done}.json");
        self.files.keep(folder, &name, serde_json::to_string_pretty(figures)?.as_bytes())?;
        self.figures = Some(name);
        Ok(())
    }

    /// Figures of the finished variants; none before the first one, or if they are in the run folder itself.
    ///
    /// # Errors
    /// If the file is missing or has another digest.
    pub(crate) fn figures(&self, folder: &RunFolder) -> Result<Option<Figures>> {
        let Some(name) = self.figures.as_deref().filter(|name| is_of_state(name)) else { return Ok(None) };
        let figures = serde_json::from_slice(&self.files.read(folder, name)?);
        figures.map(Some).with_context(|| format!("reading {}", folder.path(name).display()))
    }

    /// Records that the figures are in a file of the run folder itself from now on.
    pub(crate) fn move_figures(&mut self, name: &str) {
        self.figures = Some(name.to_owned());
    }

    /// Writes the state, and removes the files of the previous one.
    ///
    /// # Errors
    /// If the folder cannot be written to; the previous state then remains valid.
    pub(crate) fn write(&mut self, folder: &RunFolder) -> Result<()> {
        self.forget_outdated();
        folder.write(PathBuf::from(STATE).join(DOCUMENT), sealed::to_text(self)?)?;
        self.files.remove_others(folder);
        Ok(())
    }

    /// Drops the files in `state/` that nothing of the state refers to any more.
    fn forget_outdated(&mut self) {
        let variant_files =
            self.variants.iter().flat_map(|variant| [&variant.trainer, &variant.last_finite, &variant.best]);
        let used: Vec<&String> = variant_files.chain([&self.figures]).flatten().collect();
        self.files.retain(|name| !is_of_state(name) || used.contains(&name));
    }

    /// Removes the models of variants that are not done, which a run that is made longer has from its earlier end.
    ///
    /// # Errors
    /// If one of them cannot be removed.
    pub(crate) fn drop_models(&self, folder: &RunFolder) -> Result<()> {
        let of_variant =
            |variant: &VariantState| [MODEL, LAST_MODEL].map(|model| variant_file(model, &variant.name));
        let undone = self.variants.iter().filter(|variant| variant.result.is_none());
        let mut models: Vec<String> = undone.flat_map(of_variant).collect();
        // The plain names are the last variant's.
        if self.variants.last().is_some_and(|variant| variant.result.is_none()) {
            models.extend([MODEL, LAST_MODEL].map(str::to_owned));
        }
        models.retain(|name| !self.files.lists(name));
        folder.remove(&models.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// The absolute path of a path; the given one if JSON could not hold that.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).ok().filter(|whole| whole.to_str().is_some());
    whole.unwrap_or_else(|| path.to_owned())
}

/// True if a file is in `state/`.
fn is_of_state(name: &str) -> bool {
    Path::new(name).parent() == Some(Path::new(STATE))
}

fn document(folder: &RunFolder) -> PathBuf {
    folder.path(STATE).join(DOCUMENT)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::testing::with_iterations;
    use crate::run_folder::folder::entries;
    use crate::run_folder::record::devices_in_words;
    use crate::run_folder::testing::variant;

    fn begun() -> (tempfile::TempDir, RunFolder, RunState) {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let variants = ["a", "b"].map(|name| VariantState { name: name.into(), ..VariantState::default() });
        let state =
            RunState { version: VERSION, variants: variants.to_vec(), seconds: 0.1, ..RunState::default() };
        (place, folder, state)
    }

    fn checkpoints(folder: &RunFolder) -> Vec<String> {
        let mut names = entries(&folder.path(STATE));
        names.retain(|name| name.starts_with("arm-"));
        names.sort();
        names
    }

    #[test]
    fn the_folder_holds_one_state_at_a_time_and_the_one_to_go_back_to() {
        let (_place, folder, mut state) = begun();
        assert_eq!(RunState::read(&folder).unwrap(), None);
        state.write(&folder).unwrap();
        assert_eq!(RunState::read(&folder).unwrap(), Some(state.clone()));
        for (iteration, why) in
            [(3, CheckpointKind::ByCount), (4, CheckpointKind::ByTime), (5, CheckpointKind::ByTime)]
        {
            state.variants[0].iteration = iteration;
            let name = state.register_trainer(0, &[iteration as u8], why);
            folder.write(name, [iteration as u8]).unwrap();
            state.write(&folder).unwrap();
            assert_eq!(RunState::read(&folder).unwrap(), Some(state.clone()));
        }
        assert_eq!(checkpoints(&folder), ["arm-0-iteration-3.safetensors", "arm-0-iteration-5.safetensors"]);
        let variant = &state.variants[0];
        assert_eq!(state.files.read(&folder, variant.trainer.as_ref().unwrap()).unwrap(), [5]);
        assert_eq!(state.files.read(&folder, variant.last_finite.as_ref().unwrap()).unwrap(), [3]);
        for best in [2, 4] {
            let name = state.register_best(0, best, &[best as u8]);
            folder.write(name, [best as u8]).unwrap();
        }
        state.write(&folder).unwrap();
        state.files.verify(&folder).unwrap();
        assert_eq!(checkpoints(&folder)[0], "arm-0-best-4.safetensors");
        assert_eq!(checkpoints(&folder).len(), 3, "the best network before is not needed");
        // A file of a process that was killed between two states.
        folder.write("state/arm-0-iteration-6.safetensors", [6]).unwrap();
        state.files.remove_others(&folder);
        assert_eq!(checkpoints(&folder).len(), 3);
    }

    /// Earlier builds wrote the name of the variant in training.
    #[test]
    fn a_state_with_a_key_of_an_earlier_build_is_read() {
        let (_place, folder, state) = begun();
        let mut document = serde_json::to_value(&state).unwrap();
        document["arm"] = "a".into();
        folder.write(PathBuf::from(STATE).join(DOCUMENT), sealed::to_text(&document).unwrap()).unwrap();
        assert_eq!(RunState::read(&folder).unwrap(), Some(state));
    }

    #[test]
    fn a_file_that_the_folder_s_state_lists_is_not_replaced() {
        let (_place, folder, mut state) = begun();
        state.variants[0].iteration = 4;
        let mut keep = |bytes: &[u8]| {
            let name = state.register_trainer(0, bytes, CheckpointKind::ByCount);
            folder.write(&name, bytes).unwrap();
            // Killed here, the run goes on from the state before.
            if let Some(listed) = RunState::read(&folder).unwrap() {
                let before = listed.variants[0].trainer.clone().unwrap();
                assert!(listed.files.read(&folder, &before).is_ok(), "{before}");
            }
            state.write(&folder).unwrap();
            checkpoints(&folder)
        };
        assert_eq!(keep(&[1]), ["arm-0-iteration-4.safetensors"]);
        assert_eq!(keep(&[1]), ["arm-0-iteration-4.safetensors"]);
        assert_eq!(keep(&[2]), ["arm-0-iteration-4-2.safetensors"]);
        assert_eq!(keep(&[3]), ["arm-0-iteration-4.safetensors"]);

        // On another device an evaluation that is made again finds another best network, also after a better one in between.
        let best = state.register_best(0, 6, &[6]);
        folder.write(best, [6]).unwrap();
        state.write(&folder).unwrap();
        let between = state.register_best(0, 5, &[5]);
        let again = state.register_best(0, 6, &[7]);
        for (name, bytes) in [(between, [5_u8]), (again, [7])] {
            folder.write(name, bytes).unwrap();
        }
        RunState::read(&folder).unwrap().unwrap().files.verify(&folder).unwrap();
    }

    #[test]
    fn a_variant_that_is_not_done_has_no_model() {
        let (_place, folder, mut state) = begun();
        let of_a = ["model-a.safetensors", "model-a-last.safetensors"];
        let of_b = ["model-b.safetensors", MODEL, LAST_MODEL];
        let mine = ["model-mine.safetensors"];
        for is_done in [true, false] {
            state.variants[0].result = is_done.then(|| variant("a", 0.5));
            for name in of_a.iter().chain(&of_b).chain(&mine) {
                folder.write(name, b"model").unwrap();
            }
            state.drop_models(&folder).unwrap();
            assert_eq!(of_a.map(|name| folder.path(name).exists()), [is_done; 2]);
            assert_eq!(of_b.map(|name| folder.path(name).exists()), [false; 3]);
            assert!(folder.path(mine[0]).exists(), "the user's file stays");
        }
    }

    #[test]
    fn a_run_that_is_made_longer_keeps_the_lengths_before() {
        let (_place, folder, _) = begun();
        let mut state = RunState::at_start(&with_iterations(20), "cpu".into(), None).unwrap();
        state.extend(&folder, &with_iterations(30)).unwrap();
        state.extend(&folder, &with_iterations(40)).unwrap();
        state.write(&folder).unwrap();
        assert_eq!(RunState::read(&folder).unwrap().unwrap().extended_at, [20, 30]);
    }

    #[test]
    fn the_devices_on_which_a_run_did_something_are_kept() {
        let (_place, folder, mut state) = begun();
        state.device = "a".into();
        let mut moved = |at: usize, iteration: u64, device: &str| {
            (0..at).for_each(|before| state.variants[before].result = Some(variant("a", 0.5)));
            state.variants[at].iteration = iteration;
            state.change_device(device.into());
            state.write(&folder).unwrap();
            assert_eq!(RunState::read(&folder).unwrap().unwrap(), state);
            devices_in_words(&state.earlier_devices, &state.device)
        };
        assert_eq!(moved(0, 0, "b"), "b", "nothing was done");
        assert_eq!(moved(0, 3, "b"), "b");
        assert_eq!(moved(0, 3, "c"), "b until iteration 3 of a, then c");
        assert_eq!(moved(0, 3, "d"), "b until iteration 3 of a, then d");
        assert_eq!(moved(0, 3, "b"), "b");
        assert_eq!(moved(0, 4, "c"), "b until iteration 4 of a, then c");
        assert_eq!(moved(1, 0, "b"), "b until iteration 4 of a, then c until iteration 0 of b, then b");
    }

    /// The later variants seemed to have begun on the second device.
    #[test]
    fn the_device_before_a_run_is_made_longer_is_that_of_all_variants() {
        let (_place, folder, RunState { variants, .. }) = begun();
        let at_start = || {
            let state = RunState::at_start(&with_iterations(20), "one".into(), None).unwrap();
            RunState { variants: variants.clone(), ..state }
        };
        let make_longer = |state: &mut RunState| {
            for state in &mut state.variants {
                (state.iteration, state.result) = (20, Some(variant(&state.name, 0.5)));
            }
            state.extend(&folder, &with_iterations(30)).unwrap();
        };
        let mut state = at_start();
        make_longer(&mut state);
        state.change_device("two".into());
        let all = "one until iteration 20 of a and 20 of b, then two";
        assert_eq!(devices_in_words(&state.earlier_devices, &state.device), all);
        state.write(&folder).unwrap();
        assert_eq!(RunState::read(&folder).unwrap().unwrap(), state);
        state.variants[0].result = Some(variant("a", 0.5));
        state.change_device("three".into());
        let last = format!("{all} until iteration 20 of b, then three");
        assert_eq!(devices_in_words(&state.earlier_devices, &state.device), last);

        // Moved before the result of the first variant, and back when the run was made longer: the second one was on `two` alone.
        let mut state = at_start();
        state.variants[0].iteration = 20;
        state.change_device("two".into());
        make_longer(&mut state);
        state.change_device("one".into());
        let back = "one until iteration 20 of a, then two until iteration 20 of a and 20 of b, then one";
        assert_eq!(devices_in_words(&state.earlier_devices, &state.device), back);
    }

    #[test]
    fn a_state_that_is_not_the_one_written_is_refused() {
        let (_place, folder, mut state) = begun();
        let name = state.register_trainer(0, b"trainer", CheckpointKind::ByCount);
        folder.write(name, b"trainer").unwrap();
        state.files.keep(&folder, "model-a.safetensors", b"model").unwrap();
        state.write(&folder).unwrap();
        state.files.verify(&folder).unwrap();
        let path = document(&folder);
        let text = fs::read(&path).unwrap();
        for at in 0..text.len() {
            let mut flipped = text.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).unwrap();
            assert!(RunState::read(&folder).is_err(), "bit of byte {at}");
        }
        fs::write(&path, &text).unwrap();
        assert_eq!(RunState::read(&folder).unwrap(), Some(state.clone()));
        for name in ["state/arm-0-iteration-0.safetensors", "model-a.safetensors"] {
            let whole = folder.read(name).unwrap();
            folder.write(name, b"another").unwrap();
            assert!(state.files.verify(&folder).is_err_and(|error| error.to_string().contains(name)));
            fs::remove_file(folder.path(name)).unwrap();
            assert!(state.files.verify(&folder).is_err_and(|error| error.to_string().contains("missing")));
            folder.write(name, whole).unwrap();
        }
    }
}
