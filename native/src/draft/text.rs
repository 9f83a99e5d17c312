//! The recipe as TOML with comments.

use super::Draft;
use super::folder::{Layout, Table};
use super::lines::Lines;
use super::sizes::Stored;
use super::variants::{self, PLAIN};
use crate::columns::kind::{Column, ColumnKind};
use crate::columns::words::{number_of, some};
use crate::config::usual::{LAMBDA, TEMPERATURE};
use crate::data::keys::values::JudgedBy;
use crate::shell::quoted;

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

/// The variable whose leak the report measures, and the others.
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
