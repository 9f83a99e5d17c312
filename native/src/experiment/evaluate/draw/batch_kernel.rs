//! The kernel of a batch's condition beside the weights computed from it.

use anyhow::Result;
use serde::Serialize;
use simile_core::data::Dataset;
use simile_core::kernel::conditional::GramDiagonal;
use simile_core::numeric::matrix::Matrix;

use super::colour::{colours, hue};
use super::picture::{heat_map, strip};
use crate::config::variant::RecipeVariant;
use crate::exit::usage;
use crate::run_folder::figures::KernelFigure;

/// Size of the batch in a report.
pub(crate) const BATCH: usize = 96;

/// A sorted batch, its Gram matrix and its weights.
pub(crate) struct BatchKernel {
    /// Kernel and ridge in words.
    pub(crate) caption: String,
    /// The sort order of the batch.
    pub(crate) order: String,
    /// The condition's colours in that order, if it is a colour.
    colours: Option<Vec<[u8; 3]>>,
    /// `K`
    pub(crate) gram: Matrix,
    /// `(K + λI)⁻¹ K`, with the approximation of the objective, if it has one.
    pub(crate) weights: Matrix,
}

/// The spread of the weight of an anchor over the batch, mean over the anchors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Focus {
    /// Share of the absolute weight that lies on the anchor itself.
    pub(crate) own: f64,
    /// Effective number of the others, `(Σ|w|)² / Σw²`.
    pub(crate) others: f64,
}

impl BatchKernel {
    /// The kernel and weights of the first `batch` images; `None` if the variant's objective has no kernel of a condition.
    ///
    /// # Errors
    /// If the linear system of the weights cannot be solved.
    pub(crate) fn of(variant: &RecipeVariant, train: &Dataset, batch: usize) -> Result<Option<Self>> {
        let section = &variant.objective;
        let Some(name) = section.condition() else { return Ok(None) };
        let Some(condition) = train.conditions.get(&name) else { return Ok(None) };
        let objective = section.config().and_then(|config| config.build().map_err(|error| error.to_string()));
        let objective = objective.map_err(usage)?;
        let Some(conditioned) = objective.conditioned_by_kernel() else { return Ok(None) };
        let values = condition.to_matrix();
        let mut order: Vec<usize> = (0..batch.min(values.rows())).collect();
        let colours = colours(condition);
        match &colours {
            Some(colours) => order.sort_by(|&a, &b| hue(colours[a]).total_cmp(&hue(colours[b]))),
            None => order.sort_by(|&a, &b| {
                values.row(a).partial_cmp(values.row(b)).unwrap_or(std::cmp::Ordering::Equal)
            }),
        }
        let z = values.select(&order);
        let ridge = conditioned.ridge(z.rows());
        let kernel = conditioned.kernel();
        let mut gram = kernel.gram(&z);
        if conditioned.gram_diagonal() == GramDiagonal::One {
            (0..gram.rows()).for_each(|i| gram[(i, i)] = 1.0);
        }
        let written = match section.parameters.get("kernel") {
            Some(kernel) => serde_json::to_value(kernel)?,
            None => serde_json::to_value(kernel)?,
        };
        let by = if colours.is_some() { "hue" } else { "value" };
        Ok(Some(Self {
            caption: format!("K compares the {name} of two images; {}, λ = {ridge}.", in_words(&written)),
            order: format!("The first {} training images, sorted by {by}.", order.len()),
            colours: colours.map(|colours| order.iter().map(|&i| colours[i]).collect()),
            gram,
            weights: conditioned.weights(&z)?.to_matrix(),
        }))
    }

    /// The figure for the report.
    ///
    /// # Errors
    /// If a picture cannot be encoded.
    pub(crate) fn figure(&self, variant: &str) -> Result<KernelFigure> {
        Ok(KernelFigure {
            variant: variant.to_owned(),
            caption: self.caption.clone(),
            order: self.order.clone(),
            strip: self.colours.as_deref().map(strip).transpose()?,
            gram: heat_map(&self.gram)?,
            weights: heat_map(&self.weights)?,
        })
    }
}

