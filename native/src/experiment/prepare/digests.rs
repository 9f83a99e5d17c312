//! Digests of the data of a run, from which a run that goes on, or a process of one, knows that it has the same.

use std::collections::BTreeMap;
use std::path::Path;

use simile_core::data::{Condition, Dataset};

use super::splits::{ATTRIBUTES, Splits};
use crate::data::DataSection;
use crate::data::source::Kind;
use crate::run_folder::digest::Digest;

impl Splits {
    /// The digest of the class of every image, and of its file name without the folder, which may have moved.
    pub(crate) fn digest(&self) -> Digest {
        self.parts().fold(Digest::default(), |digest, part| {
            part.labels.iter().enumerate().fold(digest, |digest, (at, label)| {
                let file = part.images.file(at).map_or_else(String::new, |file| file.path);
                let name = Path::new(&file).file_name().unwrap_or_default();
                digest.followed_by(&label.to_le_bytes()).followed_by(name.as_encoded_bytes())
            })
        })
    }

    /// The digest of the sizes of picture files; none if images are not such files.
    pub(crate) fn file_sizes(&self) -> Option<Digest> {
        self.train.images.file(0)?;
        Some(self.parts().fold(Digest::default(), |digest, part| {
            let sizes = (0..part.len()).filter_map(|at| Some(part.images.file(at)?.bytes));
            sizes.fold(digest, |digest, bytes| digest.followed_by(&bytes.to_le_bytes()))
        }))
    }

    /// The digest of each variable that files of pictures give, by its name. Others are drawn or computed from the recipe, on some
    /// machines with another last digit.
    pub(crate) fn variables(&self, section: &DataSection) -> BTreeMap<String, Digest> {
        let Kind::Pictures(_) = section.dataset.kind() else { return BTreeMap::new() };
        let prior = section.prior.as_ref().map(|prior| prior.name.as_str());
        let made = section.attributes.as_ref().map(|_| ATTRIBUTES);
        let of_files = |name: &&String| ![prior, made].contains(&Some(name.as_str()));
        let digest = |name: &String| {
            let parts = self.parts().filter_map(|part| part.conditions.get(name));
            (name.clone(), parts.fold(Digest::default(), followed_by))
        };
        self.train.conditions.keys().filter(of_files).map(digest).collect()
    }

    /// The digest of all that processes of one run have to agree about.
    pub(crate) fn digest_of_all(&self, section: &DataSection) -> Digest {
        let variables = self.variables(section);
        variables.values().chain(&self.file_sizes()).fold(
            self.digest(),
            |digest, Digest { bytes, crc32c }| {
                digest.followed_by(&bytes.to_le_bytes()).followed_by(&crc32c.to_le_bytes())
            },
        )
    }

    fn parts(&self) -> impl Iterator<Item = &Dataset> {
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
