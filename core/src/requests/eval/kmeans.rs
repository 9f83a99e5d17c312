//! `kmeans`: the best partition of many restarts.

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input;
use crate::error::Result;
use crate::eval::cluster::kmeans::KMeansConfig;
use crate::numeric::matrix::Matrix;
use crate::requests::input::parse_part;
use crate::requests::outcome::Outcome;

pub(in crate::requests) const NAME: &str = "kmeans";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    k: usize,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    restarts: Option<usize>,
}

/// Squared differences of coordinates in one pass of all restarts together: a second, as a restart takes about ten passes.
const WORK: usize = 40_000_000;

/// Between 100 and 20,000 restarts, the more the fewer points there are. The bound of a reference case is that of the best of
/// fifty; where the points have no clusters, one run in fifty reaches it, and 100 of them miss it in a third of such cases.
fn restarts_for(points: &Matrix, k: usize) -> usize {
    let pass = points.data().len().saturating_mul(k).max(1);
    (WORK / pass).clamp(100, 20_000)
}

/// Input `points` `[n, d]`; parameters `k`, `seed` (default 0), `restarts` (default 100 to 20,000, the more the fewer points
/// there are).
///
/// The inertia is returned as `inertia`, and as `inertia_bound` for comparison with a file of reference numbers.
///
/// # Errors
/// As [`KMeansConfig::fit`], and for missing inputs and unknown parameters.
pub(crate) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    let points: Matrix = input(NAME, inputs, "points")?;
    let restarts = params.restarts.unwrap_or_else(|| restarts_for(&points, params.k));
    let config = KMeansConfig { restarts, ..KMeansConfig::new(params.k) };
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /* scikit-learn 1.9.1, the points below: KMeans(6, n_init=50, random_state=0).fit(X).inertia_ */
    #[test]
    fn points_without_clusters_reach_the_best_of_fifty_runs() {
        let value = |i: usize, j: usize| (7 * i * i + 31 * j * j + 13 * i * j + 14 * i + 14) % 23;
        let points = Matrix::from_fn(40, 3, |i, j| value(i, j) as f64 / 5.0);
        for seed in [0, 2] {
            let outcome = run(&json!({ "k": 6, "seed": seed }), &json!({ "points": points })).unwrap();
            let inertia = outcome.aux["inertia"].as_f64().unwrap();
            assert!(inertia <= 42.810_396_825_396_836 * (1.0 + 1e-6), "seed {seed}: {inertia}");
        }
    }

    #[test]
    fn many_points_and_given_restarts_bound_the_work() {
        assert_eq!(restarts_for(&Matrix::zeros(5000, 64), 50), 100);
        assert_eq!(restarts_for(&Matrix::zeros(500, 8), 10), 1000);
        assert_eq!(restarts_for(&Matrix::zeros(1, 1), 1), 20_000);
        let none = run(&json!({ "k": 1, "restarts": 0 }), &json!({ "points": [[1.0]] }));
        assert!(none.is_err_and(|error| error.to_string().contains("`restarts`")));
    }
}
