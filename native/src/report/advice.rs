//! The next steps where a variant hides nothing: settings of the recipe, in the order in which they are worth trying.

use simile_core::optim::OptimizerConfig;

use super::chance::Samples;
use crate::config::Recipe;
use crate::config::objective::BatchRule;
use crate::config::usual::{BATCH, LAMBDA, LEARNING_RATE, TEMPERATURE};
use crate::config::variant::RecipeVariant;
use crate::shell::quoted;

/// The reason why a variant does not count as one that hides its attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LeakOutcome {
    /// The first variant leaks hardly anything of the attribute, and so does this one.
    NothingToHide,
    /// On so few images the leak cannot be told from chance.
    Uncertain { on: Samples },
    /// The first variant reveals neither the class nor the attribute, which the untrained network reveals.
    FirstLearntNothing,
    /// The variant hides the attribute as vectors do that say nothing: it predicts the class no better than chance.
    LostTheClass,
    /// The variant reveals as much as the first one.
    Unchanged,
    /// The variant reveals less than the first one, by too little to count: `least` is the smallest fall that does.
    FellTooLittle { least: f64, unit: Unit },
    /// The variant reveals more than the first one.
    Increased { by: f64, unit: Unit },
}

/// The unit of a leak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unit {
    /// The share of the images whose value is predicted correctly.
    Images,
    /// The area under the ROC curve.
    Area,
    RSquared,
}

impl Unit {
    /// A difference in words. Of a rare value it may be less than a point.
    fn difference(self, by: f64) -> String {
        let digits = if by < 0.01 { 1 } else { 0 };
        let points = by * 100.0;
        match self {
            Self::Images => format!("{points:.digits$} points"),
            Self::Area => format!("{points:.digits$} points of ROC-AUC"),
            Self::RSquared => format!("an R² of {by:.2}"),
        }
    }

    /// The least difference that counts, in words, rounded up: rounded down, it could be smaller than a fall that does not count.
    fn least_difference(self, least: f64) -> String {
        let rounded_up = |value: f64, steps: f64| (value * steps - 1e-6).ceil() / steps;
        let points = rounded_up(least * 100.0, 10.0);
        match self {
            Self::Images => format!("{points} points"),
            Self::Area => format!("{points} points of ROC-AUC"),
            Self::RSquared => format!("an R² of {:.2}", rounded_up(least, 100.0)),
        }
    }
}

/// A change of the width of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Width {
    Wider,
    Narrower,
}

/// The outcome of a variant that should hide an attribute.
#[derive(Debug, Clone, Copy)]
pub(super) struct HidingOutcome<'a> {
    pub(super) attribute: &'a str,
    pub(super) leak: LeakOutcome,
    /// The width to try for its kernel, if another one may help.
    pub(super) width: Option<Width>,
    /// Images that it was trained on, if that is known.
    pub(super) images: Option<usize>,
}

