//! The syntax of the command line. The module `commands` runs it.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use simile_core::nn::Architecture;
use simile_core::nn::resnet::Stem;

use crate::config::probe::Probe;
use crate::devices::{ChoiceParser, DeviceChoice, SELF_TEST};

mod own;
mod several;
mod shard;

pub(crate) use own::{Init, Own};
pub(crate) use several::{Reproduce, Runs, Sweep};
pub(crate) use shard::Shard;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Train image encoders that hide or use an attribute, and measure what can still be told.
#[derive(Debug, Parser)]
#[command(
    name = "simile",
    version,
    styles = STYLES,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Examples:
  simile train fair-digits                     needs no download
  simile train scans --hide hospital           your own folder of pictures
  simile train colour-mnist --data ./mnist     the four official idx files, plain or .gz
  simile report runs/fair-digits
  simile embed runs/fair-digits photo.png --out photo.npy

Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted (after a checkpoint;
143 by SIGTERM, 129 by SIGHUP)."
)]
pub(crate) struct Cli {
    /// Print the answer as one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(Init),
    Train(Train),
    Evaluate(Evaluate),
    Embed(Embed),
    Import(Import),
    Export(Export),
    Loss(Loss),
    #[command(subcommand)]
    Data(Data),
    Recipes(Recipes),
    Objectives(Objectives),
    Keys(Keys),
    Devices(ListDevices),
    /// Test one device, for the process that `--device auto` and `simile devices --check` start for it
    #[command(name = SELF_TEST, hide = true)]
    SelfTest(SelfTest),
    Report(Report),
    Reproduce(Reproduce),
    Sweep(Sweep),
    Completions(Completions),
}

/// Train the encoders of a recipe, probe each, and write a run folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile train fair-digits
  simile train scans --hide hospital           a folder of your own pictures; `simile init` writes its recipe
  simile train fair-digits --seeds 5           five runs, compared
  simile train colour-mnist --data ./mnist --seed 1 --out runs/seed-1
  simile train fair-digits --variant Fair-CCLK --set train.iterations=300
  simile train my-recipe.toml --smoke          two short steps through everything
  simile train fair-digits --profile           the time of each stage of a step, instead of training
  simile train cifar-10 --data ./cifar --set 'method={ name = \"cached\", chunk = 128 }' --device cuda:0,cuda:1
  simile train --resume runs/fair-digits       after Ctrl-C, a signal or a crash
  simile train --resume runs/fair-digits --set train.iterations=2000      longer than it was begun

The run folder holds recipe.toml (resolved), metrics.jsonl, model.safetensors, result.json,
report.html, tensorboard/, and state/ to go on from, also when it has finished. `simile recipes` lists the recipes that ship.")]
pub(crate) struct Train {
    /// A TOML file, the name of a recipe that ships (`simile recipes`), or a folder of your own pictures
    #[arg(value_name = "RECIPE|DIR", required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) recipe: Option<String>,
    /// Folder of the data set's files
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) devices: Devices,
    /// The run folder; must be new or empty [default: runs/NAME]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of initial weights, order, augmentation and generated data
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub(crate) seed: Option<u64>,
    /// Train with N seeds, this one and the next, into a folder each, and judge all of them together; the same command goes
    /// on after an interruption [default folder: runs/NAME-seeds]
    #[arg(long, value_name = "N", conflicts_with_all = ["resume", "profile"],
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) seeds: Option<u64>,
    /// Change a key of the recipe, such as `optimizer.learning_rate=0.01` (repeatable); with --resume, more
    /// `train.iterations`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Train this variant of the recipe alone (repeatable)
    #[arg(long = "variant", alias = "arm", value_name = "NAME", conflicts_with = "resume")]
    pub(crate) arms: Vec<String>,
    /// Run a few short steps of everything, to see that it works
    #[arg(long, conflicts_with = "resume")]
    pub(crate) smoke: bool,
    /// Measure where the time of STEPS training steps of every variant goes, instead of training; with 0, print what a
    /// step computes, moves and uploads by formula, without data
    #[arg(long, value_name = "STEPS", num_args = 0..=1, default_missing_value = "20", conflicts_with = "resume",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=100_000))]
    pub(crate) profile: Option<usize>,
    /// Continue the run in this folder from its last checkpoint
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<PathBuf>,
}

