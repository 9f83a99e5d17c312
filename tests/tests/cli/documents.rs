//! Every command of the README and of the book is run as it stands, each page in a folder of its own. `simile` and
//! `cargo run` stand for the program at the scale of a smoke test, and it lists the runs that a script of `examples` would
//! do; [`NOT_RUN`] has the commands that cannot run here.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::{ONE_THREAD, newcomer, place};

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The README and the pages of the book, those that are files of the repository left out.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).unwrap();
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

/// The folder that a page's commands run in: pictures of the user's, digits, and the small programs.
fn furnished() -> tempfile::TempDir {
    let place = place();
    newcomer::scans(place.path(), 120);
    fs::create_dir(place.path().join("DIR")).unwrap();
    for entry in fs::read_dir(simile_tests::data().join("mnist")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), place.path().join("DIR").join(entry.file_name())).unwrap();
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
        .envs([ONE_THREAD])
        .output()
        .unwrap();
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
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

/// Runs the commands of a page, and adds to `left_out` the places of [`NOT_RUN`] that it needs.
fn run_page(page: &Path, left_out: &Mutex<BTreeSet<usize>>) {
    let blocks = blocks(page);
    let name = page.strip_prefix(root()).unwrap().display().to_string();
    if !blocks.iter().any(|block| block.language == "sh") {
        return;
    }
    let place = furnished();
    for block in blocks {
        // A file that its first line names.
        let first = block.text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
        if block.language == "toml" && first.ends_with(".toml") {
            fs::write(place.path().join(first), &block.text).unwrap();
        }
        if block.language != "sh" {
            continue;
        }
        for command in commands(&block.text) {
            match NOT_RUN.iter().position(|(part, _)| command.contains(part)) {
                Some(reason) => drop(left_out.lock().unwrap().insert(reason)),
                None => run(place.path(), &listed(&command), &format!("{name}, line {}", block.line)),
            }
        }
    }
}

#[test]
fn every_command_of_the_readme_and_the_book_runs_or_has_a_reason() {
    let left_out = Mutex::new(BTreeSet::new());
    let pages = Mutex::new(pages());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(page) = pages.lock().unwrap().pop() else { break };
                    run_page(&page, &left_out);
                }
            });
        }
    });
    let left_out = left_out.into_inner().unwrap();
    for (at, (part, _)) in NOT_RUN.iter().enumerate() {
        assert!(left_out.contains(&at), "no page has `{part}` any more; take it off the list");
    }
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
