//! Folders of a crate do not import each other in a loop, nor do files of different folders. Imports are read from the
//! sources: `use`, and paths in code that begin with `crate`, `super`, `self`, a child module or an imported name. A
//! re-exported name leads to the file that defines it; `#[cfg(test)]` does not count. No two TypeScript files import each other
//! in a loop, those of one folder included.

mod circles;
mod read;
mod resolve;
mod tokens;
mod typescript;

use std::fs;
use std::path::PathBuf;

use self::circles::circles;
use self::resolve::imports;
use crate::repository::{files_below, has_ending, root};

/// The circles of a crate, in words, out of its files: path from the folder of `lib.rs` or `main.rs`, and text.
fn circles_of(files: &[(String, String)]) -> Vec<String> {
    circles(&imports(files), false)
}

/// The circles of TypeScript files, in words.
fn circles_of_scripts(files: &[(String, String)]) -> Vec<String> {
    circles(&typescript::imports(files), true)
}

/// The files with an ending below a folder of the repository: path from there, and text.
fn sources(folder: &str, ending: &str) -> Vec<(String, String)> {
    let folder = root().join(folder);
    let source = |path: &PathBuf| {
        let name = path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
        (name, fs::read_to_string(path).unwrap())
    };
    files_below(&folder, |path| has_ending(path, ending)).iter().map(source).collect()
}

#[test]
fn no_folders_import_each_other_in_a_loop() {
    let mut loops = Vec::new();
    for name in ["core/src", "core/kernels/src", "native/src", "python/src", "web/src", "web/bundle/src"] {
        let files = sources(name, "rs");
        assert!(imports(&files).len() > 3, "{name}: no imports were read");
        loops.extend(circles_of(&files).into_iter().map(|circle| format!("{name}: {circle}")));
    }
    for name in ["www/src", "web/js"] {
        let files = sources(name, "ts");
        assert!(typescript::imports(&files).len() > 10, "{name}: no imports were read");
        loops.extend(circles_of_scripts(&files).into_iter().map(|circle| format!("{name}: {circle}")));
        // The bundler writes `generated`.
        let lost = typescript::lost(&files).into_iter().filter(|path| !path.contains("-> generated/"));
        assert_eq!(lost.collect::<Vec<_>>(), [""; 0], "{name}: imports that lead to no file");
    }
    assert!(loops.is_empty(), "circles of imports:\n{}", loops.join("\n"));
}

fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Circles of a made-up crate.
fn made_up(files: &[(&str, &str)]) -> Vec<String> {
    circles_of(&owned(files))
}

#[test]
fn a_loop_of_scripts_is_found_in_every_form_of_import() {
    for import in [
        "import { b } from \"./b.js\";",
        "import type {\n  B,\n} from './b.js';",
        "export * from \"./b.js\";",
        "import \"./b.js\";",
        "async function f() { return await import(\"./b.js\"); }",
    ] {
        let files =
            |b| owned(&[("lab/a.ts", import), ("lab/b.ts", b), ("chart.ts", "import \"./lab/b.js\";")]);
        let circles = circles_of_scripts(&files("import { a } from \"../lab/a.js\";"));
        assert_eq!(circles.len(), 1, "{import}: {circles:?}");
        assert!(circles[0].contains("lab/a.ts -> lab/b.ts: ./b.js"), "{circles:?}");
        let through_folder = circles_of_scripts(&files("import { chart } from \"../chart.js\";"));
        assert!(
            through_folder.len() == 1 && through_folder[0].contains("chart.ts, lab/"),
            "{through_folder:?}"
        );
        let none = "// import { a } from \"./a.js\";\nconst text = \"./a.js\"; import a from \"a\";";
        assert_eq!(circles_of_scripts(&files(none)), [""; 0]);
    }
    assert_eq!(typescript::lost(&owned(&[("lab/a.ts", "import \"../b.js\";")])), ["lab/a.ts -> b.ts"]);
}

