//! `simile data`

use std::path::Path;

use anyhow::Result;
use serde::de::IntoDeserializer as _;
use serde::de::value::StrDeserializer;
use serde::{Deserialize as _, Serialize};
use simile_core::dataset::Dataset;
use simile_core::encoder::EncoderConfig;

use crate::cli::{Data, DataCheck, DataPreview};
use crate::console::{Console, table};
use crate::data::{OFFICIAL, Report, check as check_files, preview as draw};
use crate::exit::usage;
use crate::recipe::explain::suggestion;
use crate::recipe::sections::{DataSection, DatasetName};
use crate::recipe::shipped::Shipped;
use crate::recipe::{Changes, Recipe};
use crate::run::folder;
use crate::run::splits::{Splits, no_folder};

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    files: &'static str,
    variables: &'static str,
}

const MNIST: &str = "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, \
                     t10k-labels-idx1-ubyte; each plain or .gz";

const LISTED: [Listed; 7] = [
    Listed { name: "digits", files: "none: drawn from strokes", variables: "colour, palette" },
    Listed { name: "colour-mnist", files: MNIST, variables: "colour, palette" },
    Listed { name: "biased-mnist", files: MNIST, variables: "bias" },
    Listed { name: "mnist", files: MNIST, variables: "" },
    Listed {
        name: "cifar-10",
        files: "data_batch_1.bin .. 5, test_batch.bin, batches.meta.txt",
        variables: "",
    },
    Listed {
        name: "cifar-100",
        files: "train.bin, test.bin, fine_label_names.txt, coarse_label_names.txt",
        variables: "coarse",
    },
    Listed {
        name: "table",
        files: "your pictures and a CSV file, whose columns the recipe names in [data.table]",
        variables: "any columns",
    },
];

/// What is in a data set.
#[derive(Serialize)]
struct Contents {
    train: Split,
    test: Split,
}

#[derive(Serialize)]
struct Checked {
    name: String,
    #[serde(flatten)]
    contents: Contents,
}

/// The state of each file and, where they are sound, what is in them.
#[derive(Serialize)]
struct FilesChecked {
    #[serde(flatten)]
    files: Report,
    #[serde(flatten)]
    contents: Option<Contents>,
}

#[derive(Serialize)]
struct Split {
    images: usize,
    /// Height, width, channels.
    size: [usize; 3],
    classes: usize,
    class_counts: Vec<usize>,
    variables: Vec<String>,
}

#[derive(Serialize)]
struct Previewed {
    file: String,
    images: usize,
}

pub(super) fn run(action: &Data, console: Console) -> Result<()> {
    match action {
        Data::List => list(console),
        Data::Check(arguments) => check(arguments, console),
        Data::Preview(arguments) => preview(arguments, console),
    }
}

fn list(console: Console) -> Result<()> {
    console.answer(&LISTED, || {
        let mut table = table(["Data set", "Files", "Variables"]);
        for row in &LISTED {
            table.add_row([row.name, row.files, row.variables]);
        }
        table.to_string()
    })
}

/// Files are compared with the official ones; what is drawn, or chosen by a recipe, is described.
fn check(arguments: &DataCheck, console: Console) -> Result<()> {
    let name = arguments.name.as_str();
    if OFFICIAL.contains(&name) {
        let folder = arguments.data.as_deref().ok_or_else(no_folder)?;
        let files = check_files(folder, name)?;
        let sound = files.sound;
        let contents = if sound { Some(Contents::of(&splits_of(name, Some(folder))?)) } else { None };
        let answer = FilesChecked { files, contents };
        console.answer(&answer, || {
            let contents = answer.contents.as_ref().map(Contents::text).unwrap_or_default();
            format!("{contents}{}", answer.files)
        })?;
        anyhow::ensure!(sound, "{name} in {} is not sound", folder.display());
        return Ok(());
    }
    let contents = Contents::of(&splits_of(name, arguments.data.as_deref())?);
    let answer = Checked { name: name.into(), contents };
    console.answer(&answer, || format!("{}{name} is sound", answer.contents.text()))
}

impl Contents {
    fn of(splits: &Splits) -> Self {
        Self { train: describe(&splits.train), test: describe(&splits.test) }
    }

    /// One line a split.
    fn text(&self) -> String {
        let line = |name: &str, split: &Split| {
            let [height, width, channels] = split.size;
            let count = |of: Option<&usize>| of.copied().unwrap_or(0);
            let (least, most) =
                (count(split.class_counts.iter().min()), count(split.class_counts.iter().max()));
            let variables =
                if split.variables.is_empty() { "none".into() } else { split.variables.join(", ") };
            format!(
                "{name:<6} {} images of {height}x{width}x{channels}, {} classes of {least} to {most}, \
                 variables: {variables}\n",
                split.images, split.classes,
            )
        };
        line("train", &self.train) + &line("test", &self.test)
    }
}

fn preview(arguments: &DataPreview, console: Console) -> Result<()> {
    let Splits { train, .. } = splits_of(&arguments.name, arguments.data.as_deref())?;
    let images = (arguments.count as usize).min(train.len());
    folder::write(&arguments.out, &draw(&train, images)?)?;
    let file = arguments.out.display().to_string();
    console.answer(&Previewed { file: file.clone(), images }, || file)
}

/// Both splits of a data set by its name or a recipe's.
fn splits_of(name: &str, folder: Option<&Path>) -> Result<Splits> {
    let (data, encoder) = section(name)?;
    Splits::load(&data, folder, 0, &encoder, false)
}

/// The data of a recipe and the encoder that takes them, or a data set by its name, as its files have it.
fn section(name: &str) -> Result<(DataSection, EncoderConfig)> {
    let deserializer: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
    if let Ok(dataset) = DatasetName::deserialize(deserializer)
        && dataset != DatasetName::Table
    {
        return Ok((DataSection::of(dataset), dataset.native()));
    }
    if Shipped::find(name).is_none() && !Path::new(name).exists() {
        let known: Vec<&str> = LISTED.iter().map(|row| row.name).collect();
        return Err(usage(format_args!(
            "no data set or recipe is named `{name}`{}",
            suggestion(name, &known)
        )));
    }
    let recipe = Recipe::load(name, &Changes::default())?;
    Ok((recipe.data, recipe.encoder))
}

fn describe(dataset: &Dataset) -> Split {
    Split {
        images: dataset.len(),
        size: [dataset.images.height, dataset.images.width, dataset.images.channels],
        classes: dataset.classes.len(),
        class_counts: dataset.class_counts(),
        variables: dataset.conditions.keys().cloned().collect(),
    }
}
