//! UTKFace (Zhang et al. 2017): aligned and cropped faces in one folder, or in several below it, with age, gender and race in the
//! file names.
//!
//! `[age]_[gender]_[race]_[date&time].jpg.chip.jpg`: gender 0 male, 1 female; race 0 white, 1 black, 2 Asian, 3 Indian,
//! 4 others. A few published names lack a field.

use std::collections::HashSet;
use std::path::Path;

use simile_core::data::catalogue::groups;
#[cfg(test)]
use simile_core::data::formats::lines::Text;
use simile_core::data::{Catalogue, Condition, DatasetError, Split};
use simile_core::numeric::matrix::Matrix;

use super::faces::{FacesSection, Sampling, hold_out_a_fifth, thin_conflicting};
use super::split::SplitSection;
use crate::data::error::{DataError, Result};
use crate::data::files::walk::pictures;
use crate::data::keys::Refused;
use crate::data::keys::of_dataset::{DatasetOptions, OptionType, ReadOptions};
use crate::data::pictures::annotations::{Annotations, inner_folder};
use crate::data::source::{About, Medium, PictureFiles, Source};
use crate::words::number_of;

pub(super) struct Utkface;

static ABOUT: About = About {
    name: "utkface",
    files: "UTKFace/AGE_GENDER_RACE_DATE.jpg.chip.jpg (the aligned and cropped faces)",
    classes: "gender; sampled as Hong and Yang do, or 3 in 10 are held out",
    attributes: "age, race, bias, group",
    home: "https://susanqq.github.io/UTKFace/",
    licence: "non-commercial research",
    get: "follow the authors' page to their drive and unpack UTKFace.tar.gz",
    ..About::NOTHING
};

impl Source for Utkface {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }

    fn options(&self) -> &'static [OptionType] {
        const { &[OptionType::of::<SplitSection>(), OptionType::of::<FacesSection>()] }
    }

    fn whole(&self) -> DatasetOptions {
        DatasetOptions::default().with(FacesSection::whole())
    }

    fn check_use(&self, options: &ReadOptions) -> Result<(), Refused> {
        let default = FacesSection::default();
        let faces = options.get::<FacesSection>().unwrap_or(&default);
        match faces.sampling {
            Sampling::Published if options.get::<SplitSection>().is_some() => {
                let reason = "`data.split` has no effect on the published sampling, which has splits of its own; leave it out, \
                              or take all faces with `data.faces.sampling = \"all\"`";
                Err(Refused::new("split", reason))
            }
            Sampling::All if faces.correlation != default.correlation => {
                let reason = "`data.faces.correlation` has no effect on all faces; leave it out, or take the published \
                              sampling with `data.faces.sampling = \"published\"`";
                Err(Refused::new("faces", reason))
            }
            _ => Ok(()),
        }
    }
}

impl PictureFiles for Utkface {
    fn annotate(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        let section = options.get::<FacesSection>().cloned().unwrap_or_default();
        let unknown = |key: &str, value: &str, reason: &str| {
            DataError::Dataset(DatasetError::Parameter {
                name: key.into(),
                value: value.into(),
                reason: reason.into(),
            })
        };
        if let Some(target) = section.target.as_deref().filter(|target| *target != "gender") {
            return Err(unknown("data.faces.target", target, "expected `gender`, the class of UTKFace"));
        }
        let bias = match section.bias.as_deref() {
            None | Some("race") => FaceBias::Race,
            Some("age") => FaceBias::Age,
            Some(other) => return Err(unknown("data.faces.bias", other, "expected `race` or `age`")),
        };
        let root = inner_folder(folder, &["UTKFace", "utkface/UTKFace", "utkface"]);
        let (paths, copies) = without_copies(pictures(&root)?);
        let (catalogue, odd) = catalogue(&paths, bias).map_err(|error| match error {
            DatasetError::Empty { .. } => {
                let reason = "no picture is named AGE_GENDER_RACE_DATE.jpg, as the authors name them".into();
                DataError::Table { path: root.clone(), reason }
            }
            error => error.into(),
        })?;
        let catalogue = match section.sampling {
            Sampling::Published => published(catalogue, section.correlation, section.seed)?,
            Sampling::All => options.get::<SplitSection>().cloned().unwrap_or_default().split(catalogue)?,
        };
        let reasons = [
            (odd, "without age, gender or race in the name"),
            (copies, "with the name of a face that is taken from another folder"),
        ];
        let note = |(files, reason): (Vec<String>, &str)| {
            let first = files.first()?;
            Some(format!("left out {} {reason}, such as {first}", number_of(files.len(), "file", "files")))
        };
        Ok(Annotations { root, catalogue, notes: reasons.into_iter().filter_map(note).collect() })
    }

    #[cfg(test)]
    fn parse_changed(&self, texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
        let paths: Vec<String> = texts[0].text.lines().map(String::from).collect();
        let read = |bias| catalogue(&paths, bias).map(|(faces, _)| faces);
        let chosen = |bias| read(bias).and_then(|faces| published(faces, 0.9, 1));
        let outcomes = [FaceBias::Race, FaceBias::Age].map(|bias| [read(bias), chosen(bias)]);
        outcomes.into_iter().flatten().map(|faces| faces.map(drop).map_err(Into::into)).collect()
    }
}

