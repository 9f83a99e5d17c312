//! The recipe as TOML with comments.

use super::Draft;
use super::folder::{Layout, Table};
use super::lines::Lines;
use super::sizes::Stored;
use super::variants::{self, PLAIN};
use crate::columns::kind::{Column, ColumnKind};
use crate::config::usual::{LAMBDA, TEMPERATURE};
use crate::data::keys::values::JudgedBy;
use crate::shell::quoted;
use crate::words::{number_of, some};

/// The recipe of a draft; `file` is its path, for the commands in its comment.
pub(super) fn text(draft: &Draft, file: &str) -> String {
    let stored = draft.contents.sizes.stored(draft.budget.encoder.side);
    let mut lines = Lines::default();
    head(&mut lines, draft, file);
    data(&mut lines, draft, &stored);
    network(&mut lines, draft, &stored);
    training(&mut lines, draft);
    probe(&mut lines, draft);
    variant_sections(&mut lines, draft);
    lines.into_text()
}

/// The aim of the recipe, and the commands for it.
fn head(lines: &mut Lines, draft: &Draft, file: &str) {
    let out = if file == draft.usual_file() { String::new() } else { format!(" --out {}", quoted(file)) };
    let (folder, file) = (quoted(&draft.folder.display().to_string()), quoted(file));
    let names =
        |columns: &[Column]| columns.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let aim = match (draft.hide.as_slice(), draft.keep.as_slice()) {
        ([], []) => String::new(),
        (hide, []) => format!(" whose vectors should not depend on {}", names(hide)),
        ([], keep) => format!(" whose vectors should reflect {}", names(keep)),
        (hide, keep) => {
            format!(" whose vectors should reflect {} and not depend on {}", names(keep), names(hide))
        }
    };
    let time = match (&draft.budget.time, draft.budget.shortened_from) {
        (Some(time), Some(whole)) => format!("{time}; with {whole} iterations it would be better"),
        (Some(time), None) => time.clone(),
        (None, _) => "unknown; `--smoke` estimates it".into(),
    };
    let aim = on_one_line(&aim);
    lines.comment(&format!("{}: trains an encoder of pictures{aim}. Every line may be changed.", draft.name));
    lines.comment("");
    lines.comment(&format!("Written by  simile init {folder}{}{out}", on_one_line(&draft.arguments)));
    lines.comment(&format!("Look        simile data check {file} --data {folder}"));
    lines.comment(&format!("Try         simile train {file} --data {folder} --smoke"));
    lines.comment(&format!("Train       simile train {file} --data {folder}"));
    lines.comment(&format!("Repeat      simile train {file} --data {folder} --seeds 5"));
    lines.comment(&format!("Time        {time}"));
    lines.blank();
}

fn data(lines: &mut Lines, draft: &Draft, stored: &Stored) {
    lines.section("[data]", "");
    match &draft.contents.layout {
        Layout::Folders { split } => {
            lines.set_text("dataset", "folders", "a folder for each class");
            pictures(lines, stored);
            if !split {
                lines.blank();
                lines.section("[data.split]", "");
                lines.set("test", draft.budget.share, "the share of the pictures to test on");
            }
        }
        Layout::Table(table) => {
            lines.set_text("dataset", "table", "pictures with a CSV file");
            pictures(lines, stored);
            match &table.split {
                None => {
                    let whole = if table.subject.is_some() { "of whole subjects, " } else { "" };
                    let why = format!("pictures to test on, {whole}drawn at random: no column says which");
                    lines.set("test", draft.budget.held_out, &why);
                }
                Some(split) if split.judged_by == JudgedBy::Validation => {
                    lines.set_text("judged_by", "validation", "no row has the split `test`");
                }
                Some(_) => {}
            }
            columns(lines, draft, table);
        }
    }
    lines.blank();
}

