//! The book in `docs`: it is built by mdBook, its pages load nothing from elsewhere, and its links lead somewhere.
//! `SIMILE_REQUIRE_BOOK=1` makes the absence of mdBook an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simile_tests::{place, repository, skipped};

use crate::support::program::stderr_of;

/// The addresses of a page and the places in it that links can name.
struct Page {
    loaded: Vec<String>,
    followed: Vec<String>,
    ids: BTreeSet<String>,
}

/// A text without comments in HTML.
fn uncommented(html: &str) -> String {
    let mut parts = html.split("<!--");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.filter_map(|part| part.split_once("-->")).map(|(_, after)| after).collect::<String>()
}

/// The tags of a page, without their brackets.
fn tags(html: &str) -> Vec<String> {
    let opened = html.split('<').skip(1);
    opened.filter_map(|part| part.split_once('>')).map(|(tag, _)| tag.to_owned()).collect()
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split_once('"')).map(|(value, _)| value)
}

fn is_elsewhere(address: &str) -> bool {
    ["http:", "https:", "//", "ws:", "wss:"].iter().any(|start| address.trim().starts_with(start))
}

/// The addresses that a style sheet loads.
fn loaded_by_style(text: &str) -> Vec<String> {
    let urls = text.split("url(").skip(1).filter_map(|part| part.split_once(')'));
    let imports = text.split("@import").skip(1).filter_map(|part| part.split_once(';'));
    urls.chain(imports).map(|(address, _)| address.trim_matches([' ', '"', '\'']).to_owned()).collect()
}

/// The addresses that a page loads by itself, and those that its reader may follow.
fn addresses(html: &str) -> (Vec<String>, Vec<String>) {
    let (mut loaded, mut followed) = (Vec::new(), Vec::new());
    for tag in tags(html) {
        let name = tag.split_whitespace().next().unwrap_or_default().to_lowercase();
        for key in ["src", "srcset", "data", "poster", "xlink:href"] {
            loaded.extend(attribute(&tag, key).map(str::to_owned));
        }
        if let Some(address) = attribute(&tag, "href") {
            if name == "a" { &mut followed } else { &mut loaded }.push(address.to_owned());
        }
        loaded.extend(attribute(&tag, "style").into_iter().flat_map(loaded_by_style));
    }
    let styles = html.split("<style").skip(1).filter_map(|part| part.split_once("</style>"));
    loaded.extend(styles.flat_map(|(style, _)| loaded_by_style(style)));
    (loaded, followed)
}

#[test]
fn addresses_of_a_page_are_found() {
    let page = r#"<!-- <img src="https://a/no"> --><img src="https://a/1"><link rel="x" href="//b/2"><a href="https://c/3">c</a>
        <style>@import "https://d/4"; p { background: url('https://e/5') }</style><p style="background:url(https://f/6)">"#;
    let (loaded, followed) = addresses(&uncommented(page));
    let elsewhere: Vec<&String> = loaded.iter().filter(|address| is_elsewhere(address)).collect();
    assert_eq!(elsewhere, ["https://a/1", "//b/2", "https://f/6", "https://e/5", "https://d/4"]);
    assert_eq!(followed, ["https://c/3"]);
}

#[test]
fn the_book_loads_nothing_from_elsewhere_and_its_links_lead_somewhere() {
    let program = std::env::var_os("MDBOOK").map_or_else(|| PathBuf::from("mdbook"), PathBuf::from);
    if !Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        let is_required = std::env::var_os("SIMILE_REQUIRE_BOOK").is_some_and(|set| set == "1");
        assert!(!is_required, "`{}` does not run", program.display());
        return skipped::note("there is no mdbook; MDBOOK names one, and `.ci/tools.txt` has it");
    }
    let place = place();
    let book = place.path().join("book");
    build(&program, &book);
    let pages = pages(&book);
    assert!(pages.len() > 40, "{} pages", pages.len());
    let wrong = links_that_lead_nowhere(&pages, &book);
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

/// Builds the book, of which mdBook has nothing to say.
fn build(program: &Path, book: &Path) {
    let docs = repository::root().join("docs");
    let output = Command::new(program).arg("build").arg(&docs).arg("--dest-dir").arg(book).output().unwrap();
    let said = stderr_of(&output);
    let is_clean = !said.contains("ERROR") && !said.contains("WARN");
    assert!(output.status.success() && is_clean, "mdbook says\n{said}");
}

/// The pages of the book. Asserts that they, and its styles, load nothing from elsewhere.
fn pages(book: &Path) -> BTreeMap<PathBuf, Page> {
    let mut pages: BTreeMap<PathBuf, Page> = BTreeMap::new();
    for file in repository::files_below(book, |_| true) {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_owned();
        let loaded = match ending.as_str() {
            "css" => loaded_by_style(&fs::read_to_string(&file).unwrap()),
            "html" => {
                let html = uncommented(&fs::read_to_string(&file).unwrap());
                let (loaded, followed) = addresses(&html);
                let ids =
                    tags(&html).iter().filter_map(|tag| attribute(tag, "id").map(str::to_owned)).collect();
                pages.insert(file.clone(), Page { loaded: loaded.clone(), followed, ids });
                loaded
            }
            _ => continue,
        };
        for address in loaded {
            assert!(!is_elsewhere(&address), "{} loads {address}", file.display());
        }
    }
    pages
}

/// The links of pages to no file of the book, or to a part of a page that it does not have.
fn links_that_lead_nowhere(pages: &BTreeMap<PathBuf, Page>, book: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for (page, Page { loaded, followed, .. }) in pages {
        // mdBook's page for a server that finds none has the addresses of the server's root.
        if page.ends_with("404.html") {
            continue;
        }
        for address in loaded.iter().chain(followed) {
            if is_elsewhere(address) || address.starts_with("data:") || address.starts_with("mailto:") {
                continue;
            }
            let (path, id) = address.split_once('#').unwrap_or((address, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let is_there = fs::canonicalize(&target).is_ok_and(|target| {
                let known =
                    pages.iter().find(|(page, _)| fs::canonicalize(page).is_ok_and(|page| page == target));
                id.is_empty() || known.is_some_and(|(_, page)| page.ids.contains(id))
            });
            if !is_there {
                let page = page.strip_prefix(book).unwrap();
                wrong.push(format!("{}: {address}", page.display()));
            }
        }
    }
    wrong
}

#[test]
fn links_of_the_readme_lead_to_files() {
    let text = fs::read_to_string(repository::root().join("README.md")).unwrap();
    let links: Vec<&str> =
        text.split("](").skip(1).filter_map(|part| part.split_once(')')).map(|(link, _)| link).collect();
    assert!(links.len() > 10);
    for link in links.into_iter().filter(|link| !is_elsewhere(link)) {
        let path = link.split('#').next().unwrap();
        assert!(repository::root().join(path).exists(), "README.md leads to {link}, which is not there");
    }
}
