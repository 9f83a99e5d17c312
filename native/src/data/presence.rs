//! Checks the presence of the files of a data set in a folder, without reading its images.

use std::path::Path;

use super::error::{DataError, Result};
use super::section::DataSection;
use super::source::{About, Medium};

/// The missing files of data sets in a folder. Each `[data]` is looked for once, since recipes and rows of tables share their data.
pub(crate) struct MissingData<'a> {
    folder: Option<&'a Path>,
    known: Vec<Known>,
}

/// The result of a search.
struct Known {
    section: DataSection,
    missing: Option<String>,
    /// None until it is asked for: it reads the annotations.
    is_part: Option<bool>,
}

impl<'a> MissingData<'a> {
    /// Nothing is looked for yet.
    pub(crate) fn in_folder(folder: Option<&'a Path>) -> Self {
        Self { folder, known: Vec::new() }
    }

    /// The folder in which data are looked for.
    pub(crate) fn folder(&self) -> Option<&'a Path> {
        self.folder
    }

    /// The missing files of `section`, with the way to get them; none if everything is present.
    pub(crate) fn of(&mut self, section: &DataSection) -> Option<String> {
        self.known(section).missing.clone()
    }

    /// True if no file of `section` is missing, but the folder holds another number of pictures than the authors state.
    pub(crate) fn is_part(&mut self, section: &DataSection) -> bool {
        let folder = self.folder;
        let known = self.known(section);
        let missing = &known.missing;
        *known
            .is_part
            .get_or_insert_with(|| missing.is_none() && folder.is_some_and(|folder| is_part(section, folder)))
    }

    fn known(&mut self, section: &DataSection) -> &mut Known {
        let at = self.known.iter().position(|known| known.section == *section).unwrap_or_else(|| {
            let missing = missing_files(section, self.folder);
            self.known.push(Known { section: section.clone(), missing, is_part: None });
            self.known.len() - 1
        });
        &mut self.known[at]
    }
}

/// The missing data of a recipe in `folder`, with the way to get them; none if everything is present.
fn missing_files(section: &DataSection, folder: Option<&Path>) -> Option<String> {
    if section.dataset.is_drawn() {
        return None;
    }
    let about = section.dataset.about();
    let Some(folder) = folder else {
        let name = about.name;
        return Some(format!("{name} has files; name their folder with --data DIR ({})", how_to_get(about)));
    };
    let error = find(section, folder).err()?;
    Some(format!("{error} ({})", how_to_get(about)))
}

/// The error of reading a data set; with the way to get it, if a published one lacks files.
pub(crate) fn unread(section: &DataSection, error: DataError) -> anyhow::Error {
    let about = section.dataset.about();
    match error {
        DataError::Missing { .. } | DataError::Incomplete { .. } if about.is_published() => {
            anyhow::anyhow!("{error} ({})", how_to_get(about))
        }
        error => error.into(),
    }
}

/// Refuses a part of a data set, unless the recipe asks for no more than its `images`: a run on it would pass for one on
/// all of them.
///
/// # Errors
/// Names the training files that are absent.
pub(crate) fn check_whole(
    section: &DataSection,
    folder: &Path,
    images: usize,
    absent: Vec<String>,
) -> anyhow::Result<()> {
    if absent.is_empty() || section.train.is_some_and(|asked| asked <= images) {
        return Ok(());
    }
    Err(unread(section, DataError::Incomplete { folder: folder.into(), missing: absent }))
}

/// True if a folder holds another number of pictures than the authors state, which `simile data check` reports as `wrong`.
fn is_part(section: &DataSection, folder: &Path) -> bool {
    let Medium::Pictures(set) = section.dataset.medium() else { return false };
    let stated = section.dataset.about().pictures.filter(|_| set.is_whole(&section.options()));
    stated.is_some_and(|stated| section.catalogue(folder).is_ok_and(|catalogue| catalogue.len() != stated))
}

fn find(section: &DataSection, folder: &Path) -> Result<()> {
    let annotations = match section.dataset.medium() {
        Medium::Drawn(_) => return Ok(()),
        Medium::Arrays(set) => {
            set.find(folder)?;
            // How many images there are is known once they are read, and `check_whole` compares it with `data.train`.
            let missing = if section.train.is_none() { set.absent(folder)? } else { Vec::new() };
            return if missing.is_empty() {
                Ok(())
            } else {
                Err(DataError::Incomplete { folder: folder.into(), missing })
            };
        }
        Medium::Pictures(set) => set.annotations(&section.options(), folder)?,
    };
    if let Some(first) = annotations.catalogue.files.first().map(|file| annotations.root.join(file))
        && !first.is_file()
    {
        let missing = vec![format!("the picture {}", first.display())];
        return Err(DataError::Missing { folder: folder.into(), missing });
    }
    let features = section.features.iter().flat_map(|features| [&features.file, &features.paths]);
    let missing: Vec<String> =
        features.filter(|file| !folder.join(file).is_file()).map(|file| file.display().to_string()).collect();
    if missing.is_empty() { Ok(()) } else { Err(DataError::Missing { folder: folder.into(), missing }) }
}

