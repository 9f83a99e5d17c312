//! The digests of the data of a run.

use std::collections::BTreeMap;
use std::path::Path;

use simile_core::data::{Condition, Dataset, ImageFile};

use super::assemble::ATTRIBUTES;
use super::splits::Splits;
use crate::data::DataSection;
use crate::data::source::Medium;
use crate::run_folder::data_digests::DataDigests;
use crate::run_folder::digest::Digest;

impl Splits {
    /// The digests of all images and their attributes.
    pub(crate) fn data_digests(&self, section: &DataSection) -> DataDigests {
        let (mut names, mut sizes) = (Digest::default(), None);
        for split in self.all() {
            for (at, label) in split.labels.iter().enumerate() {
                let file = split.images.file(at);
                let path = file.as_ref().map_or("", |file| file.path.as_str());
                let name = Path::new(path).file_name().unwrap_or_default();
                names = names.followed_by(&label.to_le_bytes()).followed_by(name.as_encoded_bytes());
                if let Some(ImageFile { bytes, .. }) = file {
                    sizes = Some(sizes.unwrap_or_else(Digest::default).followed_by(&bytes.to_le_bytes()));
                }
            }
        }
        DataDigests { names: Some(names), sizes, attributes: self.attributes(section) }
    }

    /// The digest of each attribute that files of pictures give, by its name. Others are drawn or computed from the recipe, on some
    /// machines with another last digit.
    fn attributes(&self, section: &DataSection) -> BTreeMap<String, Digest> {
        let Medium::Pictures(_) = section.dataset.medium() else { return BTreeMap::new() };
        let prior = section.prior.as_ref().map(|prior| prior.name.as_str());
        let synthetic = section.attributes.as_ref().map(|_| ATTRIBUTES);
        let is_of_files = |name: &&String| ![prior, synthetic].contains(&Some(name.as_str()));
        let digest = |name: &String| {
            let in_each_split = self.all().filter_map(|split| split.conditions.get(name));
            (name.clone(), in_each_split.fold(Digest::default(), followed_by))
        };
        self.train.conditions.keys().filter(is_of_files).map(digest).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Dataset> {
        [Some(&self.train), Some(&self.evaluated.dataset), self.to_choose.as_ref()].into_iter().flatten()
    }
}

fn followed_by(digest: Digest, attribute: &Condition) -> Digest {
    match attribute {
        Condition::Numeric(matrix) => matrix
            .iter_rows()
            .flatten()
            .fold(digest, |digest, value| digest.followed_by(&value.to_le_bytes())),
        Condition::Categorical { values, names } => {
            let named = values.iter().filter_map(|value| names.get(*value));
            named.fold(digest, |digest, name| digest.followed_by(name.as_bytes()).followed_by(b"\n"))
        }
    }
}
