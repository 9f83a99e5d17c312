//! A process that shares the steps of a run with the leader. It reads its own images and computes its own chunks; it
//! has no folder, evaluates nothing and prints only its own failure.
//!
//! The leader announces the recipe first, with a digest of its images. Each process reads the same images, and all agree to begin.
//! Then the leader announces each variant, with the state of its trainer: the process opens a trainer with this state and takes the
//! steps of the variant, before each of which all agree, as `train::agreement` describes. The last announcement is the end of the run.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use simile_core::train::Trainer;

use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::console::{line_even_if_muted, mute};
use crate::devices::{DeviceChoice, DeviceSet};
use crate::exit::{self, Reported, message_with_causes};
use crate::experiment::prepare::splits::Splits;
use crate::experiment::run::read_images;
use crate::experiment::train::loader::{DataLoader, StepBatch};
use crate::experiment::train::trainer::{TrainerInputs, is_divergence, is_of_another};
use crate::interrupt;
use crate::peers::{Decision, Message, ProcessGroup, Status};
use crate::run_folder::digest::Digest;

/// Shares the steps of the leader until the leader ends the run.
///
/// # Errors
/// [`Reported`] if this process fails, after it has printed the error, or if the leader has ended with an error.
pub(crate) fn follow(
    processes: &ProcessGroup,
    devices: &[DeviceChoice],
    data: Option<PathBuf>,
) -> Result<()> {
    mute();
    let outcome = follow_leader(processes, devices, data);
    outcome.map_err(|error| match error.is::<Reported>() {
        true => error,
        false => {
            line_even_if_muted(format_args!("process {}: {}", processes.rank(), message_with_causes(&error)));
            anyhow!(Reported(exit::code_of(&error)))
        }
    })
}

/// Does what the leader announces, from the recipe to the end of the run.
fn follow_leader(processes: &ProcessGroup, devices: &[DeviceChoice], data: Option<PathBuf>) -> Result<()> {
    let (recipe, leader_data, leader_images) = match processes.receive()?.0 {
        Message::Begin { recipe, data, images } => (recipe, data, images),
        Message::End { code } => return outcome_of(code),
        message => return Err(unexpected(&message)),
    };
    let follower = Follower::open(processes, &recipe, devices, data.or(leader_data));
    let follower = follower.and_then(|follower| follower.with_same_images(leader_images));
    let status = if follower.is_ok() { Status::Ready } else { Status::Failed };
    let decision = processes.agree(status)?;
    let follower = follower?;
    if let Decision::Fail(_) = decision {
        // The process that failed prints the error.
        return Err(Reported(1).into());
    }
    if !processes.all_have(follower.devices.helpers().len())? {
        // The leader reports this and ends.
        return receive_end(processes);
    }
    // The leader names the processes that have others.
    processes.gather(follower.devices.gpus())?;
    loop {
        match processes.receive()? {
            (Message::Variant { at }, state) => follower.train_variant(at, &state)?,
            (Message::End { code }, _) => return outcome_of(code),
            (message, _) => return Err(unexpected(&message)),
        }
    }
}

/// Receives the end of the run, where no other message may come.
fn receive_end(processes: &ProcessGroup) -> Result<()> {
    match processes.receive()?.0 {
        Message::End { code } => outcome_of(code),
        message => Err(unexpected(&message)),
    }
}

/// The error of a message that no leader of the same version sends now.
fn unexpected(message: &Message) -> anyhow::Error {
    let kind = match message {
        Message::Begin { .. } => "begin",
        Message::Variant { .. } => "variant",
        Message::End { .. } => "end",
    };
    anyhow!("unexpected message of rank 0 ({kind}); start all processes with the same version of simile")
}

/// The outcome of this process when the leader ends the run with an exit code.
fn outcome_of(code: u8) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Reported(code).into()) }
}

/// The inputs of the run.
struct Follower {
    recipe: Recipe,
    devices: DeviceSet,
    splits: Splits,
}

impl Follower {
    fn open(
        processes: &ProcessGroup,
        recipe: &str,
        devices: &[DeviceChoice],
        data: Option<PathBuf>,
    ) -> Result<Self> {
        let recipe = Recipe::resolved(recipe, Path::new("recipe.toml")).context("the recipe of rank 0")?;
        let devices = DeviceSet::open_in(processes, devices)?;
        let splits = read_images(&recipe, data.as_deref(), &devices)?;
        interrupt::listen()?;
        Ok(Self { recipe, devices, splits })
    }

