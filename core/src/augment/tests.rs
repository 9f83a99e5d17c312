#![allow(clippy::unwrap_used)]

use burn::tensor::{DType, Device, Tensor, TensorData};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::{
    Augmentation, Blur, ColourChange, Crop, Normalisation, PRESETS, ViewParameters, Window, preprocess,
};
use crate::data::Images;
use crate::data::resize::Interpolation;

#[derive(Deserialize)]
struct Vectors {
    height: usize,
    width: usize,
    images: Vec<Vec<f32>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    image: usize,
    size: Option<usize>,
    interpolation: Interpolation,
    window: Option<[usize; 4]>,
    angle: f64,
    flip: bool,
    colour: Option<ColourChange>,
    grey: bool,
    kernel: usize,
    sigma: Option<f64>,
    expected: Vec<f32>,
}

impl Case {
    fn augmentation(&self) -> Augmentation {
        let crop = Crop { interpolation: self.interpolation, ..Crop::default() };
        let blur = Blur { kernel: self.kernel, ..Blur::default() };
        Augmentation { size: self.size, crop: Some(crop), blur: Some(blur), ..Augmentation::default() }
    }

    fn parameters(&self) -> ViewParameters {
        let window = self.window.map(|[top, left, height, width]| Window { top, left, height, width });
        let (rotation, flip, colour, grey, blur_sigma) =
            (self.angle, self.flip, self.colour.clone(), self.grey, self.sigma);
        ViewParameters { window, rotation, flip, colour, grey, blur_sigma }
    }
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../tests/vectors/augment.json")).unwrap()
}

impl Vectors {
    fn batch(&self, images: &[usize]) -> Tensor<4> {
        self.batch_of(images, DType::F32)
    }

    fn batch_of(&self, images: &[usize], dtype: DType) -> Tensor<4> {
        let values: Vec<f32> =
            images.iter().flat_map(|&i| self.images[i].iter().map(|v| v / 255.0)).collect();
        let shape = [images.len(), 3, self.height, self.width];
        Tensor::from_data(TensorData::new(values, shape), (&Device::flex(), dtype))
    }
}