/// The sentences on a variant that does not count as hiding its attribute, with the next steps.
pub(super) fn advice(recipe: &Recipe, name: &str, hiding: HidingOutcome<'_>) -> Vec<String> {
    let attribute = hiding.attribute;
    let Some(variant) = recipe.variants().into_iter().find(|variant| variant.name == name) else {
        return Vec::new();
    };
    let outcome = match hiding.leak {
        LeakOutcome::NothingToHide => {
            return vec![format!(
                "{name}: the first variant hardly reveals {attribute}, so there is little to hide; see a map of the report, \
                 coloured by it, and the association of {attribute} and class in `simile data check`."
            )];
        }
        LeakOutcome::Uncertain { on } => {
            return vec![format!(
                "{name}: on {on} the leak of {attribute} cannot be told from chance; evaluate on more: raise `data.{}`, or add pictures.",
                on.key()
            )];
        }
        LeakOutcome::FirstLearntNothing => {
            return vec![format!(
                "{name}: the first variant learnt nothing: it predicts the class no better than chance, and the untrained network \
                 reveals more of {attribute}; see its loss in the report, and train it longer or at another learning rate \
                 before you compare."
            )];
        }
        LeakOutcome::LostTheClass => {
            return vec![format!(
                "{name}: it predicts the class no better than chance, so a low leak of {attribute} proves nothing: vectors that say \
                 nothing hide everything; see its loss in the report, and try a lower `optimizer.learning_rate`, another \
                 temperature or larger batches."
            )];
        }
        LeakOutcome::Unchanged => "as before".to_owned(),
        LeakOutcome::FellTooLittle { least, unit } => {
            format!("as before (a fall by less than {} counts as none)", unit.least_difference(least))
        }
        LeakOutcome::Increased { by, unit } => {
            format!("more than in the first variant, by {}", unit.difference(by))
        }
    };
    let mut steps = objective_steps(recipe, &variant, hiding);
    steps.extend(training_steps(recipe, &variant, hiding));
    steps.push(
        "`simile sweep`, which compares values of these keys on held-out pictures (docs/src/how-to/lambda.md)"
            .into(),
    );
    std::iter::once(format!("{name}: {attribute} leaks {outcome}. To try, in this order:"))
        .chain(steps.into_iter().enumerate().map(|(at, step)| format!("{}. {step}", at + 1)))
        .collect()
}

/// A setting as the command line takes it.
fn set(key: &str, value: &str) -> String {
    format!("`--set {}`", quoted(&format!("{key}={value}")))
}

/// The setting of a key of the objective of a variant.
fn set_of_variant(recipe: &Recipe, variant: &RecipeVariant, key: &str, value: &str) -> String {
    match recipe.written_variants.is_empty() {
        true => set(&format!("objective.{key}"), value),
        false => set(&format!("variant.{}.objective.{key}", variant.name), value),
    }
}

/// The float of a value, which may be written as an integer.
fn float_of(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|integer| integer as f64))
}

/// Steps that concern the condition, the length and the numbers of the objective.
fn objective_steps(
    recipe: &Recipe,
    variant: &RecipeVariant,
    HidingOutcome { attribute, width, .. }: HidingOutcome<'_>,
) -> Vec<String> {
    let set_here = |key: &str, value: &str| set_of_variant(recipe, variant, key, value);
    let parameter = |key: &str| variant.objective.parameters.get(key);
    let number = |key: &str| parameter(key).and_then(float_of);
    let mut steps = Vec::new();
    let kernel_name = parameter("kernel").and_then(|kernel| kernel.get("name")).and_then(toml::Value::as_str);
    let objective = &variant.objective;
    let used = match objective.groups_by_condition() {
        true => Some(objective.attribute_or_default()),
        false => objective.condition(),
    };
    if !objective.reads_condition() {
        steps.push(format!(
            "an objective that hides {attribute}, such as `fair-cclk`; `{}` conditions on nothing \
             (`simile objectives` says what each one needs)",
            objective.name
        ));
    // A product of kernels hides several attributes at once, and its condition is not called as any of them.
    } else if used.as_deref() != Some(attribute) && kernel_name != Some("product") {
        let used = used.map_or_else(|| "nothing".into(), |other| format!("`{other}`"));
        steps.push(format!(
            "condition on the attribute to hide; {} uses {used}: {}",
            variant.name,
            set_here("condition", attribute)
        ));
    }
    let longer = (3 * recipe.train.iterations).to_string();
    steps.push(format!("train longer: {}", set("train.iterations", &longer)));
    if number("temperature").is_some_and(|temperature| temperature != TEMPERATURE) {
        steps.push(format!("another temperature: {}", set_here("temperature", &TEMPERATURE.to_string())));
    }
    // A kernel of another kind has no width, and one that is chosen from the data no number to halve.
    let sigma = parameter("kernel").and_then(|kernel| kernel.get("sigma")).and_then(float_of);
    if let (Some(sigma), Some(width)) = (sigma, width) {
        steps.push(match width {
            Width::Wider => format!("a wider kernel: {}", set_here("kernel.sigma", "median")),
            Width::Narrower => {
                format!("a narrower kernel: {}", set_here("kernel.sigma", &(sigma / 2.0).to_string()))
            }
        });
    }
    if let Some(lambda) = number("lambda") {
        let smaller = if lambda > LAMBDA { LAMBDA } else { lambda / 10.0 };
        steps.push(format!("a smaller λ: {}", set_here("lambda", &smaller.to_string())));
    }
    steps
}

