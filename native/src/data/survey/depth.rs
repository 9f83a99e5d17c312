//! Pictures of 16 bits a value that use little of their range, so that the 8 bits that are read hardly tell their values apart.

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::data::pictures::decode::range_of_16_bits;
use crate::data::pictures::list::PictureList;

/// Most pictures that are looked at, evenly spread: each is decoded once more.
const MOST: usize = 1000;
/// A picture whose values lie no further apart uses a quarter of the range at most.
const NARROW: u16 = u16::MAX / 4;

/// A note if most of the pictures with 16 bits use little of their range, such as scans of 12 bits.
pub(super) fn note(list: PictureList<'_>) -> Option<String> {
    let step = list.files.len().div_ceil(MOST).max(1);
    let sample: Vec<&String> = list.files.iter().step_by(step).collect();
    let ranges: Vec<(u16, u16)> =
        sample.par_iter().filter_map(|file| range_of_16_bits(&list.root.join(file))).collect();
    let narrow: Vec<(u16, u16)> = ranges.iter().copied().filter(|(low, high)| high - low <= NARROW).collect();
    if 2 * narrow.len() < ranges.len() {
        return None;
    }
    let low = narrow.iter().map(|(low, _)| low).min()?;
    let high = narrow.iter().map(|(_, high)| high).max()?;
    let levels = narrow.iter().map(|(low, high)| level(*high) - level(*low) + 1).max()?;
    let of =
        if step > 1 { format!(", of {} pictures that were looked at,", sample.len()) } else { String::new() };
    Some(format!(
        "values of {} 16-bit pictures{of} go from {low} to {high} of 65535, which leaves a picture at most {levels} of the 256 levels \
         that are read; stretch them to 8 bits first",
        narrow.len()
    ))
}

/// The value of 8 bits that a value of 16 bits is read as.
fn level(value: u16) -> u32 {
    (u32::from(value) + 128) / 257
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A note on pictures whose values go from some to others.
    fn noted(ranges: &[(u16, u16)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<String> = (0..ranges.len()).map(|at| format!("{at}.png")).collect();
        for (file, (low, high)) in files.iter().zip(ranges) {
            let values = |x: u32, _: u32| image::Luma([if x == 0 { *low } else { *high }]);
            let picture: image::ImageBuffer<image::Luma<u16>, Vec<u16>> =
                image::ImageBuffer::from_fn(3, 2, values);
            picture.save(folder.path().join(file)).unwrap();
        }
        let plain = folder.path().join("8.png");
        image::GrayImage::new(3, 2).save(plain).unwrap();
        let files = [&files[..], &["8.png".into(), "none.png".into()]].concat();
        note(PictureList { root: folder.path(), files: &files })
    }

    #[test]
    fn scans_whose_values_fall_together_are_noted() {
        let text = noted(&[(254, 900), (300, 930), (0, 65_535)]).unwrap();
        assert!(text.starts_with("values of 2 16-bit pictures go from 254 to 930 of 65535"), "{text}");
        assert!(text.contains("at most 4 of the 256 levels"), "{text}");
        // Values with a sign, which are stored from the middle.
        assert!(noted(&[(31_744, 34_768)]).unwrap().contains("at most 12 of"));
        assert_eq!(noted(&[]), None);
        assert_eq!(noted(&[(0, 65_535), (0, 20_000), (0, 16_000)]), None);
    }
}
