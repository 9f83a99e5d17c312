//! A guess of the network that tensors belong to, from their names and shapes: a suggestion if they are not those
//! of the requested network.

use crate::nn::Architecture;
use crate::nn::design::Shapes;
use crate::nn::resnet::layers_and_blocks;

/// Parts of the first word of tensors that belong to a head or a loss.
const BESIDE: [&str; 14] = [
    "head",
    "classif",
    "proj",
    "pred",
    "linear",
    "logit",
    "prototype",
    "queue",
    "criterion",
    "loss",
    "temperature",
    "decoder",
    "optim",
    "centers",
];

/// True if an unused tensor belongs to the network nevertheless: it lies in a part of the network, such as
/// `layer1`, or in a part that is not known as a head or a loss. A second copy of the whole network, as momentum
/// contrast keeps one, does not belong to it.
pub(super) fn belongs(name: &str, expected: &[String], shapes: &Shapes<'_>) -> bool {
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let part = first(name);
    if expected.iter().any(|known| first(known) == part) {
        return true;
    }
    let all_under =
        |before: &str| expected.iter().all(|known| shapes.contains_key(format!("{before}{known}").as_str()));
    let is_copy = || {
        let mut before = expected.iter().filter_map(|known| name.strip_suffix(known.as_str()));
        before.any(|before| before.ends_with('.') && all_under(before))
    };
    let is_beside = part.starts_with("fc") || BESIDE.iter().any(|word| part.contains(word));
    !is_beside && !is_copy()
}

/// A sentence about the network that it seems to be, if there is a guess.
pub(super) fn likely(shapes: &Shapes<'_>) -> Option<String> {
    if let Some(known) = Architecture::ALL.iter().find(|known| known.recognises(shapes)) {
        return Some(format!("these look like the tensors of `{}`", known.name()));
    }
    layers_and_blocks(shapes).map(|(layers, [a, b, c, d])| {
        let blocks = format!("{a}, {b}, {c} and {d} blocks");
        format!("these look like the tensors of a ResNet-{layers} ({blocks}), which simile has not")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::Device;

    use super::super::archive::flattened;
    use super::super::blank_encoder;
    use super::*;
    use crate::nn::EncoderConfig;

    #[test]
    fn every_encoder_is_told_by_its_tensors() {
        for &name in Architecture::ALL {
            let config = EncoderConfig { name, ..EncoderConfig::default() };
            let tensors = flattened("", &blank_encoder(&config, &Device::flex()).unwrap());
            let shapes: Shapes<'_> =
                tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.shape.as_slice())).collect();
            let answer = likely(&shapes).unwrap();
            assert!(answer.ends_with(&format!("`{}`", name.name())), "{answer}");
        }
        let deep: Vec<String> = [3, 8, 36, 3]
            .iter()
            .zip(1..)
            .flat_map(|(&blocks, stage)| {
                (0..blocks).map(move |block| format!("layer{stage}.{block}.conv3.weight"))
            })
            .collect();
        let answer = likely(&deep.iter().map(|name| (name.as_str(), &[1_usize][..])).collect()).unwrap();
        assert!(answer.contains("ResNet-152"), "{answer}");
        assert_eq!(likely(&[("blocks.0.attn.qkv.weight", &[1_usize][..])].into_iter().collect()), None);
    }

    #[test]
    fn heads_and_copies_are_no_part_of_the_network() {
        let expected = ["conv1.weight", "layer1.0.conv1.weight"].map(String::from);
        let copy = expected.each_ref().map(|name| format!("ema.{name}"));
        let shapes: Shapes<'_> = copy.iter().map(|name| (name.as_str(), &[1_usize][..])).collect();
        for name in ["layer1.2.conv1.weight", "conv1.bias", "layer5.0.conv1.weight", "blocks.0.weight"] {
            assert!(belongs(name, &expected, &shapes), "{name}");
        }
        for name in
            ["fc.weight", "fc2.bias", "head.mlp.0.weight", "projector.2.weight", "queue", "ema.conv1.weight"]
        {
            assert!(!belongs(name, &expected, &shapes), "{name}");
        }
    }
}
