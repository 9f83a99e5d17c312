//! CelebA (Liu et al. 2015): faces with 40 attributes of 1 and −1. Its two lists, `list_attr_celeba.txt` and
//! `list_eval_partition.txt`, lie beside `img_align_celeba`, or in the folders of the official drive. Kaggle and WILDS distribute them as
//! `.csv`, with the names of the columns in the first line and without the number of pictures.

use std::path::{Path, PathBuf};

use simile_core::data::catalogue::groups;
use simile_core::data::formats::lines::Text;
use simile_core::data::{Catalogue, Condition, DatasetError, Split};
use simile_core::numeric::matrix::Matrix;

use super::faces::{FacesSection, Sampling, hold_out_a_fifth, with_at_most};
use crate::data::error::{DataError, Result};
use crate::data::keys::Refused;
use crate::data::keys::of_dataset::{DatasetOptions, OptionType, ReadOptions};
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::source::{About, Medium, PictureFiles, Source};

/// Number of non-blond women that the published sampling keeps among the training pictures.
const NON_BLOND_WOMEN: usize = 2000;
/// The folder of the pictures.
const PICTURES: &str = "img_align_celeba";

pub(super) struct Celeba;

static ABOUT: About = About {
    name: "celeba",
    files: "list_attr_celeba.txt, list_eval_partition.txt (or both as Kaggle's and WILDS's .csv), img_align_celeba/*.jpg",
    classes: "one of the 40 attributes; the authors' training, validation and test splits",
    attributes: "bias, group, attributes (40)",
    home: "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
    licence: "non-commercial research, no redistribution",
    get: "follow the authors' page to their drive, and put both lists beside the unpacked img_align_celeba; or unpack Kaggle's \
          jessicali9530/celeba-dataset",
    pictures: Some(202_599),
    ..About::NOTHING
};

impl Source for Celeba {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }

    fn options(&self) -> &'static [OptionType] {
        const { &[OptionType::of::<FacesSection>()] }
    }

    fn whole(&self) -> DatasetOptions {
        DatasetOptions::default().with(FacesSection::whole())
    }

    fn check_use(&self, options: &ReadOptions) -> Result<(), Refused> {
        let correlation = options.get::<FacesSection>().map(|section| section.correlation);
        if correlation.is_some_and(|correlation| correlation != FacesSection::default().correlation) {
            let reason = "`data.faces.correlation` has no effect on this data set; leave it out";
            return Err(Refused::new("faces", reason));
        }
        Ok(())
    }
}

impl PictureFiles for Celeba {
    fn annotate(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        let section = options.get::<FacesSection>().cloned().unwrap_or_default();
        let attributes = list(folder, "list_attr_celeba", "Anno")?;
        let partition = list(folder, "list_eval_partition", "Eval")?;
        let target = section.target.as_deref().unwrap_or("blond-hair");
        let bias = section.bias.as_deref().unwrap_or("male");
        let texts = (Text::new(&attributes.0, &attributes.1), Text::new(&partition.0, &partition.1));
        let catalogue = catalogue(&texts.0, &texts.1, target, bias)?;
        let catalogue = match section.sampling {
            Sampling::Published => {
                check_bias(target, bias)?;
                published(catalogue, target, section.seed)?
            }
            Sampling::All => catalogue,
        };
        // Without the folder every picture is missing, and the error names the first one.
        let outer = holder(folder, "Img", PICTURES).unwrap_or_else(|_| folder.into());
        // Kaggle's archive has the folder in a folder of the same name.
        let root = root(&outer, &[PICTURES], PICTURES).unwrap_or(outer);
        Ok(Annotations { root, catalogue, notes: Vec::new() })
    }

    /// The published sampling omits pictures.
    fn is_whole(&self, options: &ReadOptions) -> bool {
        options.get::<FacesSection>().is_some_and(|section| section.sampling == Sampling::All)
    }

