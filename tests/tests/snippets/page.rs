//! The snippets of Rust that the loss lab offers, written by the browser's test of the lab.

use burn::tensor::Tensor;
use simile_core::error::Result;

use super::{Inputs, Snippet};

/// Snippets by the number of their setting.
pub(crate) const SNIPPETS: [(usize, Snippet); 26] = [
    (0, setting_0),
    (1, setting_1),
    (2, setting_2),
    (5, setting_5),
    (6, setting_6),
    (7, setting_7),
    (8, setting_8),
    (12, setting_12),
    (16, setting_16),
    (20, setting_20),
    (23, setting_23),
    (26, setting_26),
    (29, setting_29),
    (32, setting_32),
    (33, setting_33),
    (36, setting_36),
    (39, setting_39),
    (42, setting_42),
    (43, setting_43),
    (44, setting_44),
    (45, setting_45),
    (46, setting_46),
    (47, setting_47),
    (48, setting_48),
    (49, setting_49),
    (50, setting_50),
];

fn setting_0(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "info-nce",
        None,
        serde_json::json!({
            "temperature": 0.2
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_1(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "nt-xent",
        None,
        serde_json::json!({
            "temperature": 0.2
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_2(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, labels, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "weaksup-info-nce",
        None,
        serde_json::json!({
            "temperature": 0.2,
            "base_temperature": 0.07
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_indices("labels", labels);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_5(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, labels, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-info-nce",
        None,
        serde_json::json!({
            "temperature": 0.2
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_indices("labels", labels);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_6(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "dcl",
        None,
        serde_json::json!({
            "temperature": 0.2,
            "tau_plus": 0.1
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_7(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "hcl",
        None,
        serde_json::json!({
            "temperature": 0.2,
            "beta": 1,
            "tau_plus": 0.1
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_8(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "weaksup-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "rbf",
                "sigma": 0.5
            },
            "temperature": 0.2,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_12(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "rbf",
                "sigma": 0.5
            },
            "temperature": 0.2,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_16(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "hardneg-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "rbf",
                "sigma": 0.5
            },
            "temperature": 0.2,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_20(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, labels, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "supcon",
        None,
        serde_json::json!({
            "temperature": 0.2
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_indices("labels", labels);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_23(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, labels, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "contex",
        None,
        serde_json::json!({
            "temperature": 0.2,
            "base_temperature": 0.07,
            "mix": 0.5
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_indices("labels", labels);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_26(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, labels, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "contex-p",
        None,
        serde_json::json!({
            "temperature": 0.2
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_indices("labels", labels);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_29(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, labels, bias, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "biascon",
        None,
        serde_json::json!({
            "temperature": 0.2
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_indices("labels", labels).with_indices("bias", bias);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_32(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "decoupled-uniformity",
        None,
        serde_json::json!({
            "t": 2
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_33(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "kernel-decoupled-uniformity",
        None,
        serde_json::json!({
            "kernel": {
                "name": "rbf",
                "sigma": 0.5
            },
            "t": 2,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_36(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "dc",
        None,
        serde_json::json!({
            "temperature": 0.1
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_39(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "dclw",
        None,
        serde_json::json!({
            "temperature": 0.1,
            "sigma": 0.5
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_42(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "align-uniform",
        None,
        serde_json::json!({
            "alpha": 2
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_43(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "barlow-twins",
        None,
        serde_json::json!({
            "lambd": 0.0051
        }),
    )?;
    let batch = Batch::views(view_a, view_b);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_44(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "rbf",
                "sigma": 0.5
            },
            "temperature": 0.5,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_45(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "laplacian",
                "sigma": 0.5
            },
            "temperature": 0.5,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_46(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "laplacian-l1"
            },
            "temperature": 0.5,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_47(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "linear"
            },
            "temperature": 0.5,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_48(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "cosine"
            },
            "temperature": 0.5,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_49(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "polynomial"
            },
            "temperature": 0.5,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}

fn setting_50(inputs: Inputs) -> Result<Tensor<1>> {
    let Inputs { view_a, view_b, z, .. } = inputs;
    use simile_core::loss;
    use simile_core::loss::batch::Batch;

    let objective = loss::build(
        "fair-cclk",
        None,
        serde_json::json!({
            "kernel": {
                "name": "exact-match"
            },
            "temperature": 0.5,
            "lambda": 0.01
        }),
    )?;
    let batch = Batch::views(view_a, view_b).with_condition("z", z);
    let loss = loss::loss(objective.as_ref(), &batch)?;
    Ok(loss)
}