/// Values of gender, in the order of their numbers.
const GENDERS: [&str; 2] = ["male", "female"];
/// Values of race, in the order of their numbers.
const RACES: [&str; 5] = ["white", "black", "asian", "indian", "other"];

/// The bias attribute of the class, gender.
#[derive(Debug, Clone, Copy)]
enum FaceBias {
    /// White (0) or not (1).
    Race,
    /// Twenty years or older (0), ten or younger (1); ages between are left out.
    Age,
}

/// The attributes in the name of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Face {
    /// Years, 0 to 116.
    age: u8,
    /// An index into [`GENDERS`].
    gender: usize,
    /// An index into [`RACES`].
    race: usize,
}

impl Face {
    /// Parses a file name; `None` if it has another form.
    fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        let mut fields = name.split('_');
        let face = Self {
            age: fields.next()?.parse().ok()?,
            gender: fields.next()?.parse().ok()?,
            race: fields.next()?.parse().ok()?,
        };
        let dated = fields.next()?.starts_with(|letter: char| letter.is_ascii_digit());
        (dated && face.gender < GENDERS.len() && face.race < RACES.len()).then_some(face)
    }

    fn bias(self, bias: FaceBias) -> Option<usize> {
        match bias {
            FaceBias::Race => Some(usize::from(self.race != 0)),
            FaceBias::Age if self.age >= 20 => Some(0),
            FaceBias::Age if self.age <= 10 => Some(1),
            FaceBias::Age => None,
        }
    }
}

/// The first path of each file name, and the others. Kaggle's archive has a face in up to four folders, and a name has the time at
/// which its face was collected, so that no two faces share one; copies would be both trained and tested on.
fn without_copies(paths: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut names = HashSet::new();
    paths.into_iter().partition(|path| names.insert(path.rsplit('/').next().map(String::from)))
}

