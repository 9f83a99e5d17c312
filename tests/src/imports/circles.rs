//! Finds import cycles among the parts of a folder: its files, and each folder in it as one part.

use std::collections::{BTreeMap, BTreeSet};

use super::resolve::Imports;

/// Number of imports that are listed for each pair of parts.
const SHOWN: usize = 3;

/// The imports between the parts of one folder, in words.
type Parts = BTreeMap<(String, String), Vec<String>>;

/// Every cycle that a folder is part of, in words. With `of_files` it also finds cycles among the files of one folder.
pub(super) fn circles(imports: &Imports, of_files: bool) -> Vec<String> {
    let mut by_folder: BTreeMap<String, Parts> = BTreeMap::new();
    for ((from, to), names) in imports {
        let (folder, [one, other]) = parts(from, to);
        let names = names.iter().cloned().collect::<Vec<_>>().join(", ");
        let words = format!("{from} -> {to}: {names}");
        by_folder.entry(folder).or_default().entry((one, other)).or_default().push(words);
    }
    by_folder.values().flat_map(|parts| circles_of_folder(parts, of_files)).collect()
}

/// The innermost folder that holds both files, and the parts of it in which they lie. A folder's name ends with `/`.
fn parts(from: &str, to: &str) -> (String, [String; 2]) {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let part = |path: &[&str]| {
        let end = if path.len() > common + 1 { "/" } else { "" };
        path[..=common].join("/") + end
    };
    (from[..common].join("/"), [part(&from), part(&to)])
}

fn circles_of_folder(parts: &Parts, of_files: bool) -> Vec<String> {
    let names: BTreeSet<&String> = parts.keys().flat_map(|(from, to)| [from, to]).collect();
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        names.iter().map(|name| (*name, reached(parts, name))).collect();
    let circle_of = |name: &String| -> BTreeSet<&String> {
        reach[name].iter().copied().filter(|other| reach[*other].contains(name)).collect()
    };
    let circles: BTreeSet<BTreeSet<&String>> = names.iter().map(|name| circle_of(name)).collect();
    let counts = |circle: &&BTreeSet<&String>| of_files || circle.iter().any(|name| name.ends_with('/'));
    circles
        .iter()
        .filter(|circle| !circle.is_empty())
        .filter(counts)
        .map(|circle| in_words(parts, circle))
        .collect()
}

/// All parts that a part imports, directly or through others.
fn reached<'a>(parts: &'a Parts, start: &String) -> BTreeSet<&'a String> {
    let (mut reached, mut left) = (BTreeSet::new(), vec![start]);
    while let Some(from) = left.pop() {
        for (_, to) in parts.keys().filter(|(one, _)| one == from) {
            if reached.insert(to) {
                left.push(to);
            }
        }
    }
    reached
}

fn in_words(parts: &Parts, circle: &BTreeSet<&String>) -> String {
    let mut text = circle.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    for ((from, to), imports) in parts {
        if circle.contains(from) && circle.contains(to) {
            let more = imports.len().saturating_sub(SHOWN);
            imports.iter().take(SHOWN).for_each(|import| text += &format!("\n    {import}"));
            if more > 0 {
                text += &format!("\n    and {more} more from {from} to {to}");
            }
        }
    }
    text
}
