//! CheXpert (Irvin et al. 2019), in its small or its full version: chest radiographs, each with several pathologies that are
//! present (1), absent (0), uncertain (−1) or not mentioned (empty).
//!
//! A picture has one class here, so one of the five pathologies of the authors' comparison is chosen as the class;
//! every one of the five is a condition as well. Not mentioned counts as absent, as usual. The published validation
//! set (234 pictures, read by radiologists) has no uncertain labels and serves as the test split. The test set, which was
//! published in 2022 with CheXlocalize, is not read.

use std::path::Path;

use serde::{Deserialize, Serialize};
use simile_core::data::catalogue::numbered;
use simile_core::data::formats::lines::Text;
use simile_core::data::{Catalogue, Condition, DatasetError, Split};
use simile_core::numeric::matrix::Matrix;

use crate::data::error::Result;
use crate::data::keys::of_dataset::{DatasetOption, DatasetOptions, OptionType, ReadOptions};
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::source::{About, Medium, PictureFiles, Source};

pub(super) struct Chexpert;

static ABOUT: About = About {
    name: "chexpert",
    files: "CheXpert-v1.0-small as it unpacks, or CheXpert-v1.0: train.csv, valid.csv and the pictures that they name",
    classes: "one of five pathologies; the authors' validation split to test",
    attributes: "atelectasis, cardiomegaly, consolidation, edema, pleural-effusion, pathologies",
    home: "https://stanfordmlgroup.github.io/competitions/chexpert/",
    licence: "Stanford's research use agreement",
    get: "register on the authors' page; of the full version, put `valid` and both lists of batch 1 into a folder, and the folders \
          `patient*` of batches 2 to 4 into a folder `train` beside them",
    needed: &["train.csv", "valid.csv"],
    ..About::NOTHING
};

impl Source for Chexpert {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }

    fn options(&self) -> &'static [OptionType] {
        const { &[OptionType::of::<ChexpertSection>()] }
    }

    fn whole(&self) -> DatasetOptions {
        DatasetOptions::default().with(ChexpertSection::whole())
    }
}

impl PictureFiles for Chexpert {
    fn annotate(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        let section = options.get::<ChexpertSection>().cloned().unwrap_or_default();
        let inner = [
            "CheXpert-v1.0-small",
            "CheXpert-v1.0",
            "chexpert",
            "chexpert/CheXpert-v1.0-small",
            "chexpert/CheXpert-v1.0",
        ];
        let root = root(folder, &inner, "train.csv")?;
        let (train, valid) = (text(&root.join("train.csv"))?, text(&root.join("valid.csv"))?);
        let texts = (Text::new(&train.0, &train.1), Text::new(&valid.0, &valid.1));
        let catalogue = catalogue(&texts.0, &texts.1, &section.target, section.uncertain)?;
        Ok(Annotations { root, catalogue, notes: Vec::new() })
    }

    #[cfg(test)]
    fn parse_changed(&self, texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
        let read = |uncertain| Ok(catalogue(&texts[0], &texts[1], "cardiomegaly", uncertain).map(drop)?);
        vec![read(Uncertain::Drop), read(Uncertain::Present)]
    }
}

/// `[data.chexpert]`: the pathology that is the class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ChexpertSection {
    target: String,
    /// The treatment of its uncertain labels: `drop`, `absent` or `present`.
    uncertain: Uncertain,
}

impl Default for ChexpertSection {
    fn default() -> Self {
        Self { target: "pleural-effusion".into(), uncertain: Uncertain::default() }
    }
}

impl ChexpertSection {
    /// The section with which no picture is left out.
    fn whole() -> Self {
        Self { uncertain: Uncertain::Absent, ..Self::default() }
    }
}

impl DatasetOption for ChexpertSection {
    const KEY: &'static str = "chexpert";
    const MEANINGS: &'static [(&'static str, &'static str)] = &[
        ("", "The class of the data set `chexpert`."),
        ("target", "Pathology that is the class; `pleural-effusion` by default."),
        (
            "uncertain",
            "Treatment of an uncertain label of the class: left out (`drop`, the default), `absent` or `present`.",
        ),
    ];
}

/// The pathologies of the authors' comparison.
const PATHOLOGIES: [&str; 5] = ["Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pleural Effusion"];

/// The treatment of an uncertain label of the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Uncertain {
    /// The picture is left out of the training split (the authors' U-Ignore; Decoupled Uniformity's NaN).
    #[default]
    Drop,
    /// Absent (U-Zeros).
    Absent,
    /// Present (U-Ones).
    Present,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Absent,
    Present,
    Uncertain,
    Unmentioned,
}

impl State {
    /// Names in the order of the variants.
    const NAMES: [&str; 4] = ["absent", "present", "uncertain", "not mentioned"];

