//! Vision transformers of other programs: torchvision's tensor names, and positions that were learned for another side.

use simile_kernels::Filter;

/// Parts of torchvision's names, with those of timm and DINO. The first occurs in no file of theirs.
pub(super) const TORCHVISION: &[(&str, &str)] = &[
    ("encoder.layers.encoder_layer_", "blocks."),
    ("encoder.pos_embedding", "pos_embed"),
    ("encoder.ln.", "norm."),
    ("class_token", "cls_token"),
    ("conv_proj.", "patch_embed.proj."),
    (".ln_1.", ".norm1."),
    (".ln_2.", ".norm2."),
    (".self_attention.in_proj_", ".attn.qkv."),
    (".self_attention.out_proj.", ".attn.proj."),
    (".mlp.0.", ".mlp.fc1."),
    (".mlp.3.", ".mlp.fc2."),
    (".mlp.linear_1.", ".mlp.fc1."),
    (".mlp.linear_2.", ".mlp.fc2."),
];

/// Positions `[1, 1 + m², width]` of `m × m` patches for `side × side` patches, by Pillow's bicubic filter, as timm has it; the
/// class token's position stays. None for other tensors, and where the number of patches is the same.
pub(super) fn resampled(
    side: usize,
    name: &str,
    shape: &[usize],
    values: &[f32],
) -> Option<(Vec<usize>, Vec<f32>)> {
    let &[1, tokens, width] = shape else { return None };
    let patches = tokens.checked_sub(1)?;
    let theirs = patches.isqrt();
    if name != "pos_embed" || width == 0 || theirs == 0 || theirs.pow(2) != patches || theirs == side {
        return None;
    }
    let (class, grid) = values.split_at_checked(width)?;
    let mut taps: Vec<(usize, Vec<f64>)> = Vec::with_capacity(side);
    Filter::Bicubic.weights(theirs, side, |_, first, weights| taps.push((first, weights.to_vec())));
    let mut positions = class.to_vec();
    for (top, down) in &taps {
        for (left, across) in &taps {
            let mut sums = vec![0.0_f64; width];
            for (line, above) in (*top..).zip(down) {
                for (column, beside) in (*left..).zip(across) {
                    let weight = above * beside;
                    let source = grid.chunks_exact(width).nth(line * theirs + column)?;
                    sums.iter_mut().zip(source).for_each(|(sum, value)| *sum += weight * f64::from(*value));
                }
            }
            positions.extend(sums.into_iter().map(|sum| sum as f32));
        }
    }
    Some((vec![1, 1 + side.pow(2), width], positions))
}
