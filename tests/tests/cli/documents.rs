//! Every command of the README and of the book is run as it stands, each page by a test and in a folder of its own. `simile` and
//! `cargo run` stand for the program at the scale of a smoke test, which first takes the settings as the page has them, and it
//! lists the runs that a script of `examples` would do; [`NOT_RUN`] has the commands that cannot run here.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use simile_tests::repository::{files_below, has_ending, root};
use simile_tests::schema::violations;
use simile_tests::{data, place};
use tempfile::TempDir;

use crate::support::program::{ALONE, complaint, json, text_of};
use crate::support::scans::numbered_scans;

/// The pages with commands, and a test for each.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        const PAGES: &[&str] = &[$($path),*];

        mod commands_run_in {
            $(
                #[test]
                fn $name() {
                    super::run_page($path);
                }
            )*
        }
    };
}

pages! {
    readme: "README.md",
    cluster: "docs/src/how-to/cluster.md",
    data: "docs/src/how-to/data.md",
    devices: "docs/src/how-to/devices.md",
    embed: "docs/src/how-to/embed.md",
    lambda: "docs/src/how-to/lambda.md",
    objective: "docs/src/how-to/objective.md",
    page: "docs/src/how-to/page.md",
    pytorch: "docs/src/how-to/pytorch.md",
    recipe: "docs/src/how-to/recipe.md",
    report: "docs/src/how-to/report.md",
    resume: "docs/src/how-to/resume.md",
    search: "docs/src/how-to/search.md",
    selection: "docs/src/how-to/selection.md",
    tables: "docs/src/how-to/tables.md",
    weights: "docs/src/how-to/weights.md",
    install: "docs/src/install.md",
    tutorial: "docs/src/tutorial.md",
    cclk: "docs/src/works/cclk.md",
    contex: "docs/src/works/contex.md",
    difficulty: "docs/src/works/difficulty.md",
    uniformity: "docs/src/works/uniformity.md",
}

/// Parts of commands that are not run, with the reason.
const NOT_RUN: [(&str, &str); 12] = [
    ("cargo install", "compiles for many minutes; the tests have the program that cargo built for them"),
    (
        "reproduce difficulty-digits",
        "takes more than five minutes at the scale `smoke`; `methods.rs` trains its method",
    ),
    ("reproduce contex-table5", "takes as long; `methods.rs` trains its methods"),
    ("cargo web", "`tests/browser` builds the package and the site"),
    ("simile data fetch", "needs the network"),
    ("simile devices --check", "takes as long as several trainings; `tests/devices` runs it"),
    (
        "simile data check cub-200-2011",
        "needs a data set that has to be downloaded; `sets.rs` makes one of its form",
    ),
    ("simile import", "needs weights that have to be downloaded; `import.rs` makes files of their form"),
    ("simile evaluate imagenet.safetensors", "needs the weights above"),
    ("cuda:0", "needs several GPUs; `several.rs` and `tests/devices` share steps among other devices"),
    ("mpirun", "needs CIFAR-10; `mpi.rs` starts processes on drawn digits"),
    ("srun", "needs a cluster; `cluster.rs` has a Slurm on loopback where that is installed"),
];

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
    line: usize,
}

impl Block {
    /// The file of a recipe that its first line names.
    fn file(&self) -> Option<&str> {
        let first = self.text.lines().next()?.strip_prefix("# ")?;
        (self.language == "toml" && first.ends_with(".toml")).then_some(first)
    }

    /// True for a part of a recipe, which no command takes. Other blocks without a name are of Cargo, or include a file that ships.
    fn is_part(&self) -> bool {
        let is_other = ["[dependencies]", "{{#include"].iter().any(|start| self.text.starts_with(start));
        self.language == "toml" && self.file().is_none() && !is_other
    }
}

/// The README and the pages of the book, by their paths in the repository.
fn pages() -> Vec<PathBuf> {
    let book = files_below(&root().join("docs/src"), |path| has_ending(path, "md"));
    let names = book.iter().map(|page| page.strip_prefix(root()).unwrap().to_owned());
    [PathBuf::from("README.md")].into_iter().chain(names).collect()
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (at, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), is_open) {
            (Some(language), false) => {
                blocks.push(Block { language: language.to_owned(), text: String::new(), line: at + 1 });
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => blocks.last_mut().unwrap().text += &format!("{line}\n"),
            (None, false) => {}
        }
    }
    blocks
}