    fn is_present(self, uncertain: Uncertain) -> Option<bool> {
        match (self, uncertain) {
            (Self::Uncertain, Uncertain::Drop) => None,
            (Self::Uncertain, Uncertain::Present) | (Self::Present, _) => Some(true),
            (Self::Uncertain, Uncertain::Absent) | (Self::Absent | Self::Unmentioned, _) => Some(false),
        }
    }

    /// 0 absent, 1 present, ½ uncertain.
    fn value(self) -> f64 {
        match self {
            Self::Absent | Self::Unmentioned => 0.0,
            Self::Uncertain => 0.5,
            Self::Present => 1.0,
        }
    }
}

/// Reads the catalogue with the pathology `target` as the class, written `Pleural Effusion` or `pleural-effusion`.
/// Paths are relative to the folder of the two files.
///
/// Conditions: each pathology by its name in lower case (categorical: absent, present, uncertain, not mentioned), and
/// `pathologies`, `[n, 5]`: 0 absent or not mentioned, ½ uncertain, 1 present.
///
/// # Errors
/// [`DatasetError::Parameter`] for another target; [`DatasetError::Line`] names the file and the line that cannot
/// be parsed.
fn catalogue(
    train: &Text<'_>,
    valid: &Text<'_>,
    target: &str,
    uncertain: Uncertain,
) -> Result<Catalogue, DatasetError> {
    let slug = |name: &str| name.replace(' ', "-").to_lowercase();
    let Some(target) = PATHOLOGIES.iter().position(|name| slug(name) == slug(target)) else {
        let known = PATHOLOGIES.map(slug).join(", ");
        return Err(DatasetError::parameter(
            "data.chexpert.target",
            target,
            &format!("expected one of: {known}"),
        ));
    };
    let mut rows = Rows::default();
    rows.read(train, Split::Train, target, uncertain)?;
    rows.read(valid, Split::Test, target, uncertain)?;
    let states = rows.states;
    let classes = vec![format!("no {}", PATHOLOGIES[target]), PATHOLOGIES[target].to_owned()];
    // `train/patient00001/study1/view1_frontal.jpg`
    let patients = rows.files.iter().map(|file| file.split('/').nth(1).unwrap_or_default().to_owned());
    let patients: Vec<String> = patients.collect();
    let (subjects, _) = numbered(patients.iter().map(String::as_str));
    let catalogue = Catalogue::new(train.origin, rows.files, rows.splits, rows.labels, classes)?;
    let mut catalogue = catalogue.with_subjects(subjects)?;
    for (at, name) in PATHOLOGIES.iter().enumerate() {
        let values = states.iter().map(|row| row[at] as usize).collect();
        let names = State::NAMES.map(String::from).to_vec();
        catalogue = catalogue.with_condition(&slug(name), Condition::Categorical { values, names })?;
    }
    let table = Matrix::from_fn(states.len(), PATHOLOGIES.len(), |row, at| states[row][at].value());
    catalogue.with_condition("pathologies", Condition::Numeric(table.into()))
}

#[derive(Default)]
struct Rows {
    files: Vec<String>,
    splits: Vec<Split>,
    labels: Vec<usize>,
    states: Vec<[State; 5]>,
}

