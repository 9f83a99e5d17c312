//! BiasedMNIST (Bahng et al. 2020; the protocol of Hong and Yang 2021 that ConTeX follows): the background of a
//! digit has one of ten colours, and a fraction ρ of each class has the colour that belongs to the class.
//!
//! Of the `n` images of a class, in shuffled order, `⌊ρ n⌋` take the colour of their class; the remainder is cut
//! into runs of `⌈remainder / 9⌉` that take the other nine colours in shuffled order. A grey value of 0 becomes the
//! colour and any other becomes white; there is no colour noise. `ρ = 0.1` makes colour and class independent, as
//! in the test set and a validation set.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::colour_mnist::check_grey;
use crate::data::{Condition, Dataset, DatasetError, Images, Result};

/// The colour of each class. The 225s are in the released code.
pub const COLOURS: [[u8; 3]; 10] = [
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
    [225, 225, 0],
    [225, 0, 225],
    [0, 255, 255],
    [255, 128, 0],
    [255, 0, 128],
    [128, 0, 255],
    [128, 128, 128],
];

/// The names of [`COLOURS`], in its order.
pub const COLOUR_NAMES: [&str; 10] =
    ["red", "green", "blue", "yellow", "magenta", "cyan", "orange", "rose", "violet", "grey"];

/// The ρ for which colour and class are independent.
pub const UNBIASED: f64 = 0.1;

/// Colours grey `digits` (`[n, h, w, 1]`, ten classes) with a fraction `rho` of each class in its own colour.
/// Samples keep their order. Condition: `bias` (categorical), the index of the colour.
///
/// The published sets: training at ρ of 0.9 to 0.9999; test from MNIST's test digits, and validation from a random
/// tenth of its training digits, both at [`UNBIASED`].
///
/// # Errors
/// [`DatasetError::Parameter`] if `rho` is not in 0..=1, [`DatasetError::Shape`] if the images are not grey,
/// [`DatasetError::Label`] for a class above 9.
pub fn biased_mnist(digits: &Dataset, rho: f64, seed: u64) -> Result<Dataset> {
    if !(0.0..=1.0).contains(&rho) {
        return Err(DatasetError::parameter("rho", rho, "expected a number from 0 to 1"));
    }
    check_grey(&digits.images)?;
    crate::data::check_labels("the digits", &digits.labels, COLOURS.len())?;
    let bias = assign(&digits.labels, rho, &mut ChaCha8Rng::seed_from_u64(seed));
    let grey = digits.images.in_memory()?;
    let mut pixels = Vec::with_capacity(3 * grey.pixels.len());
    for (image, &bias) in grey.iter().zip(&bias) {
        let colour = COLOURS.get(bias).copied().unwrap_or_default();
        pixels.extend(image.iter().flat_map(|&grey| if grey == 0 { colour } else { [255; 3] }));
    }
    let images = Images::new(grey.height, grey.width, 3, pixels)?;
    let names = COLOUR_NAMES.map(String::from).to_vec();
    Dataset::new(images, digits.labels.clone(), digits.classes.clone())?
        .with_condition("bias", Condition::Categorical { values: bias, names })
}

/// The colour of each sample.
fn assign(labels: &[usize], rho: f64, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut bias = labels.to_vec();
    for class in 0..COLOURS.len() {
        let mut members: Vec<usize> =
            labels.iter().enumerate().filter(|&(_, &label)| label == class).map(|(i, _)| i).collect();
        members.shuffle(rng);
        let mut others: Vec<usize> = (0..COLOURS.len()).filter(|&colour| colour != class).collect();
        others.shuffle(rng);
        let aligned = (members.len() as f64 * rho) as usize;
        let conflicting = members.get(aligned..).unwrap_or_default();
        let run = conflicting.len().div_ceil(others.len()).max(1);
        for (members, &colour) in conflicting.chunks(run).zip(&others) {
            for &i in members {
                if let Some(bias) = bias.get_mut(i) {
                    *bias = colour;
                }
            }
        }
    }
    bias
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::digit_names;

    /// MNIST's training labels by count (5923 zeros, ...), one pixel of paper and one of faint ink an image.
    fn digits() -> Dataset {
        let counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
        let labels: Vec<usize> = counts.iter().enumerate().flat_map(|(c, &n)| vec![c; n]).collect();
        let images = Images::new(1, 2, 1, [0, 1].repeat(labels.len())).unwrap();
        Dataset::new(images, labels, digit_names()).unwrap()
    }

    fn bias(dataset: &Dataset) -> &[usize] {
        let Condition::Categorical { values, .. } = &dataset.conditions["bias"] else { unreachable!() };
        values
    }

    #[test]
    fn conflicting_samples_are_as_many_as_in_the_protocol() {
        let digits = digits();
        // recipes B.2: totals for each rho.
        let expected = [
            (0.9999, 10),
            (0.9997, 21),
            (0.9995, 33),
            (0.999, 63),
            (0.997, 184),
            (0.995, 305),
            (0.99, 606),
            (0.95, 3006),
            (0.9, 6006),
        ];
        for (rho, total) in expected {
            let bias = assign(&digits.labels, rho, &mut ChaCha8Rng::seed_from_u64(4));
            assert_eq!(bias.iter().zip(&digits.labels).filter(|(b, l)| b != l).count(), total, "rho {rho}");
        }
    }

    #[test]
    fn runs_of_equal_length_take_the_other_colours() {
        let dataset = biased_mnist(&digits(), UNBIASED, 4).unwrap();
        for class in 0..10 {
            let mut counts = [0_usize; 10];
            let of_class = bias(&dataset).iter().zip(&dataset.labels).filter(|&(_, &l)| l == class);
            of_class.for_each(|(&b, _)| counts[b] += 1);
            let n: usize = counts.iter().sum();
            let aligned = n / 10;
            assert_eq!(counts[class], aligned);
            let run = (n - aligned).div_ceil(9);
            let full = (0..10).filter(|&c| c != class && counts[c] == run).count();
            assert!(full >= 8, "{counts:?}: the last run alone may be shorter than {run}");
        }
    }

    #[test]
    fn paper_takes_the_colour_and_any_ink_is_white() {
        let dataset = biased_mnist(&digits(), 0.99, 4).unwrap();
        for i in (0..dataset.len()).step_by(977) {
            let colour = COLOURS[bias(&dataset)[i]];
            assert_eq!(dataset.images.read(&[i]).unwrap().pixels, [colour, [255; 3]].concat());
        }
        assert_eq!(biased_mnist(&digits(), 0.99, 4).unwrap(), dataset);
        assert_ne!(bias(&biased_mnist(&digits(), 0.99, 5).unwrap()), bias(&dataset));
    }

    #[test]
    fn a_fraction_outside_its_range_is_refused() {
        for rho in [-0.1, 1.1, f64::NAN] {
            assert!(biased_mnist(&digits(), rho, 0).unwrap_err().to_string().contains("`rho`"));
        }
        assert_eq!(bias(&biased_mnist(&digits(), 1.0, 0).unwrap()), digits().labels);
    }
}
