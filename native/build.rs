//! Lists the files that are built into the program: each file of `recipes` is a recipe, each file of `tables` a table or a figure.
#![allow(clippy::print_stdout, reason = "cargo reads it")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The line in the header of the recipe that is listed before all others, which follow by name.
const LISTED_FIRST: &str = "# Listed    first";

fn main() -> Result<(), Box<dyn Error>> {
    list("recipes", "Shipped", |name, text| {
        (String::new(), u8::from(!text.lines().any(|line| line.starts_with(LISTED_FIRST))), 0, name.into())
    })?;
    list("tables", "ShippedTable", |name, _| by_work(name))
}

/// The sort key of a table or figure: by work; within a work tables, then figures, then the rest; each by number.
fn by_work(name: &str) -> Place {
    let (work, item) = name.split_once('-').unwrap_or((name, ""));
    let (kind, number) = match (item.strip_prefix("table"), item.strip_prefix("figure")) {
        (Some(number), _) => (0, number),
        (_, Some(number)) => (1, number),
        _ => (2, item),
    };
    (work.into(), kind, number.parse().unwrap_or(u32::MAX), name.into())
}

type Place = (String, u8, u32, String);

/// Writes `FOLDER.rs`, a slice of `kind`s: the name and the text of each TOML file of the folder, in order.
fn list(folder: &str, kind: &str, place: fn(&str, &str) -> Place) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={folder}");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a file without a name")?;
            files.push((place(name, &fs::read_to_string(&path)?), name.to_owned()));
        }
    }
    files.sort();
    let mut code = String::from("&[\n");
    for (_, name) in files {
        let path = format!("/{folder}/{name}.toml");
        let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))");
        writeln!(code, "    {kind} {{ name: {name:?}, text: {text} }},")?;
    }
    code.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join(folder).with_extension("rs"), code)?;
    Ok(())
}
