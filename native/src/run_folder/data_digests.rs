//! Digests of the data of a run, from which a run that goes on, or a process of one, knows that it has the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run_folder::digest::Digest;

/// The digests of the images of a run and of their attributes. The state of a run has them since its images were read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DataDigests {
    /// The digest of the class of each image, and of its file name without the folder, which may have moved.
    #[serde(default, rename = "image_digest")]
    pub(crate) names: Option<Digest>,
    /// The digest of the sizes of the images' files; none if images are not such files.
    #[serde(default, rename = "file_sizes")]
    pub(crate) sizes: Option<Digest>,
    /// The digest of each attribute that files of the data give, by its name.
    #[serde(default, rename = "variables")]
    pub(crate) attributes: BTreeMap<String, Digest>,
}

impl DataDigests {
    /// The digest of all of them; none before the images are read.
    pub(crate) fn whole(&self) -> Option<Digest> {
        let others = self.attributes.values().chain(&self.sizes);
        self.names.map(|names| others.fold(names, |digest, other| digest.followed_by_that_of(*other)))
    }

    /// The change of data that had the digests `begun`, in words; none if they are the same. A digest that an earlier version did not
    /// compute is no change.
    pub(crate) fn change_from(&self, begun: &Self) -> Option<String> {
        if begun.names.is_some() && self.names != begun.names {
            return Some("there are as many images, but others, in another order or of other classes".into());
        }
        if begun.sizes.is_some() && self.sizes != begun.sizes {
            return Some("pictures have the same names, but files of other sizes".into());
        }
        let is_other = |(name, begun): &(&String, &Digest)| {
            self.attributes.get(*name).is_some_and(|digest| digest != *begun)
        };
        let (name, _) = begun.attributes.iter().find(is_other)?;
        Some(format!("the images have other values of `{name}`"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_that_of_a_digest_that_both_have() {
        let digest = |text: &str| Digest::of(text.as_bytes());
        let begun = DataDigests {
            names: Some(digest("a")),
            sizes: Some(digest("1")),
            attributes: BTreeMap::from([("age".to_owned(), digest("7"))]),
        };
        assert_eq!(begun.change_from(&begun), None);
        let all = begun.whole().unwrap();
        let changed = [
            (DataDigests { names: Some(digest("b")), ..begun.clone() }, "in another order"),
            (DataDigests { sizes: None, ..begun.clone() }, "of other sizes"),
            (DataDigests { attributes: [("age".into(), digest("8"))].into(), ..begun.clone() }, "`age`"),
        ];
        for (now, change) in changed {
            assert!(now.change_from(&begun).unwrap().contains(change), "{change}");
            assert_ne!(now.whole(), Some(all), "{change}");
        }
        let of_earlier_version = DataDigests::default();
        assert_eq!((begun.change_from(&of_earlier_version), of_earlier_version.whole()), (None, None));
    }
}
