//! UT-Zappos50K as its two archives unpack.

use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::ut_zappos::catalogue;

use super::{Gathered, root, split, text};
use crate::data::settings::SplitSection;
use crate::data::walk::pictures;
use crate::data::{DataError, Result};

/// Folders of pictures that are published; the first is the one that CCL-K uses.
const PICTURES: [&str; 2] = ["ut-zap50k-images", "ut-zap50k-images-square"];

/// Reads the table of attributes and finds the picture of each row.
///
/// # Errors
/// Names the missing file, or the line of a shoe without a picture.
pub(super) fn gather(section: &SplitSection, folder: &Path) -> Result<Gathered> {
    let root = root(folder, &["ut-zappos50k", "utzap50k", "ut-zap50k"], "ut-zap50k-data/meta-data-bin.csv")?;
    let Some(name) = PICTURES.iter().find(|name| root.join(name).is_dir()) else {
        return Err(DataError::Missing {
            folder: root,
            missing: vec![format!("the folder {}", PICTURES[0])],
        });
    };
    let root_of_pictures = root.join(name);
    let (table, origin) = text(&root.join("ut-zap50k-data/meta-data-bin.csv"))?;
    let catalogue = catalogue(&Text::new(&table, &origin), &pictures(&root_of_pictures)?)?;
    Ok(Gathered { root: root_of_pictures, catalogue: split(catalogue, section)?, notes: Vec::new() })
}
