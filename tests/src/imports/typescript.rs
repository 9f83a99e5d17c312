//! Imports between TypeScript files: `import ... from "./x.js"`, with `type` or for its effects alone, `export ... from`, and
//! `import("./x.js")` in code.

use super::resolve::Imports;

/// The imports between files, by the path of each from their common folder, and its text.
pub(super) fn imports(files: &[(String, String)]) -> Imports {
    let mut imports = Imports::new();
    for (file, text) in files {
        for path in paths(text) {
            let target = target(file, path);
            if files.iter().any(|(known, _)| *known == target) {
                imports.entry((file.clone(), target)).or_default().insert(path.to_owned());
            }
        }
    }
    imports
}

/// The relative paths that a file imports.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(['"', '\'']).filter_map(|(at, quote)| {
        let (before, path) = (text[..at].trim_end(), text[at + 1..].split(quote).next()?);
        let is_import = ["from", "import", "import("].iter().any(|word| before.ends_with(word));
        let line = text[..at].lines().next_back().unwrap_or_default().trim_start();
        let is_comment = ["//", "/*", "*"].iter().any(|mark| line.starts_with(mark));
        (is_import && !is_comment && path.starts_with('.')).then_some(path)
    })
}

/// The source of a path that a file imports.
fn target(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    let target = parts.join("/");
    target.strip_suffix(".js").map_or_else(|| target.clone(), |stem| format!("{stem}.ts"))
}

/// The paths that lead to no file, with the file that imports each.
pub(super) fn lost(files: &[(String, String)]) -> Vec<String> {
    let is_known = |target: &String| files.iter().any(|(known, _)| known == target);
    let of_file = |(file, text): &(String, String)| {
        let targets = paths(text).map(|path| target(file, path)).filter(|target| !is_known(target));
        targets.map(|target| format!("{file} -> {target}")).collect::<Vec<_>>()
    };
    files.iter().flat_map(of_file).collect()
}
