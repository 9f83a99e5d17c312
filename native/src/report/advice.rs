//! The next steps where a variant hides nothing: settings of the recipe, in the order in which they are worth trying.

use simile_core::algorithm::AlgorithmConfig;

use crate::config::Recipe;
use crate::names::quoted;

/// The settings that worked on coloured digits and on tinted pictures.
const TEMPERATURE: f64 = 0.5;
const LAMBDA: f64 = 0.01;
const LEARNING_RATE: f64 = 0.004;
/// Images of a batch in which most anchors have others of their kind.
const BATCH: usize = 256;

/// The kind of a leak that did not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leak {
    /// The first variant hardly reveals the attribute.
    Little,
    /// The variant reveals as much as the first one.
    Unmoved,
}

/// The next steps for a variant whose leak did not move.
pub(super) fn advice(recipe: &Recipe, name: &str, leak: Leak, condition: &str) -> Vec<String> {
    let Some(arm) = recipe.arms().into_iter().find(|arm| arm.name == name) else { return Vec::new() };
    if leak == Leak::Little {
        return vec![format!(
            "{name}: the first variant hardly reveals {condition}, so that there is little to hide; see a map of the report, \
             coloured by it, and the association of {condition} and class in `simile data check`."
        )];
    }
    let set = |key: &str, value: &str| {
        let setting = format!("{key}={value}");
        format!("`--set {}`", quoted(&setting))
    };
    let of_arm = |key: &str| {
        if recipe.arms.is_empty() {
            format!("objective.{key}")
        } else {
            format!("variant.{name}.objective.{key}")
        }
    };
    let number = |key: &str| arm.objective.parameters.get(key).and_then(toml::Value::as_float);
    let mut steps = vec![format!(
        "train longer: {}",
        set("train.iterations", &(3 * recipe.train.iterations).to_string())
    )];
    if arm.objective.condition().as_deref() != Some(condition) {
        let what = arm.objective.condition().map_or_else(|| "nothing".into(), |other| format!("`{other}`"));
        steps.insert(
            0,
            format!(
                "condition on what is to be hidden; {name} uses {what}: {}",
                set(&of_arm("condition"), condition)
            ),
        );
    }
    if number("temperature").is_some_and(|temperature| temperature != TEMPERATURE) {
        steps.push(format!("another temperature: {}", set(&of_arm("temperature"), &TEMPERATURE.to_string())));
    }
    let kernel = arm.objective.parameters.get("kernel").and_then(toml::Value::as_table);
    match kernel.and_then(|kernel| kernel.get("name")).and_then(toml::Value::as_str) {
        Some("exact-match") | None => {}
        Some(_) => {
            let sigma = kernel
                .and_then(|kernel| kernel.get("sigma"))
                .and_then(|sigma| sigma.as_float().or_else(|| sigma.as_integer().map(|sigma| sigma as f64)));
            let narrower = sigma.map_or_else(|| "median".into(), |sigma| (sigma / 2.0).to_string());
            steps.push(format!("a narrower kernel: {}", set(&of_arm("kernel.sigma"), &narrower)));
        }
    }
    match number("lambda") {
        Some(lambda) if lambda > LAMBDA => {
            steps.push(format!("a smaller λ: {}", set(&of_arm("lambda"), &LAMBDA.to_string())));
        }
        Some(lambda) => {
            steps.push(format!("a smaller λ: {}", set(&of_arm("lambda"), &(lambda / 10.0).to_string())));
        }
        None => {}
    }
    if recipe.train.batch < BATCH && !matches!(arm.method(), AlgorithmConfig::Cached { .. }) {
        steps.push(format!("larger batches: {}", set("train.batch", &BATCH.to_string())));
    }
    steps.push(format!(
        "batches in which each picture has others of its {condition}: {}",
        set(&of_arm("neighbourhoods"), "4")
    ));
    let optimizer = toml::Table::try_from(&recipe.optimizer).unwrap_or_default();
    if optimizer.get("learning_rate").and_then(toml::Value::as_float) != Some(LEARNING_RATE) {
        let rate = LEARNING_RATE.to_string();
        steps.push(format!("another learning rate, with Adam: {}", set("optimizer.learning_rate", &rate)));
    }
    steps.push(
        "`simile sweep`, which compares values of these keys on held-out pictures (docs/src/how-to/lambda.md)"
            .into(),
    );
    std::iter::once(format!("{name}: {condition} leaks as before. To try, in this order:"))
        .chain(steps.into_iter().enumerate().map(|(at, step)| format!("{}. {step}", at + 1)))
        .collect()
}
