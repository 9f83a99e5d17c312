//! Arguments of `train`.

use std::path::PathBuf;

use clap::Args;

use super::data::DataFolder;
use super::device::Devices;
use super::own_pictures::OwnPictures;

/// Most steps of `--profile`.
const MOST_PROFILED: usize = 100_000;

/// Train the encoders of a recipe, probe each, and write a run folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile train fair-digits
  simile train scans --hide hospital           a folder of your own pictures; `simile init` writes its recipe
  simile train fair-digits --seeds 5           five runs, compared
  simile train colour-mnist --data ./mnist --seed 1 --out runs/seed-1
  simile train scans.toml --data scans --variant 'hide hospital' --set train.iterations=300
  simile train my-recipe.toml --smoke          two short steps through everything
  simile train fair-digits --profile           the time of each stage of a step, instead of training
  simile train cifar-10 --data ./cifar --set 'method={ name = \"cached\", chunk = 128 }' --device cuda:0,cuda:1
  simile train --resume runs/fair-digits       after Ctrl-C, a signal or a crash
  simile train --resume runs/fair-digits --set train.iterations=2000      longer than planned

The run folder holds recipe.toml (resolved), metrics.jsonl, model.safetensors, result.json,
report.html, tensorboard/, and state/ to resume from, also when it has finished. `simile recipes`
lists the recipes that ship.")]
pub(crate) struct Train {
    /// A TOML file, the name of a recipe that ships (`simile recipes`), or a folder of your own pictures
    #[arg(value_name = "RECIPE|DIR", required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) recipe: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    #[command(flatten)]
    pub(crate) own: OwnPictures,
    #[command(flatten)]
    pub(crate) devices: Devices,
    /// The run folder; must be new or empty [default: runs/NAME, or runs/NAME-2, ... if that is taken]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of initial weights, order, augmentation and generated data
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub(crate) seed: Option<u64>,
    /// Train with N seeds, this one and the next, into a folder each, and judge all of them together; the same command
    /// resumes after an interruption [default folder: runs/NAME-seeds]
    #[arg(long, value_name = "N", conflicts_with_all = ["resume", "profile"],
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) seeds: Option<u64>,
    /// Change a key of the recipe, such as `optimizer.learning_rate=0.01` (repeatable); with --resume, more
    /// `train.iterations` or the new place of a prior, `data.prior.model`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Train this variant of the recipe alone; a name with a space needs quotes: 'hide hospital' (repeatable)
    #[arg(long = "variant", alias = "arm", value_name = "NAME", conflicts_with = "resume")]
    pub(crate) variants: Vec<String>,
    /// Run a few short steps of everything, to see that it works
    #[arg(long, conflicts_with = "resume")]
    pub(crate) smoke: bool,
    /// Measure where the time of STEPS training steps of every variant goes, instead of training; with 0, print what a
    /// step computes, moves and uploads by formula, without data
    #[arg(long, value_name = "STEPS", num_args = 0..=1, default_missing_value = "20", conflicts_with = "resume",
        value_parser = profiled_steps)]
    pub(crate) profile: Option<usize>,
    /// Continue the run in this folder from its last checkpoint
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<PathBuf>,
}

/// Parses the number of steps of `--profile`; a recipe after it would be taken for one.
fn profiled_steps(text: &str) -> Result<usize, String> {
    text.parse::<usize>().ok().filter(|steps| *steps <= MOST_PROFILED).ok_or_else(|| {
        format!(
            "expected a number of steps, at most {MOST_PROFILED}; the recipe stands before `--profile`, as in `simile train RECIPE \
             --profile`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_after_profile_is_told_its_place() {
        assert_eq!(profiled_steps("0"), Ok(0));
        for wrong in ["fair-digits", "100001", "-1"] {
            assert!(
                profiled_steps(wrong)
                    .is_err_and(|reason| reason.contains("the recipe stands before `--profile`")),
                "{wrong}"
            );
        }
    }
}
