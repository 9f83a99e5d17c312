//! Chance beside a leak: the finding of a probe that knows nothing of an attribute, and the least leak that the evaluation images can
//! tell from it.

use std::fmt;

use crate::data::EvaluationSplit;
use crate::run_folder::record::{ImageCounts, RunResult};

/// The smallest difference that counts, as a share of the range of a metric.
pub(super) const NOTICEABLE: f64 = 0.02;
/// A leak counts as unchanged if it fell by less than this share of its excess over the base rate. A difference is noticeable as well if
/// it is this share of the range above the base rate, which is small for the accuracy of a rare value.
const MOVED: f64 = 0.1;

/// The images on which probes are measured, or their subjects where these are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Samples {
    count: usize,
    are_subjects: bool,
    split: EvaluationSplit,
}

impl Samples {
    /// The evaluation images of a run, which are those of a split, or their subjects; none if it does not say how many there are.
    pub(super) fn of(run: &RunResult, split: EvaluationSplit) -> Option<Self> {
        let ImageCounts { test, test_subjects, .. } = run.images?;
        let (count, are_subjects) = (test_subjects.unwrap_or(test), test_subjects.is_some());
        (count > 0).then_some(Self { count, are_subjects, split })
    }

    /// The key of `[data]` that sets how many images there are.
    pub(super) fn key(self) -> &'static str {
        self.split.key()
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, are_subjects, split } = self;
        let of_subjects = if *are_subjects { " subjects of the" } else { "" };
        write!(f, "{count}{of_subjects} {split} images")
    }
}

/// The value of a metric of a leak by chance, and the error of the metric on the evaluation images.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    base: f64,
    /// The least difference that counts on any number of images.
    noticeable: f64,
    /// The standard error of the difference of a probe that knows nothing from chance. No number of seeds makes it smaller, since all
    /// see the same images.
    error: f64,
    /// The `n` of the binomial error of a share, which bounds that of an area too; none for an R², whose error is `error` at any value.
    images: Option<f64>,
    /// True if the images are too few for any value near chance to show that little leaks.
    hides_leaks: bool,
}

impl Chance {
    /// The chance of a metric whose error is not known.
    fn of(base: f64) -> Self {
        let noticeable = NOTICEABLE.min(MOVED * (1.0 - base));
        Self { base, noticeable, error: 0.0, images: None, hides_leaks: false }
    }

    /// The chance of an R². By chance the square of a correlation stays below about four over the number of images. On few
    /// images a single bad prediction takes an R² far below 0, also where the attribute leaks.
    pub(super) fn from_r2(base: f64, samples: Option<Samples>) -> Self {
        let chance = Self::of(base);
        let error = samples.map_or(0.0, |samples| 2.0 / samples.count as f64);
        Self { error, hides_leaks: error > chance.noticeable, ..chance }
    }

    /// The chance of a share of images whose value is named: chance is a share of the same images.
    pub(super) fn from_share(base: f64, samples: Option<Samples>) -> Self {
        let chance = Self { images: samples.map(|samples| samples.count as f64), ..Self::of(base) };
        Self { error: chance.error_of_difference(base, base), ..chance }
    }

    /// The chance of an area under the ROC curve, where the part `share_of_one` of the images has one of the two values.
    /// The error of scores that have nothing to do with the value is that of the rank sum. That of others is at most the error of a share
    /// of the rarer value's images.
    pub(super) fn from_area(base: f64, samples: Option<Samples>, share_of_one: Option<f64>) -> Self {
        let counts = samples.zip(share_of_one).map(|(samples, share_of_one)| {
            let all = samples.count as f64;
            [all * share_of_one, all * (1.0 - share_of_one)]
        });
        let Some([one, other]) = counts.filter(|counts| counts.iter().all(|count| *count > 0.0)) else {
            return Self::of(base);
        };
        let error = ((one + other + 1.0) / (12.0 * one * other)).sqrt();
        Self { error, images: Some(one.min(other)), ..Self::of(base) }
    }

    /// True if a leak is hardly more than chance has, or may be chance.
    pub(super) fn is_little(&self, leak: f64) -> bool {
        leak - self.base < 2.0 * self.noticeable.max(self.error)
    }

    /// True if a leak is little for the error alone: on more images it may be one.
    pub(super) fn is_doubtful(&self, leak: f64) -> bool {
        self.is_little(leak) && (self.hides_leaks || leak - self.base >= 2.0 * self.noticeable)
    }

