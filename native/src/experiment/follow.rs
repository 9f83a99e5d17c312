//! A process that shares the steps of a run with the leader. It reads its own images and computes its own chunks; it
//! has no folder, evaluates nothing and prints only its own failure.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use simile_core::train::Trainer;

use crate::config::Recipe;
use crate::config::sections::RecipeVariant;
use crate::console::{aloud, hush};
use crate::devices::{DeviceChoice, DeviceSet};
use crate::exit::{self, Reported, message_with_causes};
use crate::experiment::prepare::splits::Splits;
use crate::experiment::run::read_images;
use crate::experiment::train::loader::{DataLoader, StepBatch};
use crate::experiment::train::trainer::{is_divergence, is_of_another, share, trainer_config};
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
    hush();
    let outcome = share_steps(processes, devices, data);
    outcome.map_err(|error| match error.is::<Reported>() {
        true => error,
        false => {
            aloud(format_args!("process {}: {}", processes.rank(), message_with_causes(&error)));
            anyhow!(Reported(exit::code_of(&error)))
        }
    })
}

fn share_steps(processes: &ProcessGroup, devices: &[DeviceChoice], data: Option<PathBuf>) -> Result<()> {
    let (recipe, leaders, images) = match processes.receive()?.0 {
        Message::Begin { recipe, data, images } => (recipe, data, images),
        Message::End { code } => return ended(code),
        Message::Variant { .. } => bail!("the process of rank 0 began with a variant"),
    };
    let follower = Follower::open(processes, &recipe, devices, data.or(leaders));
    let follower = follower.and_then(|follower| follower.with_same_images(images));
    let status = if follower.is_ok() { Status::Ready } else { Status::Failed };
    let decision = processes.agree(status)?;
    let follower = follower?;
    if let Decision::Fail(_) = decision {
        return Err(Reported(1).into());
    }
    if !processes.all_have(follower.devices.helpers().len())? {
        // The leader reports this and ends.
        return ended_by(processes);
    }
    loop {
        match processes.receive()? {
            (Message::Variant { at }, state) => follower.variant(at, &state)?,
            (Message::End { code }, _) => return ended(code),
            (Message::Begin { .. }, _) => bail!("the process of rank 0 began twice"),
        }
    }
}

fn ended_by(processes: &ProcessGroup) -> Result<()> {
    match processes.receive()?.0 {
        Message::End { code } => ended(code),
        _ => bail!("the process of rank 0 went on"),
    }
}

fn ended(code: u8) -> Result<()> {
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
    fn with_same_images(self, leaders: Digest) -> Result<Self> {
        if self.splits.digest_of_all(&self.recipe.data) != leaders {
            bail!(
                "the images of this process have other file names, classes or attributes than those of rank 0; give all \
                 processes equal folders"
            );
        }
        Ok(self)
    }

    /// Takes the steps of a variant, from the given state of its trainer on.
    fn variant(&self, at: usize, state: &[u8]) -> Result<()> {
        let variants = self.recipe.variants();
        let opened = variants.get(at).context("the recipe has no such variant").and_then(|variant| {
            let mut loader =
                DataLoader::new(variant, &self.recipe, &self.splits.train, &self.devices.first.device)?;
            let trainer = self.trainer(variant, &loader, state)?;
            loader.set_shard(trainer.shard());
            Ok((variant, loader, trainer))
        });
        let processes = &self.devices.processes;
        let (variant, mut loader, mut trainer) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                processes.agree(Status::Failed)?;
                return Err(error);
            }
        };
        let mut taken = Ok(0);
        loop {
            let batch = taken.and_then(|_| next(&mut loader, &trainer));
            let status = match (&batch, interrupt::signal()) {
                // A divergence appears in the leader too, which decides. A failure of another process is reported by that process.
                (Err(error), _) if is_divergence(error) || is_of_another(error) => Status::Ready,
                (Err(_), _) => Status::Failed,
                (Ok(_), Some(signal)) => Status::Interrupted(signal),
                (Ok(_), None) => Status::Ready,
            };
            match processes.agree(status)? {
                Decision::End => return Ok(()),
                Decision::Interrupt(signal) => {
                    interrupt::adopt(signal);
                    return Err(Reported(interrupt::code()).into());
                }
                Decision::Fail(rank) => {
                    return Err(batch
                        .err()
                        .filter(|error| rank != 0 && !is_of_another(error))
                        .unwrap_or_else(|| Reported(1).into()));
                }
                Decision::ShareState => {
                    trainer = self.trainer(variant, &loader, &processes.broadcast_state(Vec::new())?)?
                }
                Decision::Step => {}
            }
            let batch = batch?.context("the process of rank 0 takes more steps than this one")?;
            taken = batch.step(&mut trainer);
        }
    }

    fn trainer(&self, variant: &RecipeVariant, loader: &DataLoader, state: &[u8]) -> Result<Trainer> {
        let context = loader.context();
        let epoch = (&self.splits.train, loader.batches_per_epoch());
        let config = trainer_config(variant, &self.recipe, context, epoch, None)?;
        let device = &self.devices.first.device;
        let mut trainer = Trainer::resume(config, &context.training_set(), device, state)?;
        share(&mut trainer, self.recipe.train.batch, &self.devices)?;
        Ok(trainer)
    }
}

/// The batch of the next step; `None` after the last one.
fn next(loader: &mut DataLoader, trainer: &Trainer) -> Result<Option<StepBatch>> {
    if trainer.is_finished() { Ok(None) } else { loader.next(trainer).map(Some) }
}
