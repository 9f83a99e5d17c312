//! The recipe as TOML with comments.

use std::fmt::Write as _;

use toml::Value;

use super::Draft;
use super::folder::{Layout, Table};
use super::sizes::Kept;
use super::variants::{self, PLAIN};
use crate::columns::{Column, Kind, some};
use crate::data::settings::JudgedBy;
use crate::shell::quoted;

/// The parameters that worked on coloured digits and on tinted pictures.
const TEMPERATURE: &str = "0.5";

/// The recipe of a draft; `file` is its path, for the commands in its comment.
pub(super) fn text(draft: &Draft, file: &str) -> String {
    let kept = draft.contents.sizes.kept(draft.budget.encoder.side);
    let mut text = head(draft, file);
    text += &data(draft, &kept);
    text += &network(draft, &kept);
    text += &probe(draft);
    text += &variant_sections(draft);
    text
}

fn head(draft: &Draft, file: &str) -> String {
    let (folder, file) = (quoted(&draft.folder.display().to_string()), quoted(file));
    let names =
        |columns: &[Column]| columns.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let aim = match (draft.hide.as_slice(), draft.keep.as_slice()) {
        ([], []) => "which pictures are alike".to_owned(),
        (hide, []) => format!("which pictures are alike, independent of {}", names(hide)),
        ([], keep) => format!("which pictures are alike, {} included", names(keep)),
        (hide, keep) => {
            format!("which pictures are alike, {} included, independent of {}", names(keep), names(hide))
        }
    };
    let time = match (&draft.budget.time, draft.budget.shortened_from) {
        (Some(time), Some(whole)) => format!("{time}; with {whole} iterations it would be better"),
        (Some(time), None) => time.clone(),
        (None, _) => "`--smoke` says it".into(),
    };
    format!(
        "# {}: {}. Every line may be changed.\n#\n\
         # Written by  simile init {folder}{}\n\
         # Look        simile data check {file} --data {folder}\n\
         # Try         simile train {file} --data {folder} --smoke\n\
         # Train       simile train {file} --data {folder}\n\
         # Repeat      simile train {file} --data {folder} --seeds 5\n\
         # Time        {time}\n\n",
        draft.name,
        comment(&aim),
        comment(&draft.wished)
    )
}

fn data(draft: &Draft, kept: &Kept) -> String {
    let held_out = draft.budget.held_out;
    let mut text = String::from("[data]\n");
    match &draft.contents.layout {
        Layout::Folders { split } => {
            text += "dataset = \"folders\"              # a folder for each class\n";
            text += BROKEN;
            text += &pictures(kept);
            if !split {
                let share = draft.budget.share;
                let _ = writeln!(
                    text,
                    "\n[data.split]\ntest = {share:<25} # the share of the pictures to test on"
                );
            }
        }
        Layout::Table(table) => {
            text += "dataset = \"table\"                # pictures with a CSV file\n";
            text += BROKEN;
            text += &pictures(kept);
            match &table.split {
                None => {
                    let whole = if table.subject.is_some() { "of whole subjects, " } else { "" };
                    let _ = writeln!(
                        text,
                        "test = {held_out:<25} # pictures to test on, {whole}drawn at random: no column says which"
                    );
                }
                Some(split) if split.judged_by == JudgedBy::Validation => text += JUDGED_BY_VALIDATION,
                Some(_) => {}
            }
            text += &columns(draft, table);
        }
    }
    text + "\n"
}

const JUDGED_BY_VALIDATION: &str = "judged_by = \"validation\"         # no row is of the part `test`\n";
const BROKEN: &str = "broken = \"skip\"                  # pictures that cannot be read are named and left out; \"refuse\" ends the run\n";

/// What is kept of the pictures, where that is not the middle square with the pixels of a view.
fn pictures(kept: &Kept) -> String {
    let fit = if kept.is_whole { WHOLE } else { "" };
    let side = kept.side.map_or_else(String::new, |side| {
        format!("side = {side:<25} # pixels a side that are kept of a picture; of those of a view alone, crops would be blurred\n")
    });
    format!("{fit}{side}")
}

const WHOLE: &str = "fit = \"aspect\"                   # crops are taken of all of a picture, in its shape; evaluation sees its middle \
                     square, or with \"crops\" all of it, squeezed\n";

fn columns(draft: &Draft, table: &Table) -> String {
    let value = |text: &str| Value::from(text).to_string();
    let mut text = format!(
        "\n[data.table]\ncsv = {}\nfile = {}\nlabel = {}\n",
        value(&table.csv.display().to_string()),
        value(&table.file),
        value(&table.label)
    );
    let classes: Vec<String> =
        draft.contents.classes.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let _ = writeln!(text, "# {} classes: {}", classes.len(), comment(&some(&classes)));
    if let Some(split) = &table.split {
        let _ = writeln!(text, "split = {}", value(&split.column));
    }
    if let Some(subject) = &table.subject {
        let subject = format!("subject = {}", value(subject));
        let why = match table.split {
            None => "held-out pictures have other ones than the rest",
            Some(_) => "p counts these; the split says in which parts they are",
        };
        let _ = writeln!(text, "{subject:<32} # {why}");
    }
    let used = draft.used(table);
    if table.missing > 0 || used.iter().any(|column| column.missing > 0) {
        text += "missing = \"skip\"                 # rows without a value are left out, and said\n";
    }
    let codes: Vec<String> = used
        .iter()
        .filter(|column| matches!(column.kind, Kind::Categories { are_codes: true, .. }))
        .map(|column| value(&column.name))
        .collect();
    if !codes.is_empty() {
        let _ = writeln!(
            text,
            "categories = [{}]           # whole numbers that name categories",
            codes.join(", ")
        );
    }
    if used.is_empty() {
        return text;
    }
    text += "\n[data.table.conditions]          # attributes, each with its columns\n";
    for column in used {
        let missing = match column.missing {
            0 => String::new(),
            missing => format!("; {missing} cells have no value"),
        };
        let kind = comment(&column.kind.to_string());
        let _ = writeln!(text, "# {kind}{missing}\n{} = [{}]", key(&column.name), value(&column.name));
    }
    text
}