/// All commands of a page.
fn commands_of(page: &Path) -> Vec<String> {
    let blocks = blocks(page).into_iter().filter(|block| block.language == "sh");
    blocks.flat_map(|block| commands(&block.text)).collect()
}

/// The commands of a block: lines, with those that go on, by a backslash or to the end of a text for stdin.
fn commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    let mut until: Option<String> = None;
    for line in text.lines() {
        if goes_on || until.is_some() {
            let last = commands.last_mut().unwrap();
            *last += &format!("\n{line}");
        } else if !line.trim().is_empty() {
            commands.push(line.to_owned());
        }
        if until.as_deref().is_some_and(|end| line == end) {
            until = None;
        } else if let Some((_, end)) = line.split_once("<<'") {
            until = Some(end.split('\'').next().unwrap().to_owned());
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

/// `simile` with fewer steps and pictures, and `cargo run --release --` in its place.
const SMALL: &str = r#"#!/usr/bin/env bash
set -euo pipefail
arguments=() seeds=2
before=
# `reproduce.rs` has tables of several seeds.
[ "${1-}" != reproduce ] || seeds=1
# The arguments of the page are checked, without a step, before they are made smaller.
case "$* " in
  *" --resume "* | *" --smoke "* | *" --profile "* | *" --list "* | *" --task "* | *" --help "*) ;;
  "train "*" --seeds "*) ;;
  "train "*) "$PROGRAM" "$@" --profile 0 >/dev/null ;;
  "sweep "*) "$PROGRAM" "$@" --list >/dev/null ;;
esac
for argument in "$@"; do
  case "$before $argument" in
    *" train.iterations="*) argument=train.iterations=8 ;;
    *" data.validation="*) argument=data.validation=24 ;;
    # The indices of tasks are those of all seeds.
    "--seeds "*) case " $* " in *" --list "* | *" --task "*) ;; *) argument=$seeds ;; esac ;;
  esac
  before=$argument
  arguments+=("$argument")
done
few=(--set train.iterations=4 --set train.batch=16 --set probe.steps=5 --set data.train=80 --set data.test=40)
case " $* " in
  *" --help "* | *" --smoke "* | *" --resume "* | *" --profile 0 "*) few=() ;;
  *" train.batch="*) few=(--set train.iterations=4 --set probe.steps=5 --set data.train=80 --set data.test=40) ;;
esac
if [ -f "${2-}" ] && grep -q '^\[selection\]' "$2"; then
  few+=(--set selection.held_out=16 --set selection.every=2)
fi
case ${1-} in
  train | sweep) arguments+=("${few[@]}") ;;
  reproduce) arguments+=(--scale smoke) ;;
esac
exec "$PROGRAM" "${arguments[@]}"
"#;
const CARGO: &str = r#"#!/usr/bin/env bash
[ "$1 $2 $3" = "run --release --" ] || { echo "cargo $*: not a command of the documents" >&2; exit 1; }
shift 3
exec simile "$@"
"#;