/// Probe a trained encoder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile evaluate runs/fair-digits             on the run's own data
  simile evaluate runs/fair-digits --variant SimCLR
  simile evaluate model.safetensors --data ./mnist --probe knn
  simile evaluate imagenet.safetensors --on cifar-10 --data ./cifar
  simile evaluate --vectors part-0.npy part-1.npy --table scans.csv --condition hospital
  simile evaluate --vectors embeddings.parquet --probe knn

Vectors may be of any program. A row of the table belongs to each, in the same order: its class, attributes to look for,
and `train` or `test` in a column `split`; without that a fifth of the rows is held out. Parquet that `simile embed RUN` writes holds
them itself.")]
pub(crate) struct Evaluate {
    /// A run folder or a .safetensors file
    #[arg(value_name = "RUN|MODEL", required_unless_present = "vectors")]
    pub(crate) model: Option<PathBuf>,
    /// Probe the vectors of these files instead of a model: .npy, .csv or .parquet, one after the other
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["model", "arm", "data", "on"])]
    pub(crate) vectors: Vec<PathBuf>,
    /// The class and the attributes of each vector
    #[arg(long, value_name = "FILE.csv", requires = "vectors")]
    pub(crate) table: Option<PathBuf>,
    /// The column of the class in the table [default: label, class, target, ...]
    #[arg(long, value_name = "COLUMN", requires = "table")]
    pub(crate) label: Option<String>,
    /// The variant of the run, whose name the report shows [default: the last one]
    #[arg(long = "variant", alias = "arm", value_name = "NAME")]
    pub(crate) arm: Option<String>,
    /// Folder of the data set's files; generated data needs none
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Other data than the model was trained on: a data set's name or a recipe, with its probe
    #[arg(long, value_name = "DATASET|RECIPE")]
    pub(crate) on: Option<String>,
    /// The attribute whose leak is measured [default: the recipe's, or the data set's first]
    #[arg(long, value_name = "NAME")]
    pub(crate) condition: Option<String>,
    /// How the class is read off the representation
    #[arg(long, value_enum, default_value_t = Probe::Linear)]
    pub(crate) probe: Probe,
    #[command(flatten)]
    pub(crate) device: Device,
}

/// Write the representation of images
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile embed runs/fair-digits cat.png dog.png              rows as text
  simile embed model.safetensors *.png --out vectors.npy     a NumPy array
  simile embed model.safetensors *.png --out vectors.csv     one row a file, its name first
  find pictures -name '*.jpg' | sort | simile embed model.safetensors --list - --out vectors.npy
  simile embed model.safetensors --list pictures.txt --shard 3/8 --out part-3.npy
  simile embed runs/fair-digits --out embeddings.parquet     the run's own images with class and attributes

With --out the rows are written as they are computed, so that memory does not grow with the number of pictures. The rows
of all shards, one after the other, are those of one run, byte for byte on the same kind of device.

Parquet has the columns path and vector. Without images it has those that the model was trained and tested on: path, index,
split, class, every attribute, x and y (principal components), vector; DuckDB, pandas, Polars and Embedding Atlas open it.")]
pub(crate) struct Embed {
    /// A run folder or a .safetensors file
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// PNG, JPEG or WebP files; without any, those of the model's data set, into a .parquet file
    #[arg(value_name = "IMAGE", conflicts_with = "list")]
    pub(crate) images: Vec<PathBuf>,
    /// Take the names of the files from the lines of this one, or of stdin
    #[arg(long, value_name = "FILE|-")]
    pub(crate) list: Option<PathBuf>,
    /// Take the I-th of N parts of the files, counted from 0. Parts are cut between groups of 64 files
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// The variant of the run, whose name the report shows [default: the last one]
    #[arg(long = "variant", alias = "arm", value_name = "NAME")]
    pub(crate) arm: Option<String>,
    /// File to write instead of stdout; its ending chooses the format
    #[arg(long, value_name = "FILE.npy|.csv|.parquet")]
    pub(crate) out: Option<PathBuf>,
    /// Folder of the data set's files, for the images of the model's data set [default: that of the run]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["images", "list"])]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) device: Device,
}