/// The catalogue of `paths`, and the paths whose names cannot be parsed. Paths are sorted first, so that the result
/// does not depend on the order of a directory. The class is gender; all pictures are [`Split::Train`].
///
/// Conditions: `age` (years), `race`, `bias`, and `group` (class × bias).
///
/// # Errors
/// [`DatasetError::Empty`] if no name can be parsed.
fn catalogue(paths: &[String], bias: FaceBias) -> Result<(Catalogue, Vec<String>), DatasetError> {
    let mut sorted = paths.to_vec();
    sorted.sort_unstable();
    let (mut odd, mut files, mut faces, mut biases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for path in sorted {
        let Some(face) = Face::of(&path) else {
            odd.push(path);
            continue;
        };
        if let Some(value) = face.bias(bias) {
            files.push(path);
            faces.push(face);
            biases.push(value);
        }
    }
    let names = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect::<Vec<_>>();
    let bias_names = names(match bias {
        FaceBias::Race => &["white", "not white"],
        FaceBias::Age => &["20 or older", "10 or younger"],
    });
    let labels: Vec<usize> = faces.iter().map(|face| face.gender).collect();
    let classes = names(&GENDERS);
    let group = groups(&labels, &classes, &biases, &bias_names);
    let age = Matrix::from_fn(faces.len(), 1, |i, _| f64::from(faces[i].age));
    let race =
        Condition::Categorical { values: faces.iter().map(|face| face.race).collect(), names: names(&RACES) };
    let splits = vec![Split::Train; files.len()];
    let catalogue = Catalogue::new("UTKFace", files, splits, labels, classes)?
        .with_condition("age", Condition::Numeric(age.into()))?
        .with_condition("race", race)?
        .with_condition("bias", Condition::Categorical { values: biases, names: bias_names })?
        .with_condition("group", group)?;
    Ok((catalogue, odd))
}

/// The published sampling: 8:2 at random into training and test pictures, conflicting pairs of the training pictures
/// thinned to `correlation` (see [`thin_conflicting`]), half of the test pictures made validation.
///
/// Released code draws from an unseeded generator and saves the result; here the sampling is drawn with a seed. The
/// first run of released code, before anything is saved, evaluates on the whole test split.
///
/// # Errors
/// If there are too few pictures, or `correlation` is not in 0..=1.
fn published(catalogue: Catalogue, correlation: f64, seed: u64) -> Result<Catalogue, DatasetError> {
    let catalogue = hold_out_a_fifth(catalogue, Split::Test, seed)?;
    let Some(Condition::Categorical { values, .. }) = catalogue.conditions.get("bias") else {
        return Err(DatasetError::parameter(
            "bias",
            "absent",
            "expected a catalogue with the condition `bias`",
        ));
    };
    let thinned = thin_conflicting(&catalogue, values, correlation, seed.wrapping_add(1))?;
    let catalogue = catalogue.select(&thinned);
    let half = catalogue.of(Split::Test).len() / 2;
    catalogue.hold_out(Split::Test, Split::Validation, half, seed.wrapping_add(2))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    fn read(section: FacesSection, folder: &Path) -> Result<Annotations> {
        Utkface.annotations(&ReadOptions::with(section), folder)
    }

    #[test]
    fn faces_are_read_from_their_names() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("utkface");
        fs::create_dir(&folder).unwrap();
        for at in 0..40_usize {
            let (age, gender, race) = (1 + 2 * at, at % 2, at / 2 % 5);
            let name = format!("{age}_{gender}_{race}_20170116{at:09}.jpg.chip.jpg");
            fs::write(folder.join(name), "").unwrap();
        }
        let all = read(FacesSection::whole(), place.path()).unwrap();
        assert!(all.notes.is_empty(), "{:?}", all.notes);
        assert_eq!(all.catalogue.len(), 40);
        let published = read(FacesSection::default(), place.path()).unwrap().catalogue;
        assert!(published.len() < 40 && !published.of(Split::Test).is_empty());
        let empty = tempfile::tempdir().unwrap();
        let text = read(FacesSection::default(), empty.path()).unwrap_err().to_string();
        assert!(text.contains(&empty.path().display().to_string()) && text.contains("AGE_GENDER"), "{text}");
        let wrong = FacesSection { bias: Some("height".into()), ..FacesSection::default() };
        let text = read(wrong, place.path()).unwrap_err().to_string();
        assert!(text.contains("`data.faces.bias` is height"), "{text}");
    }

    #[test]
    fn a_face_in_several_folders_of_kaggles_archive_is_one_picture() {
        let place = tempfile::tempdir().unwrap();
        // `crop_part1` has a part of the faces, and the last folder has both again.
        let folders = [
            "UTKFace",
            "crop_part1",
            "utkface_aligned_cropped/UTKFace",
            "utkface_aligned_cropped/crop_part1",
        ];
        for folder in folders {
            let folder = place.path().join("archive").join(folder);
            fs::create_dir_all(&folder).unwrap();
            let count = if folder.ends_with("UTKFace") { 40 } else { 15 };
            faces(count).iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
        }
        let Annotations { catalogue, notes, .. } = read(FacesSection::whole(), place.path()).unwrap();
        assert_eq!(catalogue.len(), 40);
        assert!(
            catalogue.files.iter().all(|file| file.starts_with("archive/UTKFace/")),
            "{:?}",
            catalogue.files
        );
        let note = "left out 70 files with the name of a face that is taken from another folder, such as \
                    archive/crop_part1/";
        assert!(notes.len() == 1 && notes[0].starts_with(note), "{notes:?}");
    }

    #[test]
    fn names_say_age_gender_and_race() {
        let name = "part1/26_1_3_20170119193115729.jpg.chip.jpg";
        assert_eq!(Face::of(name), Some(Face { age: 26, gender: 1, race: 3 }));
        // Published names that lack a field, and invalid names.
        for odd in
            ["61_1_20170109142408075.jpg.chip.jpg", "39_1_0.jpg", "20_2_0_2017.jpg", "a.jpg", "5_0_7_1.jpg"]
        {
            assert_eq!(Face::of(odd), None, "{odd}");
        }
    }

    fn faces(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("{}_{}_{}_2017{i:06}.jpg.chip.jpg", i % 60, i / 60 % 2, i / 7 % 5)).collect()
    }

    #[test]
    fn biases_are_as_published() {
        let paths = ["9_0_0_1.jpg", "15_1_0_1.jpg", "20_1_4_1.jpg", "x.jpg"].map(String::from);
        let (by_race, odd) = catalogue(&paths, FaceBias::Race).unwrap();
        assert_eq!((odd, by_race.len()), (vec!["x.jpg".to_string()], 3));
        // Sorted as words: 15, 20, 9.
        assert_eq!(by_race.labels, [1, 1, 0]);
        let values = |c: &Catalogue| match &c.conditions["bias"] {
            Condition::Categorical { values, .. } => values.clone(),
            Condition::Numeric(_) => vec![],
        };
        assert_eq!(values(&by_race), [0, 1, 0]);
        let (by_age, _) = catalogue(&paths, FaceBias::Age).unwrap();
        assert_eq!((by_age.len(), values(&by_age)), (2, vec![0, 1]));
        assert_eq!(by_age.conditions["age"].to_matrix().data(), [20.0, 9.0]);
    }

    #[test]
    fn the_published_sampling_thins_training_pictures_alone() {
        let (all, _) = catalogue(&faces(3000), FaceBias::Race).unwrap();
        let sampled = published(all, 0.9, 0).unwrap();
        assert_eq!((sampled.of(Split::Validation).len(), sampled.of(Split::Test).len()), (300, 300));
        let train = sampled.select(&sampled.of(Split::Train));
        let Condition::Categorical { values, .. } = &train.conditions["bias"] else { unreachable!() };
        let agreeing = train.labels.iter().zip(values).filter(|(a, b)| a == b).count();
        assert_eq!(train.len() - agreeing, (agreeing as f64 * (1.0 - 0.9)) as usize);
    }
}
