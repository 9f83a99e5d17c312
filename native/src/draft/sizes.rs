//! The sizes of a user's pictures, and how much of a picture a recipe keeps for the crops.

use std::path::PathBuf;

use image::ImageReader;

/// The least share that a crop has, of the middle square of a picture.
const LEAST: f64 = 0.6;
/// Most pixels a side that are kept of a picture, in sides of a view.
const MOST: usize = 2;
/// The side of a picture where none can be opened.
const UNKNOWN: usize = 64;

/// The sizes of some pictures.
#[derive(Debug)]
pub(super) struct Sizes {
    /// The median of the shorter sides, in pixels.
    pub(super) shorter: usize,
    /// The median of the longer sides.
    longer: usize,
    /// The mean share of a picture that its middle square has.
    middle: f64,
    /// True if all of the pictures are square.
    are_square: bool,
}

/// How much of a picture is kept for the crops.
#[derive(Debug, PartialEq)]
pub(super) struct Kept {
    /// True if all of it is kept, with its shape, and not its middle square alone.
    pub(super) is_whole: bool,
    /// The pixels a side, if these are not those of a view.
    pub(super) side: Option<usize>,
    /// The shares of it that crops have, from the least to the largest.
    pub(super) scale: [f64; 2],
}

impl Sizes {
    /// The sizes of those pictures that can be opened.
    pub(super) fn of(files: impl Iterator<Item = PathBuf>) -> Self {
        let size =
            |path: PathBuf| ImageReader::open(path).ok()?.with_guessed_format().ok()?.into_dimensions().ok();
        Self::of_pixels(&files.filter_map(size).collect::<Vec<_>>())
    }

    /// The sizes of pictures of some pixels, width and height.
    fn of_pixels(pictures: &[(u32, u32)]) -> Self {
        let sides = |&(width, height): &(u32, u32)| (width.min(height).max(1), width.max(height).max(1));
        let (shorter, longer): (Vec<u32>, Vec<u32>) = pictures.iter().map(sides).unzip();
        let shares = shorter.iter().zip(&longer).map(|(&short, &long)| f64::from(short) / f64::from(long));
        let middle = if pictures.is_empty() { 1.0 } else { shares.sum::<f64>() / pictures.len() as f64 };
        let are_square = shorter == longer;
        Self { shorter: median(shorter), longer: median(longer), middle, are_square }
    }

    /// How much of a picture is kept for crops that become views of a side.
    pub(super) fn kept(&self, view: usize) -> Kept {
        // A picture is kept as a square, into which it is squeezed: so many pixels a side leave as many as a view has to each side of
        // the smallest crop that is square.
        let enough = (view as f64 / (LEAST.sqrt() * self.middle)).ceil() as usize;
        let enough = enough.min(MOST * view);
        let side = enough.min(self.longer);
        let is_kept = side > view && (side == enough || !self.are_square);
        // The longer side of a crop is at most 4/3 of the shorter one. Draws of larger crops of a long picture would not fit, and after
        // ten of these the middle one is taken.
        let largest = (100.0 * self.middle * 4.0 / 3.0).floor().min(100.0);
        let least = (100.0 * LEAST * self.middle).round();
        // A share has two digits and may not be 0.
        let scale = [least, largest].map(|hundredths| hundredths.max(1.0) / 100.0);
        Kept { is_whole: !self.are_square, side: is_kept.then_some(side), scale }
    }
}

fn median(mut sides: Vec<u32>) -> usize {
    sides.sort_unstable();
    sides.get(sides.len() / 2).map_or(UNKNOWN, |&side| side as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pictures: &[(u32, u32)], view: usize) -> Kept {
        Sizes::of_pixels(pictures).kept(view)
    }

    #[test]
    fn small_squares_are_kept_as_they_are_seen() {
        for side in [2, 32, 41] {
            let expected = Kept { is_whole: false, side: None, scale: [0.6, 1.0] };
            assert_eq!(kept(&[(side, side); 3], 32), expected, "{side}");
        }
    }

    #[test]
    fn larger_squares_are_kept_with_the_pixels_of_the_smallest_crop() {
        // A crop of 0.6 of 42 x 42 pixels has 32.5 a side.
        for side in [42, 512] {
            let expected = Kept { is_whole: false, side: Some(42), scale: [0.6, 1.0] };
            assert_eq!(kept(&[(side, side); 3], 32), expected, "{side}");
        }
    }

    #[test]
    fn pictures_that_are_not_square_are_kept_whole() {
        let whole = |side, scale| Kept { is_whole: true, side, scale };
        let [landscape, portrait] = [(1600, 1200), (1200, 1600)];
        for pictures in [[landscape; 2], [landscape, portrait]] {
            assert_eq!(kept(&pictures, 32), whole(Some(56), [0.45, 1.0]), "{pictures:?}");
            assert_eq!(kept(&pictures, 128), whole(Some(221), [0.45, 1.0]), "{pictures:?}");
        }
        // One among squares; small ones; a panorama; a strip.
        assert_eq!(kept(&[(80, 80), (80, 80), (80, 80), (160, 80)], 32), whole(Some(48), [0.53, 1.0]));
        assert_eq!(kept(&[(30, 20)], 32), whole(None, [0.4, 0.88]));
        assert_eq!(kept(&[(4000, 400)], 32), whole(Some(64), [0.06, 0.13]));
        assert_eq!(kept(&[(4, 4000)], 32), whole(Some(64), [0.01, 0.01]));
    }

    #[test]
    fn pictures_that_cannot_be_opened_have_a_size_all_the_same() {
        let sizes = Sizes::of([PathBuf::from("none.png")].into_iter());
        assert_eq!((sizes.shorter, sizes.kept(32).is_whole), (UNKNOWN, false));
    }
}
