//! Arguments of the commands on trained encoders, and of `loss`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use simile_core::nn::Architecture;
use simile_core::nn::resnet::Stem;

use super::device::Device;
use super::shard::Shard;
use crate::config::probe::Probe;
use crate::config::reader_error::ReaderError;
use crate::data::keys::values::Broken;

/// Probe a trained encoder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile evaluate runs/fair-digits             on the run's own data
  simile evaluate runs/fair-digits --variant SimCLR
  simile evaluate model.safetensors --data ./mnist --probe knn
  simile evaluate imagenet.safetensors --on cifar-10 --data ./cifar
  simile evaluate --vectors part-0.npy part-1.npy --table scans.csv --condition hospital
  simile evaluate --vectors embeddings.parquet --probe knn

Vectors may be of any program. A row of the table belongs to each, in the same order: its class,
attributes to look for, and `train` or `test` in a column `split`; without that a fifth of the rows
is held out. A .npy file has no names, so its order cannot be checked; rows in a wrong order look
as if nothing leaked. Parquet that `simile embed RUN` writes holds class and attributes itself.")]
pub(crate) struct Evaluate {
    /// A run folder or a .safetensors file
    #[arg(value_name = "RUN|MODEL", required_unless_present = "vectors")]
    pub(crate) model: Option<PathBuf>,
    /// Probe the vectors of these files instead of a model: .npy, .csv or .parquet, one after the other
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["model", "variant", "data", "on"])]
    pub(crate) vectors: Vec<PathBuf>,
    /// The class and the attributes of each vector
    #[arg(long, value_name = "FILE.csv", requires = "vectors", conflicts_with = "model")]
    pub(crate) table: Option<PathBuf>,
    /// The column of the class in the table [default: label, class, target, ...]
    #[arg(long, value_name = "COLUMN", requires = "table", conflicts_with = "model")]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) variant: VariantArgument,
    /// Folder of the data set's files; generated data needs none
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Other data than the model was trained on: a data set's name or a recipe, with its probe
    #[arg(long, value_name = "DATASET|RECIPE")]
    pub(crate) on: Option<String>,
    /// The attribute whose leak is measured [default: the recipe's, or the data set's first]
    #[arg(long, value_name = "NAME")]
    pub(crate) condition: Option<String>,
    /// Classifier that predicts the class from the representation
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
  simile embed model.safetensors *.png --out vectors.csv     one row per file, its name first
  find pictures -name '*.jpg' | sort | simile embed model.safetensors --list - --out vectors.npy
  simile embed model.safetensors --list pictures.txt --shard 3/8 --out part-3.npy
  simile embed runs/fair-digits --out embeddings.parquet     the run's own images with class and attributes

With --out the rows are written as they are computed, so memory does not grow with the number of
pictures. The rows of all shards, one after the other, are those of one run, byte for byte on the
same kind of device.

Parquet has the columns path and vector. Without images it has those that the model was trained
and tested on: path, index, split, class, every attribute, x and y (principal components), vector;
DuckDB, pandas, Polars and Embedding Atlas open it.")]
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
    /// Treatment of a file that is no picture or cannot be read. A skipped one has no row; in .npy its row is NaN
    #[arg(long, value_enum, default_value_t = Broken::Refuse)]
    pub(crate) broken: Broken,
    #[command(flatten)]
    pub(crate) variant: VariantArgument,
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
    /// Side of the square input in pixels [default: 224, or 32 for a network that does not take that]
    #[arg(long, value_name = "PIXELS")]
    pub(crate) input_size: Option<usize>,
    /// How a resnet begins: imagenet, cifar, cifar-padded
    #[arg(long, value_name = "STEM", value_parser = by_name::<Stem>)]
    pub(crate) stem: Option<Stem>,
    /// Channels of the first stage of a resnet [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<usize>,
    /// Width of a linear layer at the end that belongs to the encoder
    #[arg(long, value_name = "N")]
    pub(crate) output: Option<usize>,
    /// Mean of each channel, subtracted from pixels in 0 to 1
    #[arg(long, value_delimiter = ',', value_name = "M,M,M", default_value = "0.485,0.456,0.406")]
    pub(crate) mean: Vec<f64>,
    /// Standard deviation of each channel
    #[arg(long, value_delimiter = ',', value_name = "S,S,S", default_value = "0.229,0.224,0.225")]
    pub(crate) std: Vec<f64>,
    /// Prefix of the encoder's tensor names, if the file holds several networks
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Ignore tensors whose names start with this; they are not part of the encoder (repeatable)
    #[arg(long = "leave-out", value_name = "TEXT")]
    pub(crate) leave_out: Vec<String>,
    /// The model to write; must be new
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
  simile export runs/fair-digits --variant SimCLR --to pytorch
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
    #[command(flatten)]
    pub(crate) variant: VariantArgument,
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

#[derive(Debug, Args)]
pub(crate) struct VariantArgument {
    /// Which variant of the run, by the name that the report shows [default: the last one]
    #[arg(id = "variant", long = "variant", alias = "arm", value_name = "NAME")]
    name: Option<String>,
}

impl VariantArgument {
    /// The name of the variant, if one is given.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// The help text of `--encoder`.
fn which_network() -> String {
    let names: Vec<&str> = Architecture::ALL.iter().map(|network| network.name()).collect();
    format!("Which network: {}", names.join(", "))
}

/// Parses a value by its name in recipes.
fn by_name<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    let value: Result<T, serde::de::value::Error> = T::deserialize(name.into_deserializer());
    value.map_err(|error| ReaderError::of(&error.to_string()).to_string())
}

/// Evaluate an objective on the numbers of a JSON file
#[derive(Debug, Args)]
#[command(
    long_about = "Evaluate an objective on the numbers of a JSON file.

Prints {\"loss\": x, \"grads\": {\"view_a\": [[...]], ...}, \"aux\": {...}}. Gradients are with respect to the \
inputs as given. Of several files, each answer is one line that names its file as \"case\". An objective or a \
parameter that is not known, or a value out of range, is an error, exit code 2. If a result is not finite, the command \
fails with exit code 1 and names the number in the request that is furthest from 1.",
    after_help = "Examples:
  simile loss request.json
  simile loss requests/*.json                  one line each
  simile loss request.json --device wgpu       in single precision
  simile loss request.json --tile 64           64 anchors at a time
  simile loss --describe fair-cclk             its formula, inputs, parameters and forms"
)]
pub(crate) struct Loss {
    /// Files that name an `objective`, its `params` and its `inputs`; `-` reads standard input
    #[arg(value_name = "REQUEST.json", required_unless_present = "describe")]
    pub(crate) cases: Vec<PathBuf>,
    /// Print formula, inputs, parameters and forms of an objective instead
    #[arg(long, value_name = "OBJECTIVE", conflicts_with = "cases")]
    pub(crate) describe: Option<String>,
    #[command(flatten)]
    pub(crate) device: Device,
    /// Float type of the computation [default: f64 on the CPU, f32 on other devices]
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
    /// Double precision, on the CPU alone. With more than 1024 samples the weights of a kernel are solved partly in single
    /// precision
    F64,
}