/// Make a model of another program's weights
#[derive(Debug, Args)]
#[command(
    long_about = "Make a model of another program's weights: a file of torch.save or of safetensors whose tensors have \
PyTorch's names and shapes, such as a state dict of torchvision's resnet18 or of timm's vit_small_patch16_224.

Dictionaries and wrappers around the state dict are looked through (`state_dict.module.encoder.`). Nothing in a file \
is executed.",
    after_help = "Examples:
  simile import resnet18-f37072fd.pth --encoder resnet18 --input-size 224 --out model.safetensors
  simile import cifar.safetensors --encoder resnet50 --stem cifar --input-size 32 --out model.safetensors
  simile import vit_small_patch16_224.pth --encoder vit-s16 --mean 0.5,0.5,0.5 --std 0.5,0.5,0.5 --out model.safetensors
  simile import moco.pth --encoder resnet50 --prefix state_dict.module.encoder_q. --out model.safetensors"
)]
pub(crate) struct Import {
    /// The other program's file
    #[arg(value_name = "FILE.pth|.safetensors")]
    pub(crate) source: PathBuf,
    #[arg(long, value_name = "NAME", value_parser = by_name::<Architecture>, help = which_network())]
    pub(crate) encoder: Architecture,
    /// Side of the square input in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 224)]
    pub(crate) input_size: usize,
    /// How a resnet begins: imagenet, cifar, cifar-padded
    #[arg(long, value_name = "STEM", value_parser = by_name::<Stem>)]
    pub(crate) stem: Option<Stem>,
    /// Width of a linear layer at the end that belongs to the encoder
    #[arg(long, value_name = "N")]
    pub(crate) output: Option<usize>,
    /// Mean of each channel, subtracted from pixels in 0 to 1
    #[arg(long, value_delimiter = ',', value_name = "M,M,M", default_values_t = [0.485, 0.456, 0.406])]
    pub(crate) mean: Vec<f64>,
    /// Standard deviation of each channel
    #[arg(long, value_delimiter = ',', value_name = "S,S,S", default_values_t = [0.229, 0.224, 0.225])]
    pub(crate) std: Vec<f64>,
    /// What stands before the names of the encoder's tensors, where a file holds several
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Leave out tensors whose names begin so, which are no part of the encoder (repeatable)
    #[arg(long = "leave-out", value_name = "TEXT")]
    pub(crate) leave_out: Vec<String>,
    /// The model to write
    #[arg(long, value_name = "MODEL.safetensors")]
    pub(crate) out: PathBuf,
}

/// Write an encoder for another program
#[derive(Debug, Args)]
#[command(
    long_about = "Write an encoder for another program.

For PyTorch: a folder with the source of the module and of its preprocessing, model.py, and the weights beside it. \
Networks with the same tensors are told apart: the module refuses the weights of another one.

For ONNX: one file with the preprocessing and the network. Its input `pictures` is [n, height, width, channels] of uint8, its output \
`vectors` [n, features].",
    after_help = "Examples:
  simile export runs/fair-digits --to pytorch
  simile export model.safetensors --to pytorch --out encoder
  simile export model.safetensors --to onnx"
)]
pub(crate) struct Export {
    /// A run folder or a .safetensors file
    #[arg(value_name = "RUN|MODEL")]
    pub(crate) model: PathBuf,
    /// The program to write it for
    #[arg(long, value_enum)]
    pub(crate) to: Target,
    /// The folder (PyTorch) or file (ONNX) to write; must be new [default: MODEL-pytorch or MODEL.onnx]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// A module in Python, with its weights
    Pytorch,
    /// One file that takes pictures, with their preprocessing
    Onnx,
}

/// The help text of `--encoder`.
fn which_network() -> String {
    let names: Vec<&str> = Architecture::ALL.iter().map(|network| network.name()).collect();
    format!("Which network: {}", names.join(", "))
}

/// Parses a value by its name in recipes.
fn by_name<T: DeserializeOwned>(name: &str) -> Result<T, serde::de::value::Error> {
    T::deserialize(name.into_deserializer())
}

