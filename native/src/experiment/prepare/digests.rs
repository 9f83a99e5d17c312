//! Digests of the data of a run, from which a run that goes on, or a process of one, knows that it has the same.

use std::collections::BTreeMap;
use std::path::Path;

use simile_core::data::{Condition, Dataset, ImageFile};

use super::splits::{ATTRIBUTES, Splits};
use crate::data::DataSection;
use crate::data::source::Kind;
use crate::run_folder::digest::Digest;

/// The digests of the images of a run.
pub(crate) struct ImageDigests {
    /// Of the class of each, and of its file name without the folder, which may have moved.
    pub(crate) names: Digest,
    /// Of the size of each one's file; none if images are not such files.
    pub(crate) sizes: Option<Digest>,
}

impl Splits {
    /// The digests of all images.
    pub(crate) fn image_digests(&self) -> ImageDigests {
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
        ImageDigests { names, sizes }
    }

    /// The digest of each variable that files of pictures give, by its name. Others are drawn or computed from the recipe, on some
    /// machines with another last digit.
    pub(crate) fn variables(&self, section: &DataSection) -> BTreeMap<String, Digest> {
        let Kind::Pictures(_) = section.dataset.kind() else { return BTreeMap::new() };
        let prior = section.prior.as_ref().map(|prior| prior.name.as_str());
        let attributes = section.attributes.as_ref().map(|_| ATTRIBUTES);
        let of_files = |name: &&String| ![prior, attributes].contains(&Some(name.as_str()));
        let digest = |name: &String| {
            let of_splits = self.all().filter_map(|split| split.conditions.get(name));
            (name.clone(), of_splits.fold(Digest::default(), followed_by))
        };
        self.train.conditions.keys().filter(of_files).map(digest).collect()
    }

    /// The digest of all that processes of one run have to agree about.
    pub(crate) fn digest_of_all(&self, section: &DataSection) -> Digest {
        let (ImageDigests { names, sizes }, variables) = (self.image_digests(), self.variables(section));
        variables.values().chain(&sizes).fold(names, |digest, more| digest.followed_by_that_of(*more))
    }

    fn all(&self) -> impl Iterator<Item = &Dataset> {
        [Some(&self.train), Some(&self.test), self.validation.as_ref()].into_iter().flatten()
    }
}

fn followed_by(digest: Digest, variable: &Condition) -> Digest {
    match variable {
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