    #[cfg(test)]
    fn parse_changed(&self, texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
        let faces = || catalogue(&texts[0], &texts[1], "blond-hair", "male");
        let chosen = faces().and_then(|faces| published(faces, "blond-hair", 1));
        [faces(), chosen].map(|faces| faces.map(drop).map_err(Into::into)).into()
    }
}

/// The folders in which a part of the set may lie: `inner` of the official drive, and those that archives unpack.
fn places(inner: &str) -> [String; 6] {
    let [small, large] = ["celeba", "CelebA"].map(|home| format!("{home}/{inner}"));
    [inner.into(), "celeba".into(), "CelebA".into(), "celebA_v1.0".into(), small, large]
}

/// The first of the [`places`] of a part of the set, or the folder itself, that holds a file or a folder.
///
/// # Errors
/// If none does.
fn holder(folder: &Path, inner: &str, marker: &str) -> Result<PathBuf> {
    root(folder, &places(inner).each_ref().map(String::as_str), marker)
}

/// The content of a list, with blanks for the commas of Kaggle's form, and the name that messages use for it. `inner` is its folder in the
/// official drive.
///
/// # Errors
/// If it is there in neither form.
fn list(folder: &Path, name: &str, inner: &str) -> Result<(String, String)> {
    let path_of = |file: String| holder(folder, inner, &file).map(|place| place.join(&file));
    let path = path_of(format!("{name}.txt")).or_else(|_| path_of(format!("{name}.csv")));
    let missing =
        |_| DataError::Missing { folder: folder.into(), missing: vec![format!("{name}.txt (or .csv)")] };
    let (list, origin) = text(&path.map_err(missing)?)?;
    Ok((list.replace(',', " "), origin))
}

/// Reads the catalogue with one attribute as the class (absent, present) and another as the bias; names may be written
/// `Blond_Hair` or `blond-hair`. Files lie in `img_align_celeba/`.
///
/// Conditions: `bias`, `group` (class × bias), and `attributes`, `[n, 40]` of 0 and 1.
///
/// # Errors
/// [`DatasetError::Parameter`] for an unknown attribute; [`DatasetError::Line`] names the file and the line that
/// cannot be parsed, or of a picture that is missing in the other list.
fn catalogue(
    attributes: &Text<'_>,
    partition: &Text<'_>,
    target: &str,
    bias: &str,
) -> Result<Catalogue, DatasetError> {
    let mut lines = attributes.lines();
    let (_, first) = lines.next().unwrap_or((1, ""));
    let (count, header) = match first.strip_prefix("image_id ") {
        Some(header) => (None, header),
        None => {
            let count: usize = attributes.number(1, "the number of pictures", first)?;
            (Some(count), lines.next().unwrap_or((2, "")).1)
        }
    };
    let names: Vec<&str> = header.split_whitespace().collect();
    let (target, bias) = (find(&names, "data.faces.target", target)?, find(&names, "data.faces.bias", bias)?);
    let (mut files, mut values) = (Vec::new(), Vec::new());
    for (line, content) in lines {
        let mut words = content.split_whitespace();
        files.push(words.next().unwrap_or_default());
        let before = values.len();
        for word in words {
            values.push(match word {
                "1" => 1.0,
                "-1" => 0.0,
                other => return Err(attributes.error(line, format!("`{other}`, expected 1 or -1"))),
            });
        }
        let columns = values.len() - before;
        if columns != names.len() {
            return Err(attributes.error(line, format!("{columns} attributes, expected {}", names.len())));
        }
    }
    if let Some(expected) = count.filter(|&count| count != files.len()) {
        return Err(DatasetError::Count { what: attributes.origin.into(), expected, found: files.len() });
    }
    let table = Matrix::from_fn(files.len(), names.len(), |row, at| values[row * names.len() + at]);
    let column = |at: usize| table.iter_rows().map(|row| usize::from(row[at] > 0.0)).collect::<Vec<_>>();
    let (labels, biases) = (column(target), column(bias));
    let splits = splits(partition, &files)?;
    let values_of = |at: usize| vec![format!("not {}", names[at]), names[at].to_owned()];
    let (classes, bias_names) = (values_of(target), values_of(bias));
    let group = groups(&labels, &classes, &biases, &bias_names);
    let files = files.into_iter().map(|file| format!("{PICTURES}/{file}")).collect();
    Catalogue::new(attributes.origin, files, splits, labels, classes)?
        .with_condition("bias", Condition::Categorical { values: biases, names: bias_names })?
        .with_condition("group", group)?
        .with_condition("attributes", Condition::Numeric(table.into()))
}

