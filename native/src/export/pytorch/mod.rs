//! An encoder as the source of a PyTorch module. Several networks have tensors of the same names and shapes, and another
//! activation or pool between them; so the export contains the network itself and not its tensors alone.

use anyhow::Result;
use simile_core::nn::checkpoint::Metadata;

/// Name of the weights beside the source.
pub(crate) const WEIGHTS: &str = "weights.safetensors";
/// Name of the source.
pub(crate) const SOURCE: &str = "model.py";

/// The code that all modules share: loading, and preprocessing of a picture.
const COMMON: &str = include_str!("common.py");

/// The source of the module of an encoder.
///
/// # Errors
/// If the settings cannot be written as literals.
pub(crate) fn source(metadata: &Metadata) -> Result<String> {
    let encoder = &metadata.encoder;
    let (name, side, channels) = (encoder.name.name(), metadata.input_size, encoder.channels);
    let resize = metadata.resize.map_or_else(|| "None".into(), |resize| resize.to_string());
    // Numbers, strings, lists and objects of JSON are literals of Python.
    let literal = |value: &[f64]| serde_json::to_string(value);
    let body = encoder.name.pytorch();
    Ok(format!(
        r#""""Simile's encoder `{name}` in PyTorch: images of {channels} x {side} x {side} to {features} features.

    from model import Encoder
    encoder = Encoder.load()                       # {WEIGHTS} beside this file
    vectors = encoder.embed(["a.png", "b.png"])    # [2, {features}], the numbers of `simile embed`
    features = encoder(batch)                      # [n, {channels}, {side}, {side}], made by `preprocess`

Needs torch and safetensors, and for pictures numpy and Pillow. A file of another network or of another preprocessing is refused.
"""

import json
from os import PathLike
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

# Settings of the encoder, which the file of weights must repeat.
ENCODER = {encoder}
FEATURES = {features}
# How `preprocess` treats a picture:
# 1. crop its centre square, unless WHOLE;
# 2. resize it to a square of STORED pixels a side, as the run stored it;
# 3. resize that to RESIZE pixels a side, or to SIDE if RESIZE is None;
# 4. crop the centre square of SIDE pixels;
# 5. take (pixel / 255 - MEAN) / STD.
WHOLE = {whole}
SIDE = {side}
STORED = {stored}
RESIZE = {resize}
MEAN = {mean}
STD = {std}

{body}
{COMMON}"#,
        whole = if metadata.sees_whole_pictures() { "True" } else { "False" },
        stored = metadata.stored_side(),
        features = metadata.embedding_size,
        encoder = serde_json::to_string(encoder)?,
        mean = literal(&metadata.mean)?,
        std = literal(&metadata.std)?,
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::nn::{Architecture, EncoderConfig};

    use super::*;

    #[test]
    fn the_source_says_which_network_and_which_pictures() {
        let config =
            EncoderConfig { name: Architecture::SimpleConv1x1, input_size: 28, ..Default::default() };
        let mut metadata = Metadata::new(config, vec![0.5, 0.25, 0.0], vec![1.0, 0.5, 1e-3]);
        metadata.resize = Some(40);
        metadata.recipe = serde_json::json!({ "data": { "fit": "whole", "side": 100 } });
        let text = source(&metadata).unwrap();
        for line in [
            r#"ENCODER = {"name":"simple-conv-1x1","input_size":28,"channels":3}"#,
            "FEATURES = 128",
            "SIDE = 28",
            "STORED = 100",
            "RESIZE = 40",
            "WHOLE = True",
            "MEAN = [0.5,0.25,0.0]",
            "STD = [1.0,0.5,0.001]",
        ] {
            assert!(text.lines().any(|source_line| source_line == line), "{line}:\n{text}");
        }
    }
}
