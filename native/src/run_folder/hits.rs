//! The evaluation images that a network classifies correctly, as the state of a run keeps them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metrics::Hits;

/// By metric, a character for each image: `1` if it is classified correctly, `0` otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredHits(BTreeMap<String, String>);

impl StoredHits {
    /// The form of hits that a state keeps.
    pub(crate) fn of(hits: &Hits) -> Self {
        let text = |of: &Vec<bool>| of.iter().map(|&right| if right { '1' } else { '0' }).collect();
        Self(hits.iter().map(|(metric, of)| (metric.clone(), text(of))).collect())
    }

    /// True where the network is right, image by image, by metric.
    pub(crate) fn read(&self) -> Hits {
        let read = |text: &String| text.bytes().map(|right| right == b'1').collect();
        self.0.iter().map(|(metric, text)| (metric.clone(), read(text))).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_kept_as_characters_and_read_back() {
        let hits = BTreeMap::from([("top1".to_owned(), vec![true, false, true])]);
        let kept = StoredHits::of(&hits);
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(text, r#"{"top1":"101"}"#);
        assert_eq!(serde_json::from_str::<StoredHits>(&text).unwrap().read(), hits);
    }
}
