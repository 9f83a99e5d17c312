//! The optimisers on the numbers of a request: `lars-cclk` and `lars-simclr`.

use std::collections::BTreeMap;

use burn::module::{Module, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor, TensorData};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;
use crate::optim::lars::{Excluded, Lars, LarsVariant};
use crate::optim::{Optimizer, OptimizerConfig};
use crate::requests::input::parse_part;
use crate::requests::outcome::{self, Outcome};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    lr_per_step: Vec<f64>,
    momentum: f64,
    weight_decay: f64,
    eta: f64,
    #[serde(default)]
    excluded: Option<Excluded>,
}

#[derive(Deserialize)]
struct Inputs {
    weight: Matrix,
    bias: Vec<f64>,
    grad_weight: Vec<Matrix>,
    grad_bias: Vec<Vec<f64>>,
}

#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

/// Updates a weight matrix and a bias with given gradients.
///
/// `params` are `lr_per_step`, `momentum`, `weight_decay`, `eta`, and for `lars-simclr` `excluded`, `none` or
/// `bias-and-normalisation`, the default; `inputs` are `weight`, `bias`, and a list of
/// gradients for each, `grad_weight` and `grad_bias`. `aux.weight[t]` and `aux.bias[t]` are the values after step `t`.
///
/// # Errors
/// An input or parameter is missing, unknown or has the wrong shape; the error names it.
pub(super) async fn run(
    variant: LarsVariant,
    params: &Value,
    inputs: &Value,
    device: &Device,
    dtype: DType,
) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    let inputs: Inputs = parse_part("inputs", inputs)?;
    check_counts(&params, &inputs)?;
    let mut optimizer = Optimizer::new(OptimizerConfig::Lars(Lars {
        variant,
        momentum: params.momentum,
        weight_decay: params.weight_decay,
        eta: params.eta,
        excluded: params.excluded,
        ..Lars::default()
    }))?;
    let vector = |values: &[f64]| {
        Tensor::<1>::from_data(TensorData::new(values.to_vec(), [values.len()]), (device, dtype))
    };
    let (weight_id, bias_id) = (ParamId::new(), ParamId::new());
    let mut layer = Layer {
        weight: Param::initialized(weight_id, inputs.weight.to_tensor(device, dtype)),
        bias: Param::initialized(bias_id, vector(&inputs.bias)),
    };
    let mut trajectory = vec![];
    for ((rate, weight), bias) in params.lr_per_step.iter().zip(&inputs.grad_weight).zip(&inputs.grad_bias) {
        let shape = |weight: &Matrix| format!("{}x{}", weight.rows(), weight.columns());
        same_shape("grad_weight", shape(&inputs.weight), shape(weight))?;
        same_shape("grad_bias", format!("{} values", inputs.bias.len()), format!("{} values", bias.len()))?;
        let mut gradients = GradientsParams::new();
        gradients.register(weight_id, weight.to_tensor(device, dtype));
        gradients.register(bias_id, vector(bias));
        layer = optimizer.step(*rate, layer, gradients);
        trajectory.extend([layer.weight.val(), layer.bias.val().unsqueeze()]);
    }
    let read = outcome::read(trajectory).await?;
    let (weights, biases): (Vec<&Matrix>, Vec<&[f64]>) =
        read.chunks_exact(2).map(|step| (&step[0], step[1].data())).unzip();
    Ok(Outcome { loss: None, gradients: BTreeMap::new(), aux: json!({ "weight": weights, "bias": biases }) })
}

/// Checks that each step has its gradients, and that there is something to update.
fn check_counts(params: &Params, inputs: &Inputs) -> Result<()> {
    let steps = params.lr_per_step.len();
    for (name, count) in [("grad_weight", inputs.grad_weight.len()), ("grad_bias", inputs.grad_bias.len())] {
        if count != steps {
            return Err(Error::shape(name, format!("{steps} steps as in `lr_per_step`"), format!("{count}")));
        }
    }
    for (name, count) in [("weight", inputs.weight.data().len()), ("bias", inputs.bias.len())] {
        if count == 0 {
            return Err(Error::shape(name, "one number at least", "none"));
        }
    }
    Ok(())
}