/// A text of the user as a key, which may have any characters but stands on one line.
fn key(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text of the user in a comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn network(draft: &Draft, kept: &Kept) -> String {
    let budget = &draft.budget;
    let encoder = &budget.encoder;
    let stem = encoder.stem.map_or_else(String::new, |stem| format!("stem = \"{stem}\"\n"));
    let size = kept.side.map_or_else(String::new, |_| {
        format!("size = {:<25} # pixels a side of a view, those of `input_size`\n", encoder.side)
    });
    let mut crop = format!("crop = {{ scale = {:?} }}", kept.scale);
    if kept.is_whole {
        crop = format!(
            "{crop:<32} # shares of all of a picture: of the longest one, from about 0.6 of its middle square to the largest that fits"
        );
    }
    let seen = match kept.side {
        Some(_) => "views, and pictures in evaluation, are squares",
        None => "pictures are resized to squares",
    };
    format!(
        "[encoder]\nname = \"{}\"{}\n{stem}input_size = {}                  # {seen} of so many pixels; yours have about {}\n\n\
         [augment]                        # two views of a picture differ in this, so that it is not learned\n\
         {size}{crop}\n\
         flip = 0.5                       # 0.0 where a mirrored picture is another thing: digits, text, left and right\n\n\
         [optimizer]\nname = \"adam\"\nlearning_rate = {}\n\n\
         [schedule]\nname = \"cosine\"\nwarm_up = 0.05\n\n\
         [train]\nbatch = {}\niterations = {}\nseed = 0\n\n",
        encoder.name,
        encoder.remark,
        encoder.side,
        draft.contents.sizes.shorter,
        budget.learning_rate,
        budget.batch,
        budget.iterations
    )
}

/// The variable whose leak the report measures, and the others.
fn probe(draft: &Draft) -> String {
    let Layout::Table(table) = &draft.contents.layout else { return String::new() };
    let asked: Vec<&Column> = draft.hide.iter().chain(&draft.keep).collect();
    let unasked = table.attributes.iter().find(|column| table.offers(column));
    let Some(first) = asked.first().copied().or(unasked) else { return String::new() };
    let value = |column: &Column| Value::from(column.name.as_str()).to_string();
    let mut text = format!(
        "[probe]\ncondition = {}           # the attribute whose leak the verdict and the report measure\n",
        value(first)
    );
    if asked.len() > 1 {
        let others: Vec<String> = asked[1..].iter().map(|column| value(column)).collect();
        let _ = writeln!(
            text,
            "also = [{}]                  # further attributes to read off",
            others.join(", ")
        );
    }
    text + "\n"
}

fn variant_sections(draft: &Draft) -> String {
    let mut text = format!(
        "# The variants that are trained one after the other, from the same first weights.\n[[variant]]\nname = \"{PLAIN}\"                   \
         # SimCLR: knows no attribute\nobjective = {{ name = \"nt-xent\", temperature = {TEMPERATURE} }}\n"
    );
    let mut names = variants::names(&draft.hide, &draft.keep).into_iter();
    for (column, variant) in draft.hide.iter().zip(names.by_ref()) {
        text += &hiding(column, &variant, "");
    }
    for (column, variant) in draft.keep.iter().zip(names) {
        let (name, kernel, why) = (&column.name, column.kernel(), column.kernel_reason());
        let _ = write!(
            text,
            "\n[[variant]]\nname = {}\n[variant.objective]              # pictures of like {} are alike\nname = \"weaksup-cclk\"\nvariant = \
             \"released\"\ncondition = {}\ntemperature = {TEMPERATURE}\nlambda = 0.01\nkernel = {kernel}      # {why}\n",
            Value::from(variant),
            comment(name),
            Value::from(name.as_str())
        );
    }
    if let (true, Layout::Table(table)) =
        (draft.hide.is_empty() && draft.keep.is_empty(), &draft.contents.layout)
        && let Some(column) = table.attributes.iter().find(|column| table.offers(column))
    {
        text += "\n# Without the marks, a variant that hides an attribute:";
        let variant = variants::names(std::slice::from_ref(column), &[]).concat();
        text += &hiding(column, &variant, "# ");
    }
    text
}

/// The variant of a name that hides an attribute, with a mark before each line.
fn hiding(column: &Column, variant: &str, mark: &str) -> String {
    let (name, kernel, why) = (&column.name, column.kernel(), column.kernel_reason());
    let section = format!(
        "[[variant]]\nname = {}\n[variant.objective]              # compares only pictures of similar {}, so that does not help \
         to tell them apart\nname = \"fair-cclk\"\nvariant = \"normalised\"\ncondition = {}\ntemperature = \
         {TEMPERATURE}\nlambda = 0.01                    # 0.001 to 0.1; `simile sweep` searches it\nkernel = {kernel}      # {why}",
        Value::from(variant),
        comment(name),
        Value::from(name.as_str())
    );
    let lines: String = section.lines().map(|line| format!("{mark}{line}\n")).collect();
    format!("\n{lines}")
}