fn find(names: &[&str], key: &str, name: &str) -> Result<usize, DatasetError> {
    let plain = |name: &str| name.replace('-', "_").to_lowercase();
    names
        .iter()
        .position(|known| plain(known) == plain(name))
        .ok_or_else(|| DatasetError::parameter(key, name, &format!("expected one of: {}", names.join(", "))))
}

/// The split of each picture: 0 training, 1 validation, 2 test. The first line may name the columns.
fn splits(text: &Text<'_>, files: &[&str]) -> Result<Vec<Split>, DatasetError> {
    let mut splits = Vec::with_capacity(files.len());
    for row in text.words() {
        let (line, [file, split]) = row?;
        if line == 1 && file == "image_id" {
            continue;
        }
        match files.get(splits.len()) {
            Some(expected) if *expected == file => {}
            expected => {
                let expected = expected.map_or("the end of the list", |file| *file);
                return Err(
                    text.error(line, format!("`{file}`, where the list of attributes has {expected}"))
                );
            }
        }
        splits.push(match split {
            "0" => Split::Train,
            "1" => Split::Validation,
            "2" => Split::Test,
            other => return Err(text.error(line, format!("`{other}`, expected 0, 1 or 2"))),
        });
    }
    if splits.len() == files.len() {
        return Ok(splits);
    }
    Err(DatasetError::Count { what: text.origin.into(), expected: files.len(), found: splits.len() })
}

/// Checks that the published sampling, if the class is blond hair, has the bias `male`: it leaves out most women who are not blond.
fn check_bias(target: &str, bias: &str) -> Result<(), DatasetError> {
    if !is_blond(target) || bias.eq_ignore_ascii_case("male") {
        return Ok(());
    }
    let reason = "but the published sampling of blond hair needs the bias `male`; set data.faces.sampling = \"all\" for another one";
    Err(DatasetError::parameter("data.faces.bias", bias, reason))
}

fn is_blond(target: &str) -> bool {
    target.to_lowercase().contains("blond")
}

