//! `simile data`

use std::path::Path;

use anyhow::Result;
use serde::de::IntoDeserializer as _;
use serde::de::value::StrDeserializer;
use serde::{Deserialize as _, Serialize};
use simile_core::augment::Augmentation;
use simile_core::data::Dataset;
use simile_core::nn::EncoderConfig;

use crate::cli::{Data, DataCheck, DataFetch, DataList, DataPreview};
use crate::config::data::{DataSection, DatasetName};
use crate::config::explain::suggestion;
use crate::config::probe::ProbeSection;
use crate::config::shipped::Shipped;
use crate::config::{Changes, Recipe};
use crate::console::{Console, line, table};
use crate::data::{
    ALL, Fetched, Official, Report, check as check_files, fetch as fetch_files, official, preview as draw,
};
use crate::exit::usage;
use crate::experiment::prepare::splits::{Splits, no_folder};
use crate::run_folder::folder;

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
        Data::List(arguments) => list(arguments, console),
        Data::Fetch(arguments) => fetch(arguments, console),
        Data::Check(arguments) => check(arguments, console),
        Data::Preview(arguments) => preview(arguments, console),
    }
}

fn list(arguments: &DataList, console: Console) -> Result<()> {
    if let Some(name) = &arguments.name {
        let set = known(name)?;
        return console.answer(set, || in_full(set));
    }
    console.answer(&ALL, || {
        let mut table = table(["Data set", "Variables", "Get it"]);
        for set in ALL {
            let get = match (set.downloads.is_empty(), set.home.is_empty()) {
                (false, _) => format!("simile data fetch {}", set.name),
                (true, false) => set.home.to_owned(),
                (true, true) => String::new(),
            };
            table.add_row([set.name, set.variables, &get]);
        }
        format!("{table}\n`simile data list NAME` says its files, licence and address.")
    })
}

/// One data set, line by line.
fn in_full(set: &Official) -> String {
    let addresses: Vec<&str> = set.downloads.iter().map(|download| download.url).collect();
    let rows = [
        ("files", set.files.to_owned()),
        ("variables", set.variables.to_owned()),
        ("home", set.home.to_owned()),
        ("licence", set.licence.to_owned()),
        ("get it", set.get.to_owned()),
        ("fetched", addresses.join("\n           ")),
    ];
    let lines =
        rows.iter().filter(|(_, text)| !text.is_empty()).map(|(key, text)| format!("{key:<10} {text}\n"));
    format!("{}\n{}", set.name, lines.collect::<String>())
}

/// The data set of a name.
fn known(name: &str) -> Result<&'static Official> {
    official(name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|set| set.name).collect();
        usage(format_args!("no data set is named `{name}`{}", suggestion(name, &known)))
    })
}

#[derive(Serialize)]
struct FetchedSet {
    name: &'static str,
    licence: &'static str,
    files: Vec<Fetched>,
}

fn fetch(arguments: &DataFetch, console: Console) -> Result<()> {
    let set = known(&arguments.name)?;
    if set.downloads.is_empty() {
        let how = if set.home.is_empty() {
            "there is nothing to download".to_owned()
        } else {
            format!("{} ({})", set.get, set.home)
        };
        anyhow::bail!("{} cannot be fetched: {how}", set.name);
    }
    line(format_args!("{}: {}; licence: {}", set.name, set.home, set.licence));
    let files = fetch_files(set, &arguments.data, arguments.from.as_deref())?;
    for file in files.iter().filter(|file| !file.verified) {
        let kept =
            file.receipt.as_ref().map_or_else(String::new, |path| format!(", kept in {}", path.display()));
        line(format_args!(
            "{} is not pinned: its authors publish no checksum; what came has MD5 {}{kept}, to compare it with",
            file.url, file.md5
        ));
    }
    let answer = FetchedSet { name: set.name, licence: set.licence, files };
    console.answer(&answer, || {
        let paths = answer.files.iter().flat_map(|file| &file.paths);
        paths.map(|path| format!("{}\n", path.display())).collect()
    })
}

/// Files are compared with the official ones; what is drawn, or chosen by a recipe, is described.
fn check(arguments: &DataCheck, console: Console) -> Result<()> {
    let name = arguments.name.as_str();
    let Named { data, encoder, .. } = section(name)?;
    if let Some(set) = official_of(name, &data) {
        let folder = arguments.data.as_deref().ok_or_else(no_folder)?;
        let files = check_files(folder, set, &data)?;
        let sound = files.sound;
        let contents =
            if sound { Some(Contents::of(&Splits::load(&data, Some(folder), 0, &encoder)?)) } else { None };
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
    let Named { mut data, encoder, .. } = section(&arguments.name)?;
    if data.dataset.has_pictures() {
        // As many as can be shown, drawn from all classes, and no more than that is decoded.
        data.train = Some(data.train.unwrap_or(usize::MAX).min(arguments.count as usize));
        if data.dataset != DatasetName::Table {
            data.test = Some(1);
        }
    }
    let Splits { train, .. } = Splits::load(&data, arguments.data.as_deref(), 0, &encoder)?;
    let images = (arguments.count as usize).min(train.len());
    folder::write(&arguments.out, &draw(&train, images)?)?;
    let file = arguments.out.display().to_string();
    console.answer(&Previewed { file: file.clone(), images }, || file)
}

/// What is known of a data set that is checked file by file: one that has files, other than the user's own.
fn official_of(name: &str, data: &DataSection) -> Option<&'static Official> {
    let own = matches!(data.dataset, DatasetName::Table | DatasetName::Folders | DatasetName::Digits);
    official(name).filter(|_| !own)
}

/// Both splits of a data set by its name or a recipe's.
fn splits_of(name: &str, folder: Option<&Path>) -> Result<Splits> {
    let Named { data, encoder, .. } = section(name)?;
    Splits::load(&data, folder, 0, &encoder)
}

/// What a name stands for: a recipe's data, or a data set as its files have it.
pub(super) struct Named {
    pub(super) data: DataSection,
    /// One that takes the images.
    pub(super) encoder: EncoderConfig,
    /// How a recipe probes them.
    pub(super) probe: Option<ProbeSection>,
    /// How a recipe makes views of them.
    pub(super) augmentation: Augmentation,
}

/// The data of a recipe, or a data set by its name.
pub(super) fn section(name: &str) -> Result<Named> {
    let deserializer: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
    if let Ok(dataset) = DatasetName::deserialize(deserializer)
        && dataset != DatasetName::Table
    {
        return Ok(Named {
            data: DataSection::of(dataset),
            encoder: dataset.native(),
            probe: None,
            augmentation: Augmentation::default(),
        });
    }
    if Shipped::find(name).is_none() && !Path::new(name).exists() {
        let known: Vec<&str> = ALL.iter().map(|set| set.name).collect();
        return Err(usage(format_args!(
            "no data set or recipe is named `{name}`{}",
            suggestion(name, &known)
        )));
    }
    let recipe = Recipe::load(name, &Changes::default())?;
    Ok(Named {
        data: recipe.data,
        encoder: recipe.encoder.config,
        probe: Some(recipe.probe),
        augmentation: recipe.augment,
    })
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
