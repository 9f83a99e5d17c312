//! Pictures that a user should know of: blank, equal, and unreadable ones.

use std::fmt;
use std::path::Path;

use md5::{Digest as _, Md5};
use serde::Serialize;
use simile_core::data::Catalogue;

use crate::data::error::Result;
use crate::data::keys::values::Fit;
use crate::data::pictures::list::PictureList;
use crate::data::pictures::resize::ResizeSpec;
use crate::data::pictures::uncached::each_picture;

/// Most pictures that are named in text; the JSON document names all of them.
const MOST_SHOWN: usize = 10;
/// Side of the pictures that are compared.
const SIDE: usize = 32;
/// Pixels of a blank picture differ by no more.
const BLANK: u8 = 2;

/// Pictures with something wrong.
#[derive(Debug, Serialize)]
pub(super) struct Faults {
    /// Pictures of one colour.
    blank: Vec<String>,
    /// Groups of pictures that look the same, of 32 x 32 pixels.
    equal: Vec<Vec<String>>,
    /// Pictures of such groups of which others are of another split, so that a test picture was trained on.
    in_several_parts: usize,
    /// Pictures that cannot be read, each with the reason.
    broken: Vec<String>,
}

impl Faults {
    /// Decodes and compares all pictures of a catalogue below `root`. Their digests alone are kept, so that any number fits into
    /// memory.
    ///
    /// # Errors
    /// [`DataError::Stopped`](crate::data::DataError::Stopped) if a stop is requested.
    pub(super) fn find(root: &Path, catalogue: &Catalogue) -> Result<Self> {
        let resize = ResizeSpec { side: SIDE, channels: 3, fit: Fit::Whole };
        let (mut blank, mut digests) = (Vec::new(), Vec::<([u8; 16], usize)>::new());
        let broken = each_picture(PictureList { root, files: &catalogue.files }, resize, |at, pixels| {
            if is_blank(pixels) {
                blank.push(at);
            }
            digests.push((Md5::digest(pixels).into(), at));
        })?;
        digests.sort_unstable();
        let places = |group: &[([u8; 16], usize)]| group.iter().map(|&(_, at)| at).collect();
        let equal = digests.chunk_by(|(one, _), (other, _)| one == other);
        let mut groups: Vec<Vec<usize>> = equal.filter(|group| group.len() > 1).map(places).collect();
        groups.sort();
        let spans = |group: &&Vec<usize>| {
            let mut splits = group.iter().map(|&at| catalogue.splits.get(at));
            let first = splits.next();
            splits.any(|split| Some(split) != first)
        };
        let in_several_parts = groups.iter().filter(spans).map(Vec::len).sum();
        let name = |&at: &usize| catalogue.files.get(at).cloned().unwrap_or_default();
        Ok(Self {
            blank: blank.iter().map(name).collect(),
            equal: groups.iter().map(|group| group.iter().map(name).collect()).collect(),
            in_several_parts,
            broken: broken.iter().map(ToString::to_string).collect(),
        })
    }

    /// True if pictures cannot be read, or are trained on and tested on.
    pub(super) fn are_serious(&self) -> bool {
        !self.broken.is_empty() || self.in_several_parts > 0
    }

    /// The reason why a run that refuses unreadable pictures would end.
    pub(super) fn refusal(&self) -> Option<String> {
        let count = self.broken.len();
        (count > 0).then(|| {
            format!("{count} pictures cannot be read; repair them, or leave them out with `broken = \"skip\"` in [data]")
        })
    }
}

/// True for RGB pixels of one colour.
fn is_blank(pixels: &[u8]) -> bool {
    let is_even = |channel: usize| {
        let values = pixels.iter().skip(channel).step_by(3);
        values.clone().max().zip(values.min()).is_some_and(|(high, low)| high - low <= BLANK)
    };
    (0..3).all(is_even)
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { blank, equal, in_several_parts, broken } = self;
        let list = |f: &mut fmt::Formatter<'_>, mark: &str, lines: &[String], things: &str| {
            lines.iter().take(MOST_SHOWN).try_for_each(|line| writeln!(f, "{mark:<8} {line}"))?;
            match lines.len() > MOST_SHOWN {
                true => writeln!(f, "{mark:<8} {} {things} in all (--json names each)", lines.len()),
                false => Ok(()),
            }
        };
        list(f, "broken", broken, "pictures")?;
        list(f, "blank", blank, "pictures")?;
        let groups: Vec<String> = equal
            .iter()
            .map(|group| match group.as_slice() {
                [first, second] => format!("{first} = {second}"),
                [first, rest @ ..] => format!("{first} = {} others", rest.len()),
                [] => String::new(),
            })
            .collect();
        list(f, "equal", &groups, "groups")?;
        if *in_several_parts > 0 {
            writeln!(
                f,
                "equal    {in_several_parts} pictures have an equal one in another split: test pictures may have been trained on"
            )?;
        }
        let [broken, blank] = [broken.len(), blank.len()];
        writeln!(f, "pictures {broken} broken, {blank} blank, {} groups of equal ones", groups.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::Split;

    use super::*;

    #[test]
    fn blank_equal_and_broken_pictures_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let save = |name: &str, at: fn(u32) -> u8| {
            image::RgbImage::from_fn(40, 40, |x, _| image::Rgb([at(x), 7, 9]))
                .save(folder.path().join(name))
                .unwrap();
        };
        save("blank.png", |_| 200);
        save("a.png", |x| x as u8);
        save("b.png", |x| x as u8);
        save("c.png", |x| 255 - x as u8);
        std::fs::write(folder.path().join("d.png"), b"no picture").unwrap();
        let files: Vec<String> = ["blank", "a", "b", "c", "d"].map(|name| format!("{name}.png")).into();
        let splits = vec![Split::Train, Split::Train, Split::Test, Split::Test, Split::Train];
        let catalogue = Catalogue::new("x", files, splits, vec![0; 5], vec!["one".into()]).unwrap();
        let faults = Faults::find(folder.path(), &catalogue).unwrap();
        assert_eq!(
            (faults.blank, faults.equal),
            (vec!["blank.png".to_owned()], vec![vec!["a.png".to_owned(), "b.png".to_owned()]])
        );
        assert_eq!((faults.in_several_parts, faults.broken.len()), (2, 1));
        assert!(
            faults.broken[0].contains("d.png") && !faults.broken[0].contains("broken=skip"),
            "{:?}",
            faults.broken
        );
    }
}