/// Evaluate an objective on the numbers of a JSON file
#[derive(Debug, Args)]
#[command(
    long_about = "Evaluate an objective on the numbers of a JSON file.

Prints {\"loss\": x, \"grads\": {\"view_a\": [[...]], ...}, \"aux\": {...}}. Gradients are with respect to the \
inputs as given. Of several files, each answer is one line that names its file as \"case\". An objective or a \
parameter that is not known, or a value out of range, is an error, exit code 2. A result that is not a finite number is \
one too, exit code 1, which names the input furthest from 1.",
    after_help = "Examples:
  simile loss case.json
  simile loss cases/*.json                     one line each
  simile loss case.json --device wgpu --precision f32
  simile loss case.json --tile 64              64 anchors at a time
  simile loss --describe fair-cclk             its formula, inputs, parameters and forms"
)]
pub(crate) struct Loss {
    /// Files that name an `objective`, its `params` and its `inputs`
    #[arg(value_name = "CASE.json", required_unless_present = "describe")]
    pub(crate) cases: Vec<PathBuf>,
    /// Print formula, inputs, parameters and forms of an objective instead
    #[arg(long, value_name = "OBJECTIVE", conflicts_with = "cases")]
    pub(crate) describe: Option<String>,
    #[command(flatten)]
    pub(crate) device: Device,
    /// Float type of the computation [default: f64 where the device has it]
    #[arg(long, value_enum)]
    pub(crate) precision: Option<Precision>,
    /// How many anchors to compare with all candidates at once [default: by size]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tile: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// Single precision, as in training
    F32,
    /// Double precision; not on every GPU
    F64,
}

/// Look at data sets: which there are, whether files are sound, what they show
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  simile data list
  simile data fetch cifar-10 --data ./data
  simile data check colour-mnist --data ./data
  simile data preview digits --out digits.png
  simile data measure fair-digits")]
pub(crate) enum Data {
    /// List the data sets that recipes can name: their files, terms, and where their authors publish them
    List(DataList),
    /// Download a data set from its authors, check it and unpack it
    Fetch(DataFetch),
    /// Read a data set's files and say what is in them
    Check(DataCheck),
    /// Write a picture of a data set's first images
    Preview(DataPreview),
    /// Measure how many images a second a recipe's data give, without a network
    Measure(DataMeasure),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data list
  simile data list cub-200-2011                all that is known of one")]
pub(crate) struct DataList {
    /// Say all that is known of this one
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data fetch mnist --data ./data
  simile data fetch cub-200-2011 --data ./data
  simile data fetch cifar-10 --data ./data --from https://mirror.example/files

A download that was cut goes on where it ended. Behind a proxy with certificates of its own, name
their file with SSL_CERT_FILE. Data sets whose authors ask for a registration
cannot be fetched; `simile data list` says where to get them.")]
pub(crate) struct DataFetch {
    /// The data set's name (`simile data list`)
    pub(crate) name: String,
    /// Folder to put it into
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Take the files from this address instead of the authors'; their checksums still hold
    #[arg(long, value_name = "URL")]
    pub(crate) from: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data check scans                      a folder of your own pictures
  simile data check digits
  simile data check colour-mnist --data ./mnist --json

Says the type, the range and the missing values of every attribute, how closely it is tied to the class, and which of
your own pictures are broken, blank or equal.")]
pub(crate) struct DataCheck {
    /// The data set's name (`simile data list`), a recipe's, or a folder of your own pictures
    pub(crate) name: String,
    /// Folder of the data set's files
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data preview digits --out digits.png
  simile data preview colour-mnist --data ./mnist --out mnist.png --count 100")]
pub(crate) struct DataPreview {
    /// The data set's name (`simile data list`), or a recipe's
    pub(crate) name: String,
    /// Folder of the data set's files
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The picture to write
    #[arg(long, value_name = "FILE.png", default_value = "preview.png")]
    pub(crate) out: PathBuf,
    /// How many images to show
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) count: u32,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile data measure fair-digits
  simile data measure imagenet-100 --data ./imagenet-100 --epochs 1 --json

Pictures are read as a run reads them: decoded in the first run, and taken from the cache in later ones. Then views
are made, batch after batch. A network that learns faster than this waits for its images.")]
pub(crate) struct DataMeasure {
    /// A TOML file, or the name of a recipe that ships (`simile recipes`); its first variant is taken
    pub(crate) recipe: String,
    /// Folder of the data set's files
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) device: Device,
    /// Change a key of the recipe, such as `train.batch=1024` (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// How often every training image is seen
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub(crate) epochs: usize,
}

/// List the objectives and what each learns from, or print the page of one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile objectives
  simile objectives --have attribute           to hide or to use an attribute
  simile objectives fair-cclk                  its formula, inputs and parameters")]
pub(crate) struct Objectives {
    /// Print formula, inputs, parameters and forms of this one
    pub(crate) name: Option<String>,
    /// Only those that need no more than this (repeatable)
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "name")]
    pub(crate) have: Vec<Have>,
}

/// List the keys of recipes, or write their JSON schema for editors
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile keys
  simile keys train                            those of one section
  simile keys --schema > recipe.schema.json    for taplo and VS Code: `#:schema recipe.schema.json` in a recipe")]
pub(crate) struct Keys {
    /// Only the keys of this section, such as `train` or `augment.crop`
    #[arg(value_name = "SECTION", conflicts_with = "schema")]
    pub(crate) section: Option<String>,
    /// Write a JSON schema of recipes
    #[arg(long)]
    pub(crate) schema: bool,
}

/// Annotations that a user has beside pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Have {
    /// Nothing but the pictures
    Nothing,
    /// A class for each picture
    Labels,
    /// A label of the bias for each picture
    Bias,
    /// An attribute to hide or to use
    Attribute,
}

/// List the recipes that ship, or print one
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  simile recipes
  simile recipes --data ./data                 says which of their data sets are in that folder
  simile recipes show fair-digits > mine.toml"
)]
pub(crate) struct Recipes {
    /// Folder of data sets, as `simile data fetch --data DIR` fills it, to look for theirs in
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: Option<RecipesAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecipesAction {
    /// Print a recipe, a start for one of your own, or the rows of a table
    Show {
        /// Its name
        name: String,
    },
}

/// Write one HTML file that shows runs and compares them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile report runs/fair-digits
  simile report runs/seed-0 runs/seed-1 runs/seed-2 --out seeds.html")]
pub(crate) struct Report {
    /// Run folders
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The file to write [default: report.html in the first run]
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: Option<PathBuf>,
}

/// List the devices that are built in and those that are present
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile devices
  simile devices --check                       does each give the results of the CPU?
  simile devices --json | jq '.devices[].name'")]
pub(crate) struct ListDevices {
    /// Test every device that is present, software adapters too, each in a process of its own: sums, a product of matrices
    /// and two training steps of a small network
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SelfTest {
    #[arg(value_parser = ChoiceParser)]
    pub(crate) device: DeviceChoice,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile completions bash > ~/.local/share/bash-completion/completions/simile
  simile completions zsh > ~/.zfunc/_simile")]
pub(crate) struct Completions {
    /// The shell to complete in
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Device {
    /// Where to compute; `vulkan:1` is the second of its kind (`simile devices` lists what is there)
    #[arg(long, value_parser = ChoiceParser, value_name = "NAME[:N]", default_value_t = DeviceChoice::AUTO)]
    pub(crate) device: DeviceChoice,
}

#[derive(Debug, Args)]
pub(crate) struct Devices {
    /// Where to compute; `vulkan:1` is the second of its kind (`simile devices` lists what is there), and several, as
    /// in `cuda:0,cuda:1`, share the chunks of the method `cached`
    #[arg(
        long,
        value_parser = ChoiceParser,
        value_name = "NAME[:N]",
        value_delimiter = ',',
        default_values_t = [DeviceChoice::AUTO]
    )]
    pub(crate) device: Vec<DeviceChoice>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        let mut cli = Cli::command();
        for command in cli.get_subcommands_mut().filter(|command| !command.is_hide_set()) {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Examples:"), "no example in the help of {}", command.get_name());
        }
    }
}
