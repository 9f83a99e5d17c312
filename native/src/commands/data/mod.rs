//! `simile data`

use std::path::Path;

use anyhow::Result;
use comfy_table::CellAlignment;
use serde::Serialize;
use simile_core::augment::Augmentation;
use simile_core::data::Dataset;
use simile_core::nn::EncoderConfig;

use crate::cli::{Data, DataCheck, DataFetch, DataList, DataPreview};
use crate::commands::input;
use crate::config::explain::suggestion;
use crate::config::probe::ProbeSection;
use crate::config::shipped::Shipped;
use crate::config::{Changes, Recipe};
use crate::console::{Console, line, table};
use crate::data::source::{About, Kind, Source};
use crate::data::{
    DataSection, DatasetName, Fetched, Report, Survey, check as check_files, fetch as fetch_files,
    preview as draw, sets,
};
use crate::draft::{Draft, Wishes};
use crate::exit::{told, usage};
use crate::experiment::preflight::check_measured;
use crate::experiment::prepare::splits::{Splits, no_folder};
use crate::run_folder::folder;

/// A data set with the keys of `[data]` that belong to it.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    about: &'static About,
    keys: Vec<String>,
}

impl Listed {
    fn new(set: &'static dyn Source) -> Self {
        let keys = set.options().iter().map(|option| format!("data.{}", option.key)).collect();
        Self { about: set.about(), keys }
    }
}

/// The contents of a data set.
#[derive(Serialize)]
struct Contents {
    train: Split,
    test: Split,
}

#[derive(Serialize)]
struct Checked {
    name: String,
    #[serde(flatten)]
    contents: Option<Contents>,
    survey: Survey,
    /// True if a run can use them.
    sound: bool,
}

/// The state of each file and, if all files are valid, their contents.
#[derive(Serialize)]
struct FilesChecked {
    #[serde(flatten)]
    files: Report,
    #[serde(flatten)]
    contents: Option<Contents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    survey: Option<Survey>,
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
        Data::Measure(arguments) => input::run(arguments, console),
    }
}

fn list(arguments: &DataList, console: Console) -> Result<()> {
    if let Some(name) = &arguments.name {
        let listed = Listed::new(known(name)?);
        return console.answer(&listed, || in_full(&listed));
    }
    let listed: Vec<Listed> = sets::ALL.iter().map(|set| Listed::new(*set)).collect();
    console.answer(&listed, || {
        let mut table = table(["Data set", "Variables", "Get it"]);
        for Listed { about, .. } in &listed {
            let get = match (about.downloads.is_empty(), about.home.is_empty()) {
                (false, _) => format!("simile data fetch {}", about.name),
                (true, false) => about.home.to_owned(),
                (true, true) => String::new(),
            };
            table.add_row([about.name, about.variables, &get]);
        }
        format!("{table}\n`simile data list NAME` says its files, licence and address.")
    })
}

/// One data set, line by line.
fn in_full(Listed { about, keys }: &Listed) -> String {
    let addresses: Vec<&str> = about.downloads.iter().map(|download| download.url).collect();
    let rows = [
        ("files", about.files.to_owned()),
        ("classes", about.classes.to_owned()),
        ("variables", about.variables.to_owned()),
        ("keys", keys.join(", ")),
        ("home", about.home.to_owned()),
        ("licence", about.licence.to_owned()),
        ("get it", about.get.to_owned()),
        ("fetched", addresses.join("\n           ")),
    ];
    let lines =
        rows.iter().filter(|(_, text)| !text.is_empty()).map(|(key, text)| format!("{key:<10} {text}\n"));
    format!("{}\n{}", about.name, lines.collect::<String>())
}

/// The data set of a name.
fn known(name: &str) -> Result<&'static dyn Source> {
    let unknown = || usage(format_args!("no data set is named `{name}`{}", suggestion(name, sets::names())));
    sets::find(name).ok_or_else(unknown)
}

#[derive(Serialize)]
struct FetchedSet {
    name: &'static str,
    licence: &'static str,
    files: Vec<Fetched>,
}