/// The command that downloads a data set, or that shows how to get it.
fn how_to_get(about: &About) -> String {
    let name = about.name;
    if about.downloads.is_empty() {
        format!("`simile data list {name}` says how to get it")
    } else {
        format!("`simile data fetch {name} --data DIR` gets it")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::DatasetName;
    use crate::data::arrays::mnist::tests::write_small;

    #[test]
    fn what_is_there_lacks_nothing_and_what_is_not_says_how_to_get_it() {
        let place = tempfile::tempdir().unwrap();
        let section = |name: &str| DataSection::of(DatasetName::find(name).unwrap());
        let of = |name: &str| missing_files(&section(name), Some(place.path()));
        assert_eq!(of("digits"), None);
        let text = of("colour-mnist").unwrap();
        assert!(text.contains("train-images") && text.contains("simile data fetch colour-mnist"), "{text}");
        write_small(place.path(), 3);
        assert_eq!(of("colour-mnist"), None);
        for (dataset, file) in [
            ("cifar-10", "test_batch.bin"),
            ("cifar-100", "train.bin"),
            ("stl-10", "train_X.bin"),
            ("imagenet-32", "train_data_batch_1.npz"),
            ("celeba", "list_attr_celeba.txt"),
            ("waterbirds", "metadata.csv"),
            ("chexpert", "train.csv"),
        ] {
            let text = of(dataset).unwrap();
            assert!(text.contains(file) && text.contains("simile data "), "{text}");
        }
        let lacks = || DataError::Missing { folder: place.path().into(), missing: vec!["a file".into()] };
        let said = |name: &str| unread(&section(name), lacks()).to_string();
        assert!(said("colour-mnist").contains("simile data fetch colour-mnist --data DIR"));
        assert!(said("celeba").contains("simile data list celeba"));
        assert!(!said("table").contains("simile data"), "pictures of one's own");
        let text = missing_files(&section("utkface"), None).unwrap();
        assert!(text.contains("--data DIR") && text.contains("simile data list utkface"), "{text}");
    }

    /// Otherwise the annotations would be read for each row of a table.
    #[test]
    fn each_data_set_is_looked_for_once() {
        let place = tempfile::tempdir().unwrap();
        let section = DataSection::of(DatasetName::find("colour-mnist").unwrap());
        let mut data = MissingData::in_folder(Some(place.path()));
        let missing = data.of(&section).unwrap();
        assert!(missing.contains("train-images"), "{missing}");
        write_small(place.path(), 3);
        assert_eq!(data.of(&section), Some(missing), "it was looked for before");
        let other = DataSection { train: Some(2), ..section.clone() };
        assert_eq!(data.of(&other), None, "another `[data]`");
        assert_eq!(MissingData::in_folder(Some(place.path())).of(&section), None);
    }

    #[test]
    fn a_part_of_the_training_files_is_used_only_for_as_many_images_as_it_has() {
        let place = tempfile::tempdir().unwrap();
        for file in ["data_batch_1.bin", "test_batch.bin", "batches.meta.txt"] {
            std::fs::write(place.path().join(file), "").unwrap();
        }
        let mut section = DataSection::of(DatasetName::find("cifar-10").unwrap());
        let of = |section: &DataSection| missing_files(section, Some(place.path()));
        let text = of(&section).unwrap();
        assert!(text.contains("lacks data_batch_2.bin") && text.contains("data.train"), "{text}");
        let absent = || vec![String::from("data_batch_2.bin")];
        let check = |section: &DataSection| check_whole(section, place.path(), 10_000, absent());
        assert!(check(&section).unwrap_err().to_string().contains("simile data fetch cifar-10"));
        section.train = Some(10_001);
        assert!(check(&section).unwrap_err().to_string().contains("data_batch_2.bin"));
        section.train = Some(10_000);
        assert_eq!(of(&section), None);
        check(&section).unwrap();
        section.train = None;
        check_whole(&section, place.path(), 50_000, Vec::new()).unwrap();
    }
}
