//! `kmeans`: the best partition of many restarts.

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{input, parameters};
use crate::error::Result;
use crate::eval::cluster::kmeans::KMeansConfig;
use crate::numeric::matrix::Matrix;
use crate::requests::outcome::Outcome;

const NAME: &str = "kmeans";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    k: usize,
    #[serde(default)]
    seed: u64,
    #[serde(default = "many_restarts")]
    restarts: usize,
}

/// Twice the number of the reference cases, because the bound is that of the best of fifty.
fn many_restarts() -> usize {
    100
}

/// Input `points` `[n, d]`; parameters `k`, `seed` (default 0), `restarts` (default 100).
///
/// The inertia is returned as `inertia`, and as `inertia_bound` for comparison with a case file.
///
/// # Errors
/// As [`KMeansConfig::fit`], and for missing inputs and unknown parameters.
pub(super) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: Params = parameters(params)?;
    let points: Matrix = input(NAME, inputs, "points")?;
    let config = KMeansConfig { restarts: params.restarts, ..KMeansConfig::new(params.k) };
    let clusters = config.fit(&points, &mut ChaCha8Rng::seed_from_u64(params.seed))?;
    let aux = json!({
        "inertia": clusters.inertia,
        "inertia_bound": clusters.inertia,
        "labels_of_best": clusters.labels,
        "cluster_sizes": clusters.sizes(),
        "centres": Vec::from(clusters.centres),
    });
    Ok(Outcome { aux, ..Outcome::default() })
}