fn same_shape(name: &str, expected: String, found: String) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::shape(name, expected, found)) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// The numbers in the files have ten digits, so a trajectory can be checked to half a unit of the tenth digit.
    fn assert_close(value: &Value, expected: &Value) {
        match (value, expected) {
            (Value::Array(values), Value::Array(expected)) => {
                assert_eq!(values.len(), expected.len());
                values.iter().zip(expected).for_each(|(value, expected)| assert_close(value, expected));
            }
            _ => {
                let (value, expected) = (value.as_f64().unwrap(), expected.as_f64().unwrap());
                let digit = 10_f64.powf(expected.abs().log10().floor() - 9.0);
                assert!((value - expected).abs() <= 0.5001 * digit + 1e-12, "{value} {expected}");
            }
        }
    }

    #[test]
    fn trajectories_equal_the_released_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors");
        for (name, variant) in [("lars-cclk", LarsVariant::Released), ("lars-simclr", LarsVariant::Simclr)] {
            for number in 1..=2 {
                let path = format!("{folder}/{name}__released__{number}.json");
                let text = std::fs::read_to_string(path).unwrap();
                let file: Value = serde_json::from_str(&text).unwrap();
                let outcome = pollster::block_on(run(
                    variant,
                    &file["params"],
                    &file["inputs"],
                    &Device::flex(),
                    DType::F64,
                ));
                let aux = outcome.unwrap().aux;
                assert_close(&aux["weight"], &file["aux"]["weight"]);
                assert_close(&aux["bias"], &file["aux"]["bias"]);
            }
        }
    }

    fn tiny(weight: [[f64; 2]; 1], gradient: [[f64; 2]; 1]) -> Value {
        json!({ "weight": weight, "bias": [1.0], "grad_weight": [gradient], "grad_bias": [[1.0]] })
    }

    #[test]
    fn a_zero_tensor_stays_or_moves_but_is_never_nan() {
        let params = json!({ "lr_per_step": [0.5], "momentum": 0.9, "weight_decay": 0.0, "eta": 0.001 });
        let step = |variant, inputs: &Value| {
            let outcome =
                pollster::block_on(run(variant, &params, inputs, &Device::flex(), DType::F64)).unwrap();
            serde_json::from_value::<Vec<Vec<f64>>>(outcome.aux["weight"][0].clone()).unwrap()[0].clone()
        };
        let (both_zero, weight_zero) = (tiny([[0.0, 0.0]], [[0.0, 0.0]]), tiny([[0.0, 0.0]], [[1.0, 2.0]]));
        assert_eq!(step(LarsVariant::Released, &both_zero), [0.0, 0.0]);
        assert_eq!(step(LarsVariant::Released, &weight_zero), [0.0, 0.0]);
        assert_eq!(step(LarsVariant::Simclr, &both_zero), [0.0, 0.0]);
        assert_eq!(step(LarsVariant::Simclr, &weight_zero), [-0.5, -1.0]);
    }

    #[test]
    fn tensors_without_a_number_are_named() {
        let params = json!({ "lr_per_step": [0.5], "momentum": 0.9, "weight_decay": 0.0, "eta": 0.001 });
        for (name, weight, bias) in [
            ("`weight`", json!([]), json!([1.0])),
            ("`weight`", json!([[], []]), json!([1.0])),
            ("`bias`", json!([[1.0]]), json!([])),
        ] {
            let inputs =
                json!({ "weight": weight, "bias": bias, "grad_weight": [weight], "grad_bias": [bias] });
            for variant in [LarsVariant::Released, LarsVariant::Simclr] {
                let error = pollster::block_on(run(variant, &params, &inputs, &Device::flex(), DType::F64));
                assert!(error.as_ref().is_err_and(|error| error.to_string().contains(name)), "{error:?}");
            }
        }
    }

    #[test]
    fn simclr_adapts_every_tensor_where_nothing_is_excluded() {
        let device = Device::flex();
        let inputs = json!({
            "weight": [[1.0]], "bias": [3.0, 4.0],
            "grad_weight": [[[0.0]], [[0.0]]], "grad_bias": [[1.0, 0.0], [-2.0, 1.0]],
        });
        let case = |variant, excluded: Value| {
            let params = json!({
                "lr_per_step": [0.5, 0.25], "momentum": 0.9, "weight_decay": 0.1, "eta": 0.001, "excluded": excluded,
            });
            pollster::block_on(run(variant, &params, &inputs, &device, DType::F64))
        };
        let biases = |excluded| case(LarsVariant::Simclr, excluded).unwrap().aux["bias"].clone();
        let close = |rows: Value, expected: [[f64; 2]; 2]| {
            let rows: Vec<Vec<f64>> = serde_json::from_value(rows).unwrap();
            let pairs = rows.iter().flatten().zip(expected.iter().flatten());
            assert!(pairs.clone().all(|(value, expected)| (value - expected).abs() < 1e-12), "{rows:?}");
        };
        // g + 0.1 w = (1.3, 0.4), trust 0.001 * 5 / |g + 0.1 w|, and so on with the velocity.
        let adapted = [[2.997610552478195, 3.999264785377906], [2.9964246476123937, 3.997808870822922]];
        close(biases("none".into()), adapted);
        // w - 0.5 g, and then the velocity 0.9 * 0.5 g + 0.25 g'.
        let plain = [[2.5, 4.0], [2.55, 3.75]];
        close(biases("bias-and-normalisation".into()), plain);
        close(biases(Value::Null), plain);
        let error = |variant, excluded: &str| case(variant, excluded.into()).unwrap_err().to_string();
        assert!(error(LarsVariant::Simclr, "biases").contains("bias-and-normalisation"));
        assert!(error(LarsVariant::Released, "bias-and-normalisation").contains("optimizer.excluded"));
        assert!(case(LarsVariant::Released, "none".into()).is_ok());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let params = json!({ "lr_per_step": [0.5, 0.5], "momentum": 0.9, "weight_decay": 0.0, "eta": 0.001 });
        let inputs = tiny([[1.0, 0.0]], [[1.0, 2.0]]);
        let device = Device::flex();
        let error = |params: &Value| {
            pollster::block_on(run(LarsVariant::Released, params, &inputs, &device, DType::F64))
                .unwrap_err()
                .to_string()
        };
        assert!(error(&params).contains("grad_weight"));
        assert!(error(&json!({ "lr_per_step": [0.5] })).contains("momentum"));
        assert!(error(&json!({ "lr_per_step": [0.5], "eta": true })).contains("`eta` is not understood"));
    }
}