/// The pictures that are left out, and what is stored of the others, where that is not the middle square with the pixels of a view.
fn pictures(lines: &mut Lines, stored: &Stored) {
    let why = "pictures that cannot be read are named and left out; \"refuse\" ends the run";
    lines.set_text("broken", "skip", why);
    if stored.is_whole {
        let why = "crops are taken of all of a picture, in its shape; evaluation sees its middle square, or with \"crops\" all of it, \
                   squeezed";
        lines.set_text("fit", "aspect", why);
    }
    if let Some(side) = stored.side {
        let why = "pixels a side that are kept of a picture; with only as many as a view has, crops would be blurred";
        lines.set("side", side, why);
    }
}

fn columns(lines: &mut Lines, draft: &Draft, table: &Table) {
    lines.blank();
    lines.section("[data.table]", "");
    lines.set_text("csv", &table.csv.display().to_string(), "");
    lines.set_text("file", &table.file, "");
    lines.set_text("label", &table.label, "");
    let classes: Vec<String> =
        draft.contents.classes.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let count = number_of(classes.len(), "class", "classes");
    lines.comment(&format!("{count}: {}", on_one_line(&some(&classes))));
    if let Some(split) = &table.split {
        lines.set_text("split", &split.column, "");
    }
    if let Some(subject) = &table.subject {
        let why = match table.split {
            None => "no subject is both trained on and held out",
            Some(_) => "p-values count subjects, not pictures; the split column says which are held out",
        };
        lines.set_text("subject", subject, why);
    }
    let used = draft.used(table);
    if table.missing > 0 || used.iter().any(|column| column.missing > 0) {
        lines.set_text("missing", "skip", "rows with an empty cell are left out and counted");
    }
    let are_codes = |column: &&&Column| matches!(column.kind, ColumnKind::Categories { are_codes: true, .. });
    let mut codes = used.iter().filter(are_codes).map(|column| column.name.as_str()).peekable();
    if codes.peek().is_some() {
        lines.set_texts("categories", codes, "whole numbers that name categories");
    }
    if used.is_empty() {
        return;
    }
    lines.blank();
    lines.section("[data.table.conditions]", "attributes, each with its columns");
    for column in used {
        let missing = match column.missing {
            0 => String::new(),
            missing => format!("; {}", number_of(missing, "cell has no value", "cells have no value")),
        };
        lines.comment(&format!("{}{missing}", on_one_line(&column.kind.to_string())));
        lines.set_texts(&key(&column.name), [column.name.as_str()].into_iter(), "");
    }
}