/// The folder that these commands run in: the small programs, and of the user's pictures and of the digits those that they name.
fn furnished(commands: &[String]) -> TempDir {
    let place = place();
    let is_named = |folder: &str| commands.iter().any(|command| command.contains(folder));
    if is_named("scans") {
        // The names of the tutorial.
        numbered_scans(place.path(), 120, 4);
    }
    if is_named("DIR") {
        fs::create_dir(place.path().join("DIR")).unwrap();
        for file in files_below(&data().join("mnist"), |_| true) {
            fs::copy(&file, place.path().join("DIR").join(file.file_name().unwrap())).unwrap();
        }
    }
    fs::create_dir(place.path().join("bin")).unwrap();
    for (name, text) in [("simile", SMALL), ("cargo", CARGO)] {
        let path = place.path().join("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    place
}

fn run(place: &Path, command: &str, at: &str) {
    let path = format!("{}:{}", place.join("bin").display(), std::env::var("PATH").unwrap());
    let output = Command::new("timeout")
        .args(["300", "bash", "-euo", "pipefail", "-c", command])
        .current_dir(place)
        .env("PATH", path)
        .env("PROGRAM", simile_tests::program())
        .env("SIMILE_CACHE", place.join("cache"))
        .envs(ALONE)
        .output()
        .unwrap();
    let said = text_of(&output);
    assert!(output.status.success(), "{at}: `{command}` fails\n{said}");
    assert!(!said.contains("panicked"), "{at}: `{command}`\n{said}");
}

/// A command that a script of `examples` takes as its arguments is listed instead: the script needs Slurm or GNU parallel, and
/// `cluster.rs` runs it where these are installed.
fn listed(command: &str) -> String {
    let Some((before, script)) = command.split_once("examples/") else { return command.to_owned() };
    let (_, arguments) = script.split_once(' ').unwrap();
    format!("{before}simile {arguments} --list")
}

/// The place in [`NOT_RUN`] of the reason not to run a command.
fn reason(command: &str) -> Option<usize> {
    NOT_RUN.iter().position(|(part, _)| command.contains(part))
}

/// Runs the commands of a page.
fn run_page(page: &str) {
    let place = furnished(&commands_of(Path::new(page)));
    for block in blocks(Path::new(page)) {
        if let Some(name) = block.file() {
            fs::write(place.path().join(name), &block.text).unwrap();
        }
        if block.language == "sh" {
            let is_run = |command: &String| reason(command).is_none();
            for command in commands(&block.text).iter().filter(|command| is_run(command)) {
                run(place.path(), &listed(command), &format!("{page}, line {}", block.line));
            }
        }
    }
}

#[test]
fn every_page_with_commands_has_a_test() {
    let with_commands = pages().into_iter().filter(|page| !commands_of(page).is_empty());
    let with_commands: Vec<String> = with_commands.map(|page| page.display().to_string()).collect();
    assert_eq!(with_commands, PAGES, "`pages!` has to list these pages, in this order");
}

#[test]
fn every_command_that_is_not_run_is_on_a_page() {
    let commands: Vec<String> = pages().iter().flat_map(|page| commands_of(page)).collect();
    let needed: BTreeSet<usize> = commands.iter().filter_map(|command| reason(command)).collect();
    for (at, (part, _)) in NOT_RUN.iter().enumerate() {
        assert!(needed.contains(&at), "no page has `{part}` any more; take it off the list");
    }
}

/// The schema has all keys. The program complains of most unknown values, such as one of `data.fit`, before it misses a key.
#[test]
fn a_part_of_a_recipe_has_keys_and_values_that_the_program_knows() {
    let place = place();
    let schema = json(place.path(), &["keys", "--schema"]);
    let mut parts = 0;
    for page in pages() {
        for block in blocks(&page).into_iter().filter(Block::is_part) {
            let at = format!("{}, line {}", page.display(), block.line);
            let part: toml::Table =
                toml::from_str(&block.text).unwrap_or_else(|error| panic!("{at}: {error}"));
            let faults = violations(&schema, &serde_json::to_value(part).unwrap());
            assert!(faults.is_empty(), "{at}: {faults:?}");
            fs::write(place.path().join("part.toml"), &block.text).unwrap();
            let said = complaint(place.path(), &["train", "part.toml", "--profile", "0"], 2);
            assert!(said.contains("missing key"), "{at}: {said}");
            parts += 1;
        }
    }
    assert!(parts > 3, "{parts} parts of recipes");
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 110, "README.md has {lines} lines; move those over 110 into docs/src");
}

#[test]
fn the_numbers_of_the_pictures_are_those_of_the_results() {
    let results = fs::read_to_string(root().join("RESULTS.md")).unwrap();
    let mut numbers = 0;
    for entry in fs::read_dir(root().join("docs/src/works")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "svg") {
            continue;
        }
        for label in fs::read_to_string(&path).unwrap().split("class=\"number small\"").skip(1) {
            let number = label.split_once('>').unwrap().1.split('<').next().unwrap();
            let words = || results.split([' ', '|', '*', '\n']);
            assert!(words().any(|word| word == number), "{}: {number} is not in RESULTS.md", path.display());
            numbers += 1;
        }
    }
    assert!(numbers > 30, "{numbers} numbers");
}
