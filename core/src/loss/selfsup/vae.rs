//! The loss of a variational autoencoder: reconstruction error and divergence of the code.
//!
//! ```text
//! L = 1/b sum_i [ |x_i - y_i|^2 / 2 + beta/2 sum_k ( m_ik^2 + e^{l_ik} - 1 - l_ik ) ]
//! ```
//!
//! with the pixels `x` (`images`, `[b, pixels]`, constants), the decoder's output for a draw of the code, `y`
//! (`reconstruction`, `[b, pixels]`), and the `mean` `m` and the logarithm `l` of the variance (`log_variance`) of
//! the code, `[b, latents]` each. It is the negative evidence lower bound for pixels with a normal error of
//! variance 1, without its constant, at `beta` = 1 (Kingma & Welling, *Auto-Encoding Variational Bayes*, 2014;
//! Higgins et al. 2017 for other `beta`).
//!
//! Decoupled Uniformity takes the representation of such a model, `m`, as the prior of its kernel. Neither its code nor
//! the settings of its autoencoder are released; those here are ours. A variance above `e^30` counts as `e^30`.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::logits::check_shape;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{Described, Family, Head, Input, InputNetworks, Parameter, Range, Spec};

/// Larger logarithms of a variance can overflow in `f32`.
const LARGEST: f64 = 30.0;

/// The loss of a VAE; see the [module](self). Inputs: `images`, `reconstruction`, `[b, pixels]`; `mean`,
/// `log_variance`, `[b, latents]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vae {
    /// Weight of the divergence of the code, 0 to 1e12.
    pub beta: f64,
}

impl Default for Vae {
    fn default() -> Self {
        Self { beta: 1.0 }
    }
}

impl Described for Vae {
    const SPEC: Spec = Spec {
        name: "vae",
        title: "Variational autoencoder",
        family: Family::Representation,
        summary: "the pixels, and a decoder",
        work: "Kingma and Welling, Auto-Encoding Variational Bayes, 2014",
        formula: "L = 1/b sum_i [ |x_i - y_i|^2 / 2 + beta/2 sum_k ( m_ik^2 + e^{l_ik} - 1 - l_ik ) ]",
        symbols: "x the pixels, y their reconstruction, m the mean of the code, l the logarithm of its variance",
        inputs: &[
            Input::rows("images", "[b, pixels]", "the pixels, constants"),
            Input::rows(
                "reconstruction",
                "[b, pixels]",
                "the pixels as the decoder makes them of a draw of the code",
            ),
            Input::rows("mean", "[b, latents]", "the mean of the code"),
            Input::rows("log_variance", "[b, latents]", "the logarithm of its variance"),
        ],
        head: Head::Other,
        networks: InputNetworks::Decoder,
        algorithms: &["vae"],
        parameters: &[Parameter::number(
            "beta",
            Range::Factor,
            1.0,
            "weight of the divergence of the code from a standard normal distribution",
        )
        .symbol("β")],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Vae {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let input = |name: &str| batch.tensor(self.name(), name);
        let (images, rebuilt) = (input("images")?, input("reconstruction")?);
        let (mean, log_variance) = (input("mean")?, input("log_variance")?);
        let [rows, _] = images.dims();
        if rows == 0 {
            return Err(Error::shape("images", "at least one row", "none"));
        }
        check_shape("reconstruction", &rebuilt, images.dims())?;
        check_shape("log_variance", &log_variance, mean.dims())?;
        if mean.dims()[0] != rows {
            return Err(Error::shape("mean", format!("{rows} rows"), format!("{}", mean.dims()[0])));
        }
        let share = 1.0 / rows as f64;
        let error = rebuilt - images;
        let variance = log_variance.clone().clamp_max(LARGEST).exp();
        let reconstruction = error.clone().square().sum() * (0.5 * share);
        let divergence =
            (mean.clone().square() + variance.clone() - 1.0 - log_variance).sum() * (0.5 * share);
        let evaluation = Evaluation::new(reconstruction.clone() + divergence.clone() * self.beta)
            .with_gradient("reconstruction", error * share)
            .with_gradient("mean", mean * (self.beta * share))
            .with_gradient("log_variance", (variance - 1.0) * (0.5 * self.beta * share));
        Ok(evaluation
            .with_aux("reconstruction_error", Aux::Scalar(reconstruction))
            .with_aux("divergence", Aux::Scalar(divergence)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::numeric::matrix::Matrix;

    fn batch(mean: f64, log_variance: f64) -> Batch {
        let place = |matrix: Matrix| matrix.to_tensor(&Device::flex(), DType::F64);
        let of = |columns, value| place(Matrix::from_fn(2, columns, |_, _| value));
        Batch::default()
            .with_tensor("images", of(3, 0.5))
            .with_tensor("reconstruction", of(3, 0.5))
            .with_tensor("mean", of(4, mean))
            .with_tensor("log_variance", of(4, log_variance))
    }

    fn loss(objective: &Vae, batch: &Batch) -> f64 {
        objective.evaluate(batch).unwrap().loss.into_scalar::<f64>()
    }

    #[test]
    fn a_perfect_image_from_a_code_that_says_nothing_costs_nothing() {
        let vae = Vae::default();
        assert_eq!(loss(&vae, &batch(0.0, 0.0)), 0.0);
        // Kullback-Leibler divergence of N(1, e) from N(0, 1), of four latents.
        let expected = 4.0 * 0.5 * (1.0 + 1_f64.exp() - 1.0 - 1.0);
        assert!((loss(&vae, &batch(1.0, 1.0)) - expected).abs() < 1e-12);
        assert!((loss(&Vae { beta: 3.0 }, &batch(1.0, 1.0)) - 3.0 * expected).abs() < 1e-12);
        assert!(loss(&Vae::default(), &batch(0.0, 1e6)).is_finite());
    }
}
