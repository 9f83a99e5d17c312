//! Drafts a recipe for a user's own pictures, with settings that fit the contents of the folder and the device.

mod budget;
mod folder;
mod lines;
mod place;
mod sizes;
#[cfg(test)]
mod testing;
mod text;
mod variants;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::columns::kind::Column;
use crate::columns::subject;
use crate::config::own_names::near_folder;
use crate::config::{Changes, Recipe};
use crate::devices::DeviceSet;
use crate::draft::budget::Budget;
use crate::draft::folder::{Contents, Layout, Table};
use crate::exit::usage;
use crate::names::{as_file_name, cut};
use crate::run_folder::folder::RECIPE;
use crate::shell::{quoted, resume_command};
use crate::words::{is_or_are, number_of, some};

/// Most bytes of the name of a recipe.
const LONGEST: usize = 80;

/// The options of the user for a recipe for pictures of their own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnPictureOptions<'a> {
    /// Columns that the embedding is to hide.
    pub(crate) hide: &'a [String],
    /// Columns that the embedding should keep.
    pub(crate) keep: &'a [String],
    /// The column of the class, where its name does not tell.
    pub(crate) label: Option<&'a str>,
    /// The CSV file in the folder, where there are several.
    pub(crate) csv: Option<&'a Path>,
}

impl OwnPictureOptions<'_> {
    /// The options as arguments of the command line, each after a space.
    fn to_arguments(self) -> String {
        let Self { hide, keep, label, csv } = self;
        let of = |flag: &str, value: &str| format!(" --{flag} {}", quoted(value));
        let csv = csv.map(|csv| of("csv", &csv.display().to_string()));
        hide.iter()
            .map(|name| of("hide", name))
            .chain(keep.iter().map(|name| of("keep", name)))
            .chain(label.map(|name| of("label", name)))
            .chain(csv)
            .collect()
    }
}

/// A recipe for a folder of pictures.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The folder of the pictures.
    folder: PathBuf,
    /// Name of the recipe: that of the folder.
    name: String,
    contents: Contents,
    /// The columns to hide, and those to keep.
    hide: Vec<Column>,
    keep: Vec<Column>,
    budget: Budget,
    /// The options as they are written on the command line.
    arguments: String,
}

impl Draft {
    /// The recipe for the pictures in `folder`, with a budget for the devices.
    ///
    /// # Errors
    /// A usage error if the folder holds no pictures, or a column is not there or cannot be told; a failure if a file cannot
    /// be read.
    pub(crate) fn new(folder: &Path, options: OwnPictureOptions<'_>, on_gpu: bool) -> Result<Self> {
        if folder.join(RECIPE).is_file() {
            return Err(usage(format_args!(
                "{} is the folder of a run; `{}` resumes it; name a folder of pictures",
                folder.display(),
                resume_command(folder)
            )));
        }
        if !folder.is_dir() {
            return Err(usage(format_args!(
                "{} is not a folder; name the folder of the pictures{}",
                folder.display(),
                near_folder(folder)
            )));
        }
        let contents = Contents::of(folder, options)?;
        let hide = contents.columns(folder, "--hide", options.hide)?;
        let keep = contents.columns(folder, "--keep", options.keep)?;
        if let Some(both) = hide.iter().find(|column| keep.iter().any(|other| other.name == column.name)) {
            return Err(usage(format_args!("`{}` is both hidden and kept; choose one", both.name)));
        }
        let budget = Budget::new(&contents, on_gpu);
        let arguments = options.to_arguments();
        Ok(Self { folder: folder.to_owned(), name: name_of(folder), contents, hide, keep, budget, arguments })
    }

