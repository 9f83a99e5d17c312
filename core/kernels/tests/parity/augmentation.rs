use burn::tensor::{Device, Tensor, TensorData};
use simile_kernels::{Colour, Filter, View, Views, augment, augment_pixels};

use crate::devices::{assert_close, noise, targets, values};

/// Views of every kind; the first changes nothing.
fn views(colours: bool) -> Vec<View> {
    use Colour::{Brightness, Contrast, Hue, Saturation};
    let orders = [
        [Contrast(0.7), Brightness(1.3), Hue(0.13), Saturation(0.6)],
        [Hue(-0.4), Saturation(1.8), Contrast(1.4), Brightness(0.8)],
        [Brightness(0.9), Saturation(1.2), Hue(0.5), Contrast(0.2)],
    ];
    let views = (0..8).map(|i| View {
        window: [None, Some([1, 2, 5, 7]), Some([0, 3, 9, 4])][i % 3],
        angle: [0.0, 0.0, 17.3, -121.7][i % 4],
        flip: i % 2 == 1,
        colour: orders.get(i % 4).copied().filter(|_| colours && i > 0),
        grey: colours && i % 5 == 3,
        sigma: [None, Some(0.8), Some(2.1)][i / 2 % 3],
    });
    views.collect()
}

/// Compares the loop of the CPU, which another test compares with torchvision, with every other body.
fn check([n, channels, height, width]: [usize; 4], size: [usize; 2], filter: Filter, views: Vec<View>) {
    let images: Vec<f64> =
        noise(n * channels * height * width, 7).into_iter().map(|x| 0.5 + 0.5 * x).collect();
    let shape = [n, channels, height, width];
    let views = Views { size, filter, radius: 2, views: views.into() };
    let reference = TensorData::new(images.clone(), shape).convert::<f32>();
    let reference = values(augment(Tensor::from_data(reference, &Device::flex()), &views));
    for target in targets() {
        let leaf = target.leaf(&images, shape);
        let augmented = augment(leaf.clone(), &views);
        assert_eq!((augmented.dims(), augmented.dtype()), ([n, channels, size[0], size[1]], target.dtype));
        assert!(!augmented.is_require_grad(), "views are constants");
        assert_close(&values(augmented), &reference, &target.in_f32(), "views");
        assert_close(&values(leaf), &images, &target.in_f32(), "images that are still needed");
    }
    check_pixels(&images, shape, &views);
}

/// Compares views of the images as bytes with those of the same bytes as numbers: they have the same bits, normalised too.
fn check_pixels(images: &[f64], [n, channels, height, width]: [usize; 4], views: &Views) {
    let planes: Vec<u8> = images.iter().map(|x| (255.0 * x).round() as u8).collect();
    let numbers = planes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
    let numbers = TensorData::new(numbers, [n, channels, height, width]);
    let area = height * width;
    let pixels: Vec<u8> = planes
        .chunks_exact(channels * area)
        .flat_map(|planes| (0..area * channels).map(|at| planes[at % channels * area + at / channels]))
        .collect();
    let own = |normalisation: &[[f32; 2]]| {
        augment_pixels(pixels.chunks_exact(channels * area), [height, width, channels], views, normalisation)
    };
    let expected: Vec<f32> =
        augment(Tensor::from_data(numbers, &Device::flex()), views).into_data().iter::<f32>().collect();
    assert!(own(&[]) == expected, "views of bytes");

    let normalisation: Vec<[f32; 2]> =
        (0..channels).map(|channel| [2.0 + channel as f32, 0.1 - channel as f32]).collect();
    let plane = views.size[0] * views.size[1];
    let normalised = expected.chunks_exact(plane).zip(normalisation.iter().cycle());
    let normalised: Vec<f32> = normalised
        .flat_map(|(plane, [scale, shift])| plane.iter().map(move |value| value * scale + shift))
        .collect();
    assert!(own(&normalisation) == normalised, "normalised views of bytes");
}

#[test]
fn colours() {
    for filter in [Filter::Bilinear, Filter::Bicubic] {
        for size in [[9, 12], [5, 4], [21, 17]] {
            check([8, 3, 9, 12], size, filter, views(true));
        }
    }
}

#[test]
fn one_channel() {
    check([8, 1, 9, 12], [9, 12], Filter::Bilinear, views(false));
}

/// Neither one channel nor colours.
#[test]
fn two_channels() {
    check([8, 2, 9, 12], [5, 4], Filter::Bilinear, views(false));
}

#[test]
fn no_images() {
    for target in targets() {
        let views =
            Views { size: [5, 4], filter: Filter::Bilinear, radius: 2, views: Vec::<View>::new().into() };
        assert_eq!(augment(target.leaf(&[], [0, 3, 9, 12]), &views).dims(), [0, 3, 5, 4], "{}", target.name);
    }
}

/// GPUs fold the views beyond 32,768, so some cubes have none.
#[test]
fn more_views_than_cubes_in_a_row() {
    let colour =
        Some([Colour::Brightness(1.2), Colour::Contrast(0.4), Colour::Saturation(1.1), Colour::Hue(0.1)]);
    let view = |i: usize| View {
        flip: i % 2 == 1,
        colour: colour.filter(|_| i.is_multiple_of(3)),
        ..View::default()
    };
    check([32_770, 3, 1, 2], [1, 2], Filter::Bilinear, (0..32_770).map(view).collect());
}

/// More pixels than one cube takes.
#[test]
fn the_mean_of_a_large_image() {
    let colour =
        Some([Colour::Hue(0.1), Colour::Contrast(0.4), Colour::Brightness(1.2), Colour::Saturation(1.1)]);
    let view = View { window: Some([5, 3, 50, 61]), colour, ..View::default() };
    check([2, 3, 70, 70], [70, 70], Filter::Bilinear, vec![view, View::default()]);
}
