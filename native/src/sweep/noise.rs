//! The difference of the metrics of two points that can arise by chance.
//!
//! The standard error of a mean over seeds is their deviation over `√seeds`; that of a share of `n` held-out images is
//! `√(p (1 - p) / n)`, which no number of seeds makes smaller, since all see the same images. Of images of known subjects `n` is the
//! number of these, because images of one are alike. The larger one counts. Points are tied where they differ by at most twice the
//! error of the difference.

use super::outcome::Outcome;
use crate::metrics::catalogue::is_share_of_class;
use crate::metrics::leak::is_share;
use crate::metrics::mean_std::MeanStd;

/// Errors of a difference within which two points are tied.
const WITHIN: f64 = 2.0;

/// The number of held-out images, or of their subjects, if it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Noise {
    pub(crate) held_out: Option<usize>,
}

impl Noise {
    /// The standard error of a metric; none if it was measured once and is no share.
    fn error(self, metric: &str, outcome: &Outcome) -> Option<f64> {
        let MeanStd { mean, std } = outcome.amount(metric)?;
        let seeds = outcome.metrics.get(metric)?.values.len();
        let seed_error = std.map(|std| std / (seeds as f64).sqrt());
        let image_error = self
            .held_out
            .filter(|images| *images > 0 && (is_share_of_class(metric) || is_share(metric)))
            .map(|images| (mean * (1.0 - mean)).max(0.0).sqrt() / (images as f64).sqrt());
        match (seed_error, image_error) {
            (Some(seeds), Some(images)) => Some(seeds.max(images)),
            (seeds, images) => seeds.or(images),
        }
    }

    /// True if a metric of two points does not differ by more than chance.
    pub(crate) fn tied(self, metric: &str, one: &Outcome, other: &Outcome) -> bool {
        let (Some(first), Some(second)) = (one.amount(metric), other.amount(metric)) else { return false };
        let error = |outcome| self.error(metric, outcome).unwrap_or(0.0);
        (first.mean - second.mean).abs() <= WITHIN * error(one).hypot(error(other))
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::measured;
    use super::*;
    use crate::metrics::names::TOP1;

    #[test]
    fn points_are_tied_within_the_error_of_their_images_or_seeds() {
        let noise = Noise { held_out: Some(400) };
        let one = |top1: f64| measured(0, &[(TOP1, &[top1]), ("condition_r2", &[top1])]);
        // The error of 0.8 on 400 images is 0.02, and that of a difference 0.028.
        assert!(noise.tied(TOP1, &one(0.8), &one(0.85)) && !noise.tied(TOP1, &one(0.8), &one(0.87)));
        let unknown = Noise::default();
        assert!(!unknown.tied(TOP1, &one(0.8), &one(0.801)) && unknown.tied(TOP1, &one(0.8), &one(0.8)));
        assert!(!noise.tied("condition_r2", &one(0.8), &one(0.801)), "of one R² nothing is known");
        let seeds = |r2: &[f64]| measured(0, &[("condition_r2", r2)]);
        assert!(noise.tied("condition_r2", &seeds(&[0.1, 0.3]), &seeds(&[0.3, 0.5])));
        assert!(!noise.tied("condition_r2", &seeds(&[0.1, 0.11]), &seeds(&[0.3, 0.31])));
        assert!(
            !noise.tied("condition_r2", &seeds(&[-0.2, -9.0]), &seeds(&[0.3, 0.31])),
            "a seed finds no less than nothing"
        );
        let age = |leak: f64| measured(0, &[("age_top1", &[leak])]);
        assert!(noise.tied("age_top1", &age(0.8), &age(0.85)), "the leak of any category is a share");
    }
}
