//! Digits that are drawn, not downloaded: ten classes of strokes under random changes of shape, position and pen,
//! in dark ink on a coloured background. The condition is the background colour, as in [`super::colour_mnist`].

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::colour_mnist::{Backgrounds, Colours};
use super::glyph::{Canvas, GLYPHS, Point, curve};
use crate::data::{Dataset, DatasetError, Images, Result, digit_names};

/// Height and width of a drawn digit.
pub const SIDE: usize = 32;

/// The largest value of each random change. They are chosen such that a linear classifier of the pixels stays well
/// below 90 % while a small convolutional network passes 97 %.
mod change {
    /// Standard deviation of a control point, as a part of the digit's size.
    pub(in crate::data) const POINT: f64 = 0.03;
    /// Height of a digit in pixels.
    pub(in crate::data) const HEIGHT: std::ops::Range<f64> = 17.0..27.0;
    /// Width of its unit square over its height.
    pub(in crate::data) const ASPECT: std::ops::Range<f64> = 0.75..1.15;
    /// Shift to the right for each pixel upwards.
    pub(in crate::data) const SLANT: f64 = 0.3;
    /// Tangent of half the angle of rotation: 0.12 is 14 degrees.
    pub(in crate::data) const HALF_TURN: f64 = 0.12;
    /// Distance in pixels between the middle of the digit and the middle of the image, in each direction.
    pub(in crate::data) const SHIFT: f64 = 3.0;
    /// Thickness of the pen in pixels.
    pub(in crate::data) const THICKNESS: std::ops::Range<f64> = 1.4..3.6;
    /// Fraction of the background's light that the ink absorbs.
    pub(in crate::data) const INK: std::ops::Range<f64> = 0.6..1.0;
    /// Standard deviation of the noise of the brightness of a pixel, of 255.
    pub(in crate::data) const NOISE: std::ops::Range<f64> = 0.0..20.0;
}