/// Steps that concern batches and the optimiser.
fn training_steps(
    recipe: &Recipe,
    variant: &RecipeVariant,
    HidingOutcome { attribute, images, .. }: HidingOutcome<'_>,
) -> Vec<String> {
    let mut steps = Vec::new();
    let batch = BATCH.min(images.or(recipe.data.train).unwrap_or(BATCH));
    if recipe.train.batch < batch && variant.algorithm.chunk().is_none() {
        steps.push(format!("larger batches: {}", set("train.batch", &batch.to_string())));
    }
    if variant.objective.reads_condition() && variant.objective.batch_rule() == Ok(BatchRule::Shuffled) {
        steps.push(format!(
            "batches in which each picture has others of similar {attribute}: {}",
            set_of_variant(recipe, variant, "neighbourhoods", "4")
        ));
    }
    match &recipe.optimizer {
        OptimizerConfig::Adam(adam) | OptimizerConfig::AdamW(adam) if adam.learning_rate == LEARNING_RATE => {
        }
        OptimizerConfig::Adam(_) | OptimizerConfig::AdamW(_) => {
            let rate = set("optimizer.learning_rate", &LEARNING_RATE.to_string());
            steps.push(format!("another learning rate: {rate}"));
        }
        OptimizerConfig::Sgd(_) | OptimizerConfig::Lars(_) => {
            let adam = format!("{{ name = \"adam\", learning_rate = {LEARNING_RATE} }}");
            steps.push(format!("Adam: {}", set("optimizer", &adam)));
        }
    }
    steps
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::testing::drawn;

    /// The advice for an objective that hides no colour.
    fn said(objective: &str) -> String {
        said_of(objective, "")
    }

    /// The same, of a recipe with further sections.
    fn said_of(objective: &str, sections: &str) -> String {
        said_after(objective, sections, Some(Width::Narrower))
    }

    /// The same, after a run whose kernel needs that change of its width.
    fn said_after(objective: &str, sections: &str, width: Option<Width>) -> String {
        let recipe = drawn(&format!("[objective]\n{objective}\n{sections}"));
        let name = recipe.variants().remove(0).name;
        let hiding = HidingOutcome { attribute: "colour", leak: LeakOutcome::Unchanged, width, images: None };
        advice(&recipe, &name, hiding).join("\n")
    }

    #[test]
    fn a_kernel_gets_half_its_width_if_it_has_one() {
        let of =
            |kernel: &str| said(&format!("name = \"fair-cclk\"\ntemperature = 0.5\nkernel = {{ {kernel} }}"));
        assert!(of("name = \"rbf\", sigma = 20.0").contains("`--set objective.kernel.sigma=10`"));
        for kernel in ["name = \"rbf\", sigma = \"median\"", "name = \"cosine\"", "name = \"exact-match\""] {
            assert!(!of(kernel).contains("kernel"), "{kernel}");
        }
    }

    #[test]
    fn a_kernel_that_tells_all_images_apart_gets_no_narrower() {
        let objective = "name = \"fair-cclk\"\nkernel = { name = \"rbf\", sigma = 5.0 }";
        let text = said_after(objective, "", Some(Width::Wider));
        assert!(text.contains("a wider kernel: `--set objective.kernel.sigma=median`"), "{text}");
        assert!(!text.contains("narrower"), "{text}");
    }

    /// Rounded to whole points, the least fall that counts could be below one that did not.
    #[test]
    fn the_least_fall_that_counts_is_rounded_up() {
        assert_eq!(Unit::Images.least_difference(0.0737), "7.4 points");
        assert_eq!(Unit::Images.least_difference(0.05), "5 points");
        assert_eq!(Unit::Area.least_difference(0.0121), "1.3 points of ROC-AUC");
        assert_eq!(Unit::RSquared.least_difference(0.101), "an R² of 0.11");
        assert_eq!(Unit::RSquared.least_difference(0.1), "an R² of 0.10");
    }

    /// A wider kernel was advised, under which all images that differ are equally alike.
    #[test]
    fn a_kernel_of_images_that_are_equally_far_apart_keeps_its_width() {
        let objective = "name = \"fair-cclk\"\nkernel = { name = \"rbf\", sigma = 0.1 }";
        let text = said_after(objective, "", None);
        assert!(text.contains("train longer") && !text.contains("kernel"), "{text}");
    }

    #[test]
    fn the_measured_attribute_is_advised_unless_a_product_of_kernels_hides_several() {
        let of = |kernel: &str| {
            let objective = "name = \"fair-cclk\"\ntemperature = 0.1\ncondition = \"both\"";
            said(&format!("{objective}\nkernel = {{ {kernel} }}"))
        };
        let text = of("name = \"cosine\"");
        assert!(text.contains("uses `both`: `--set objective.condition=colour`"), "{text}");
        let factors = "{ start = 0, end = 1, kernel = { name = \"exact-match\" } }";
        let text = of(&format!("name = \"product\", factors = [{factors}]"));
        assert!(!text.contains("objective.condition"), "{text}");
        assert!(text.contains("objective.temperature"), "{text}");
    }

    #[test]
    fn a_condition_is_advised_to_objectives_that_read_it_alone() {
        for objective in ["nt-xent", "info-nce", "supcon"] {
            let text = said(&format!("name = \"{objective}\""));
            assert!(!text.contains("objective.condition"), "{text}");
            assert!(text.contains("1. an objective that hides colour, such as `fair-cclk`"), "{text}");
        }
        for (condition, is_advised) in [("", false), ("condition = \"palette\"", true)] {
            let text = said(&format!("name = \"fair-info-nce\"\nclusters = 4\n{condition}"));
            assert_eq!(text.contains("`--set objective.condition=colour`"), is_advised, "{text}");
            assert!(!text.contains("conditions on nothing"), "{text}");
        }
        assert!(said("name = \"hardneg-cclk\"").contains("uses nothing: `--set objective.condition=colour`"));
    }

    #[test]
    fn an_integer_is_a_number_as_another() {
        for one in ["1", "1.0"] {
            let text = said(&format!("name = \"fair-cclk\"\ntemperature = {one}\nlambda = {one}"));
            assert!(
                text.contains("objective.temperature=0.5") && text.contains("objective.lambda=0.01"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_rate_of_adam_is_advised_with_adam_alone() {
        let of = |optimizer: &str| said_of("name = \"nt-xent\"", &format!("[optimizer]\n{optimizer}\n"));
        assert!(of("name = \"adam\"").contains("`--set optimizer.learning_rate=0.004`"));
        assert!(!of("name = \"adam\"\nlearning_rate = 0.004").contains("--set optimizer"));
        for other in ["sgd", "lars"] {
            let text = of(&format!("name = \"{other}\""));
            assert!(text.contains("optimizer={ name = \"adam\", learning_rate = 0.004 }"), "{text}");
        }
    }

    #[test]
    fn batches_are_of_no_more_images_than_there_are() {
        assert!(said("name = \"nt-xent\"").contains("`--set train.batch=64`"));
    }

    #[test]
    fn batches_are_chosen_in_one_way() {
        assert!(said("name = \"fair-cclk\"").contains("neighbourhoods=4"));
        for objective in [
            "name = \"nt-xent\"",
            "name = \"nt-xent\"\nneighbourhoods = 8",
            "name = \"fair-cclk\"\nbias = \"colour\"\noversample = 10.0",
            "name = \"fair-info-nce\"\nclusters = 4\none_cluster = true",
        ] {
            assert!(!said(objective).contains("neighbourhoods"), "{objective}");
        }
    }
}