    /// Checks that its images are those of the leader: a batch names them by their numbers.
    fn with_same_images(self, leader_images: Option<Digest>) -> Result<Self> {
        if self.splits.data_digests(&self.recipe.data).whole() != leader_images {
            bail!(
                "the images of this process have other file names, file sizes, classes or attributes than those of rank 0; give \
                 every process a copy of the same folder"
            );
        }
        Ok(self)
    }

    /// Takes the steps of the variant at a place in the recipe, from the given state of its trainer on.
    fn train_variant(&self, at: usize, state: &[u8]) -> Result<()> {
        let variants = self.recipe.variants();
        let variant = variants.get(at).context("the recipe has no such variant");
        match variant.and_then(|variant| Ok((variant, self.open_variant(variant, state)?))) {
            Ok((variant, (loader, trainer))) => self.share_steps(variant, loader, trainer),
            Err(error) => {
                // The others wait for the status of this process before their first step.
                self.devices.processes.agree(Status::Failed)?;
                Err(error)
            }
        }
    }

    /// The batches of this process for a variant, and the trainer with the given state.
    fn open_variant(&self, variant: &RecipeVariant, state: &[u8]) -> Result<(DataLoader, Trainer)> {
        let device = &self.devices.first.device;
        let mut loader = DataLoader::new(variant, &self.recipe, &self.splits.train, device)?;
        let trainer = self.trainer(variant, &loader, state)?;
        loader.set_shard(trainer.shard());
        Ok((loader, trainer))
    }

    /// Takes one step after another, as long as all processes agree to.
    fn share_steps(
        &self,
        variant: &RecipeVariant,
        mut loader: DataLoader,
        mut trainer: Trainer,
    ) -> Result<()> {
        let processes = &self.devices.processes;
        let mut last_step = Ok(0);
        loop {
            // The failure of a step is reported before the next one.
            let batch = last_step.and_then(|_| next_batch(&mut loader, &trainer));
            match processes.agree(status_before_step(&batch))? {
                Decision::Step => {}
                Decision::ShareState => {
                    // A run that resumes from the leader's checkpoint begins with its state in every process. This process goes on with
                    // it too, so that both runs give the same numbers.
                    let state = processes.broadcast_state(Vec::new())?;
                    trainer = self.trainer(variant, &loader, &state)?;
                }
                Decision::End => return Ok(()),
                Decision::Interrupt(signal) => {
                    interrupt::adopt(signal);
                    return Err(Reported(interrupt::code()).into());
                }
                Decision::Fail(rank) => {
                    // Each process prints its own failure; if the leader failed, it alone prints.
                    let own = batch.err().filter(|error| rank != 0 && !is_of_another(error));
                    return Err(own.unwrap_or_else(|| Reported(1).into()));
                }
            }
            let batch = batch?.context("the process of rank 0 takes more steps than this one")?;
            last_step = batch.step(&mut trainer);
        }
    }

    /// The trainer of a variant with the given state, which shares its steps with all processes.
    fn trainer(&self, variant: &RecipeVariant, loader: &DataLoader, state: &[u8]) -> Result<Trainer> {
        let Self { recipe, devices, splits } = self;
        let inputs = TrainerInputs { variant, recipe, train: &splits.train, devices, weights: None };
        inputs.trainer(loader.context(), loader.batches_per_epoch(), Some(state))
    }
}

/// The status of this process, given the batch of the next step or the error of the last one.
fn status_before_step(batch: &Result<Option<StepBatch>>) -> Status {
    match (batch, interrupt::signal()) {
        // A divergence appears in the leader too, which decides. A failure of another process is reported by that process.
        (Err(error), _) if is_divergence(error) || is_of_another(error) => Status::Ready,
        (Err(_), _) => Status::Failed,
        (Ok(_), Some(signal)) => Status::Interrupted(signal),
        (Ok(_), None) => Status::Ready,
    }
}

/// The batch of the next step; `None` after the last one.
fn next_batch(loader: &mut DataLoader, trainer: &Trainer) -> Result<Option<StepBatch>> {
    if trainer.is_finished() { Ok(None) } else { loader.next(trainer).map(Some) }
}