/// Draws `count` digits on backgrounds of `colours`, `[count, 32, 32, 3]`: classes as balanced as possible, in
/// random order. Conditions: `colour` and, for [`Colours::Palette`], `palette`.
///
/// The same seed gives the same images on every platform; take another seed for the test images.
///
/// # Errors
/// [`DatasetError::Parameter`] if `count` is zero.
pub fn draw_digits(count: usize, colours: Colours, seed: u64) -> Result<Dataset> {
    if count == 0 {
        return Err(DatasetError::parameter("count", count, "expected at least 1"));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut labels: Vec<usize> = (0..count).map(|i| i % GLYPHS.len()).collect();
    rand::seq::SliceRandom::shuffle(labels.as_mut_slice(), &mut rng);
    let mut backgrounds = Backgrounds::default();
    let mut canvas = Canvas::new(SIDE);
    let mut pixels = Vec::with_capacity(count * SIDE * SIDE * 3);
    for &label in &labels {
        let background = backgrounds.draw(colours, &mut rng).map(f64::from);
        canvas.clear();
        write(label, &mut canvas, &mut rng);
        let ink = rng.random_range(change::INK);
        let noise = rng.random_range(change::NOISE);
        for &coverage in canvas.coverage() {
            let deviation: f64 = rng.sample(StandardNormal);
            let light = 1.0 - ink * coverage;
            pixels.extend(background.map(|c| (light * c + noise * deviation).clamp(0.0, 255.0) as u8));
        }
    }
    backgrounds.condition(Dataset::new(Images::new(SIDE, SIDE, 3, pixels)?, labels, digit_names())?)
}

/// Writes one digit on an empty canvas.
fn write(label: usize, canvas: &mut Canvas, rng: &mut impl Rng) {
    let ways = GLYPHS.get(label).copied().unwrap_or_default();
    let way = rng.random_range(0..ways.len().max(1) as u32) as usize;
    let place = Place::draw(rng);
    let thickness = rng.random_range(change::THICKNESS);
    // Strokes that meet in a point stay joined: the point moves, not the end of each stroke.
    let mut new_points: Vec<(Point, Point)> = Vec::new();
    for stroke in ways.get(way).copied().unwrap_or_default() {
        let points: Vec<Point> = stroke
            .iter()
            .map(|point| match new_points.iter().find(|(from, _)| from == point) {
                Some(&(_, to)) => to,
                None => {
                    let jittered = point.map(|v| v + change::POINT * rng.sample::<f64, _>(StandardNormal));
                    let to = place.of(jittered);
                    new_points.push((*point, to));
                    to
                }
            })
            .collect();
        curve(&points, |from, to| canvas.line(from, to, thickness));
    }
}

/// The position of a digit's unit square on the canvas.
struct Place {
    /// Columns of the linear part: images of the steps to the right and downwards.
    right: Point,
    down: Point,
    middle: Point,
}

impl Place {
    fn draw(rng: &mut impl Rng) -> Self {
        let height = rng.random_range(change::HEIGHT);
        let width = height * rng.random_range(change::ASPECT);
        let slant = rng.random_range(-change::SLANT..change::SLANT);
        let t = rng.random_range(-change::HALF_TURN..change::HALF_TURN);
        let (cosine, sine) = ((1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t));
        let mut shift = || SIDE as f64 / 2.0 + rng.random_range(-change::SHIFT..change::SHIFT);
        Self {
            right: [width * cosine, width * sine],
            down: [-height * (sine + slant * cosine), height * (cosine - slant * sine)],
            middle: [shift(), shift()],
        }
    }

    fn of(&self, point: Point) -> Point {
        let (x, y) = (point[0] - 0.5, point[1] - 0.5);
        std::array::from_fn(|k| self.middle[k] + x * self.right[k] + y * self.down[k])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::Condition;

    /// FNV-1a, 64 bits: a fixed hash, unlike the standard library's.
    fn hash(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
    }

    #[test]
    fn the_seed_decides_every_pixel_on_every_platform() {
        let dataset = draw_digits(200, Colours::Palette, 0).unwrap();
        assert_eq!(
            hash(&dataset.images.in_memory().unwrap().pixels),
            9_437_351_984_322_314_578,
            "the drawn digits have changed"
        );
        let other = draw_digits(200, Colours::Palette, 1).unwrap();
        assert_ne!(other.images, dataset.images);
    }

    #[test]
    fn classes_are_balanced_and_conditions_are_known() {
        let dataset = draw_digits(1003, Colours::Uniform, 5).unwrap();
        let counts = dataset.class_counts();
        assert!(counts.iter().all(|&c| c == 100 || c == 101), "{counts:?}");
        assert_ne!(dataset.labels[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(matches!(&dataset.conditions["colour"], Condition::Numeric(m) if m.rows() == 1003));
        assert!(draw_digits(100, Colours::Palette, 5).unwrap().conditions.contains_key("palette"));
        assert!(draw_digits(0, Colours::Palette, 5).is_err());
    }

    #[test]
    fn the_ground_has_its_colour_and_the_ink_is_darker() {
        let dataset = draw_digits(400, Colours::Uniform, 6).unwrap();
        let colour = dataset.conditions["colour"].to_matrix();
        let mut ink = 0.0;
        for (image, background) in dataset.images.in_memory().unwrap().iter().zip(colour.iter_rows()) {
            // The brightest channel is hardly clipped by the noise.
            let channel = (0..3).max_by(|&a, &b| background[a].total_cmp(&background[b])).unwrap();
            let mut values: Vec<f64> = image.iter().skip(channel).step_by(3).map(|&v| f64::from(v)).collect();
            values.sort_by(f64::total_cmp);
            let median = values[values.len() / 2];
            assert!((median - background[channel]).abs() < 12.0, "{median} {}", background[channel]);
            if background[channel] > 150.0 {
                let dark = values.iter().filter(|&&v| v < 0.5 * background[channel]).count();
                ink += dark as f64 / values.len() as f64;
                assert!(dark > 12, "{dark} dark pixels");
            }
        }
        assert!((0.02..0.3).contains(&(ink / 400.0)), "{ink}");
    }
}