/// A text of the user as a key, which may have any characters but stands on one line.
fn key(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text of the user in a comment.
fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn network(lines: &mut Lines, draft: &Draft, stored: &Stored) {
    let encoder = &draft.budget.encoder;
    lines.section("[encoder]", "");
    lines.set_text("name", encoder.name, encoder.remark);
    if let Some(stem) = encoder.stem {
        lines.set_text("stem", stem, "");
    }
    let pictures = match stored.side {
        Some(_) => "views, and pictures in evaluation, are squares",
        None => "pictures are resized to squares",
    };
    let shorter = draft.contents.sizes.shorter;
    let why = format!("{pictures} of so many pixels; yours have about {shorter}");
    lines.set("input_size", encoder.side, &why);
    lines.blank();
    lines.section("[augment]", "two views of a picture differ in this, so that it is not learned");
    if stored.side.is_some() {
        lines.set("size", encoder.side, "pixels a side of a view, those of `input_size`");
    }
    let why = if stored.is_whole {
        "shares of all of a picture: of the longest one, from about 0.6 of its middle square to the largest that fits"
    } else {
        ""
    };
    lines.set("crop", format_args!("{{ scale = {:?} }}", stored.scale), why);
    let why = "probability of a mirror image; 0.0 where left and right differ in meaning, as in text";
    lines.set("flip", "0.5", why);
    lines.blank();
}

fn training(lines: &mut Lines, draft: &Draft) {
    let budget = &draft.budget;
    lines.section("[optimizer]", "");
    lines.set_text("name", "adam", "");
    lines.set("learning_rate", format_args!("{:e}", budget.learning_rate), "");
    lines.blank();
    lines.section("[schedule]", "");
    lines.set_text("name", "cosine", "");
    lines.set("warm_up", "0.05", "");
    lines.blank();
    lines.section("[train]", "");
    lines.set("batch", budget.batch, "");
    lines.set("iterations", budget.iterations, "");
    lines.set("seed", 0, "");
    lines.blank();
}

/// The attribute whose leak the report measures, and the others.
fn probe(lines: &mut Lines, draft: &Draft) {
    let Layout::Table(table) = &draft.contents.layout else { return };
    let asked: Vec<&Column> = draft.hide.iter().chain(&draft.keep).collect();
    let unasked = table.attributes.iter().find(|column| table.offers(column));
    let Some(first) = asked.first().copied().or(unasked) else { return };
    lines.section("[probe]", "");
    let why = "the attribute whose leak the verdict and the report measure";
    lines.set_text("condition", &first.name, why);
    if asked.len() > 1 {
        let others = asked[1..].iter().map(|column| column.name.as_str());
        lines.set_texts("also", others, "further attributes whose leak is measured");
    }
    lines.blank();
}

fn variant_sections(lines: &mut Lines, draft: &Draft) {
    lines.comment("The variants that are trained one after the other, from the same first weights.");
    lines.section("[[variant]]", "");
    lines.set_text("name", PLAIN, "SimCLR: knows no attribute");
    let objective = format!("{{ name = \"nt-xent\", temperature = {TEMPERATURE} }}");
    lines.set("objective", objective, "");
    let mut names = variants::names(&draft.hide, &draft.keep).into_iter();
    for (column, variant) in draft.hide.iter().zip(names.by_ref()) {
        lines.blank();
        hiding(lines, column, &variant);
    }
    for (column, variant) in draft.keep.iter().zip(names) {
        lines.blank();
        keeping(lines, column, &variant);
    }
    if let (true, Layout::Table(table)) =
        (draft.hide.is_empty() && draft.keep.is_empty(), &draft.contents.layout)
        && let Some(column) = table.attributes.iter().find(|column| table.offers(column))
    {
        lines.blank();
        lines.comment(
            "Remove the leading `# ` of the lines below to train a variant that hides an attribute:",
        );
        let mut section = Lines::default();
        hiding(&mut section, column, &variants::names(std::slice::from_ref(column), &[]).concat());
        lines.commented_out(&section);
    }
}

/// The variant of a name that keeps an attribute.
fn keeping(lines: &mut Lines, column: &Column, variant: &str) {
    lines.section("[[variant]]", "");
    lines.set_text("name", variant, "");
    let why = format!("pictures of like {} are alike", on_one_line(&column.name));
    lines.section("[variant.objective]", &why);
    lines.set_text("name", "weaksup-cclk", "");
    lines.set_text("variant", "released", "");
    lines.set_text("condition", &column.name, "");
    lines.set("temperature", TEMPERATURE, "");
    lines.set("lambda", LAMBDA, "");
    lines.set("kernel", column.kernel(), column.kernel_reason());
}

/// The variant of a name that hides an attribute.
fn hiding(lines: &mut Lines, column: &Column, variant: &str) {
    lines.section("[[variant]]", "");
    lines.set_text("name", variant, "");
    let attribute = on_one_line(&column.name);
    let why = format!(
        "compares only pictures of similar {attribute}, so the {attribute} does not help to tell them apart"
    );
    lines.section("[variant.objective]", &why);
    lines.set_text("name", "fair-cclk", "");
    lines.set_text("variant", "normalised", "");
    lines.set_text("condition", &column.name, "");
    lines.set("temperature", TEMPERATURE, "");
    lines.set("lambda", LAMBDA, "0.001 to 0.1; `simile sweep` searches it");
    lines.set("kernel", column.kernel(), column.kernel_reason());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use simile_core::data::Split;

    use super::*;
    use crate::config::Changes;
    use crate::data::keys::values::Fit;
    use crate::draft::OwnPictureOptions;
    use crate::draft::testing::{drafted, photographs, pictures, scans};
    use crate::experiment::prepare::splits::Splits;

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
}
