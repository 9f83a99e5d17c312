//! Rotation about the centre and horizontal flip: each output pixel is one pixel of the input.

use burn::tensor::{Bool, Int, Tensor, TensorData};

use super::Sample;

/// Rotates each sample by its angle, counter-clockwise, taking the nearest pixel; what comes from outside is black.
/// This is Pillow's `rotate` and torchvision's `RandomRotation` with their defaults.
pub(super) fn rotate(images: Tensor<4>, samples: &[Sample]) -> Tensor<4> {
    let [n, channels, height, width] = images.dims();
    let area = height * width;
    let sources: Vec<i32> = samples.iter().flat_map(|sample| sources(sample.angle, height, width)).collect();
    let device = images.device();
    let sources = Tensor::<2, Int>::from_data(TensorData::new(sources, [n, area]), &device);
    let sources = sources.unsqueeze_dim::<3>(1).expand([n, channels, area]);
    // One black pixel past the end stands for everything outside.
    let black = Tensor::<3>::zeros([n, channels, 1], (&device, images.dtype()));
    let padded = Tensor::cat(vec![images.reshape([n, channels, area]), black], 2);
    padded.gather(2, sources).reshape([n, channels, height, width])
}

/// The index of the input pixel of each output pixel; `height * width` for outside.
pub(super) fn sources(angle: f64, height: usize, width: usize) -> impl Iterator<Item = i32> {
    let (sine, cosine) = angle.to_radians().sin_cos();
    let (middle_x, middle_y) = (width as f64 / 2.0, height as f64 / 2.0);
    (0..height * width).map(move |at| {
        let x = (at % width) as f64 + 0.5 - middle_x;
        let y = (at / width) as f64 + 0.5 - middle_y;
        let column = (cosine * x - sine * y + middle_x).floor();
        let row = (sine * x + cosine * y + middle_y).floor();
        let inside = (0.0..width as f64).contains(&column) && (0.0..height as f64).contains(&row);
        if inside { (row as usize * width + column as usize) as i32 } else { (height * width) as i32 }
    })
}

/// Exchanges left and right of the samples that ask for it.
pub(super) fn flip(images: Tensor<4>, samples: &[Sample]) -> Tensor<4> {
    let flags: Vec<bool> = samples.iter().map(|sample| sample.flip).collect();
    let flags = TensorData::new(flags, [samples.len(), 1, 1, 1]);
    let mask = Tensor::<4, Bool>::from_data(flags, &images.device()).expand(images.dims());
    let flipped = images.clone().flip([3]);
    images.mask_where(mask, flipped)
}