fn fetch(arguments: &DataFetch, console: Console) -> Result<()> {
    let about = known(&arguments.name)?.about();
    if about.downloads.is_empty() {
        let how = if about.home.is_empty() {
            "there is nothing to download".to_owned()
        } else {
            format!("{} ({})", about.get, about.home)
        };
        anyhow::bail!("{} cannot be fetched: {how}", about.name);
    }
    line(format_args!("{}: {}; licence: {}", about.name, about.home, about.licence));
    let files = fetch_files(about, &arguments.data, arguments.from.as_deref())?;
    for file in files.iter().filter(|file| !file.verified) {
        let receipt =
            file.receipt.as_ref().map_or_else(String::new, |path| format!(", kept in {}", path.display()));
        line(format_args!(
            "{} is not pinned: its authors publish no checksum; what came has MD5 {}{receipt}, to compare it with",
            file.url, file.md5
        ));
    }
    let answer = FetchedSet { name: about.name, licence: about.licence, files };
    console.answer(&answer, || {
        let paths = answer.files.iter().flat_map(|file| &file.paths);
        paths.map(|path| format!("{}\n", path.display())).collect()
    })
}

/// Compares files with the official ones; a user's own pictures are looked through; data that are drawn are described.
fn check(arguments: &DataCheck, console: Console) -> Result<()> {
    let DataCheck { label, csv, .. } = arguments;
    let name = arguments.name.as_str();
    let Named { data, encoder, probe, .. } = match Path::new(name) {
        folder if folder.is_dir() && DatasetName::find(name).is_none() => {
            load_folder(folder, Wishes { label: label.as_deref(), csv: csv.as_deref(), ..Wishes::default() })?
        }
        _ if label.is_some() || csv.is_some() => {
            return Err(usage(format_args!(
                "--label and --csv are for a folder of pictures, and `{name}` is none"
            )));
        }
        _ => section(name)?,
    };
    let folder = match Path::new(name).is_dir() {
        true if arguments.data.is_none() => Some(Path::new(name)),
        _ => arguments.data.as_deref(),
    };
    if matches!(data.dataset.kind(), Kind::Pictures(_)) && !data.dataset.about().is_published() {
        return check_own(name, &data, folder, (&encoder, probe.unwrap_or_default()), console);
    }
    if sets::find(name).is_some_and(|set| set.about().is_published()) {
        let folder = folder.ok_or_else(no_folder)?;
        let files = check_files(folder, &data)?;
        let sound = files.sound;
        let splits = if sound { Some(Splits::load(&data, Some(folder), 0, &encoder)?) } else { None };
        let survey = splits.as_ref().map(|splits| Survey::from_images(&splits.train));
        let answer = FilesChecked { files, contents: splits.as_ref().map(Contents::of), survey };
        console.answer(&answer, || {
            let contents = answer.contents.as_ref().map(Contents::text).unwrap_or_default();
            let survey = answer.survey.as_ref().map(in_words).unwrap_or_default();
            format!("{contents}{survey}{}", answer.files)
        })?;
        anyhow::ensure!(sound, "{name} in {} is not sound", folder.display());
        return Ok(());
    }
    let splits = Splits::load(&data, folder, 0, &encoder)?;
    let survey = Survey::from_images(&splits.train);
    let answer = Checked { name: name.into(), contents: Some(Contents::of(&splits)), survey, sound: true };
    console.answer(&answer, || answer.text())
}

/// Looks through a user's own pictures: faults that end a run are all named, and then it fails.
fn check_own(
    name: &str,
    data: &DataSection,
    folder: Option<&Path>,
    (encoder, mut probe): (&EncoderConfig, ProbeSection),
    console: Console,
) -> Result<()> {
    let folder = folder.ok_or_else(no_folder)?;
    let mut survey = Survey::from_files(data, folder)?;
    let mut contents = None;
    if survey.refused.is_none() {
        let splits = Splits::load(data, Some(folder), 0, encoder)?;
        if !splits.train.conditions.contains_key(&probe.condition) {
            probe.condition = splits.train.conditions.keys().next().cloned().unwrap_or_default();
        }
        survey.refused = check_measured(&probe, &splits, data.judged()).err().map(|error| told(&error));
        contents = Some(Contents::of(&splits));
    }
    let sound = survey.refused.is_none();
    let answer = Checked { name: name.into(), contents, survey, sound };
    console.answer(&answer, || answer.text())?;
    anyhow::ensure!(sound, "a run would refuse {name} in {}", folder.display());
    Ok(())
}

