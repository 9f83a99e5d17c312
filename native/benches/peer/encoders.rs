//! Encoders alone: embeddings of a batch, and the gradient of their sum with respect to every parameter.

use anyhow::Result;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use simile_core::nn::resnet::Stem;
use simile_core::nn::{Architecture, Encoder, EncoderConfig};
use simile_core::train::{Purpose, stream};

use crate::inputs::values;

/// A network, the shape of its images, and the operation to time.
pub(crate) struct Case {
    /// The name in the table, and for the peer.
    pub(crate) label: &'static str,
    name: Architecture,
    stem: Stem,
    side: usize,
    pub(crate) batch: usize,
    backward: bool,
}

pub(crate) const CASES: [Case; 4] = [
    Case::for_cifar("resnet18 forward", false),
    Case::for_cifar("resnet18 forward + backward", true),
    Case::for_imagenet("resnet50 forward", false),
    Case::for_imagenet("resnet50 forward + backward", true),
];

impl Case {
    const fn for_cifar(label: &'static str, backward: bool) -> Self {
        Self { label, name: Architecture::ResNet18, stem: Stem::Cifar, side: 32, batch: 64, backward }
    }

    const fn for_imagenet(label: &'static str, backward: bool) -> Self {
        Self { label, name: Architecture::ResNet50, stem: Stem::Imagenet, side: 224, batch: 16, backward }
    }

    /// A closure that computes it once.
    pub(crate) fn step(&self) -> Result<impl FnMut() -> Result<()>> {
        let plain = Device::flex();
        let device = if self.backward { plain.clone().autodiff() } else { plain };
        let encoder = self.encoder(&device)?;
        let shape = [self.batch, 3, self.side, self.side];
        let images =
            Tensor::<4>::from_data(TensorData::new(values(shape.iter().product(), 1), shape), &device);
        let backward = self.backward;
        Ok(move || {
            if backward {
                let mut gradients = encoder.forward(images.clone()).sum().backward();
                drop(GradientsParams::from_module(&mut gradients, &encoder));
            } else {
                drop(encoder.forward(images.clone()).into_data());
            }
            Ok(())
        })
    }

    fn encoder(&self, device: &Device) -> Result<Encoder> {
        let config = EncoderConfig {
            name: self.name,
            stem: Some(self.stem),
            input_size: self.side,
            ..EncoderConfig::default()
        };
        Ok(config.init(device, &mut stream(0, Purpose::Initialisation, 0))?)
    }
}
