//! `simile data fetch`

use anyhow::Result;
use serde::Serialize;

use super::known;
use crate::cli::DataFetch;
use crate::console::{Console, line};
use crate::data::{Fetched, fetch as fetch_files};

#[derive(Serialize)]
struct FetchedSet {
    name: &'static str,
    licence: &'static str,
    files: Vec<Fetched>,
}

pub(super) fn run(arguments: &DataFetch, console: Console) -> Result<()> {
    let about = known(&arguments.name)?.about();
    if about.downloads.is_empty() {
        let how = if about.home.is_empty() {
            "there is nothing to download".to_owned()
        } else {
            format!("{} ({})", about.get, about.home)
        };
        anyhow::bail!("{} cannot be fetched: {how}", about.name);
    }
    line(format_args!("{}: {}; licence: {}", about.name, about.home, about.licence));
    let files = fetch_files(about, &arguments.data, arguments.from.as_deref())?;
    for file in files.iter().filter(|file| !file.verified) {
        let receipt =
            file.receipt.as_ref().map_or_else(String::new, |path| format!(", kept in {}", path.display()));
        line(format_args!(
            "the authors publish no checksum of {}, so it could not be verified; its MD5 is {}{receipt}; compare it with a copy you trust",
            file.url, file.md5
        ));
    }
    let answer = FetchedSet { name: about.name, licence: about.licence, files };
    console.answer(&answer, || {
        let paths = answer.files.iter().flat_map(|file| &file.paths);
        paths.map(|path| format!("{}\n", path.display())).collect()
    })
}