/// The data of a folder of pictures, with all of its attributes.
fn load_folder(folder: &Path, wishes: Wishes<'_>) -> Result<Named> {
    let draft = Draft::with_all(folder, wishes)?;
    let recipe = draft.load(&Changes::default())?;
    Ok(Named {
        data: recipe.data,
        encoder: recipe.encoder.config,
        probe: Some(recipe.probe),
        augmentation: recipe.augment,
    })
}

/// The variables, the table of each beside the class, and the faults.
fn in_words(survey: &Survey) -> String {
    let mut text = survey.to_string();
    for (name, rows) in survey.tables() {
        let Some((head, rows)) = rows.split_first() else { continue };
        let mut of_variable = table(head.iter().map(String::as_str));
        for row in rows {
            of_variable.add_row(row.clone());
        }
        for column in of_variable.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        text += &format!("class x {name}\n{of_variable}\n");
    }
    text
}

impl Checked {
    fn text(&self) -> String {
        let contents = self.contents.as_ref().map(Contents::text).unwrap_or_default();
        let verdict = if self.sound { "is sound" } else { "would be refused by a run" };
        format!("{contents}{}{} {verdict}", in_words(&self.survey), self.name)
    }
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
    if let Kind::Pictures(set) = data.dataset.kind() {
        // Only as many images as can be shown are decoded; they are drawn from all classes.
        data.train = Some(data.train.unwrap_or(usize::MAX).min(arguments.count as usize));
        data.validation = 0;
        if !set.holds_out() {
            data.test = Some(1);
        }
    }
    let Splits { train, .. } = Splits::load(&data, arguments.data.as_deref(), 0, &encoder)?;
    let images = (arguments.count as usize).min(train.len());
    folder::write(&arguments.out, &draw(&train, images)?)?;
    let file = arguments.out.display().to_string();
    console.answer(&Previewed { file: file.clone(), images }, || file)
}

/// The data section of a name: that of a recipe, or a data set with its defaults.
pub(super) struct Named {
    pub(super) data: DataSection,
    /// An encoder with the input size of the images.
    pub(super) encoder: EncoderConfig,
    /// The probe section of the recipe.
    pub(super) probe: Option<ProbeSection>,
    /// The augmentation of the recipe.
    pub(super) augmentation: Augmentation,
}

/// The data of a recipe, or a data set by its name.
pub(super) fn section(name: &str) -> Result<Named> {
    // A table cannot be read without the names of its columns, which are in a recipe.
    if let Some(data) = DatasetName::find(name).map(DataSection::of).filter(|data| data.check().is_ok()) {
        return Ok(Named {
            encoder: data.dataset.native(),
            data,
            probe: None,
            augmentation: Augmentation::default(),
        });
    }
    let path = Path::new(name);
    if DatasetName::find(name).is_some() && !path.is_file() {
        return Err(usage(format_args!(
            "`{name}` cannot be read without a recipe, which names its CSV file and columns; `simile init DIR` writes one, and \
             `simile data check DIR` looks through the folder itself"
        )));
    }
    if Shipped::find(name).is_none() && !path.exists() {
        if is_path(name) {
            return Err(usage(format_args!("there is no file `{name}`")));
        }
        return Err(usage(format_args!(
            "no data set or recipe is named `{name}`{}",
            suggestion(name, sets::names())
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

/// True for a name that only a file can have.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || Path::new(name).extension().is_some_and(|ending| ending == "toml")
}

fn describe(dataset: &Dataset) -> Split {
    let shape = dataset.images.shape();
    Split {
        images: dataset.len(),
        size: [shape.height, shape.width, shape.channels],
        classes: dataset.classes.len(),
        class_counts: dataset.class_counts(),
        variables: dataset.conditions.keys().cloned().collect(),
    }
}
