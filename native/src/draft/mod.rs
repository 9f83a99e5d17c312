//! Drafts a recipe for a user's own pictures, with settings that fit the contents of the folder and the device.

mod budget;
mod folder;
mod lines;
mod sizes;
mod text;
mod variants;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::columns::kind::Column;
use crate::columns::words::{number_of, some};
use crate::config::own_names::near_folder;
use crate::config::{Changes, Recipe};
use crate::devices::DeviceSet;
use crate::draft::budget::Budget;
use crate::draft::folder::{Contents, Layout, Table};
use crate::exit::usage;
use crate::names::{as_file_name, cut};
use crate::run_folder::folder::RECIPE;
use crate::shell::{quoted, resume_command};

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

    /// The recipe for the pictures in `folder` with all of their attributes. Where whole subjects are held out, the column of subjects is
    /// not among them: a probe could name none of those.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_all(folder: &Path, options: OwnPictureOptions<'_>) -> Result<Self> {
        let mut draft = Self::new(folder, options, false)?;
        let Layout::Table(table) = &draft.contents.layout else { return Ok(draft) };
        let held_out = table.subject.as_ref().filter(|_| table.split.is_none());
        let attributes = table.attributes.iter().filter(|column| held_out != Some(&column.name));
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
            let are = if left_out == 1 { "is" } else { "are" };
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
    use super::*;
    use crate::data::keys::values::{Fit, JudgedBy};
    use crate::experiment::prepare::splits::Splits;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use simile_core::data::Split;
    use std::collections::BTreeSet;
    use std::fs;

    /// A folder with pictures of these paths.
    fn pictures(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            image::RgbImage::new(2, 2).save(path).unwrap();
        }
        folder
    }

    /// A folder with four pictures of two classes and a table of further columns.
    fn scans(columns: &str, rows: [&str; 4]) -> tempfile::TempDir {
        let folder = pictures(&["0.png", "1.png", "2.png", "3.png"]);
        let row = |(at, row): (usize, &str)| format!("{at}.png,{},{row}\n", ["ill", "well"][at % 2]);
        let rows: String = rows.into_iter().enumerate().map(row).collect();
        fs::write(folder.path().join("images.csv"), format!("file,label,{columns}\n{rows}")).unwrap();
        folder
    }

    /// The text of the recipe for a folder, and the recipe, whose data can be read.
    fn drafted(folder: &Path, hide: &[&str], keep: &[&str]) -> (String, Recipe) {
        let [hide, keep] =
            [hide, keep].map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
        let options = OwnPictureOptions { hide: &hide, keep: &keep, ..OwnPictureOptions::default() };
        let draft = Draft::new(folder, options, false).unwrap();
        let recipe = draft.load(&Changes::default()).unwrap();
        recipe.data.catalogue(folder).unwrap();
        (draft.text("recipe.toml"), recipe)
    }

    /// A folder with three pictures of each of two classes, which are dark at the left and bright at the right edge. They have these
    /// sizes in turn.
    fn photographs(sizes: &[(u32, u32)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (at, &(width, height)) in (0..6_u8).zip(sizes.iter().cycle()) {
            let class = folder.path().join(["a", "b"][usize::from(at) % 2]);
            fs::create_dir_all(&class).unwrap();
            let colour = |x: u32, _: u32| image::Rgb([(255 * x / width) as u8, 20 * at, 90]);
            let picture = image::RgbImage::from_fn(width, height, colour);
            picture.save(class.join(format!("{at}.png"))).unwrap();
        }
        folder
    }

    #[test]
    fn photographs_are_kept_to_their_edges() {
        let folder = photographs(&[(120, 90)]);
        let (text, recipe) = drafted(folder.path(), &[], &[]);
        assert_eq!((recipe.data.fit, recipe.data.side), (Fit::Aspect, Some(56)), "{text}");
        assert_eq!((recipe.augment.size, recipe.encoder.config.input_size), (Some(32), 32), "{text}");
        let seen =
            "# views, and pictures in evaluation, are squares of so many pixels; yours have about 90\n";
        assert!(text.contains(seen) && !text.contains("pictures are resized"), "{text}");
        let train = Splits::of(&recipe, Some(folder.path())).unwrap().train.images;
        assert_eq!(train.stretches(&[0]), Some(vec![f64::from(4.0_f32 / 3.0)]));
        let picture = train.read(&[0]).unwrap();
        let row = &picture.image(0)[..3 * picture.width];
        assert!(row[0] < 10 && row[3 * (picture.width - 1)] > 240, "{row:?}");
    }

    #[test]
    fn crops_of_long_photographs_differ() {
        let [square, photograph, screen, double]: [(u32, u32); 4] =
            [(90, 90), (120, 90), (160, 90), (180, 90)];
        for sizes in [[photograph; 2], [screen; 2], [double; 2], [square, double], [photograph, screen]] {
            let folder = photographs(&sizes);
            let (text, recipe) = drafted(folder.path(), &[], &[]);
            assert_eq!(recipe.data.fit, Fit::Aspect, "{text}");
            for (width, height) in sizes {
                let mut rng = ChaCha8Rng::seed_from_u64(3);
                let stretches = [f64::from(width) / f64::from(height); 300];
                let samples = recipe.augment.draw_stretched(&stretches, (64, 64), &mut rng).unwrap();
                let windows: BTreeSet<[usize; 4]> = samples
                    .iter()
                    .filter_map(|sample| sample.window)
                    .map(|window| [window.top, window.left, window.height, window.width])
                    .collect();
                assert!(windows.len() > 270, "{} windows of {width} x {height}: {text}", windows.len());
            }
        }
    }

    #[test]
    fn photographs_longer_than_two_to_one_are_seen_by_crops_as_by_evaluation() {
        for sizes in [[(270, 90); 2], [(90, 90), (270, 90)], [(540, 90); 2]] {
            let (text, recipe) = drafted(photographs(&sizes).path(), &[], &[]);
            assert_eq!((recipe.data.fit, recipe.data.side), (Fit::Middle, Some(42)), "{text}");
            assert!(text.contains("\ncrop = { scale = [0.6, 1.0] }\n") && !text.contains("fit ="), "{text}");
        }
    }

    #[test]
    fn small_squares_have_no_keys_of_photographs_and_large_ones_only_those_of_sharp_crops() {
        let small = drafted(photographs(&[(40, 40)]).path(), &[], &[]).0;
        assert!(small.contains("\ncrop = { scale = [0.6, 1.0] }\n"), "{small}");
        assert!(
            small.contains("# pictures are resized to squares of so many pixels; yours have about 40\n"),
            "{small}"
        );
        for key in ["fit =", "side =", "\nsize ="] {
            assert!(!small.contains(key), "{key}: {small}");
        }
        let (large, recipe) = drafted(photographs(&[(90, 90)]).path(), &[], &[]);
        assert_eq!((recipe.data.fit, recipe.data.side), (Fit::Middle, Some(42)), "{large}");
        assert!(large.contains("\ncrop = { scale = [0.6, 1.0] }\n"), "{large}");
    }

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
    fn a_column_of_splits_is_taken_or_refused() {
        let rows = ["train,a", "train,b", "validation,b", "validation,a"];
        let folder = scans("split,site", rows);
        let (text, recipe) = drafted(folder.path(), &["site"], &[]);
        assert_eq!(recipe.data.judged_by, JudgedBy::Validation);
        assert!(text.contains("split = \"split\"") && !text.contains("test ="), "{text}");
        let folder = scans("split,site", ["train,a", "test,b", ",b", "train,a"]);
        let (text, recipe) = drafted(folder.path(), &["site"], &[]);
        assert_eq!(recipe.data.judged_by, JudgedBy::Test);
        assert!(text.contains("split = \"split\"") && text.contains("missing = \"skip\""), "{text}");
        let folder = scans("split,site", ["Train,a", "Test,b", "Train,b", "Test,a"]);
        let error = Draft::new(folder.path(), OwnPictureOptions::default(), false).unwrap_err().to_string();
        assert!(error.contains("images.csv: line 2: column `split` is `Train`"), "{error}");
    }

    #[test]
    fn the_role_of_a_column_that_is_no_attribute_is_said() {
        let folder = scans("split,site", ["train,a", "train,b", "test,b", "test,a"]);
        for (column, role) in
            [("label", "the class"), ("file", "the file of a picture"), ("split", "the split")]
        {
            let hide = [column.to_owned()];
            let options = OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() };
            let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
            assert!(
                error.contains(&format!("column `{column}` says {role}, so it can be neither")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_column_of_one_value_names_it() {
        for (rows, is) in [
            (["a,0.5", "a,0.5", "a,0.5", "a,0.5"], ["`a` in all rows,", "`0.5` in all rows,"]),
            (
                ["a,", "a,0.5", ",0.5", "a,0.5"],
                ["`a` in all rows that have a value", "`0.5` in all rows that have a value"],
            ),
        ] {
            let folder = scans("site,dose", rows);
            for (column, is) in ["site", "dose"].into_iter().zip(is) {
                let hide = [column.to_owned()];
                let options = OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() };
                let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
                assert!(error.contains(&format!("column `{column}` is {is}")), "{error}");
                assert!(error.ends_with("so there is nothing to hide or to keep"), "{error}");
            }
        }
    }

    #[test]
    fn the_file_of_a_picture_is_no_class() {
        let folder = scans("split,site", ["train,a", "train,b", "test,b", "test,a"]);
        let options = OwnPictureOptions { label: Some("file"), ..OwnPictureOptions::default() };
        let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
        assert!(error.contains("`file` is the file of a picture, which can be no class"), "{error}");
    }

    #[test]
    fn columns_of_any_letters_have_variants_of_their_own() {
        let folder = scans("病院,年齢,a/b,a-b", ["x,y,x,y", "y,x,x,y", "x,x,y,x", "y,y,y,x"]);
        let (_, recipe) = drafted(folder.path(), &["病院", "年齢"], &["a/b", "a-b"]);
        let names: Vec<String> = recipe.variants().into_iter().map(|variant| variant.name).collect();
        assert_eq!(names, ["plain", "hide 病院", "hide 年齢 2", "keep a-b", "keep a-b 2"]);
    }

    #[test]
    fn the_variant_of_a_column_with_an_equals_sign_can_be_set() {
        let folder = scans("BMI>=30", ["yes", "no", "no", "yes"]);
        let hide = ["BMI>=30".to_owned()];
        let draft = Draft::new(
            folder.path(),
            OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() },
            false,
        )
        .unwrap();
        let variant = draft.load(&Changes::default()).unwrap().variants().pop().unwrap().name;
        let set = [format!("variant.{variant}.objective.lambda=0.001")];
        let changed = draft.load(&Changes { set: &set, ..Changes::default() });
        assert!(changed.is_ok(), "{set:?}: {changed:?}");
    }

    #[test]
    fn columns_without_a_name_are_no_attributes() {
        let folder = scans(",,site", ["0,a,x", "1,b,y", "2,a,x", "3,b,y"]);
        let (text, _) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("\"site\" = [\"site\"]") && !text.contains("\"\" = "), "{text}");
        let all = Draft::with_all(folder.path(), OwnPictureOptions::default()).unwrap();
        let data = all.load(&Changes::default()).unwrap().data;
        assert_eq!(data.catalogue(folder.path()).unwrap().conditions.len(), 1);
    }

    #[test]
    fn columns_may_have_several_lines_and_quotes() {
        let folder = scans("\"age\n(years)\",\"a\"\"b'c\"", ["61.5,x", "47,y", "50,x", "38,y"]);
        let (text, recipe) = drafted(folder.path(), &["age\n(years)"], &["a\"b'c"]);
        assert!(text.contains("should reflect a\"b'c and not depend on age (years)."), "{text}");
        assert_eq!(recipe.probe.condition, "age\n(years)");
        assert_eq!(recipe.probe.also, ["a\"b'c"]);
        let names: Vec<String> = recipe.variants().into_iter().map(|variant| variant.name).collect();
        assert_eq!(names, ["plain", "hide age-(years)", "keep a\"b'c"]);
    }

    #[test]
    fn a_hidden_table_is_passed_over() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        fs::write(folder.path().join("._images.csv"), [0, 5, 22, 7]).unwrap();
        let (text, _) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("csv = \"images.csv\""), "{text}");
    }

    #[test]
    fn a_table_with_tabs_is_taken_where_there_is_none_with_commas() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        let [csv, tsv] = ["images.csv", "images.TSV"].map(|name| folder.path().join(name));
        fs::write(&tsv, fs::read_to_string(&csv).unwrap().replace(',', "\t")).unwrap();
        assert!(drafted(folder.path(), &["site"], &[]).0.contains("csv = \"images.csv\""));
        fs::remove_file(csv).unwrap();
        let (text, recipe) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("csv = \"images.TSV\""), "{text}");
        assert_eq!(recipe.data.catalogue(folder.path()).unwrap().len(), 4);
    }

    #[test]
    fn a_fifth_of_the_rows_that_can_be_used_is_held_out() {
        let files: Vec<String> = (0..20).map(|at| format!("{at}.png")).collect();
        let folder = pictures(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let site = |at: usize| if at < 10 { ["a", "b"][at / 2 % 2] } else { "" };
        let row = |at| format!("{at}.png,{},{}\n", at % 2, site(at));
        let table = (0..20).map(row).fold("file,label,site\n".to_owned(), |table, row| table + &row);
        fs::write(folder.path().join("images.csv"), table).unwrap();
        assert_eq!(drafted(folder.path(), &["site"], &[]).1.data.test, Some(2));
        assert_eq!(drafted(folder.path(), &[], &[]).1.data.test, Some(4));
        let hide = ["site".to_owned()];
        let draft = Draft::new(
            folder.path(),
            OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() },
            false,
        )
        .unwrap();
        let left_out = "10 of 20 rows are left out: a cell that is needed is empty";
        assert!(draft.notes().iter().any(|note| note == left_out), "{:?}", draft.notes());
    }

    #[test]
    fn two_pictures_are_held_out_of_a_few_and_too_few_are_said() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        let place = folder.path();
        assert_eq!(drafted(place, &["site"], &[]).1.data.test, Some(2));
        let said =
            |place: &Path| Draft::new(place, OwnPictureOptions::default(), false).unwrap().notes().join("\n");
        assert!(!said(place).contains("too few"), "{}", said(place));
        fs::write(place.join("images.csv"), "file,label\n0.png,ill\n1.png,well\n2.png,ill\n").unwrap();
        assert!(said(place).contains("3 pictures are too few: a run needs 2 to test on"), "{}", said(place));
        let tested = |count: usize| {
            let files: Vec<String> =
                (0..count).map(|at| format!("{}/{at}.png", ["a", "b"][at % 2])).collect();
            let folder = pictures(&files.iter().map(String::as_str).collect::<Vec<_>>());
            let (_, recipe) = drafted(folder.path(), &[], &[]);
            recipe.data.catalogue(folder.path()).unwrap().of(Split::Test).len()
        };
        assert_eq!([4, 5, 6, 9, 20].map(tested), [2, 2, 2, 2, 4]);
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
    fn a_subject_is_held_out_whole_unless_it_is_an_attribute() {
        let files: Vec<String> = (0..12).map(|at| format!("{at}.png")).collect();
        let folder = pictures(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let row = |at| format!("{at}.png,{},p{},{}\n", at % 2, at / 2, at % 3);
        let table = (0..12).map(row).fold("file,label,patient,site\n".to_owned(), |table, row| table + &row);
        fs::write(folder.path().join("images.csv"), table).unwrap();
        let (text, recipe) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("subject = \"patient\"") && !text.contains("\"patient\" = "), "{text}");
        let read = recipe.data.catalogue(folder.path()).unwrap();
        assert_eq!(read.of(Split::Test).len(), 2);
        assert!((0..6).all(|patient| read.splits[2 * patient] == read.splits[2 * patient + 1]));
        let all = Draft::with_all(folder.path(), OwnPictureOptions::default()).unwrap();
        let all = all.load(&Changes::default()).unwrap().data.catalogue(folder.path()).unwrap();
        assert_eq!(all.conditions.into_keys().collect::<Vec<_>>(), ["site"], "no probe could name a patient");
        let (text, _) = drafted(folder.path(), &["patient"], &[]);
        assert!(text.contains("\"patient\" = [\"patient\"]") && !text.contains("subject = "), "{text}");
    }

    #[test]
    fn a_subject_is_not_said_to_be_held_out_whole_where_a_column_says_the_splits() {
        let files: Vec<String> = (0..12).map(|at| format!("{at}.png")).collect();
        let folder = pictures(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let row = |at: usize| {
            let split = ["train", "test"][at / 2 % 2];
            format!("{at}.png,{},p{},{},{split}\n", at % 2, at / 2, at % 3)
        };
        let header = "file,label,patient,site,split\n".to_owned();
        let table = (0..12).map(row).fold(header, |table, row| table + &row);
        fs::write(folder.path().join("images.csv"), table).unwrap();
        let (text, _) = drafted(folder.path(), &["site"], &[]);
        let line = text.lines().find(|line| line.starts_with("subject = \"patient\"")).unwrap();
        assert!(
            line.ends_with(
                "# p-values count subjects, not pictures; the split column says which are held out"
            ),
            "{line}"
        );
        // A patient may then be in both splits, so that a probe can name it.
        let all = Draft::with_all(folder.path(), OwnPictureOptions::default()).unwrap();
        let all = all.load(&Changes::default()).unwrap().data.catalogue(folder.path()).unwrap();
        assert_eq!(all.conditions.into_keys().collect::<Vec<_>>(), ["patient", "site"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_picture_that_is_nearly_where_its_cell_says_is_named() {
        let folder = pictures(&["0.png", "sub/1.JPG"]);
        for (cell, found) in
            [("0", "0.png"), ("0.PNG", "0.png"), ("./sub\\1.jpg", "sub/1.JPG"), ("Sub/1", "sub/1.JPG")]
        {
            fs::write(folder.path().join("images.csv"), format!("file,label\n{cell},a\n")).unwrap();
            let error =
                Draft::new(folder.path(), OwnPictureOptions::default(), false).unwrap_err().to_string();
            let hint = format!("; {found} is there: name the pictures as their files are named");
            assert!(error.contains(&format!("`file` is {cell}, and")) && error.ends_with(&hint), "{error}");
        }
        for (cell, before, rest) in
            [("scans//0.png", "scans//", "0.png"), ("/data/in/sub/1.JPG", "/data/in/", "sub/1.JPG")]
        {
            fs::write(folder.path().join("images.csv"), format!("file,label\n{cell},a\n")).unwrap();
            let error =
                Draft::new(folder.path(), OwnPictureOptions::default(), false).unwrap_err().to_string();
            let hint = format!("; {rest} is there: leave out `{before}` before each name");
            assert!(error.ends_with(&hint), "{error}");
        }
        for cell in ["2.png", "scans/2.png", "scans/"] {
            fs::write(folder.path().join("images.csv"), format!("file,label\n{cell},a\n")).unwrap();
            let error =
                Draft::new(folder.path(), OwnPictureOptions::default(), false).unwrap_err().to_string();
            assert!(error.ends_with(&format!("paths count from {}", folder.path().display())), "{error}");
        }
    }

    /// The first picture was lost, and the cells of its row became the names of the columns.
    #[test]
    fn a_table_without_the_names_of_its_columns_is_refused() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        let csv = folder.path().join("images.csv");
        let table = fs::read_to_string(&csv).unwrap();
        fs::write(&csv, table.split_once('\n').unwrap().1).unwrap();
        for label in [None, Some("ill")] {
            let options = OwnPictureOptions { label, ..OwnPictureOptions::default() };
            let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
            assert!(
                error.contains("images.csv begins with the picture 0.png and not with the names"),
                "{error}"
            );
        }
    }

    #[test]
    fn attributes_with_commas_between_them_are_asked_for_one_by_one() {
        let folder = scans("site,the age", ["a,1", "b,2", "b,1", "a,2"]);
        let refused = |hide: &[String], keep: &[String]| {
            let options = OwnPictureOptions { hide, keep, ..OwnPictureOptions::default() };
            Draft::new(folder.path(), options, false).unwrap_err().to_string()
        };
        let both = ["site, the age".to_owned()];
        let error = refused(&both, &[]);
        assert!(error.ends_with("; give --hide once for each: --hide site --hide 'the age'"), "{error}");
        let error = refused(&[], &both);
        assert!(error.ends_with("; give --keep once for each: --keep site --keep 'the age'"), "{error}");
        let error = refused(&["site,agee".to_owned()], &[]);
        assert!(!error.contains("once for each"), "{error}");
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

    #[test]
    fn the_command_of_a_recipe_writes_its_file_again() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        let named = folder.path().join("my scans");
        fs::create_dir(&named).unwrap();
        for file in ["0.png", "1.png", "2.png", "3.png", "images.csv"] {
            fs::rename(folder.path().join(file), named.join(file)).unwrap();
        }
        let draft = Draft::new(&named, OwnPictureOptions::default(), false).unwrap();
        let command = |file: &str| {
            let text = draft.text(file);
            text.lines().find(|line| line.starts_with("# Written by")).unwrap().to_owned()
        };
        assert!(command("my scans.toml").ends_with("my scans'"), "{}", command("my scans.toml"));
        assert!(command("my recipe.toml").ends_with("my scans' --out 'my recipe.toml'"));
    }

    #[test]
    fn a_column_with_a_number_that_is_none_is_left_alone() {
        let folder = scans("site,age", ["a,61", "b,NaN", "a,47", "b,50"]);
        let (text, _) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("\"site\"") && !text.contains("\"age\""), "{text}");
    }

    #[test]
    fn rows_with_a_number_that_is_none_are_left_out_of_a_column_that_is_asked_for() {
        for rows in [["a,61.5", "b,NaN", "a,47", "b,50"], ["a,1", "b,0", "a,inf", "b,1"]] {
            let folder = scans("site,age", rows);
            let (text, recipe) = drafted(folder.path(), &["age"], &[]);
            assert!(text.contains("missing = \"skip\""), "{text}");
            let all = Draft::with_all(folder.path(), OwnPictureOptions::default()).unwrap();
            let all = all.load(&Changes::default()).unwrap();
            for data in [recipe.data, all.data] {
                assert_eq!(data.catalogue(folder.path()).unwrap().len(), 3, "{rows:?}");
            }
        }
    }

    #[test]
    fn folders_that_say_the_splits_are_not_split_again() {
        let of = |files: &[&str]| drafted(pictures(files).path(), &[], &[]).0;
        for split in ["val", "valid", "validation", "test"] {
            let held_out = ["a", "b"].map(|class| format!("{split}/{class}/2.png"));
            let text = of(&["train/a/0.png", "train/b/1.png", &held_out[0], &held_out[1]]);
            assert!(!text.contains("[data.split]"), "{split}: {text}");
        }
        let in_train: Vec<String> =
            (0..8).map(|at| format!("train/{}/{at}.png", ["a", "b"][at % 2])).collect();
        let in_train: Vec<&str> = in_train.iter().map(String::as_str).collect();
        let flat: Vec<&str> = in_train.iter().filter_map(|file| file.strip_prefix("train/")).collect();
        for files in [in_train.as_slice(), &flat] {
            assert!(of(files).contains("[data.split]"), "{files:?}");
        }
    }
}
