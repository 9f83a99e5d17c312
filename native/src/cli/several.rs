//! Commands of several runs.

use std::path::PathBuf;

use clap::Args;

use super::data::DataFolder;
use crate::devices::{ChoiceParser, DeviceChoice};
use crate::metrics::names::TOP1;
use crate::reproduce::table::Scale;

/// The choice of runs, and their devices.
#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// List the runs instead, one per line with tabs between index, folder, row, seed, the index of the run that must
    /// finish first or `-`, and `done` or `missing`. An index depends on the command alone
    #[arg(long, conflicts_with_all = ["task", "jobs"])]
    pub(crate) list: bool,
    /// Run only the run with this index; several may run at once, on any machine that sees the folder. The command
    /// without --task then collects the results, names the missing runs, and starts none
    #[arg(long, value_name = "INDEX", conflicts_with = "jobs")]
    pub(crate) task: Option<usize>,
    /// Runs at a time [default: one per device]. One run can use all CPU cores; more at a time help only where it leaves
    /// some idle
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Where to compute; `vulkan:1` is the second of its kind (`simile devices` lists what is there), and several, as
    /// in `cuda:0,cuda:1`, are shared by the runs, each of which has one
    #[arg(
        long,
        value_parser = ChoiceParser,
        value_name = "NAME[:N]",
        value_delimiter = ',',
        default_values_t = [DeviceChoice::AUTO]
    )]
    pub(crate) device: Vec<DeviceChoice>,
}

/// Run the rows of a published table or figure and print our numbers beside the paper's
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile reproduce cclk-table3 --data ./mnist --seeds 3
  simile reproduce cclk-table3 --data ./mnist --scale full --row InfoNCE
  simile reproduce contex-table2 --data ./mnist --row \"ρ = 0.999\"
  simile reproduce contex-table8 --data ./data --scale smoke
  simile reproduce cclk-figure2 --data ./mnist
  simile reproduce cclk-table3 --data ./mnist --seeds 3 --jobs 4 --device cuda:0,cuda:1,cuda:2,cuda:3
  simile reproduce cclk-table3 --data ./mnist --seeds 3 --list          the runs, for a cluster
  simile reproduce cclk-table3 --data ./mnist --seeds 3 --task 7        one of them
  simile reproduce cclk-table3 --data ./mnist --seeds 3                 collects them then

Each run has a folder of its own; a finished run is not repeated, and an interrupted one
resumes. A run that another process works on is left to it. After --task the command without it
starts no run: it collects those that have finished, names the missing ones, and fails if there
are any (--jobs N runs them here). The comparison is written as table.md, table.csv, table.json
and table.html, a figure under its name. `simile recipes` lists the tables.")]
pub(crate) struct Reproduce {
    /// Name of the table or figure (`simile recipes`)
    pub(crate) table: String,
    /// How much of the published budget to spend
    #[arg(long, value_enum, default_value_t = Scale::Cpu)]
    pub(crate) scale: Scale,
    /// Runs of each row, with seeds 0, 1, ...
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) seeds: u64,
    /// Run this row alone, or the rows of this line or column (repeatable)
    #[arg(long = "row", value_name = "ROW")]
    pub(crate) rows: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    #[command(flatten)]
    pub(crate) runs: Runs,
    /// Folder of the runs and the table [default: runs/TABLE-SCALE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Try combinations of settings and name the best by validation
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile sweep fair-digits --variant Fair-CCLK --set data.validation=1000 \\
    --grid variant.Fair-CCLK.objective.lambda=0.001,0.01,0.1 --grid variant.Fair-CCLK.objective.kernel.sigma=10,20,40
  simile sweep cifar-10 --data ./cifar --set data.validation=5000 --seeds 3 \\
    --grid optimizer.learning_rate=0.03,0.1,0.3,1 --grid train.batch=128,256,512 --random 6
  simile sweep ... --jobs 4 --device cuda:0,cuda:1,cuda:2,cuda:3
  simile sweep ... --list                      the runs, for a cluster
  simile sweep ... --task 7                    one of them; the command without --task collects them

Each run has a folder of its own; a finished run is not repeated, and an interrupted one
resumes. A run that another process works on is left to it. After --task the command without it
starts no run: it collects those that have finished, names the missing ones, and fails if there
are any (--jobs N runs them here). Points are compared on images held out of training, or on the
data set's validation split, never on test images. Those on the Pareto front of accuracy and leak
are marked, and so are those that differ from one of them by no more than chance. The answer is
written as sweep.md, sweep.csv, sweep.json and sweep.html, which plots a line over one key and heat
maps over pairs of several.")]
pub(crate) struct Sweep {
    /// A TOML file, or the name of a recipe that ships (`simile recipes`)
    pub(crate) recipe: String,
    /// A key of the recipe and the values to try, with commas between them (repeatable)
    #[arg(long, value_name = "KEY=A,B,...", required = true)]
    pub(crate) grid: Vec<String>,
    /// Try only so many points of the grid, drawn at random
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) random: Option<u32>,
    /// The metric to choose by, as result.json names it
    #[arg(long, value_name = "METRIC", default_value = TOP1)]
    pub(crate) by: String,
    /// Take the lowest value of that metric, as for a leak
    #[arg(long)]
    pub(crate) lowest: bool,
    /// Choose among the points whose leak is at most this: the accuracy of the attribute's linear probe, 0 to 1, or its R²
    #[arg(long, value_name = "X", value_parser = leak)]
    pub(crate) leak_at_most: Option<f64>,
    /// Change a key of the recipe in every run (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The variant of the recipe to train; a name with a space needs quotes: 'hide hospital'
    #[arg(long, alias = "arm", value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// The first seed, and that of the points drawn at random [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Runs of each point, with this seed and the next ones
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) seeds: u64,
    /// Run a few short steps of everything, to see that it works
    #[arg(long)]
    pub(crate) smoke: bool,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    #[command(flatten)]
    pub(crate) runs: Runs,
    /// Folder of the runs and the answer [default: runs/sweep-RECIPE; with --smoke, runs/sweep-RECIPE-smoke]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Parses a leak, which results have as a share or an R², though tables print shares in percent.
fn leak(text: &str) -> Result<f64, String> {
    let leak = text.parse::<f64>().ok().filter(|leak| (0.0..=1.0).contains(leak));
    leak.ok_or_else(|| "expected a share or an R², from 0 to 1, such as 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_is_a_share() {
        assert_eq!(leak("0.5"), Ok(0.5));
        for wrong in ["50", "nan", "inf", "-1", "half"] {
            assert!(leak(wrong).is_err_and(|reason| reason.contains("such as 0.5")), "{wrong}");
        }
    }
}
