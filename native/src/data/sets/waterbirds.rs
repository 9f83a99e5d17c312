//! Waterbirds in the layout of its archive: birds of CUB-200-2011 on grounds of land and water.

use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::waterbirds;

use crate::data::error::Result;
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::settings::Options;
use crate::data::source::{About, Download, Kind, PictureFiles, Source};

pub(super) struct Waterbirds;

static ABOUT: About = About {
    name: "waterbirds",
    files: "waterbird_complete95_forest2water2 as it unpacks: metadata.csv and the pictures that it names",
    variables: "place, bias, group",
    home: "https://github.com/kohpangwei/group_DRO",
    licence: "those of CUB-200-2011 and Places: non-commercial research",
    downloads: &[Download::unpacked(
        "https://nlp.stanford.edu/data/dro/waterbird_complete95_forest2water2.tar.gz",
        None,
        "",
    )],
    needed: &["metadata.csv"],
    pictures: Some(11_788),
    ..About::NOTHING
};

impl Source for Waterbirds {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }
}

impl PictureFiles for Waterbirds {
    fn annotate(&self, _options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let inner = [
            "waterbird_complete95_forest2water2",
            "waterbirds",
            "waterbirds/waterbird_complete95_forest2water2",
        ];
        let root = root(folder, &inner, "metadata.csv")?;
        let (metadata, origin) = text(&root.join("metadata.csv"))?;
        let catalogue = waterbirds::catalogue(&Text::new(&metadata, &origin))?;
        Ok(Annotations { root, catalogue, notes: Vec::new() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use simile_core::data::Part;
    use std::fs;

    #[test]
    fn the_table_is_read_where_the_archive_puts_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("waterbird_complete95_forest2water2");
        fs::create_dir(&root).unwrap();
        let table = "img_id,img_filename,y,split,place,place_filename\n\
                     1,001.Black_footed_Albatross/Albatross_0046_18.jpg,1,2,1,/o/ocean/00004600.jpg\n\
                     2,001.Black_footed_Albatross/Albatross_0009_34.jpg,1,1,0,/b/bamboo_forest/00003975.jpg\n\
                     3,010.Red_winged_Blackbird/Blackbird_0064_4936.jpg,0,0,0,/b/bamboo_forest/00000012.jpg\n";
        fs::write(root.join("metadata.csv"), table).unwrap();
        let water = Waterbirds.annotations(&Options::default(), folder.path()).unwrap().catalogue;
        assert_eq!((water.len(), water.classes.len()), (3, 2));
        assert_eq!([Part::Train, Part::Validation, Part::Test].map(|part| water.of(part).len()), [1, 1, 1]);
    }
}
