//! The sizes of a user's pictures, and how much of a picture a recipe keeps for the crops.

use std::path::PathBuf;

use image::ImageReader;

/// The least share that a crop has, of the middle square of a picture.
const LEAST: f64 = 0.6;
/// The share of the middle square of the longest pictures that are kept whole, those of 2:1. A picture is kept as a square, of which
/// evaluation takes the middle. Of a longer picture that would have fewer pixels than a view, where `embed` and exports read the file.
const LONGEST_WHOLE: f64 = 0.5;
/// Most pixels a side that are kept of a picture, in sides of a view. Evaluation of pictures of 2:1 needs as many.
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
    /// The share of the longest picture that its middle square has, 1 if all of the pictures are square.
    middle: f64,
}

/// How much of a picture is kept for the crops.
#[derive(Debug, PartialEq)]
pub(super) struct Stored {
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
        Self::from_pixels(&files.filter_map(size).collect::<Vec<_>>())
    }

    /// The sizes of pictures of some pixels, width and height.
    fn from_pixels(pictures: &[(u32, u32)]) -> Self {
        let sides = |&(width, height): &(u32, u32)| (width.min(height).max(1), width.max(height).max(1));
        let (shorter, longer): (Vec<u32>, Vec<u32>) = pictures.iter().map(sides).unzip();
        let shares = shorter.iter().zip(&longer).map(|(&short, &long)| f64::from(short) / f64::from(long));
        let middle = shares.fold(1.0, f64::min);
        Self { shorter: median(shorter), longer: median(longer), middle }
    }

    /// How much of a picture is kept for crops that become views of a side.
    pub(super) fn stored(&self, view: usize) -> Stored {
        let is_whole = (LONGEST_WHOLE..1.0).contains(&self.middle);
        // Of other pictures the middle square is kept, which is all of a square.
        let middle = if is_whole { self.middle } else { 1.0 };
        // A picture is kept as a square, into which it is squeezed: so many pixels a side leave as many as a view has to each side of
        // the smallest crop that is square, and of the middle that evaluation sees.
        let crop_side = ((view as f64 / (LEAST.sqrt() * middle)).ceil() as usize).min(MOST * view);
        let evaluation_side = (view as f64 / middle).ceil() as usize;
        let side = if is_whole {
            Some(crop_side.min(self.longer).max(evaluation_side))
        } else {
            Some(crop_side).filter(|&side| side <= self.shorter)
        };
        // The longer side of a crop is at most 4/3 of the shorter one. Draws of larger crops of the longest picture would not fit, and
        // after ten of these the middle one is taken. Crops of the other pictures have these shares too.
        let largest = (100.0 * middle * 4.0 / 3.0).floor().min(100.0);
        let least = (100.0 * LEAST * middle).round();
        // A share has two digits.
        Stored { is_whole, side, scale: [least, largest].map(|hundredths| hundredths / 100.0) }
    }
}

fn median(mut sides: Vec<u32>) -> usize {
    sides.sort_unstable();
    sides.get(sides.len() / 2).map_or(UNKNOWN, |&side| side as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(pictures: &[(u32, u32)], view: usize) -> Stored {
        Sizes::from_pixels(pictures).stored(view)
    }

    #[test]
    fn small_squares_are_kept_as_they_are_seen() {
        for side in [2, 32, 41] {
            let expected = Stored { is_whole: false, side: None, scale: [0.6, 1.0] };
            assert_eq!(stored(&[(side, side); 3], 32), expected, "{side}");
        }
    }

    #[test]
    fn larger_squares_are_kept_with_the_pixels_of_the_smallest_crop() {
        // A crop of 0.6 of 42 x 42 pixels has 32.5 a side.
        for side in [42, 512] {
            let expected = Stored { is_whole: false, side: Some(42), scale: [0.6, 1.0] };
            assert_eq!(stored(&[(side, side); 3], 32), expected, "{side}");
        }
    }

    #[test]
    fn pictures_of_up_to_two_to_one_are_kept_whole() {
        let whole = |side, scale| Stored { is_whole: true, side: Some(side), scale };
        let [landscape, portrait] = [(1600, 1200), (1200, 1600)];
        for pictures in [[landscape; 2], [landscape, portrait]] {
            assert_eq!(stored(&pictures, 32), whole(56, [0.45, 1.0]), "{pictures:?}");
            assert_eq!(stored(&pictures, 128), whole(221, [0.45, 1.0]), "{pictures:?}");
        }
        assert_eq!(stored(&[(1920, 1080)], 32), whole(64, [0.34, 0.75]));
        assert_eq!(stored(&[(30, 20)], 32), whole(48, [0.4, 0.88]));
    }

    #[test]
    fn the_longest_of_the_pictures_says_which_crops_fit() {
        let whole = Stored { is_whole: true, side: Some(64), scale: [0.3, 0.66] };
        assert_eq!(stored(&[(80, 80), (80, 80), (80, 80), (160, 80)], 32), whole);
    }

    #[test]
    fn evaluation_sees_as_many_pixels_as_a_view_has() {
        let square = (80, 80);
        for (long, short) in
            [(41, 40), (30, 20), (40, 30), (1600, 1200), (1920, 1080), (80, 40), (2000, 1000)]
        {
            let picture = (long, short);
            for (pictures, view) in [([picture; 3], 32), ([square, square, picture], 32), ([picture; 3], 128)]
            {
                let found = stored(&pictures, view);
                let side = found.side.unwrap_or(view);
                // The middle of the square has `side * short / long` columns.
                let has_enough = side * short as usize >= view * long as usize;
                assert!(found.is_whole && has_enough, "{pictures:?} for {view}: {found:?}");
                assert!(side <= MOST * view, "{pictures:?} for {view}: {found:?}");
            }
        }
    }

    #[test]
    fn longer_pictures_are_kept_to_their_middle_as_squares_of_its_side() {
        let middle = |side| Stored { is_whole: false, side, scale: [0.6, 1.0] };
        let square = (80, 80);
        for long in [(1010, 500), (240, 80), (80, 240), (480, 80), (4000, 400)] {
            for pictures in [[long; 3], [square, square, long], [(160, 90), long, (40, 30)]] {
                assert_eq!(stored(&pictures, 32), middle(Some(42)), "{pictures:?}");
            }
        }
        assert_eq!(stored(&[square, square, (4, 4000)], 32), middle(Some(42)));
        assert_eq!(stored(&[(240, 42); 3], 32), middle(Some(42)));
        for short in [4, 41] {
            assert_eq!(stored(&[(4000, short); 3], 32), middle(None), "{short}");
        }
    }

    #[test]
    fn pictures_that_cannot_be_opened_have_a_size_all_the_same() {
        let sizes = Sizes::of([PathBuf::from("none.png")].into_iter());
        assert_eq!((sizes.shorter, sizes.stored(32).is_whole), (UNKNOWN, false));
    }
}
