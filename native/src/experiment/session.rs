//! A run in progress: its inputs, and the folder that it writes.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use simile_core::augment::Normalisation;
use simile_core::data::Dataset;
use simile_core::error::Error;
use simile_core::nn::checkpoint::{Metadata, Weights};

use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::devices::DeviceSet;
use crate::exit::{Interrupted, usage};
use crate::experiment::prepare::images::{ImageForm, PreparedImages};
use crate::experiment::prepare::splits::Splits;
use crate::interrupt;
use crate::peers::{Decision, Message, Status};
use crate::run_folder::folder::RunFolder;
use crate::run_folder::state::{RunState, VariantState};
use crate::run_folder::store::RunStore;
use crate::shell::resume_command;

/// A variant of a recipe, with its place among all of them.
#[derive(Clone, Copy)]
pub(crate) struct VariantAt<'a> {
    pub(crate) at: usize,
    pub(crate) variant: &'a RecipeVariant,
}

/// A run in progress.
pub(crate) struct Session {
    pub(super) recipe: Recipe,
    pub(super) devices: DeviceSet,
    /// The devices of all processes, as the end of a sentence.
    pub(super) devices_text: String,
    pub(super) splits: Splits,
    /// The initial weights of encoders; random if absent.
    pub(super) weights: Option<Arc<Weights>>,
    /// Its folder, with its state and its log.
    pub(super) store: RunStore,
}

impl Session {
    /// A run that resumes from `state`.
    ///
    /// # Errors
    /// If the folder cannot be written to, its metrics differ from those that the run wrote, or another process of the run cannot
    /// take part.
    pub(super) fn new(
        folder: RunFolder,
        recipe: Recipe,
        devices: DeviceSet,
        splits: Splits,
        weights: Option<Arc<Weights>>,
        state: RunState,
    ) -> Result<Self> {
        let devices_text = begin_together(&devices, &recipe, state.data.as_deref(), &splits)?;
        let mut store = RunStore::open(folder, state)?;
        store.state.change_device(devices.to_string());
        Ok(Self { recipe, devices, devices_text, splits, weights, store })
    }

    /// The form in which the encoder takes images.
    ///
    /// # Errors
    /// A usage error if the recipe names no constants of a normalisation.
    pub(super) fn image_form(&self) -> Result<ImageForm<'_>> {
        let normalisation = self.recipe.normalisation().map_err(usage)?;
        Ok(ImageForm {
            encoder: &self.recipe.encoder.config,
            resize: self.recipe.data.resize(),
            normalisation,
        })
    }

    /// The images of a data set in a form, on the first device.
    pub(super) fn prepared<'f>(&self, dataset: &Dataset, form: &'f ImageForm<'f>) -> PreparedImages<'f> {
        PreparedImages::new(&dataset.images, form, &self.devices.first.device)
    }

    /// The state of the variant at `at`.
    pub(super) fn variant_state(&self, at: usize) -> &VariantState {
        &self.store.state.variants[at]
    }

    /// The state of the variant at `at`.
    pub(super) fn variant_state_mut(&mut self, at: usize) -> &mut VariantState {
        &mut self.store.state.variants[at]
    }

    /// The metadata of a model file of the variant at `at`.
    ///
    /// # Errors
    /// If the state's recipe is damaged.
    pub(super) fn metadata(&self, at: usize) -> Result<Metadata> {
        let ImageForm { encoder, resize, normalisation: Normalisation { mean, std } } = self.image_form()?;
        let mut metadata = Metadata::new(encoder.clone(), mean, std);
        metadata.resize = resize;
        // The original recipe: the interval of checkpoints may have changed since.
        metadata.recipe = serde_json::to_value(self.store.state.recipe(&self.store.folder)?)?;
        metadata.variant = self.store.state.variants.get(at).map(|variant| variant.name.clone());
        Ok(metadata)
    }

    /// The interruption that the user requested, with the command that resumes.
    pub(super) fn interrupted(&self) -> anyhow::Error {
        Interrupted(format!("continue with `{}`", self.resume_command())).into()
    }

    /// Fails once a stop is requested.
    ///
    /// # Errors
    /// The interruption, with the command that resumes.
    pub(super) fn check_interrupted(&self) -> Result<()> {
        if interrupt::is_requested() { Err(self.interrupted()) } else { Ok(()) }
    }

    /// The error of a computation of core; that of one which stopped on request as the interruption.
    pub(super) fn error_of(&self, error: anyhow::Error) -> anyhow::Error {
        if matches!(error.downcast_ref(), Some(Error::Stopped)) { self.interrupted() } else { error }
    }

    /// The command that resumes the run.
    pub(super) fn resume_command(&self) -> String {
        resume_command(self.store.folder.root()) + &self.devices.to_resume()
    }
}

/// Begins a run with the other processes of its group, once the images are read: they may lie in a cache by then. Returns the
/// devices of all in words.
///
/// # Errors
/// If one of them cannot take part.
fn begin_together(
    devices: &DeviceSet,
    recipe: &Recipe,
    data: Option<&Path>,
    splits: &Splits,
) -> Result<String> {
    let processes = &devices.processes;
    if processes.is_alone() {
        return Ok(format!("on {devices}"));
    }
    let images = splits.data_digests(&recipe.data).whole();
    let message = Message::Begin { recipe: recipe.to_toml()?, data: data.map(Path::to_owned), images };
    processes.broadcast(&message, &[])?;
    match processes.agree(Status::Ready)? {
        Decision::Fail(rank) => bail!("process {rank} cannot take part in the run"),
        _ if processes.all_have(devices.helpers().len())? => devices_of_all_processes(devices),
        _ => Err(usage("the processes have different numbers of devices; give each of them as many")),
    }
}

/// The devices of several processes in words: those of this one, and the processes that have another number of GPUs.
fn devices_of_all_processes(devices: &DeviceSet) -> Result<String> {
    let (own, all) = (devices.gpus(), devices.processes.gather(devices.gpus())?);
    let others = all.iter().enumerate().filter(|(_, gpus)| **gpus != own);
    let in_words = |(rank, gpus): (usize, &usize)| match gpus {
        0 => format!("process {rank} without a GPU"),
        1 => format!("process {rank} with a GPU"),
        gpus => format!("process {rank} with {gpus} GPUs"),
    };
    let others: Vec<String> = others.map(in_words).collect();
    let count = all.len();
    Ok(match others.is_empty() {
        true => format!("in {count} processes, each on {devices}"),
        false => format!("in {count} processes, on {devices}, but {}", others.join(", ")),
    })
}

#[cfg(all(test, feature = "flex"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::devices::{DeviceChoice, DeviceName};
    use crate::peers::{ProcessGroup, testing::Others};

    #[test]
    fn a_process_with_other_devices_is_named() {
        // The numbers of these statuses stand for numbers of GPUs: 0, 1 and 2.
        let text = |others: &[Status]| {
            let processes = ProcessGroup::of(Arc::new(Others(others.to_vec())), 0);
            devices_of_all_processes(
                &DeviceSet::open_in(&processes, &[DeviceChoice::from(DeviceName::Cpu)]).unwrap(),
            )
            .unwrap()
        };
        assert_eq!(text(&[Status::Ready]), "in 2 processes, each on cpu (CPU)");
        let mixed = text(&[Status::Ready, Status::HasCheckpoint, Status::Ended]);
        let words = "on cpu (CPU), but process 2 with a GPU, process 3 with 2 GPUs";
        assert_eq!(mixed, format!("in 4 processes, {words}"));
    }
}
