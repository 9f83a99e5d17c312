//! What is known of each data set before it is there: who publishes it, where, under which terms, and what it looks like
//! once it is unpacked.

use serde::Serialize;

/// A data set that recipes can name.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Official {
    pub(crate) name: &'static str,
    /// Files that the data set consists of, in words.
    pub(crate) files: &'static str,
    /// Variables that it can be conditioned on.
    pub(crate) variables: &'static str,
    /// The authors' page; empty where there is nothing to get.
    pub(crate) home: &'static str,
    pub(crate) licence: &'static str,
    /// What to do where `fetch` cannot.
    pub(crate) get: &'static str,
    /// What `fetch` downloads.
    pub(crate) downloads: &'static [Download],
    /// Files whose presence says that the data set is there, below its own folder or the one above.
    #[serde(skip)]
    pub(crate) needed: &'static [&'static str],
    /// Pictures of all parts, where the authors say how many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pictures: Option<usize>,
}

/// A file to download.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Download {
    pub(crate) url: &'static str,
    /// MD5 that the authors or many readers of the data set state; none is known otherwise, and that of the first
    /// download is kept beside the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) md5: Option<&'static str>,
    /// Where it goes below the data folder: the folder that an archive is unpacked into, or a file is put into.
    pub(crate) folder: &'static str,
    /// Whether it stays packed.
    pub(crate) packed: bool,
}

impl Download {
    const fn packed(url: &'static str, md5: &'static str, folder: &'static str) -> Self {
        Self { url, md5: Some(md5), folder, packed: true }
    }

    const fn unpacked(url: &'static str, md5: Option<&'static str>, folder: &'static str) -> Self {
        Self { url, md5, folder, packed: false }
    }

    /// The last part of the address.
    pub(crate) fn file(&self) -> &'static str {
        self.url.rsplit('/').next().unwrap_or(self.url)
    }
}

/// The data set of a name.
pub(crate) fn official(name: &str) -> Option<&'static Official> {
    ALL.iter().find(|set| set.name == name)
}

const MNIST: Official = Official {
    name: "mnist",
    files: "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte; each \
            plain or .gz",
    variables: "",
    home: "http://yann.lecun.com/exdb/mnist/",
    licence: "CC BY-SA 3.0",
    get: "fetched from PyTorch's mirror, as the authors' own server no longer answers",
    downloads: &[
        Download::packed(
            "https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz",
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "mnist",
        ),
        Download::packed(
            "https://ossci-datasets.s3.amazonaws.com/mnist/train-labels-idx1-ubyte.gz",
            "d53e105ee54ea40749a09fcbcd1e9432",
            "mnist",
        ),
        Download::packed(
            "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-images-idx3-ubyte.gz",
            "9fb629c4189551a2d022fa330f9573f3",
            "mnist",
        ),
        Download::packed(
            "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-labels-idx1-ubyte.gz",
            "ec29112dd5afa0611ce80d1b7f02629c",
            "mnist",
        ),
    ],
    needed: &[],
    pictures: None,
};

const IMAGENET: &str = "ImageNet's terms: research and education, no redistribution";

/// What is the same for data sets that nobody has to get.
const NOTHING: Official = Official {
    name: "",
    files: "",
    variables: "",
    home: "",
    licence: "",
    get: "",
    downloads: &[],
    needed: &[],
    pictures: None,
};