#[test]
fn a_loop_of_two_folders_is_told_with_its_imports() {
    // No file imports one that imports it: only the folders do.
    let circles = made_up(&[
        ("lib.rs", "mod loss;\nmod optim;"),
        ("loss/mod.rs", "mod sum;\nmod mean;"),
        ("loss/sum.rs", "use crate::optim::rate::{Rate, decay as slower};\npub struct Sum;"),
        ("loss/mean.rs", "pub fn mean() {}"),
        ("optim/mod.rs", "pub mod rate;\npub mod step;"),
        ("optim/rate.rs", "pub struct Rate;\npub fn decay() {}"),
        ("optim/step.rs", "fn step() { crate::loss::mean::mean() }"),
    ]);
    assert_eq!(circles.len(), 1, "{circles:?}");
    for words in
        ["loss/, optim/", "loss/sum.rs -> optim/rate.rs: Rate, decay", "step.rs -> loss/mean.rs: mean"]
    {
        assert!(circles[0].contains(words), "{circles:?}");
    }
}

#[test]
fn a_loop_through_a_reexport_or_a_parent_is_found() {
    let through_parent = made_up(&[
        ("main.rs", "mod data;"),
        ("data/mod.rs", "mod sets;\npub struct Table;\nfn all() { sets::birds() }"),
        ("data/sets/mod.rs", "mod birds;\npub use birds::birds;"),
        ("data/sets/birds.rs", "pub fn birds() -> super::super::Table { super::super::Table::default() }"),
    ]);
    assert_eq!(through_parent.len(), 1, "{through_parent:?}");
    assert!(through_parent[0].contains("data/mod.rs -> data/sets/birds.rs: birds"), "{through_parent:?}");
    let by_glob = made_up(&[
        ("lib.rs", "mod a; mod b; pub use b::two::*;"),
        ("a/mod.rs", "pub struct One; fn f(x: crate::Two) {}"),
        ("b/mod.rs", "pub mod two;"),
        ("b/two.rs", "pub struct Two(crate::a::One);"),
    ]);
    assert_eq!(by_glob.len(), 1, "{by_glob:?}");
}

#[test]
fn a_path_after_a_range_and_one_in_an_attribute_are_imports() {
    let with = |item: &str| {
        made_up(&[
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", &format!("pub mod deep;\nuse crate::b::B;\n{item}")),
            ("a/deep.rs", "pub struct A;\npub fn f() {}"),
            ("b/mod.rs", &format!("pub struct B;\n{item}")),
        ])
    };
    for item in [
        "fn g() -> B { B { one: 1, ..crate::a::deep::A::default() } }",
        "fn g() { for i in 0..crate::a::deep::A {} }",
        "fn g() { for i in 0..=crate::a::deep::A {} }",
        "struct C { #[arg(value_parser = crate::a::deep::f)] c: u8 }",
        "struct C { #[serde(default, with = \"crate::a::deep\")] c: u8 }",
        "#[serde(default = \"crate::a::deep::f\")]\nstruct C;",
    ] {
        let circles = with(item);
        assert!(circles.len() == 1 && circles[0].contains("b/mod.rs -> a/"), "{item}: {circles:?}");
    }
    for item in [
        "fn g(c: C) { c.a.deep::<u8>(); c.crate_a() }",
        "#[doc = \"see crate::a::deep::A\"]\n#[allow(clippy::all, reason = \"as in crate::a\")]\nstruct C;",
        "#[cfg(test)]\n#[serde(with = \"crate::a::deep\")]\nstruct C;",
        "const C: [&str; 1] = [\"crate::a::deep\"];",
        "#[derive(A, Debug)]\nstruct C;",
    ] {
        assert_eq!(with(item), [""; 0], "{item}");
    }
}

#[test]
fn files_of_one_folder_tests_words_and_the_names_that_a_parent_hands_on_are_no_loop() {
    let tests = "#[cfg(test)]\n#[allow(unused)]\nmod tests { use crate::b::B; fn f() { if true {} } }";
    assert_eq!(
        made_up(&[
            ("lib.rs", "#[cfg(test)]\nmod fuzz;\nmod a;\nmod b;\npub use a::A;"),
            ("a/mod.rs", &format!("mod deep;\npub use deep::Deep;\npub struct A;\n{tests}")),
            // A module's re-export of its children is not an import.
            ("a/deep/mod.rs", "mod inner;\npub use inner::Deep;"),
            ("a/deep/inner.rs", "use crate::a::A;\npub struct Deep(A);"),
            (
                "b.rs",
                "mod c;\npub struct B(crate::A, c::C); // crate::b::c\nconst S: &str = \"crate::b::B\";"
            ),
            ("b/c.rs", "/* use crate::d::D; */\npub struct C; fn f<'a>(b: &'a super::B) -> char { '\"' }"),
            ("fuzz/mod.rs", "use crate::a::A; use crate::b::B;"),
        ]),
        [""; 0]
    );
}
