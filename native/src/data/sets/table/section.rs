//! `[data.table]`: the CSV file and the meaning of its columns.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::keys::of_dataset::DatasetOption;
use crate::data::keys::values::Broken;

/// `[data.table]`: the CSV file and the meaning of its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableSection {
    /// The CSV file in the data folder.
    pub(crate) csv: PathBuf,
    /// Column of the picture's path, relative to the data folder.
    #[serde(default = "file_column")]
    pub(crate) file: String,
    /// Column of the class.
    #[serde(default = "label_column")]
    pub(crate) label: String,
    /// Column with `train`, `validation` or `test`; without it `data.test` pictures are held out at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) split: Option<String>,
    /// Column of the subject of a picture, such as the patient: pictures that are held out have other subjects than the rest, unless
    /// `split` says otherwise, which is noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<String>,
    /// Columns of each attribute, by its name.
    #[serde(default)]
    pub(crate) conditions: BTreeMap<String, Vec<String>>,
    /// The conditions of one column whose numbers are names of categories, such as codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) categories: Vec<String>,
    /// The handling of rows with an empty cell in a column that is used. If such rows are left out, an unusable number such as `NaN`,
    /// in a condition of numbers, counts as an empty cell.
    #[serde(default, skip_serializing_if = "Broken::is_default")]
    pub(crate) missing: Broken,
}

fn file_column() -> String {
    "file".into()
}

fn label_column() -> String {
    "label".into()
}

impl TableSection {
    /// Checks that no column has two roles that exclude each other. The file of a picture may be its subject: the rows of one picture
    /// then stay together. A condition may be any column.
    ///
    /// # Errors
    /// Names both keys and the column.
    fn check_roles(&self) -> Result<(), String> {
        let file = ("file", Some(&self.file));
        let label = ("label", Some(&self.label));
        let split = ("split", self.split.as_ref());
        let subject = ("subject", self.subject.as_ref());
        for ((key, column), (other_key, other), consequence) in [
            (label, file, "each picture would be a class of its own"),
            (split, file, "the path of a picture is none of `train`, `validation` and `test`"),
            (split, label, "no class would be both trained and tested on"),
            // Where a column says the splits, probes still hold out training pictures.
            (
                subject,
                label,
                "held-out pictures, also those that a probe chooses its penalty by, would be of classes that no other \
                 picture has",
            ),
            (subject, split, "all pictures to train on would be of one subject"),
        ] {
            if let Some(column) = column.filter(|_| column == other) {
                return Err(format!(
                    "`data.table.{key}` and `data.table.{other_key}` are both the column `{column}`: {consequence}; name \
                     another column in one of them"
                ));
            }
        }
        Ok(())
    }
}

impl DatasetOption for TableSection {
    const KEY: &'static str = "table";
    const MEANINGS: &'static [(&'static str, &'static str)] = &[
        ("", "The CSV file of the data set `table`, and what its columns mean."),
        (
            "categories",
            "Attributes of one column whose numbers are names of categories, such as codes; none by default.",
        ),
        ("conditions", "The attributes, each by its name with a list of its columns; none by default."),
        ("csv", "The CSV file in the data folder; has to be given in the section."),
        ("file", "Column with the path of the picture, from the data folder; `file` by default."),
        ("label", "Column of the class; `label` by default."),
        (
            "missing",
            "Treatment of a row with an empty cell: `refuse` (the default) ends the run, `skip` counts such rows and leaves them out.",
        ),
        (
            "split",
            "Column with `train`, `validation` or `test`; if absent, `data.test` pictures are held out at random.",
        ),
        (
            "subject",
            "Column that names the subject of a picture, such as the patient. No subject has both training and held-out pictures, unless \
             `split` says so. None by default.",
        ),
    ];

    fn check_use(&self) -> Result<(), String> {
        self.check_roles()?;
        let is_column = |name: &&String| self.conditions.get(*name).is_some_and(|columns| columns.len() == 1);
        match self.categories.iter().find(|name| !is_column(name)) {
            Some(name) => Err(format!(
                "`data.table.categories` names `{name}`, which is not an attribute of one column; write \
                 {name:?} = [\"COLUMN\"] into [data.table.conditions], or take the name out"
            )),
            None => Ok(()),
        }
    }
}
