//! A survey of a data set: its attributes with their types, their ties to the class, and pictures that are blank or the same.

mod attributes;
mod depth;
mod pictures;

use std::fmt;
use std::path::Path;

use serde::Serialize;
use simile_core::data::{Catalogue, Condition, Dataset};

use self::attributes::Attribute;
pub(crate) use self::attributes::{Classes, tie_to_class};
use self::pictures::Faults;
use super::error::Result;
use super::section::DataSection;
use super::sets::table::{TableSection, missing_cells};
use super::source::Medium;
use crate::data::keys::values::Broken;

/// The attributes and the pictures of a data set.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Survey {
    /// Number of pictures of all splits, those that cannot be used included.
    pictures: usize,
    classes: Vec<String>,
    #[serde(rename = "variables")]
    attributes: Vec<Attribute>,
    /// Notes on rows and files that a run leaves out, on classes that a split lacks, on pictures of which little is read, and on
    /// attributes whose leak a run could not measure, or would understate.
    notes: Vec<String>,
    /// Blank, equal and unreadable pictures, of a user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<Faults>,
    /// The reason why a run would refuse the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}

impl Survey {
    /// A survey of picture files in a folder, of which every one is decoded. Rows and pictures that a run refuses are left
    /// out and named.
    ///
    /// # Errors
    /// If the annotations cannot be read at all.
    pub(crate) fn from_files(section: &DataSection, folder: &Path) -> Result<Self> {
        let Medium::Pictures(set) = section.dataset.medium() else { return Ok(Self::default()) };
        let strict = set.annotations(&section.options(), folder);
        let refused = strict.as_ref().err().map(ToString::to_string);
        let table = section.of_dataset.get::<TableSection>();
        let mut lenient = section.options();
        if let Some(table) = table {
            lenient.of_dataset =
                lenient.of_dataset.with(TableSection { missing: Broken::Skip, ..table.clone() });
        }
        let annotations = match strict {
            Ok(annotations) => Ok(annotations),
            Err(error) => set.annotations(&lenient, folder).map_err(|_| error),
        }?;
        let catalogue = &annotations.catalogue;
        let faults = Faults::find(&annotations.root, catalogue)?;
        let depth = depth::note(annotations.list());
        let mut notes = annotations.notes;
        notes.extend(depth);
        let broken = (section.broken == Broken::Refuse).then(|| faults.refusal()).flatten();
        let missing = match table {
            Some(table) => missing_cells(table, folder)?,
            None => Default::default(),
        };
        let Catalogue { labels, classes, conditions, .. } = catalogue;
        let class_of_each = Classes { labels, count: classes.len() };
        let attribute = |(name, condition): (&String, &Condition)| {
            Attribute::of(name, condition, class_of_each, missing.get(name).copied().unwrap_or(0))
        };
        Ok(Self {
            pictures: catalogue.len(),
            classes: classes.clone(),
            attributes: conditions.iter().map(attribute).collect(),
            notes,
            faults: Some(faults),
            refused: refused.or(broken),
        })
    }

    /// A survey of images that were read, without a look at their pixels.
    pub(crate) fn from_images(set: &Dataset) -> Self {
        let classes = Classes { labels: &set.labels, count: set.classes.len() };
        let attribute = |(name, condition): (&String, &Condition)| Attribute::of(name, condition, classes, 0);
        Self {
            pictures: set.len(),
            classes: set.classes.clone(),
            attributes: set.conditions.iter().map(attribute).collect(),
            ..Self::default()
        }
    }

    /// Adds a note.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// True if pictures cannot be read, or are trained on and tested on.
    pub(crate) fn has_faults(&self) -> bool {
        self.faults.as_ref().is_some_and(Faults::are_serious)
    }

    /// Each attribute beside the class.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (String, Vec<Vec<String>>)> {
        self.attributes.iter().filter_map(|attribute| attribute.table(&self.classes))
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.attributes.iter().try_for_each(|attribute| writeln!(f, "{attribute}"))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "note     {note}"))?;
        if let Some(faults) = &self.faults {
            write!(f, "{faults}")?;
        }
        if let Some(refused) = &self.refused {
            writeln!(f, "wrong    {refused}")?;
        }
        Ok(())
    }
}