impl Rows {
    fn read(
        &mut self,
        text: &Text<'_>,
        split: Split,
        target: usize,
        uncertain: Uncertain,
    ) -> Result<(), DatasetError> {
        let csv = text.csv()?;
        let path = csv.column("Path")?;
        let columns =
            PATHOLOGIES.iter().map(|name| csv.column(name)).collect::<Result<Vec<usize>, DatasetError>>()?;
        for (line, row) in csv.rows() {
            let mut states = [State::Unmentioned; 5];
            for (state, &at) in states.iter_mut().zip(&columns) {
                *state = match row.get(at).unwrap_or_default() {
                    "" => State::Unmentioned,
                    "1.0" | "1" => State::Present,
                    "0.0" | "0" => State::Absent,
                    "-1.0" | "-1" => State::Uncertain,
                    other => {
                        let name = &csv.header[at];
                        return Err(
                            csv.error(line, format!("`{name}` is `{other}`, expected 1, 0, -1 or nothing"))
                        );
                    }
                };
            }
            let Some(present) = states[target].is_present(uncertain) else { continue };
            // The list starts with its own folder, `CheXpert-v1.0-small`.
            let path = row.get(path).unwrap_or_default();
            let below = ["train/", "valid/"]
                .iter()
                .find_map(|folder| path.find(folder).and_then(|at| path.get(at..)));
            let below = below
                .ok_or_else(|| csv.error(line, format!("the path `{path}` is in neither train nor valid")))?;
            self.files.push(below.to_owned());
            self.splits.push(split);
            self.labels.push(usize::from(present));
            self.states.push(states);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    const HEADER: &str = "Path,Sex,Age,Frontal/Lateral,AP/PA,No Finding,Enlarged Cardiomediastinum,Cardiomegaly,\
        Lung Opacity,Lung Lesion,Edema,Consolidation,Pneumonia,Atelectasis,Pneumothorax,Pleural Effusion,Pleural Other,\
        Fracture,Support Devices";

    fn train() -> String {
        let path = |n: u8| {
            format!("CheXpert-v1.0-small/train/patient0000{n}/study1/view1_frontal.jpg,Female,68,Frontal,AP")
        };
        format!(
            "{HEADER}\n{},1.0,,,,,,,,,0.0,,,,1.0\n{},,,-1.0,,,-1.0,-1.0,,-1.0,,1.0,,,\n{},,,0.0,,,1.0,,,1.0,,-1.0,,,\n",
            path(1),
            path(2),
            path(3)
        )
    }

    fn read(train: &str, target: &str, uncertain: Uncertain) -> Result<Catalogue, DatasetError> {
        let valid = format!(
            "{HEADER}\nCheXpert-v1.0-small/valid/patient64541/study1/view1_frontal.jpg,Male,73,Frontal,AP,\
            0.0,1.0,1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0\n"
        );
        catalogue(&Text::new(train, "train.csv"), &Text::new(&valid, "valid.csv"), target, uncertain)
    }

    #[test]
    fn one_pathology_is_the_class_and_all_five_are_conditions() {
        let chests = read(&train(), "pleural-effusion", Uncertain::Drop).unwrap();
        assert_eq!(chests.files[0], "train/patient00001/study1/view1_frontal.jpg");
        assert_eq!((chests.labels.as_slice(), chests.len()), (&[0, 1, 1][..], 3));
        assert_eq!(chests.splits, [Split::Train, Split::Train, Split::Test]);
        assert_eq!(chests.subjects, Some(vec![0, 1, 2]));
        let Condition::Categorical { values, .. } = &chests.conditions["atelectasis"] else { unreachable!() };
        assert_eq!(values, &[3, 2, 0]);
        assert_eq!(chests.conditions["pathologies"].to_matrix().row(1), [0.5, 0.5, 0.5, 0.5, 1.0]);
    }

    /// The lists of the full version begin their paths with another folder than those of the small one.
    #[test]
    fn the_full_version_is_read_in_the_layout_that_is_said() {
        for home in ["", "CheXpert-v1.0", "chexpert/CheXpert-v1.0"] {
            let place = tempfile::tempdir().unwrap();
            let folder = place.path().join(home);
            for (split, patient) in [("train", 1), ("valid", 64541)] {
                let picture = format!("{split}/patient{patient:05}/study1/view1_frontal.jpg");
                let picture_file = folder.join(&picture);
                fs::create_dir_all(picture_file.parent().unwrap()).unwrap();
                fs::write(picture_file, "").unwrap();
                let row = format!("CheXpert-v1.0/{picture},Female,68,Frontal,AP,{}", ",".repeat(13));
                fs::write(folder.join(format!("{split}.csv")), format!("{HEADER}\n{row}\n")).unwrap();
            }
            let read = Chexpert.annotations(&ReadOptions::default(), place.path()).unwrap();
            assert_eq!(read.catalogue.len(), 2);
            assert!(read.catalogue.files.iter().all(|file| read.root.join(file).is_file()), "{read:?}");
        }
    }

    #[test]
    fn uncertain_labels_mean_what_is_chosen() {
        let labels = |uncertain| read(&train(), "Pleural Effusion", uncertain).unwrap().labels;
        assert_eq!(labels(Uncertain::Absent), [0, 1, 0, 1]);
        assert_eq!(labels(Uncertain::Present), [0, 1, 1, 1]);
    }

    #[test]
    fn faults_are_named() {
        let text = |result: Result<Catalogue, DatasetError>| result.unwrap_err().to_string();
        let unknown = text(read(&train(), "pneumonia", Uncertain::Drop));
        assert!(
            unknown.contains("`data.chexpert.target` is pneumonia")
                && unknown.contains("atelectasis, cardiomegaly"),
            "{unknown}"
        );
        let odd = train().replacen("-1.0", "maybe", 1);
        assert!(
            text(read(&odd, "edema", Uncertain::Drop))
                .contains("train.csv, line 3: `Cardiomegaly` is `maybe`")
        );
        assert!(
            text(read(&train().replacen("train/", "tr/", 1), "edema", Uncertain::Drop))
                .contains("line 2: the path")
        );
    }
}
