//! The data sets, one file each, and the table of them.

mod biased_mnist;
mod caltech_101;
mod caltech_256;
mod celeba;
mod chexpert;
pub(in crate::data) mod cifar_10;
mod cifar_100;
mod class_folders;
mod colour_mnist;
pub(in crate::data) mod cub_200_2011;
mod digits;
mod faces;
mod folders;
mod imagenet;
mod imagenet_100;
pub(in crate::data) mod imagenet_32;
mod mnist;
mod split;
mod stl_10;
pub(in crate::data) mod table;
mod tiny_imagenet;
mod ut_zappos50k;
mod utkface;
mod waterbirds;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::keys::of_dataset::OptionType;
use super::source::{Constants, Source};

/// All data sets, in the order in which they are listed.
pub(crate) static ALL: &[&dyn Source] = &[
    &digits::Digits,
    &colour_mnist::ColourMnist,
    &biased_mnist::BiasedMnist,
    &mnist::Mnist,
    &cifar_10::CIFAR_10,
    &cifar_100::CIFAR_100,
    &stl_10::Stl10,
    &imagenet_32::Imagenet32,
    &imagenet::IMAGENET,
    &imagenet_100::IMAGENET_100,
    &tiny_imagenet::TINY_IMAGENET,
    &caltech_101::CALTECH_101,
    &caltech_256::CALTECH_256,
    &ut_zappos50k::UtZappos50k,
    &cub_200_2011::Cub200,
    &waterbirds::Waterbirds,
    &utkface::Utkface,
    &celeba::Celeba,
    &chexpert::Chexpert,
    &folders::Folders,
    &table::Table,
];

static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| ALL.iter().map(|set| set.about().name).collect());

/// The data set of a name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Source> {
    ALL.iter().copied().find(|set| set.about().name == name)
}

/// The names of all data sets in recipes.
pub(crate) fn names() -> &'static [&'static str] {
    &NAMES
}

/// Constants that move values from 0 to 1 to those from −1 to 1, as for a GAN.
const HALF: Constants = Constants { name: "half", mean: [0.5; 3], std: [0.5; 3] };

/// The constants that `data.normalise` knows by name, in the order of their names.
pub(crate) fn constants() -> Vec<Constants> {
    let published = ALL.iter().filter_map(|set| set.about().normalise);
    let mut constants: Vec<Constants> = published.chain([HALF]).collect();
    constants.sort_by_key(|constants| constants.name);
    constants
}

/// The keys of `[data]` that belong to certain data sets, each once.
pub(crate) fn options() -> impl Iterator<Item = OptionType> {
    let mut known = BTreeSet::new();
    ALL.iter().flat_map(|set| set.options()).copied().filter(move |option| known.insert(option.key))
}

/// The key of `[data]` of a name.
pub(in crate::data) fn option(key: &str) -> Option<OptionType> {
    options().find(|option| option.key == key)
}

/// The meaning of a key below `data`, by its dotted path, if it belongs to certain data sets.
pub(crate) fn meaning(key: &str) -> Option<&'static str> {
    let (key, rest) = key.split_once('.').unwrap_or((key, ""));
    option(key)?.meanings.iter().find(|(path, _)| *path == rest).map(|(_, meaning)| *meaning)
}

/// The data sets that a key of `[data]` belongs to, in words.
pub(in crate::data) fn owners(key: &str) -> String {
    let takes = |set: &&&dyn Source| set.options().iter().any(|option| option.key == key);
    let owners: Vec<String> = ALL.iter().filter(takes).map(|set| format!("`{}`", set.about().name)).collect();
    match owners.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => owners.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::keys::of_dataset::ReadOptions;
    use crate::data::source::Medium;

    #[test]
    fn what_must_be_got_says_how() {
        for set in ALL.iter().map(|set| set.about()) {
            assert!(!set.classes.is_empty(), "{} does not say its classes", set.name);
            let own = !set.is_published();
            assert!(own || !set.licence.is_empty(), "{}", set.name);
            assert!(own || !set.get.is_empty() || !set.downloads.is_empty(), "{}", set.name);
            for download in set.downloads {
                assert!(
                    download.url.starts_with("https://") && download.file().contains('.'),
                    "{}",
                    download.url
                );
                assert!(download.md5.is_none_or(|md5| md5.len() == 32), "{}", download.url);
            }
        }
    }

    #[test]
    fn a_key_has_one_type_in_all_data_sets_that_take_it() {
        for set in ALL {
            for option in set.options() {
                let first = super::option(option.key).map(|first| first.kind);
                assert_eq!(first, Some(option.kind), "`data.{}` of {}", option.key, set.about().name);
            }
        }
    }

    /// Otherwise `data check` does not compare their number with that of the authors.
    #[test]
    fn no_picture_is_left_out_of_a_check() {
        for set in ALL.iter().filter(|set| set.about().pictures.is_some()) {
            let Medium::Pictures(files) = set.medium() else { continue };
            let options = ReadOptions { of_dataset: set.whole(), ..set.defaults() };
            assert!(files.is_whole(&options), "{}", set.about().name);
        }
    }

    #[test]
    fn no_two_have_the_same_name() {
        let distinct: BTreeSet<&str> = names().iter().copied().collect();
        assert_eq!(distinct.len(), ALL.len());
    }
}
