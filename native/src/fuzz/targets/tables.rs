//! Annotations of published data sets, and tables of users.

use std::collections::BTreeMap;

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::chexpert::Uncertain;
use simile_core::data::sets::class_folders;
use simile_core::data::sets::class_folders::Selection;
use simile_core::data::sets::cub;
use simile_core::data::sets::cub::Annotations;
use simile_core::data::sets::utkface;
use simile_core::data::sets::utkface::FaceBias;
use simile_core::data::sets::{celeba, chexpert, ut_zappos, waterbirds};

use super::{Target, file, place, said};
use crate::data::parsers;
use crate::data::settings::{Broken, TableSection};

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

/// All readers get all files, and refuse those of other readers at their first lines.
fn run(bytes: &[u8]) {
    let whole = String::from_utf8_lossy(bytes);
    let part = |at: usize| whole.split(BETWEEN).nth(at).unwrap_or_default();
    let text = |at: usize| Text::new(part(at), "table");
    let paths: Vec<String> = part(0).lines().map(String::from).collect();
    if let Some(faces) = said(celeba::catalogue(&text(0), &text(1), "blond-hair", "male")) {
        said(celeba::published(faces, "blond-hair", 1));
    }
    for uncertain in [Uncertain::Drop, Uncertain::Present] {
        said(chexpert::catalogue(&text(0), &text(1), "cardiomegaly", uncertain));
    }
    said(cub::catalogue(&Annotations {
        images: text(0),
        labels: text(1),
        classes: text(2),
        split: text(3),
        attributes: (!part(4).is_empty()).then(|| text(4)),
    }));
    let shoes: Vec<String> = part(1).lines().map(String::from).collect();
    said(ut_zappos::catalogue(&text(0), &shoes));
    said(waterbirds::catalogue(&text(0)));
    for bias in [FaceBias::Race, FaceBias::Age] {
        if let Some((faces, _)) = said(utkface::catalogue(&paths, bias)) {
            said(utkface::published(faces, 0.9, 1));
        }
    }
    let annotations = (!part(1).is_empty()).then(|| text(1));
    said(class_folders::catalogue("folder", &paths, Selection { classes: None, left_out: &[], annotations }));
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
            split,
            conditions,
            categories: Vec::new(),
            missing: Broken::default(),
        };
        said(parsers::table(&section, &place()));
    }
}