/// The published sampling (Hong and Yang 2021): training pictures split 8:2 into training and validation, the
/// official validation split as test, the official test split left out. If the class is blond hair, non-blond women
/// among the training pictures are first reduced to 2000 at random; for heavy make-up nothing is removed. So no
/// correlation of 0.9 is enforced, contrary to ConTeX's text.
///
/// Released code shuffles a tensor in a way that can repeat entries; here each is drawn once, with a seed.
///
/// # Errors
/// If there are too few pictures.
fn published(catalogue: Catalogue, target: &str, seed: u64) -> Result<Catalogue, DatasetError> {
    let mut indices: Vec<usize> = (0..catalogue.len()).collect();
    if is_blond(target)
        && let Some(Condition::Categorical { values, .. }) = catalogue.conditions.get("bias")
    {
        let women_not_blond = |&i: &usize| catalogue.labels.get(i) == Some(&0) && values.get(i) == Some(&0);
        let crowded: Vec<usize> = catalogue.of(Split::Train).into_iter().filter(women_not_blond).collect();
        indices = with_at_most(&catalogue, &crowded, NON_BLOND_WOMEN, seed);
    }
    indices.retain(|&i| catalogue.splits.get(i) != Some(&Split::Test));
    let mut sampled = catalogue.select(&indices);
    sampled
        .splits
        .iter_mut()
        .filter(|split| **split == Split::Validation)
        .for_each(|split| *split = Split::Test);
    hold_out_a_fifth(sampled, Split::Validation, seed.wrapping_add(1))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_published_sampling_of_blond_hair_is_of_one_bias() {
        assert!(check_bias("Blond_Hair", "Male").is_ok() && check_bias("Heavy_Makeup", "young").is_ok());
        let error = check_bias("blond-hair", "young").unwrap_err().to_string();
        let start =
            "`data.faces.bias` is young, but the published sampling of blond hair needs the bias `male`; ";
        assert!(error.starts_with(start) && error.contains("data.faces.sampling = \"all\""), "{error}");
    }

    /// All faces of a folder, whose first picture is there.
    fn all_faces(folder: &Path) -> Catalogue {
        let options = ReadOptions::with(FacesSection::whole());
        let Annotations { root, catalogue, .. } = Celeba.annotations(&options, folder).unwrap();
        assert!(root.join(&catalogue.files[0]).is_file(), "{}", root.display());
        catalogue
    }

    /// On a file system that tells capitals apart, the folder that the drive's download unpacks was refused.
    #[test]
    fn people_are_read_from_the_lists_of_the_official_drive() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("CelebA");
        for inner in ["Anno", "Eval", "Img/img_align_celeba"] {
            fs::create_dir_all(folder.join(inner)).unwrap();
        }
        fs::write(folder.join("Img/img_align_celeba/000001.jpg"), "").unwrap();
        // The header ends in a blank, and a blank stands before each number that is not negative.
        let names = "5_o_Clock_Shadow Bald Blond_Hair Heavy_Makeup Male Young \n";
        let (mut attributes, mut partition) = (format!("8\n{names}"), String::new());
        for at in 1..=8_usize {
            let bits = (0..6).map(|bit| if (at + bit) % 3 == 0 { "  1" } else { " -1" });
            attributes += &format!("{at:06}.jpg{}\n", bits.collect::<String>());
            partition += &format!("{at:06}.jpg {}\n", at % 3);
        }
        fs::write(folder.join("Anno/list_attr_celeba.txt"), attributes).unwrap();
        fs::write(folder.join("Eval/list_eval_partition.txt"), partition).unwrap();
        let people = all_faces(place.path());
        assert_eq!((people.len(), people.conditions["attributes"].to_matrix().columns()), (8, 6));
        assert_eq!(people.classes[1], "Blond_Hair");
        assert_eq!(all_faces(&folder), people);
    }

    #[test]
    fn the_lists_and_the_folders_of_kaggle_and_wilds_are_read() {
        let official = read(ATTRIBUTES, PARTITION, "blond-hair").unwrap();
        let attributes = "image_id,Blond_Hair,Heavy_Makeup,Male\n\
            000001.jpg,-1,1,-1\n000002.jpg,1,-1,-1\n000003.jpg,-1,-1,1\n";
        let partition = "image_id,partition\n000001.jpg,0\n000002.jpg,1\n000003.jpg,2\n";
        for (home, pictures) in [
            ("", "img_align_celeba/img_align_celeba"),
            ("celeba", "img_align_celeba/img_align_celeba"),
            ("celebA_v1.0", "img_align_celeba"),
        ] {
            let place = tempfile::tempdir().unwrap();
            let folder = place.path().join(home);
            fs::create_dir_all(folder.join(pictures)).unwrap();
            fs::write(folder.join(pictures).join("000001.jpg"), "").unwrap();
            let lacks = Celeba.annotations(&ReadOptions::default(), place.path()).unwrap_err().to_string();
            assert!(lacks.contains("list_attr_celeba.txt (or .csv)"), "{lacks}");
            fs::write(folder.join("list_attr_celeba.csv"), attributes).unwrap();
            fs::write(folder.join("list_eval_partition.csv"), partition).unwrap();
            assert_eq!(all_faces(place.path()), official, "{home}/{pictures}");
            // The authors' lists beside Kaggle's pictures go before Kaggle's lists.
            fs::write(folder.join("list_attr_celeba.csv"), "damaged").unwrap();
            fs::write(folder.join("list_eval_partition.csv"), "damaged").unwrap();
            fs::write(folder.join("list_attr_celeba.txt"), ATTRIBUTES).unwrap();
            fs::write(folder.join("list_eval_partition.txt"), PARTITION).unwrap();
            assert_eq!(all_faces(place.path()), official, "{home}/{pictures}");
        }
    }

    const ATTRIBUTES: &str = "3\nBlond_Hair Heavy_Makeup Male \n\
        000001.jpg -1  1 -1\r\n000002.jpg  1 -1 -1\n000003.jpg -1 -1  1\n";
    const PARTITION: &str = "000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n";

    fn read(attributes: &str, partition: &str, target: &str) -> Result<Catalogue, DatasetError> {
        let attributes = Text::new(attributes, "list_attr_celeba.txt");
        catalogue(&attributes, &Text::new(partition, "list_eval_partition.txt"), target, "male")
    }

    #[test]
    fn attributes_become_class_bias_and_groups() {
        let faces = read(ATTRIBUTES, PARTITION, "blond-hair").unwrap();
        assert_eq!(faces.files[1], "img_align_celeba/000002.jpg");
        assert_eq!(faces.labels, [0, 1, 0]);
        assert_eq!(faces.splits, [Split::Train, Split::Validation, Split::Test]);
        let Condition::Categorical { values, names } = &faces.conditions["group"] else { unreachable!() };
        assert_eq!((values.as_slice(), names[1].as_str()), (&[0, 2, 1][..], "not Blond_Hair, Male"));
        assert_eq!(faces.conditions["attributes"].to_matrix().row(0), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn faults_are_named_by_file_and_line() {
        let text = |result: Result<Catalogue, DatasetError>| result.unwrap_err().to_string();
        let unknown = text(read(ATTRIBUTES, PARTITION, "blonde"));
        assert!(
            unknown.contains("`data.faces.target` is blonde") && unknown.contains("Blond_Hair, Heavy_Makeup"),
            "{unknown}"
        );
        let cut = ATTRIBUTES.replace("000002.jpg  1 -1 -1", "000002.jpg  1 -1");
        assert!(
            text(read(&cut, PARTITION, "male"))
                .contains("list_attr_celeba.txt, line 4: 2 attributes, expected 3")
        );
        assert!(text(read(&ATTRIBUTES.replacen('3', "4", 1), PARTITION, "male")).contains("has 3 entries"));
        // A count in the file does not allocate memory.
        let many = ATTRIBUTES.replacen('3', &usize::MAX.to_string(), 1);
        assert!(text(read(&many, PARTITION, "male")).contains("has 3 entries"));
        let swapped = PARTITION.replace("000002", "000009");
        assert!(text(read(ATTRIBUTES, &swapped, "male")).contains("list_eval_partition.txt, line 2"));
        assert!(text(read("", PARTITION, "male")).contains("line 1"));
    }

    #[test]
    fn non_blond_women_are_cut() {
        let rows = 4000;
        let attributes: String =
            (0..rows).map(|i| format!("{i}.jpg {} -1 -1\n", if i % 8 == 0 { 1 } else { -1 })).collect();
        let partition: String =
            (0..rows).map(|i| format!("{i}.jpg {}\n", if i < 3500 { 0 } else { 1 + i % 2 })).collect();
        let faces =
            read(&format!("{rows}\nBlond_Hair Heavy_Makeup Male\n{attributes}"), &partition, "Blond_Hair")
                .unwrap();
        let sampled = published(faces.clone(), "Blond_Hair", 0).unwrap();
        let counts = [Split::Train, Split::Validation, Split::Test].map(|split| sampled.of(split).len());
        // 438 blond and 2000 others of 3500; the official test split is left out.
        assert_eq!((counts[0] + counts[1], counts[1], counts[2]), (2438, 488, 250));
        let makeup = published(faces, "Heavy_Makeup", 0).unwrap();
        assert_eq!(makeup.of(Split::Train).len() + makeup.of(Split::Validation).len(), 3500);
    }
}
