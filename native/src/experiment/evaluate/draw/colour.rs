//! Conditions that are colours.

use simile_core::data::Condition;

/// The condition as colours, where it has three columns of 0..=255.
pub(super) fn colours(condition: &Condition) -> Option<Vec<[u8; 3]>> {
    let Condition::Numeric(values) = condition else { return None };
    let is_colour = values.columns() == 3 && values.data().iter().all(|value| (0.0..=255.0).contains(value));
    is_colour
        .then(|| values.iter_rows().map(|row| [0, 1, 2].map(|channel: usize| row[channel] as u8)).collect())
}

/// Place on the colour circle, 0..6; greys come first.
pub(super) fn hue([r, g, b]: [u8; 3]) -> f64 {
    let (r, g, b) = (f64::from(r), f64::from(g), f64::from(b));
    let (high, low) = (r.max(g).max(b), r.min(g).min(b));
    let span = high - low;
    match span {
        span if span < 16.0 => -1.0 + high / 256.0,
        span if high == r => ((g - b) / span).rem_euclid(6.0),
        span if high == g => (b - r) / span + 2.0,
        span => (r - g) / span + 4.0,
    }
}

#[cfg(test)]
mod tests {
    use simile_core::numeric::matrix::Matrix;

    use super::*;

    #[test]
    fn hues_go_round_the_circle_and_greys_come_first() {
        let circle = [
            [40, 40, 40],
            [200, 200, 200],
            [255, 0, 0],
            [255, 255, 0],
            [0, 255, 0],
            [0, 0, 255],
            [255, 0, 255],
        ];
        assert!(circle.windows(2).all(|pair| hue(pair[0]) < hue(pair[1])), "{:?}", circle.map(hue));
    }

    #[test]
    fn only_rgb_is_drawn_as_colour() {
        let numeric = |columns, value| Condition::Numeric(Matrix::from_fn(2, columns, |_, _| value).into());
        assert_eq!(colours(&numeric(3, 255.0)), Some(vec![[255; 3]; 2]));
        assert_eq!(colours(&numeric(2, 255.0)), None);
        assert_eq!(colours(&numeric(3, -1.0)), None);
    }
}
