//! `simile data list`

use anyhow::Result;
use serde::Serialize;

use super::known;
use crate::cli::DataList;
use crate::console::{Console, table};
use crate::data::sets;
use crate::data::source::{About, Source};

/// A data set with the keys of `[data]` that belong to it.
#[derive(Serialize)]
struct Entry {
    #[serde(flatten)]
    about: &'static About,
    keys: Vec<String>,
}

impl Entry {
    fn new(set: &'static dyn Source) -> Self {
        let keys = set.options().iter().map(|option| format!("data.{}", option.key)).collect();
        Self { about: set.about(), keys }
    }
}

pub(super) fn run(arguments: &DataList, console: Console) -> Result<()> {
    if let Some(name) = &arguments.name {
        let listed = Entry::new(known(name)?);
        return console.answer(&listed, || in_full(&listed));
    }
    let listed: Vec<Entry> = sets::ALL.iter().map(|set| Entry::new(*set)).collect();
    console.answer(&listed, || {
        let mut table = table(["Data set", "Attributes", "Get it"]);
        for Entry { about, .. } in &listed {
            let get = match (about.downloads.is_empty(), about.home.is_empty()) {
                (false, _) => format!("simile data fetch {}", about.name),
                (true, false) => about.home.to_owned(),
                (true, true) => String::new(),
            };
            table.add_row([about.name, about.attributes, &get]);
        }
        format!("{table}\n`simile data list NAME` says its files, licence and address.")
    })
}

/// One data set, line by line.
fn in_full(Entry { about, keys }: &Entry) -> String {
    let addresses: Vec<&str> = about.downloads.iter().map(|download| download.url).collect();
    let rows = [
        ("files", about.files.to_owned()),
        ("classes", about.classes.to_owned()),
        ("attributes", about.attributes.to_owned()),
        ("keys", keys.join(", ")),
        ("home", about.home.to_owned()),
        ("licence", about.licence.to_owned()),
        ("get it", about.get.to_owned()),
        ("fetched", addresses.join("\n           ")),
    ];
    let lines =
        rows.iter().filter(|(_, text)| !text.is_empty()).map(|(key, text)| format!("{key:<10} {text}\n"));
    format!("{}\n{}", about.name, lines.collect::<String>())
}