    /// The recipe for the pictures in `folder` with all of their attributes. The column of the subjects is not among them where whole
    /// subjects are [held out](subject::held_out).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_all(folder: &Path, options: OwnPictureOptions<'_>) -> Result<Self> {
        let mut draft = Self::new(folder, options, false)?;
        let Layout::Table(table) = &draft.contents.layout else { return Ok(draft) };
        let held_out = subject::held_out(table.subject.as_deref(), table.split.is_some());
        let attributes = table.attributes.iter().filter(|column| held_out != Some(column.name.as_str()));
        let all: Vec<String> = attributes.map(|column| column.name.clone()).collect();
        draft.keep = draft.contents.columns(folder, "--keep", &all)?;
        draft.arguments = OwnPictureOptions { keep: &all, ..options }.to_arguments();
        Ok(draft)
    }

    /// Measures how long a run takes on the devices, and shortens it where that is longer than a newcomer waits. Nothing is
    /// known where no step can be taken; the run then names the reason.
    pub(crate) fn measure(&mut self, devices: &DeviceSet) -> Result<()> {
        let smoke = self.load(&Changes { smoke: true, ..Changes::default() })?;
        self.budget.measure(&smoke, &self.folder, devices);
        Ok(())
    }

    /// The file of the recipe, unless the user names another.
    pub(crate) fn usual_file(&self) -> String {
        format!("{}.toml", self.name)
    }

    /// The recipe as TOML with comments. `file` is its path, for the commands in them.
    pub(crate) fn text(&self, file: &str) -> String {
        text::text(self, file)
    }

    /// The recipe, with the changes of the command line.
    ///
    /// # Errors
    /// A usage error that names the setting.
    pub(crate) fn load(&self, changes: &Changes<'_>) -> Result<Recipe> {
        let origin = format!("the recipe for {}", self.folder.display());
        let mut recipe = Recipe::from_text(&self.text("recipe.toml"), &origin, &self.name, changes)
            .with_context(|| format!("the pictures in {}", self.folder.display()))?;
        recipe.origin.is_drafted = true;
        Ok(recipe)
    }

    /// The folder's contents, in lines for the user.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Contents { pictures, usable, classes, layout, sizes } = &self.contents;
        let names = || classes.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>();
        let mut lines = vec![format!(
            "{} of about {} pixels in {}: {}",
            number_of(*pictures, "picture", "pictures"),
            sizes.shorter,
            number_of(classes.len(), "class", "classes"),
            some(&names())
        )];
        if usable < pictures {
            let left_out = pictures - usable;
            let are = is_or_are(left_out);
            lines.push(format!(
                "{left_out} of {pictures} rows {are} left out: a cell that is needed is empty"
            ));
        }
        lines.extend(self.budget.too_few.clone());
        if let Layout::Table(table) = layout {
            lines.extend(table.attributes.iter().map(|column| format!("{}: {}", column.name, column.kind)));
            lines.extend(self.used(table).into_iter().filter_map(Column::numeric_code_warning));
        }
        lines
    }

    /// The attributes of the recipe: those that the table offers, and those that were asked for.
    fn used<'a>(&self, table: &'a Table) -> Vec<&'a Column> {
        let is_asked =
            |column: &Column| self.hide.iter().chain(&self.keep).any(|one| one.name == column.name);
        table.attributes.iter().filter(|column| table.offers(column) || is_asked(column)).collect()
    }
}

/// The name of a folder, as a name of files.
fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = as_file_name(cut(&whole.file_name().unwrap_or_default().to_string_lossy(), LONGEST));
    if name.is_empty() { "pictures".into() } else { name }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::testing::pictures;
    use super::*;

    #[test]
    fn different_folders_have_recipes_of_different_names() {
        let place = tempfile::tempdir().unwrap();
        let named = |name: &str| {
            fs::create_dir(place.path().join(name)).unwrap();
            name_of(&place.path().join(name))
        };
        let names = ["scans", "MyData", "日本", "東京", "my data"];
        assert_eq!(names.map(named), names);
        assert_eq!(name_of(Path::new("/")), "pictures");
    }

    #[test]
    fn numbers_that_may_be_codes_are_doubted_where_they_are_used() {
        let folder = pictures(&["0.png"]);
        let row = |at: usize| format!("{at}.png,{},{},{}\n", at % 2, at % 12, at / 5);
        let table = (0..60).map(row).fold("file,label,site,patient\n".to_owned(), |table, row| table + &row);
        fs::write(folder.path().join("images.csv"), table).unwrap();
        let doubted = |hide: &[&str]| {
            let hide: Vec<String> = hide.iter().map(ToString::to_string).collect();
            let options = OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() };
            let notes = Draft::new(folder.path(), options, false).unwrap().notes().join("\n");
            ["site", "patient"].map(|name| notes.contains(&format!("`{name}` is read as a quantity")))
        };
        assert_eq!(doubted(&["site"]), [true, false], "subjects are no attribute");
        assert_eq!(doubted(&["patient"]), [true, true]);
    }

    #[test]
    fn one_picture_one_class_and_one_gap_are_said_as_one() {
        let folder = pictures(&["0.png"]);
        let place = folder.path();
        let notes = |hide: &[String]| {
            let options = OwnPictureOptions { hide, ..OwnPictureOptions::default() };
            Draft::new(place, options, false).unwrap().notes().join("\n")
        };
        fs::write(place.join("images.csv"), "file,label\n0.png,ill\n").unwrap();
        let said = notes(&[]);
        assert!(
            said.starts_with("1 picture of about 2 pixels in 1 class: ill 1\n1 picture is too few:"),
            "{said}"
        );
        let rows: String = (0..6).map(|at| format!("0.png,ill,{}\n", ["a", "b", ""][at / 2 % 3])).collect();
        let rows = rows.replacen("ill,\n", "ill,a\n", 1);
        fs::write(place.join("images.csv"), format!("file,label,site\n{rows}")).unwrap();
        let hide = ["site".to_owned()];
        let said = notes(&hide);
        assert!(said.contains("1 of 6 rows is left out: a cell that is needed is empty"), "{said}");
        let options = OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() };
        let text = Draft::new(place, options, false).unwrap().text("recipe.toml");
        assert!(text.contains("# 1 class: ill 6\n") && text.contains("; 1 cell has no value\n"), "{text}");
    }
}
