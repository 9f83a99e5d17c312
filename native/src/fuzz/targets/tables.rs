//! Annotations of published data sets, and tables of users.

use std::collections::BTreeMap;

use simile_core::data::formats::lines::Text;

use super::{Target, file, place, said};
use crate::data::TableSection;
use crate::data::keys::values::Broken;
use crate::data::parsers::{self, Result};
use crate::data::sets;
use crate::data::source::{Medium, Source};

pub(super) fn targets() -> Vec<Target> {
    vec![Target::new("tables", WORDS, run)]
}

const WORDS: &[&[u8]] = &[
    b",",
    b"\n",
    b"\r\n",
    b"\"",
    b"\"\"",
    b"\t",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"file,label,split",
    b"train",
    b"validation",
    b"img_filename",
    b"CID",
    b"Male",
    b"../..",
    b"/",
    b"1_0_2_2017.jpg",
    b"100_1_4.jpg",
    BETWEEN.as_bytes(),
];

/// The separator of the files of one data set.
const BETWEEN: &str = "\n%%%\n";

/// The answers of the parsers of a data set to the texts of a case.
fn parsed(set: &dyn Source, bytes: &[u8]) -> Vec<Result<()>> {
    let Medium::Pictures(set) = set.medium() else { return Vec::new() };
    let whole = String::from_utf8_lossy(bytes);
    let mut parts = whole.split(BETWEEN);
    set.parse_changed(&std::array::from_fn(|_| Text::new(parts.next().unwrap_or_default(), "table")))
}

/// All readers get all files, and refuse those of other readers at their first lines.
fn run(bytes: &[u8]) {
    for outcome in sets::ALL.iter().flat_map(|set| parsed(*set, bytes)) {
        said(outcome);
    }
    let csv = file("table.csv", bytes);
    for split in [None, Some("split".to_owned())] {
        let conditions = BTreeMap::from([
            ("site".to_owned(), vec!["site".to_owned()]),
            ("both".to_owned(), vec!["age".to_owned(), "dose".to_owned()]),
        ]);
        let section = TableSection {
            csv: csv.clone(),
            file: "file".into(),
            label: "label".into(),
            subject: split.as_ref().map(|_| "site".to_owned()),
            split,
            conditions,
            categories: Vec::new(),
            missing: Broken::default(),
        };
        said(parsers::table(&section, &place()));
    }
}

#[test]
fn each_parser_takes_a_file_of_the_corpus() {
    let files: Vec<_> = std::fs::read_dir(super::super::corpus("tables")).unwrap().collect();
    let files: Vec<Vec<u8>> =
        files.into_iter().map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    for set in sets::ALL.iter().filter(|set| !parsed(**set, b"").is_empty()) {
        let takes = |bytes: &Vec<u8>| parsed(*set, bytes).iter().any(Result::is_ok);
        assert!(files.iter().any(takes), "{} takes no file of tests/fuzz/tables", set.about().name);
    }
}
