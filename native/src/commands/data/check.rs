//! `simile data check`

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use simile_core::data::Dataset;
use simile_core::nn::EncoderConfig;

use crate::cli::DataCheck;
use crate::columns::overlooked;
use crate::commands::shared::named_data::{NamedData, refuse_folder_of_drawn, section};
use crate::commands::shared::own_pictures::{csv_in_folder, for_a_folder};
use crate::config::Changes;
use crate::config::probe::ProbeSection;
use crate::config::shipped::Shipped;
use crate::console::{Console, line, table_of_numbers};
use crate::data::{CheckReport, DataSection, DatasetName, Survey, TableSection, check as check_files, sets};
use crate::draft::{Draft, OwnPictureOptions};
use crate::exit::message_with_causes;
use crate::experiment::preflight::{WarningTerms, check_measured, leak_warnings};
use crate::experiment::prepare::data_errors::{no_folder, refused};
use crate::experiment::prepare::splits::{Evaluated, Splits};
use crate::words::number_of;

/// The contents of a data set.
#[derive(Serialize)]
struct Contents {
    train: SplitSummary,
    test: SplitSummary,
}

#[derive(Serialize)]
struct SplitSummary {
    images: usize,
    /// Height, width, channels.
    size: [usize; 3],
    classes: usize,
    class_counts: Vec<usize>,
    #[serde(rename = "variables")]
    attributes: Vec<String>,
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
    files: CheckReport,
    #[serde(flatten)]
    contents: Option<Contents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    survey: Option<Survey>,
}

/// Compares files with the official ones; a user's own pictures are looked through; data that are drawn are described.
pub(super) fn run(arguments: &DataCheck, console: Console) -> Result<()> {
    let DataCheck { label, csv, .. } = arguments;
    let name = arguments.name.as_str();
    let NamedData { data, encoder, probe, .. } = match Path::new(name) {
        folder if is_folder(name) => {
            let csv = csv.as_deref().map(|csv| csv_in_folder(folder, csv));
            let options = OwnPictureOptions {
                label: label.as_deref(),
                csv: csv.as_deref(),
                ..OwnPictureOptions::default()
            };
            load_folder(folder, options)?
        }
        _ if label.is_some() || csv.is_some() => {
            return Err(for_a_folder("--label and --csv", name));
        }
        _ => section(name, true)?,
    };
    refuse_folder_of_drawn(&data, arguments.data.path())?;
    // Of data that are not drawn, the files are looked for in the folder.
    let folder = match Path::new(name) {
        folder if folder.is_dir() => arguments.data.path().or(Some(folder)),
        _ => arguments.data.path(),
    };
    if Path::new(name).is_dir() && ships(name) && data.dataset.is_drawn() {
        line(format_args!(
            "note: `{name}` names drawn data that ship with the program; write ./{name} for the folder"
        ));
    }
    if data.dataset.is_own() {
        return check_own(name, &data, folder, (&encoder, probe.unwrap_or_default()), console);
    }
    if let Some(set) = sets::find(name).filter(|set| set.about().is_published()) {
        let folder = folder.ok_or_else(|| no_folder(&data))?;
        // The defaults may leave pictures out that a recipe takes.
        let whole = DataSection { of_dataset: set.whole(), ..data.clone() };
        let files = check_files(folder, &whole)?;
        let sound = files.sound;
        let splits = if sound { Some(Splits::load(&data, Some(folder), &encoder)?) } else { None };
        let survey = splits.as_ref().map(|splits| Survey::from_images(&splits.train));
        let answer = FilesChecked { files, contents: splits.as_ref().map(Contents::of), survey };
        console.answer(&answer, || {
            let contents = answer.contents.as_ref().map(Contents::text).unwrap_or_default();
            let survey = answer.survey.as_ref().map(in_words).unwrap_or_default();
            format!("{contents}{survey}{}", answer.files)
        })?;
        anyhow::ensure!(sound, "{name} in {} is not the complete official data set", folder.display());
        return Ok(());
    }
    let splits = Splits::load(&data, folder, &encoder)?;
    let survey = Survey::from_images(&splits.train);
    let answer = Checked { name: name.into(), contents: Some(Contents::of(&splits)), survey, sound: true };
    console.answer(&answer, || answer.text())
}

/// True for a folder of pictures, which needs no recipe.
fn is_folder(name: &str) -> bool {
    Path::new(name).is_dir() && !ships(name)
}

/// True for the name of a data set or a recipe, which goes before a folder of that name.
fn ships(name: &str) -> bool {
    DatasetName::find(name).is_some() || Shipped::find(name).is_some()
}