fn values(tensor: Tensor<4>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn random_batch(n: usize, side: usize) -> Tensor<4> {
    use rand::RngExt;
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let values: Vec<f32> = (0..n * 3 * side * side).map(|_| rng.random::<f32>()).collect();
    Tensor::from_data(TensorData::new(values, [n, 3, side, side]), &Device::flex())
}

/// The types of the images under test.
const WAYS: [DType; 2] = [DType::F32, DType::F64];

#[test]
fn each_step_equals_torchvision() {
    let vectors = vectors();
    for (at, case) in vectors.cases.iter().enumerate() {
        for dtype in WAYS {
            let image = vectors.batch_of(&[case.image], dtype);
            let view = case.augmentation().apply(image, &[case.parameters()]).unwrap();
            assert_eq!(view.dtype(), dtype);
            let worst = largest_difference(&values(view), &case.expected);
            // 8-bit rounding after each of Pillow's two passes; colour and blur are float in torchvision too.
            let geometric = case.size.is_some() || case.window.is_some();
            let bound = if geometric { 2.0 / 255.0 } else { 2e-4 };
            assert!(worst < bound, "case {at} in {dtype:?}: {worst}");
        }
    }
}

#[test]
fn samples_of_a_batch_do_not_touch_each_other() {
    let vectors = vectors();
    // Cases that share one output size, kernel and filter, in one batch with an unchanged sample.
    let same = |case: &&Case| case.size.is_none() && case.kernel == 3 && case.window.is_none();
    let cases: Vec<&Case> = vectors.cases.iter().filter(same).collect();
    assert!(cases.len() >= 9);
    let images: Vec<usize> = cases.iter().map(|case| case.image).chain([1]).collect();
    let parameters: Vec<ViewParameters> =
        cases.iter().map(|case| case.parameters()).chain([ViewParameters::default()]).collect();
    for dtype in WAYS {
        let batch = vectors.batch_of(&images, dtype);
        let views = values(cases[0].augmentation().apply(batch.clone(), &parameters).unwrap());
        let size = 3 * vectors.height * vectors.width;
        for (view, case) in views.chunks_exact(size).zip(&cases) {
            assert!(largest_difference(view, &case.expected) < 2e-4);
        }
        let unchanged = values(vectors.batch(&[1]));
        assert!(largest_difference(&views[cases.len() * size..], &unchanged) < 1e-6);
        assert_eq!(values(batch), values(vectors.batch_of(&images, dtype)), "the images are still needed");
    }
}

#[test]
fn windows_have_the_area_and_the_shape_that_were_asked_for() {
    let crop = Crop { scale: [0.3, 0.6], ratio: [0.75, 4.0 / 3.0], ..Crop::default() };
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut area = 0.0;
    for _ in 0..4000 {
        let Window { top, left, height, width } = crop.draw((64, 48), 1.0, &mut rng);
        assert!(top + height <= 64 && left + width <= 48);
        let part = (height * width) as f64 / (64.0 * 48.0);
        let shape = width as f64 / height as f64;
        assert!((0.28..0.63).contains(&part) && (0.72..1.4).contains(&shape), "{part} {shape}");
        area += part / 4000.0;
    }
    assert!((area - 0.45).abs() < 0.02, "{area}");
    // Nothing of this shape fits a strip: the largest central window of the allowed shape is taken.
    let window = Crop::default().draw((4, 64), 1.0, &mut rng);
    assert_eq!(window, Window { top: 0, left: 29, height: 4, width: 5 });
    let window = Crop { scale: [1.0, 1.0], ..Crop::default() }.draw((64, 4), 1.0, &mut rng);
    assert_eq!(window, Window { top: 29, left: 0, height: 5, width: 4 });
}

#[test]
fn a_flip_undoes_itself_and_a_whole_window_is_the_identity() {
    let images = random_batch(3, 8);
    let flip = vec![ViewParameters { flip: true, ..ViewParameters::default() }; 3];
    let augmentation = Augmentation { flip: 1.0, ..Augmentation::default() };
    let once = augmentation.apply(images.clone(), &flip).unwrap();
    let twice = augmentation.apply(once.clone(), &flip).unwrap();
    assert_ne!(values(once.clone()), values(images.clone()));
    assert_eq!(values(twice), values(images.clone()));
    let whole = Window { top: 0, left: 0, height: 8, width: 8 };
    let whole = vec![ViewParameters { window: Some(whole), flip: true, ..ViewParameters::default() }; 3];
    let crop = Augmentation { crop: Some(Crop::default()), ..Augmentation::default() };
    assert!(largest_difference(&values(crop.apply(images, &whole).unwrap()), &values(once)) < 1e-6);
}

#[test]
fn the_generator_decides_the_view() {
    let augmentation = Augmentation::preset("difficulty-cifar").unwrap();
    let images = random_batch(16, 12);
    let view =
        |seed| values(augmentation.view(images.clone(), &mut ChaCha8Rng::seed_from_u64(seed)).unwrap());
    assert_eq!(view(1), view(1));
    assert!(largest_difference(&view(1), &view(2)) > 0.1);
    assert!(view(3).iter().all(|v| (-1e-6..=1.0 + 1e-6).contains(v)));
}

#[test]
fn probabilities_are_kept() {
    let augmentation = Augmentation::preset("difficulty-cifar").unwrap();
    let drawn = augmentation.draw(4000, 32, 32, &mut ChaCha8Rng::seed_from_u64(5)).unwrap();
    let part = |of: fn(&ViewParameters) -> bool| drawn.iter().filter(|view| of(view)).count() as f64 / 4000.0;
    assert!((part(|view| view.flip) - 0.5).abs() < 0.04);
    assert!((part(|view| view.colour.is_some()) - 0.8).abs() < 0.04);
    assert!((part(|view| view.grey) - 0.2).abs() < 0.04);
    assert!((part(|view| view.blur_sigma.is_some()) - 0.5).abs() < 0.04);
    assert!(drawn.iter().all(|view| view.window.is_some()));
}

#[test]
fn every_preset_is_valid_and_makes_a_view() {
    for (name, _) in PRESETS {
        let augmentation = Augmentation::preset(name).unwrap();
        let view = augmentation.view(random_batch(4, 32), &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        assert_eq!(view.dims(), [4, 3, 32, 32], "{name}");
        let text = serde_json::to_string(&augmentation).unwrap();
        assert_eq!(serde_json::from_str::<Augmentation>(&text).unwrap(), augmentation, "{text}");
    }
    let error = Augmentation::preset("cclk-color-mnist").unwrap_err().to_string();
    assert!(
        error.contains("unknown views `cclk-color-mnist`") && error.contains("cclk-colour-mnist"),
        "{error}"
    );
    assert!(serde_json::from_str::<Augmentation>(r#"{"crops": {}}"#).is_err());
}

#[test]
fn parameters_outside_their_range_are_named() {
    let base = Augmentation::default;
    let crop = |crop| Augmentation { crop: Some(crop), ..base() };
    let cases = [
        (Augmentation { flip: 1.5, ..base() }, "`flip`"),
        (Augmentation { size: Some(0), ..base() }, "`size`"),
        (crop(Crop { scale: [0.5, 0.2], ..Crop::default() }), "`crop.scale`"),
        (crop(Crop { ratio: [0.0, 1.0], ..Crop::default() }), "`crop.ratio`"),
        (Augmentation { blur: Some(Blur { kernel: 4, ..Blur::default() }), ..base() }, "`blur.kernel`"),
    ];
    for (augmentation, name) in cases {
        let error = augmentation.view(random_batch(1, 4), &mut ChaCha8Rng::seed_from_u64(1)).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
    let outside = Window { top: 2, left: 0, height: 3, width: 4 };
    let parameters = [ViewParameters { window: Some(outside), ..ViewParameters::default() }];
    assert!(base().apply(random_batch(1, 4), &parameters).unwrap_err().to_string().contains("window"));
    assert!(base().apply(random_batch(2, 4), &parameters).is_err());
}

#[test]
fn normalisation_is_per_channel() {
    let images = random_batch(2, 3);
    let (mean, std) = ([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]);
    let constants = Normalisation { mean: mean.to_vec(), std: std.to_vec() };
    let normalised = values(constants.apply(images.clone()).unwrap());
    let raw = values(images.clone());
    for (at, (a, b)) in normalised.iter().zip(&raw).enumerate() {
        let channel = at % 27 / 9;
        let expected = (f64::from(*b) - mean[channel]) / std[channel];
        assert!((f64::from(*a) - expected).abs() < 1e-5);
    }
    assert_eq!(values(Normalisation::identity(3).apply(images.clone()).unwrap()), raw);
    assert!(Normalisation::identity(1).apply(images).is_err());
}

#[test]
fn crops_of_squeezed_pictures_have_the_distribution_of_the_pictures() {
    // Means of place and size, as parts of the picture, and of their squares.
    let moments = |(height, width): (usize, usize), stretch: f64| {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let mut sums = [0.0; 8];
        for _ in 0..20_000 {
            let window = Crop::default().draw((height, width), stretch, &mut rng);
            let parts =
                [(window.top, height), (window.left, width), (window.height, height), (window.width, width)];
            for (at, (part, whole)) in parts.into_iter().enumerate() {
                let part = part as f64 / whole as f64;
                sums[2 * at] += part / 20_000.0;
                sums[2 * at + 1] += part * part / 20_000.0;
            }
        }
        sums
    };
    for (picture, stretch) in [((900, 1200), 4.0 / 3.0), ((1600, 1000), 0.625), ((300, 1500), 5.0)] {
        let (own, squeezed) = (moments(picture, 1.0), moments((1000, 1000), stretch));
        // Five deviations of a mean of numbers from 0 to 1.
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 5.0 * 0.5 / 141.0;
        assert!(own.iter().zip(&squeezed).all(near), "{picture:?}: {own:?} {squeezed:?}");
    }
}

#[test]
fn a_centre_crop_is_the_middle_of_the_picture_as_it_is() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let centre = Augmentation { size: Some(28), centre_crop: true, ..Augmentation::default() };
    let window = |top, left, height, width| Some(Window { top, left, height, width });
    // 28 of 40 pixels; of pictures twice as wide as high, and half as wide.
    let drawn = centre.draw_stretched(&[1.0, 2.0, 0.5], (40, 40), &mut rng).unwrap();
    let windows: Vec<_> = drawn.into_iter().map(|view| view.window).collect();
    assert_eq!(windows, [window(6, 6, 28, 28), window(6, 13, 28, 14), window(13, 6, 14, 28)]);

    // Evaluation takes the same pixels, where a half is rounded up and where it is rounded down.
    for side in [31, 33, 40] {
        let pixels: Vec<u8> = (0..side * side).map(|i| (i * 37 % 256) as u8).collect();
        let picture = Images::new(side, side, 1, pixels).unwrap();
        let expected = preprocess::middle(&picture, 28).unwrap();
        let tensor = |images: &Images| {
            let values: Vec<f32> = images.pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
            let shape = [1, 1, images.height, images.width];
            Tensor::<4>::from_data(TensorData::new(values, shape), &Device::flex())
        };
        let view = centre.view(tensor(&picture), &mut rng).unwrap();
        assert_eq!(view.into_data(), tensor(&expected).into_data());
    }
    assert!(centre.draw(1, 27, 40, &mut rng).unwrap_err().to_string().contains("27"));
    for wrong in [
        Augmentation { size: None, ..centre.clone() },
        Augmentation { crop: Some(Crop::default()), ..centre.clone() },
    ] {
        assert!(wrong.validate().unwrap_err().to_string().contains("centre_crop"));
    }
}

#[test]
fn without_a_crop_the_middle_of_a_squeezed_picture_is_seen() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let none = Augmentation { size: Some(8), ..Augmentation::default() };
    let drawn = none.draw_stretched(&[1.0, 2.0, 0.5], (40, 40), &mut rng).unwrap();
    let windows: Vec<_> = drawn.into_iter().map(|view| view.window).collect();
    let wide = Window { top: 0, left: 10, height: 40, width: 20 };
    let high = Window { top: 10, left: 0, height: 20, width: 40 };
    assert_eq!(windows, [None, Some(wide), Some(high)]);
}