/// All data sets, in the order in which they are listed.
pub(crate) const ALL: &[Official] = &[
    Official { name: "digits", files: "none: drawn from strokes", variables: "colour, palette", ..NOTHING },
    Official { name: "colour-mnist", variables: "colour, palette", ..MNIST },
    Official { name: "biased-mnist", variables: "bias", ..MNIST },
    MNIST,
    Official {
        name: "cifar-10",
        files: "cifar-10-binary.tar.gz, or what unpacks from it: data_batch_1.bin .. 5, test_batch.bin, batches.meta.txt",
        variables: "",
        home: "https://www.cs.toronto.edu/~kriz/cifar.html",
        licence: "none stated; the authors ask to be cited",
        downloads: &[Download::packed(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            "c32a1d4ab5d03f1284b67883e8d87530",
            "cifar-10",
        )],
        ..NOTHING
    },
    Official {
        name: "cifar-100",
        files: "cifar-100-binary.tar.gz, or what unpacks from it: train.bin, test.bin, fine_label_names.txt, \
                coarse_label_names.txt",
        variables: "coarse",
        home: "https://www.cs.toronto.edu/~kriz/cifar.html",
        licence: "none stated; the authors ask to be cited",
        downloads: &[Download::packed(
            "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
            "03b5dce01913d631647c71ecec9e9cb8",
            "cifar-100",
        )],
        ..NOTHING
    },
    Official {
        name: "stl-10",
        files: "stl10_binary.tar.gz, or train_X.bin, train_y.bin, test_X.bin, test_y.bin, class_names.txt from it",
        variables: "",
        home: "https://cs.stanford.edu/~acoates/stl10/",
        licence: "ImageNet's terms, from whose images it was made; the authors ask to be cited",
        downloads: &[Download::packed(
            "https://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
            "91f7769df0f17e558f3565bffb0c7dfb",
            "stl-10",
        )],
        ..NOTHING
    },
    Official {
        name: "imagenet-32",
        files: "train_data_batch_1.npz .. 10, val_data.npz (the NumPy version; pickles are not read)",
        variables: "",
        home: "https://image-net.org/download-images.php",
        licence: IMAGENET,
        get: "register with ImageNet and download the 32x32 version in npz format",
        ..NOTHING
    },
    Official {
        name: "imagenet-100",
        files: "train/CLASS/*.JPEG, val/CLASS/*.JPEG; of all of ImageNet with data.folders.classes, a list of 100 classes",
        variables: "features (with [data.features])",
        home: "https://image-net.org/download-images.php",
        licence: IMAGENET,
        get: "register with ImageNet, download ILSVRC 2012 and sort its validation pictures into folders of classes",
        downloads: &[],
        needed: &["train", "val"],
        pictures: None,
    },
    Official {
        name: "tiny-imagenet",
        files: "tiny-imagenet-200 as it unpacks: train/CLASS/images/*.JPEG, val/images/*.JPEG, val/val_annotations.txt",
        variables: "features (with [data.features])",
        home: "https://cs231n.stanford.edu/",
        licence: IMAGENET,
        get: "",
        downloads: &[Download::unpacked(
            "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
            Some("90528d7ca1a48142e341f4ef8d21d0de"),
            "",
        )],
        needed: &["wnids.txt", "val/val_annotations.txt"],
        pictures: Some(110_000),
    },
    Official {
        name: "caltech-101",
        files: "101_ObjectCategories/CLASS/*.jpg",
        variables: "features (with [data.features])",
        home: "https://data.caltech.edu/records/mzrjq-6wc02",
        licence: "CC BY 4.0",
        get: "",
        downloads: &[Download::unpacked(
            "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
            Some("3138e1922a9193bfa496528edbbc45d0"),
            "",
        )],
        needed: &[],
        pictures: Some(8677),
    },
    Official {
        name: "caltech-256",
        files: "256_ObjectCategories/CLASS/*.jpg",
        variables: "features (with [data.features])",
        home: "https://data.caltech.edu/records/nyy15-4j048",
        licence: "CC BY 4.0",
        get: "",
        downloads: &[Download::unpacked(
            "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
            Some("67b4f42ca05d46448c6bb8ecd2220f6d"),
            "caltech-256",
        )],
        needed: &[],
        pictures: Some(29_780),
    },
    Official {
        name: "ut-zappos50k",
        files: "ut-zap50k-data/meta-data-bin.csv, ut-zap50k-images/**/*.jpg",
        variables: "attributes (126)",
        home: "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/",
        licence: "non-commercial research",
        get: "",
        downloads: &[
            Download::unpacked(
                "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/ut-zap50k-data.zip",
                None,
                "ut-zappos50k",
            ),
            Download::unpacked(
                "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/ut-zap50k-images.zip",
                None,
                "ut-zappos50k",
            ),
        ],
        needed: &["ut-zap50k-data/meta-data-bin.csv"],
        pictures: Some(50_025),
    },
    Official {
        name: "cub-200-2011",
        files: "CUB_200_2011 as it unpacks: images/, images.txt, classes.txt, image_class_labels.txt, \
                train_test_split.txt, attributes/image_attribute_labels.txt",
        variables: "attributes (312)",
        home: "https://data.caltech.edu/records/65de6-vp158",
        licence: "non-commercial research",
        get: "",
        downloads: &[Download::unpacked(
            "https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
            Some("97eceeb196236b17998738112f37df78"),
            "",
        )],
        needed: &[
            "images.txt",
            "classes.txt",
            "image_class_labels.txt",
            "train_test_split.txt",
            "attributes/image_attribute_labels.txt",
        ],
        pictures: Some(11_788),
    },
    Official {
        name: "waterbirds",
        files: "waterbird_complete95_forest2water2 as it unpacks: metadata.csv and the pictures that it names",
        variables: "place, bias, group",
        home: "https://github.com/kohpangwei/group_DRO",
        licence: "those of CUB-200-2011 and Places: non-commercial research",
        get: "",
        downloads: &[Download::unpacked(
            "https://nlp.stanford.edu/data/dro/waterbird_complete95_forest2water2.tar.gz",
            None,
            "",
        )],
        needed: &["metadata.csv"],
        pictures: Some(11_788),
    },
    Official {
        name: "utkface",
        files: "UTKFace/AGE_GENDER_RACE_DATE.jpg.chip.jpg (the aligned and cropped faces)",
        variables: "age, race, bias, group",
        home: "https://susanqq.github.io/UTKFace/",
        licence: "non-commercial research",
        get: "follow the authors' page to their drive and unpack UTKFace.tar.gz",
        ..NOTHING
    },
    Official {
        name: "celeba",
        files: "list_attr_celeba.txt, list_eval_partition.txt, img_align_celeba/*.jpg",
        variables: "bias, group, attributes (40)",
        home: "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        licence: "non-commercial research, no redistribution",
        get: "follow the authors' page to their drive; put both lists beside the unpacked img_align_celeba",
        downloads: &[],
        needed: &["list_attr_celeba.txt", "list_eval_partition.txt", "img_align_celeba"],
        pictures: None,
    },
    Official {
        name: "chexpert",
        files: "CheXpert-v1.0-small as it unpacks: train.csv, valid.csv and the pictures that they name",
        variables: "atelectasis, cardiomegaly, consolidation, edema, pleural-effusion, pathologies",
        home: "https://stanfordmlgroup.github.io/competitions/chexpert/",
        licence: "Stanford's research use agreement",
        get: "register on the authors' page",
        downloads: &[],
        needed: &["train.csv", "valid.csv"],
        pictures: None,
    },
    Official {
        name: "folders",
        files: "your pictures, a folder for each class: CLASS/*, or train/CLASS/* and val/CLASS/* or test/CLASS/*",
        variables: "features (with [data.features])",
        ..NOTHING
    },
    Official {
        name: "table",
        files: "your pictures and a CSV file, whose columns the recipe names in [data.table]",
        variables: "any columns",
        ..NOTHING
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_name_is_listed_and_what_must_be_got_says_how() {
        use crate::config::data::DatasetName;
        use serde::Deserialize as _;
        use serde::de::IntoDeserializer as _;
        for set in ALL {
            let named: Result<DatasetName, serde::de::value::Error> =
                DatasetName::deserialize(set.name.into_deserializer());
            assert!(named.is_ok(), "{}", set.name);
            let own = set.home.is_empty();
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
}