impl Focus {
    /// The focus of a square matrix.
    pub(crate) fn of(matrix: &Matrix) -> Self {
        let (mut own, mut others) = (0.0, 0.0);
        for (i, row) in matrix.iter_rows().enumerate() {
            let of_others =
                || row.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, weight)| weight.abs());
            let (sum, squares) =
                (of_others().sum::<f64>(), of_others().map(|weight| weight * weight).sum::<f64>());
            let diagonal = row.get(i).map_or(0.0, |weight| weight.abs());
            own += diagonal / (sum + diagonal).max(f64::MIN_POSITIVE);
            others += sum * sum / squares.max(f64::MIN_POSITIVE);
        }
        let count = matrix.rows().max(1) as f64;
        Self { own: own / count, others: others / count }
    }
}

/// `rbf kernel (sigma 20)` for `{"name": "rbf", "sigma": 20}`.
fn in_words(kernel: &serde_json::Value) -> String {
    let name = kernel["name"].as_str().unwrap_or("unnamed");
    let settings = kernel.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
    let settings: Vec<String> = settings.map(|(key, value)| format!("{key} {value}")).collect();
    if settings.is_empty() {
        format!("{name} kernel")
    } else {
        format!("{name} kernel ({})", settings.join(", "))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;

    use super::*;
    use crate::config::{Changes, Recipe};

    #[test]
    fn focus_counts_what_is_weighed() {
        let even = Matrix::from_fn(5, 5, |_, _| 0.2);
        assert!((Focus::of(&even).own - 0.2).abs() < 1e-12 && (Focus::of(&even).others - 4.0).abs() < 1e-12);
        let identity = Matrix::from_fn(5, 5, |i, j| f64::from(u8::from(i == j)));
        assert_eq!(Focus::of(&identity), Focus { own: 1.0, others: 0.0 });
        let signs = Matrix::new(2, 2, vec![0.5, -0.5, 0.5, -0.5]).unwrap();
        assert_eq!(Focus::of(&signs), Focus { own: 0.5, others: 1.0 });
    }

    /// The figure of 20 images with an objective.
    fn of(objective: &str) -> Option<BatchKernel> {
        let train = draw_digits(40, Colours::Palette, 0).unwrap();
        let set = [format!("variant.Fair-CCLK.objective={{ {objective} }}")];
        let variants = ["Fair-CCLK".to_owned()];
        let changes = Changes { set: &set, variants: &variants, ..Changes::default() };
        let recipe = Recipe::load("fair-digits", &changes).unwrap();
        BatchKernel::of(&recipe.variants()[0], &train, 20).unwrap()
    }

    #[test]
    fn the_weights_have_the_approximation_of_the_objective() {
        let rbf = "name = \"fair-cclk\", condition = \"colour\", kernel = { name = \"rbf\", sigma = 50.0 }, lambda = 0.1";
        let exact = of(rbf).unwrap();
        let close = of(&format!("{rbf}, approximation = {{ rank = 1, tolerance = 0.0 }}")).unwrap();
        assert_eq!((&close.gram, &close.caption), (&exact.gram, &exact.caption));
        assert_ne!(close.weights, exact.weights);
        // Of rank 1, every two rows are multiples of each other.
        let w = &close.weights;
        for i in 1..w.rows() {
            let off = w[(0, 0)] * w[(i, i)] - w[(0, i)] * w[(i, 0)];
            assert!(off.abs() < 1e-9, "{i}: {off}");
        }
    }

    #[test]
    fn every_objective_with_a_kernel_of_a_condition_has_the_figure() {
        let rbf = "condition = \"colour\", kernel = { name = \"rbf\", sigma = 50.0 }, lambda = 0.1";
        let released = of(&format!("name = \"kernel-decoupled-uniformity\", {rbf}")).unwrap();
        let printed =
            of(&format!("name = \"kernel-decoupled-uniformity\", variant = \"paper\", {rbf}")).unwrap();
        let fair = of(&format!("name = \"fair-cclk\", {rbf}")).unwrap();
        assert_eq!((&released.gram, &released.weights), (&fair.gram, &fair.weights), "of the same ridge");
        assert!(
            released.caption.ends_with("λ = 0.1.") && printed.caption.ends_with("λ = 2."),
            "{}",
            printed.caption
        );
        assert_ne!(printed.weights, released.weights);
        assert!(of("name = \"nt-xent\"").is_none());
    }

    #[test]
    fn a_kernel_is_named_with_its_settings() {
        let words = in_words(&serde_json::json!({ "name": "rbf", "sigma": 20.0 }));
        assert_eq!(words, "rbf kernel (sigma 20.0)");
        assert_eq!(in_words(&serde_json::json!({ "name": "cosine" })), "cosine kernel");
    }
}
