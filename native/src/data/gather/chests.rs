//! CheXpert, in its small or its full version.

use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::chexpert::catalogue;

use super::{Gathered, root, text};
use crate::data::Result;
use crate::data::settings::ChexpertSection;

/// Reads both lists.
///
/// # Errors
/// Names the missing file, or the file and line of what is not understood.
pub(super) fn gather(section: &ChexpertSection, folder: &Path) -> Result<Gathered> {
    let inner = ["CheXpert-v1.0-small", "CheXpert-v1.0", "chexpert", "chexpert/CheXpert-v1.0-small"];
    let root = root(folder, &inner, "train.csv")?;
    let (train, valid) = (text(&root.join("train.csv"))?, text(&root.join("valid.csv"))?);
    let texts = (Text::new(&train.0, &train.1), Text::new(&valid.0, &valid.1));
    let catalogue = catalogue(&texts.0, &texts.1, &section.target, section.uncertain)?;
    Ok(Gathered { root, catalogue, notes: Vec::new() })
}