    /// The least change of a leak that counts. Far from chance the error is another one than near it.
    pub(super) fn least_change(&self, before: f64, after: f64) -> f64 {
        let error = self.error_of_difference(before, after);
        self.noticeable.max(MOVED * (before - self.base)).max(error)
    }

    /// The standard error of the difference of two values: that of two shares of as many images each, if images bound it.
    fn error_of_difference(&self, one: f64, other: f64) -> f64 {
        let variance = [one, other].map(|share| (share * (1.0 - share)).max(0.0)).iter().sum::<f64>();
        self.images.map_or(self.error, |images| (variance / images).sqrt())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::run_folder::testing::{run, variant};

    fn images(count: usize) -> Option<Samples> {
        Some(Samples { count, are_subjects: false, split: EvaluationSplit::Test })
    }

    #[test]
    fn a_leak_is_in_doubt_between_what_is_noticeable_and_what_is_no_error() {
        // Of 160 images twice the error of a difference from a half is 0.112.
        let chance = Chance::from_share(0.5, images(160));
        let kinds = [0.53, 0.55, 0.61, 0.62].map(|leak| (chance.is_little(leak), chance.is_doubtful(leak)));
        assert_eq!(kinds, [(true, false), (true, true), (true, true), (false, false)]);
        for certain in
            [Chance::from_share(0.5, None), Chance::of(0.5), Chance::from_area(0.5, images(160), None)]
        {
            assert!(certain.is_little(0.53) && !certain.is_little(0.55) && !certain.is_doubtful(0.55));
        }
        assert!(Chance::from_share(0.5, images(7)).is_doubtful(1.0), "seven coins");
        // Of 160 images 16 have one value: the standard error of the area is 0.076, whichever value that is.
        for share_of_one in [0.1, 0.9] {
            let area = Chance::from_area(0.5, images(160), Some(share_of_one));
            assert!(area.is_doubtful(0.65) && !area.is_little(0.66), "{area:?}");
        }
        assert!(
            !Chance::from_area(0.5, images(160), Some(1.0)).is_doubtful(0.55),
            "none has the other value"
        );
    }

    #[test]
    fn an_r2_on_few_images_is_in_doubt_up_to_four_over_their_number() {
        let few = Chance::from_r2(0.0, images(20));
        let kinds = [0.0, 0.05, 0.19, 0.21].map(|leak| (few.is_little(leak), few.is_doubtful(leak)));
        assert_eq!(kinds, [(true, true), (true, true), (true, true), (false, false)]);
        assert!((few.least_change(0.3, 0.25) - 0.1).abs() < 1e-9);
        // From a hundred images on four over their number is no more than what is noticeable.
        for certain in [Chance::from_r2(0.0, images(100)), Chance::from_r2(0.0, None)] {
            assert!(certain.is_little(0.03) && !certain.is_doubtful(0.0) && !certain.is_little(0.05));
            assert!((certain.least_change(0.1, 0.2) - 0.02).abs() < 1e-9);
        }
    }

    #[test]
    fn the_error_of_a_change_is_that_at_both_values() {
        let least = |base: f64, count: usize, before: f64, after: f64| {
            Chance::from_share(base, images(count)).least_change(before, after)
        };
        // A tenth of the excess over chance counts: of 100 images the error is 0.033 there, and 0.071 near chance.
        assert!((least(0.5, 100, 0.97, 0.91) - 0.047).abs() < 1e-9);
        assert!((least(0.5, 20, 0.85, 0.8) - 0.1199).abs() < 1e-4);
        assert!((Chance::of(0.0).least_change(0.1, 0.2) - 0.02).abs() < 1e-9);
        let area = Chance::from_area(0.5, images(160), Some(0.9)).least_change(0.75, 0.8);
        assert!((area - 0.1474).abs() < 1e-4, "{area}");
    }

    #[test]
    fn subjects_stand_for_their_images() {
        let of = |test: usize, test_subjects: Option<usize>, split: EvaluationSplit| {
            let mut run = run("a", 0, "", vec![variant("plain", 0.5)]).result;
            run.images = Some(ImageCounts { train: 9, test, test_subjects });
            Samples::of(&run, split).map(|samples| samples.to_string())
        };
        assert_eq!(of(40, Some(5), EvaluationSplit::Test).unwrap(), "5 subjects of the test images");
        assert_eq!(of(40, None, EvaluationSplit::Test).unwrap(), "40 test images");
        assert_eq!(of(40, None, EvaluationSplit::HeldOut).unwrap(), "40 held-out training images");
        assert_eq!(of(0, None, EvaluationSplit::Test), None);
    }
}
