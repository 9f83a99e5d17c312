//! UT-Zappos50K in the layout of its two archives: shoes with 126 binary attributes.

use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::ut_zappos::catalogue;

use crate::data::error::{DataError, Result};
use crate::data::files::walk::pictures;
use crate::data::pictures::annotations::{Annotations, root, split, text};
use crate::data::settings::{Options, SplitSection};
use crate::data::source::{About, Download, Kind, PictureFiles, Source};

pub(super) struct UtZappos50k;

/// The published folders of pictures; CCL-K uses the first.
const PICTURES: [&str; 2] = ["ut-zap50k-images", "ut-zap50k-images-square"];

static ABOUT: About = About {
    name: "ut-zappos50k",
    files: "ut-zap50k-data/meta-data-bin.csv, ut-zap50k-images/**/*.jpg",
    variables: "attributes (126)",
    home: "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/",
    licence: "non-commercial research",
    downloads: &[
        Download::unpacked(
            "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/ut-zap50k-data.zip",
            None,
            "ut-zappos50k",
        ),
        Download::unpacked(
            "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/ut-zap50k-images.zip",
            None,
            "ut-zappos50k",
        ),
    ],
    needed: &["ut-zap50k-data/meta-data-bin.csv"],
    pictures: Some(50_025),
    ..About::NOTHING
};

impl Source for UtZappos50k {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }

    fn keys(&self) -> &'static [&'static str] {
        &["split"]
    }
}

impl PictureFiles for UtZappos50k {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let root =
            root(folder, &["ut-zappos50k", "utzap50k", "ut-zap50k"], "ut-zap50k-data/meta-data-bin.csv")?;
        let Some(name) = PICTURES.iter().find(|name| root.join(name).is_dir()) else {
            return Err(DataError::Missing {
                folder: root,
                missing: vec![format!("the folder {}", PICTURES[0])],
            });
        };
        let root_of_pictures = root.join(name);
        let (table, origin) = text(&root.join("ut-zap50k-data/meta-data-bin.csv"))?;
        let catalogue = catalogue(&Text::new(&table, &origin), &pictures(&root_of_pictures)?)?;
        Ok(Annotations {
            root: root_of_pictures,
            catalogue: split(catalogue, options.split.unwrap_or(&SplitSection::default()))?,
            notes: Vec::new(),
        })
    }
}
