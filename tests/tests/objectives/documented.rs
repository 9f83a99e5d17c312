//! The documentation of an objective in its file: the line of inputs over its type is that of its description, and shapes in
//! the text agree with it. `SIMILE_WRITE_TABLES=1` writes the lines anew.

use std::fs;

use simile_core::loss::spec::{Input, Needed, Spec};
use simile_core::loss::specs;
use simile_tests::repository::{root, writes_tables};
use simile_tests::tables::file;

/// Columns of the lines that are written.
const WIDTH: usize = 116;

/// The source of a description.
fn source(spec: &Spec) -> String {
    fs::read_to_string(root().join(file(spec))).unwrap()
}

/// The documentation of the file of a description.
fn page(source: &str) -> impl Iterator<Item = &str> {
    source.lines().take_while(|line| line.starts_with("//!")).map(|line| line[3..].trim())
}

/// The inputs with their shapes, as the documentation of a type ends.
fn line(spec: &Spec) -> String {
    let is_alike = |a: &Input, b: &Input| a.shape == b.shape && a.needed == b.needed;
    let groups = spec.inputs.chunk_by(is_alike).map(|group| {
        let names: Vec<String> = group.iter().map(|input| format!("`{}`", input.name)).collect();
        let needed = match group[0].needed {
            Needed::Always => String::new(),
            needed => format!(", {}", needed.in_words()),
        };
        format!("{}, `{}`{needed}", names.join(", "), group[0].shape)
    });
    format!("Inputs: {}.", groups.collect::<Vec<_>>().join("; "))
}

/// The lines of documentation over the type of an objective, from the first to one past the last.
fn over_the_type(spec: &Spec, lines: &[&str]) -> [usize; 2] {
    let name = format!("        name: \"{}\",", spec.name);
    let at = lines.iter().position(|line| *line == name).unwrap();
    let is_impl = |line: &&str| line.starts_with("impl Described for ");
    let described = lines[..at].iter().rev().find(|line| is_impl(line)).unwrap();
    let of_type = described.trim_start_matches("impl Described for ").trim_end_matches(" {");
    let is_type = |line: &str| {
        let rest = line.strip_prefix("pub struct ").and_then(|rest| rest.strip_prefix(of_type));
        rest.is_some_and(|rest| rest.starts_with([' ', '(']))
    };
    let of = lines.iter().position(|line| is_type(line)).unwrap();
    let end = (0..of).rev().find(|&at| lines[at].starts_with("///")).unwrap() + 1;
    let start = (0..end).rev().take_while(|&at| lines[at].starts_with("///")).last().unwrap();
    [start, end]
}

/// Text as lines of documentation.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec!["///".to_owned()];
    for word in text.split(' ') {
        let last = lines.last_mut().unwrap();
        if last.chars().count() + 1 + word.chars().count() <= WIDTH {
            *last += &format!(" {word}");
        } else {
            lines.push(format!("/// {word}"));
        }
    }
    lines
}

#[test]
fn the_inputs_over_a_type_are_those_of_its_description() {
    for spec in specs() {
        let source = source(spec);
        let lines: Vec<&str> = source.lines().collect();
        let [start, end] = over_the_type(spec, &lines);
        let text = lines[start..end].iter().map(|line| line.trim_start_matches("///").trim());
        let text = text.collect::<Vec<_>>().join(" ");
        let before = text.split("Input").next().unwrap().trim_end();
        let wanted = format!("{before} {}", line(spec));
        if text != wanted && writes_tables() {
            let written = wrapped(&wanted);
            let text_of = |part: &[&str]| part.iter().map(|line| format!("{line}\n")).collect::<String>();
            let text = text_of(&lines[..start]) + &(written.join("\n") + "\n") + &text_of(&lines[end..]);
            fs::write(root().join(file(spec)), text).unwrap();
        } else {
            assert_eq!(text, wanted, "{}; SIMILE_WRITE_TABLES=1 writes it", spec.name);
        }
    }
}

/// True for a shape such as `[n, domains * classes]`, not for a range of numbers.
fn is_shape(word: &str) -> bool {
    let is_side = |side: &str| side == "1" || side.chars().all(|c| c.is_alphabetic() || " *".contains(c));
    let sides = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
    sides.is_some_and(|sides| sides.split(", ").all(is_side))
}

#[test]
fn shapes_in_the_text_are_those_of_the_description() {
    let (mut others, mut compared) = (Vec::new(), 0);
    for spec in specs() {
        let page = page(&source(spec)).collect::<Vec<_>>().join(" ");
        let beside = specs().filter(|other| other.module == spec.module).flat_map(|other| other.inputs);
        let known: Vec<&Input> = beside.collect();
        // Names that wait for their shape; a symbol may stand between.
        let mut names: Vec<&str> = Vec::new();
        for (at, word) in page.split('`').enumerate() {
            if at % 2 == 0 {
                // Text between backticks: another part of the sentence has names of its own.
                if word.contains(['.', ';', ':']) {
                    names.clear();
                }
            } else if is_shape(word) {
                compared += names.len();
                for name in names.drain(..) {
                    if !known.iter().any(|input| input.name == name && input.shape == word) {
                        others.push(format!("{}: `{name}` is {word} in the text", spec.name));
                    }
                }
            } else if known.iter().any(|input| input.name == word) {
                names.push(word);
            } else if word.chars().count() > 3 {
                names.clear();
            }
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
    assert!(compared >= 85, "{compared} shapes were compared");
}

#[test]
fn a_formula_is_that_of_its_page() {
    for spec in specs() {
        let source = source(spec);
        let lines: Vec<&str> = page(&source).collect();
        for line in spec.plain_formula().lines() {
            assert!(lines.iter().any(|of| of.contains(line.trim())), "{}: {line}", spec.name);
        }
    }
}
