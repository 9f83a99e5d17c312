//! Whether the files of a data set are in a folder, without reading its images.

use std::path::Path;

use simile_core::data::formats::cifar::Cifar;

use super::official::official;
use super::{DataError, Result, cifar, gather, imagenet32, mnist, stl10};
use crate::config::data::{DataSection, DatasetName};

/// What keeps the data of a recipe from being read out of `folder`, and how it is got; nothing if it is all there.
pub(crate) fn lacking(section: &DataSection, folder: Option<&Path>) -> Option<String> {
    if section.dataset == DatasetName::Digits {
        return None;
    }
    let name = section.dataset.name();
    let Some(folder) = folder else {
        return Some(format!("{name} has files; name their folder with --data DIR ({})", how_to_get(&name)));
    };
    let error = look(section, folder).err()?;
    Some(format!("{error} ({})", how_to_get(&name)))
}

fn look(section: &DataSection, folder: &Path) -> Result<()> {
    match section.dataset {
        DatasetName::Digits => return Ok(()),
        DatasetName::Mnist | DatasetName::ColourMnist | DatasetName::BiasedMnist => {
            return mnist::files(folder).map(drop);
        }
        DatasetName::Cifar10 => return cifar::are_there(Cifar::Ten, folder),
        DatasetName::Cifar100 => return cifar::are_there(Cifar::Hundred, folder),
        DatasetName::Stl10 => return stl10::are_there(folder),
        DatasetName::Imagenet32 => return imagenet32::are_there(folder),
        _ => {}
    }
    if let Some(gathered) = gather(section, folder)?
        && let Some(first) = gathered.catalogue.files.first().map(|file| gathered.root.join(file))
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

/// The command that gets a data set, or says how.
fn how_to_get(name: &str) -> String {
    match official(name) {
        Some(set) if !set.downloads.is_empty() => format!("`simile data fetch {name} --data DIR` gets it"),
        _ => format!("`simile data list {name}` says how to get it"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_lacks_nothing_and_what_is_not_says_how_to_get_it() {
        let place = tempfile::tempdir().unwrap();
        let of = |dataset| lacking(&DataSection::of(dataset), Some(place.path()));
        assert_eq!(of(DatasetName::Digits), None);
        let text = of(DatasetName::ColourMnist).unwrap();
        assert!(text.contains("train-images") && text.contains("simile data fetch colour-mnist"), "{text}");
        mnist::tests::write_small(place.path(), 3);
        assert_eq!(of(DatasetName::ColourMnist), None);
        for (dataset, file) in [
            (DatasetName::Cifar10, "test_batch.bin"),
            (DatasetName::Cifar100, "train.bin"),
            (DatasetName::Stl10, "train_X.bin"),
            (DatasetName::Imagenet32, "train_data_batch_1.npz"),
            (DatasetName::Celeba, "list_attr_celeba.txt"),
            (DatasetName::Waterbirds, "metadata.csv"),
            (DatasetName::Chexpert, "train.csv"),
        ] {
            let text = of(dataset).unwrap();
            assert!(text.contains(file) && text.contains("simile data "), "{text}");
        }
        let text = lacking(&DataSection::of(DatasetName::Utkface), None).unwrap();
        assert!(text.contains("--data DIR") && text.contains("simile data list utkface"), "{text}");
    }
}