/// Looks through a user's own pictures: faults that end a run are all named, and then it fails.
fn check_own(
    name: &str,
    data: &DataSection,
    folder: Option<&Path>,
    (encoder, mut probe): (&EncoderConfig, ProbeSection),
    console: Console,
) -> Result<()> {
    let folder = folder.ok_or_else(|| no_folder(data))?;
    let mut survey = Survey::from_files(data, folder).map_err(|error| refused(data, error))?;
    let mut contents = None;
    if survey.refused.is_none() {
        let splits = Splits::sample(data, Some(folder), encoder)?;
        if !splits.train.conditions.contains_key(&probe.condition) {
            probe.condition = splits.train.conditions.keys().next().cloned().unwrap_or_default();
        }
        survey.refused = check_measured(&probe, &splits).err().map(|error| message_with_causes(&error));
        let Evaluated { dataset, split } = &splits.evaluated;
        let terms = WarningTerms { things: "images", evaluation_split: *split, key: None };
        let warnings = leak_warnings(&probe, [&splits.train, dataset], terms);
        // Of a folder the draft has said why it left the column out, and there is no recipe to name it in.
        let table = data.of_dataset.get::<TableSection>().filter(|_| !is_folder(name));
        let on_subject = table.and_then(|table| overlooked::note(table, folder, data.validation > 0));
        let notes = on_subject.into_iter().chain(splits.lack()).chain(warnings);
        notes.for_each(|note| survey.note(note));
        contents = Some(Contents::of(&splits));
    }
    let sound = survey.refused.is_none();
    let answer = Checked { name: name.into(), contents, survey, sound };
    console.answer(&answer, || answer.text())?;
    match &answer.survey.refused {
        None => Ok(()),
        Some(reason) => anyhow::bail!("a run would refuse the pictures in {}: {reason}", folder.display()),
    }
}

/// The data of a folder of pictures, with all of its attributes.
fn load_folder(folder: &Path, options: OwnPictureOptions<'_>) -> Result<NamedData> {
    let draft = Draft::with_all(folder, options)?;
    Ok(draft.load(&Changes::default())?.into())
}

/// The attributes, the table of each beside the class, and the faults.
fn in_words(survey: &Survey) -> String {
    let mut text = survey.to_string();
    for (name, rows) in survey.tables() {
        let Some((header, rows)) = rows.split_first() else { continue };
        let mut counts = table_of_numbers(header.iter().map(String::as_str));
        for row in rows {
            counts.add_row(row.clone());
        }
        text += &format!("class x {name}\n{counts}\n");
    }
    text
}

impl Checked {
    fn text(&self) -> String {
        let contents = self.contents.as_ref().map(Contents::text).unwrap_or_default();
        let verdict = match (self.sound, self.survey.has_faults()) {
            (true, false) => "is sound",
            (true, true) => {
                "can be used by a run, which leaves broken pictures out; mend the faults above first"
            }
            (false, _) => "would be refused by a run",
        };
        format!("{contents}{}{} {verdict}", in_words(&self.survey), self.name)
    }
}

impl Contents {
    fn of(splits: &Splits) -> Self {
        Self { train: describe(&splits.train), test: describe(&splits.evaluated.dataset) }
    }

    /// One line a split.
    fn text(&self) -> String {
        let line = |name: &str, split: &SplitSummary| {
            let [height, width, channels] = split.size;
            let classes = number_of(split.classes, "class", "classes");
            let sizes = sizes(&split.class_counts);
            let attributes =
                if split.attributes.is_empty() { "none".into() } else { split.attributes.join(", ") };
            format!(
                "{name:<6} {} of {height}x{width}x{channels}, {classes} of {sizes}, attributes: {attributes}\n",
                number_of(split.images, "image", "images")
            )
        };
        line("train", &self.train) + &line("test", &self.test)
    }
}

/// The numbers of images of some classes, from the least to the greatest, in words.
fn sizes(class_counts: &[usize]) -> String {
    let least = class_counts.iter().min().copied().unwrap_or(0);
    let most = class_counts.iter().max().copied().unwrap_or(0);
    match (least == most, class_counts.len()) {
        (true, 0 | 1) => number_of(most, "image", "images"),
        (true, _) => format!("{} each", number_of(most, "image", "images")),
        (false, _) => format!("{least} to {most} images each"),
    }
}

fn describe(dataset: &Dataset) -> SplitSummary {
    let shape = dataset.images.shape();
    SplitSummary {
        images: dataset.len(),
        size: [shape.height, shape.width, shape.channels],
        classes: dataset.classes.len(),
        class_counts: dataset.class_counts(),
        attributes: dataset.conditions.keys().cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_as_many_images_are_said_with_one_number() {
        assert_eq!(sizes(&[120, 136, 128]), "120 to 136 images each");
        assert_eq!(sizes(&[120, 120]), "120 images each");
        assert_eq!(sizes(&[1, 1]), "1 image each");
        assert_eq!((sizes(&[240]), sizes(&[])), ("240 images".into(), "0 images".into()));
    }
}
