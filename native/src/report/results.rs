//! The numbers of a report: every arm of every run, and over several runs what is the same and what is chance.

use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use super::RunRecord;
use super::charts::trade_off;
use super::curves::{key, of_runs};
use super::page::{time, wide};
use crate::against::{Against, in_words as against_in_words};
use crate::metric::Reading;
use crate::run::record::{ArmResult, MSE, R2, TOP1};
use crate::spread::Spread;

/// Metrics of what can be read off a condition, and how they are called.
const LEAKS: [(&str, &str); 2] =
    [(R2, "R² of the condition"), ("condition_top1", "accuracy on the condition")];

/// Every arm of every run, one row each.
pub(super) fn table(runs: &[RunRecord]) -> Markup {
    let several = runs.len() > 1;
    let arms = || runs.iter().flat_map(|run| run.result.arms.iter().map(move |arm| (run, arm)));
    let condition = match runs {
        [first, rest @ ..] if rest.iter().all(|run| run.result.condition == first.result.condition) => {
            first.result.condition.as_str()
        }
        _ => "condition",
    };
    let mut names: Vec<&str> = arms().flat_map(|(_, arm)| arm.metrics.keys().map(String::as_str)).collect();
    // What is asked for first stands first.
    let first = [TOP1, R2, MSE];
    names.sort_unstable_by_key(|name| {
        (first.iter().position(|one| one == name).unwrap_or(first.len()), *name)
    });
    names.dedup();
    let shown: Vec<(&str, Reading)> =
        names.iter().map(|&name| (name, Reading::of(name, condition))).collect();
    let has = |name: &str| names.contains(&name);
    html! {
        (wide(&html! { table {
            thead { tr {
                th { "Arm" }
                @if several { th { "Run" } th { "Seed" } }
                @for (_, reading) in &shown { th { (reading.title) } }
                th { "Final loss" } th { "Iterations" } th { "Training" }
            } }
            tbody { @for (run, arm) in arms() { tr {
                td { b { (arm.name) } " " span.soft { (arm.objective) } }
                @if several { td { (run.place) } td { (run.result.seed) } }
                @for (name, reading) in &shown { td { (reading.number(arm.metric(name))) } }
                td { (number(Some(arm.final_loss), 4)) }
                td { (arm.iterations) }
                td { (time(arm.training_seconds)) }
            } } }
        } }))
        p.soft {
            "Top-1: a linear classifier on the frozen, standardised representation."
            @if has(R2) {
                " R² and MSE: a ridge regression of the condition on the same representation; R² is 1 where the condition \
                 can be read off perfectly and 0 where predicting its mean does as well. Lower means less leak."
            }
            @if has("condition_top1") {
                " " (Reading::of("condition_top1", condition).title) ": how often a linear classifier names the condition; lower \
                 means less leak."
            }
        }
        @for (arms, protocol) in protocols(runs) {
            p.soft { @if !arms.is_empty() { b { (arms) } ": " } (protocol) "." }
        }
        @for (_, arm) in arms() {
            @if let Some(top1) = arm.last.as_ref().and_then(|last| last.get(TOP1)) {
                p.soft { b { (arm.name) } ": the last encoder has " (number(Some(top1 * 100.0), 2)) " %." }
            }
            @if let Some(stopped) = &arm.stopped {
                p { b { (arm.name) " ended early: " } (stopped.message) "." }
            }
        }
    }
}

/// How numbers were measured, each way once with the arms that it holds for; without them where there is one way.
fn protocols(runs: &[RunRecord]) -> Vec<(String, &str)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for arm in runs.iter().flat_map(|run| &run.result.arms).filter(|arm| !arm.protocol.is_empty()) {
        match found.iter_mut().find(|(protocol, _)| *protocol == arm.protocol) {
            Some((_, arms)) if arms.contains(&arm.name.as_str()) => {}
            Some((_, arms)) => arms.push(&arm.name),
            None => found.push((&arm.protocol, vec![&arm.name])),
        }
    }
    let one = found.len() == 1;
    let named =
        |(protocol, arms): (_, Vec<&str>)| (if one { String::new() } else { arms.join(", ") }, protocol);
    found.into_iter().map(named).collect()
}

/// Accuracy against leak of several arms; over several runs the mean and spread of each arm, and their losses.
///
/// # Errors
/// If a chart cannot be drawn.
pub(super) fn comparison(runs: &[RunRecord]) -> Result<Markup> {
    let mut arms: Vec<((&str, &str), Vec<&ArmResult>)> = Vec::new();
    for (run, arm) in runs.iter().flat_map(|run| run.result.arms.iter().map(move |arm| (run, arm))) {
        let name = (run.result.recipe.as_str(), arm.name.as_str());
        match arms.iter_mut().find(|(known, _)| *known == name) {
            Some((_, results)) => results.push(arm),
            None => arms.push((name, vec![arm])),
        }
    }
    let names: Vec<(&str, &str)> = arms.iter().map(|(name, _)| *name).collect();
    let measured =
        |metric: &str| arms.iter().flat_map(|(_, arms)| arms).any(|arm| arm.metric(metric).is_some());
    let leak = LEAKS.iter().find(|(metric, _)| measured(metric));
    let mut points: Vec<(f64, f64, usize)> = Vec::new();
    for (index, (_, arms)) in arms.iter().enumerate() {
        let both = |arm: &&ArmResult| Some((arm.metric(leak?.0)?, arm.metric(TOP1)? * 100.0, index));
        points.extend(arms.iter().filter_map(both));
    }
    let condition = runs.first().map_or("", |run| run.result.condition.as_str());
    let shown: Vec<(&str, Reading)> = [TOP1, R2, MSE, "condition_top1"]
        .into_iter()
        .filter(|&name| name == TOP1 || measured(name))
        .map(|name| (name, Reading::of(name, condition)))
        .collect();
    let cell = |arms: &[&ArmResult], name: &str, reading: &Reading| {
        let values: Vec<f64> = arms.iter().filter_map(|arm| arm.metric(name)).collect();
        reading.spread(Spread::of(&values))
    };
    let shown_first = Reading::of(TOP1, condition);
    let accuracies = |arms: &[&ArmResult]| -> Vec<f64> {
        arms.iter().filter_map(|arm| arm.metric(TOP1)).map(|value| shown_first.value(value)).collect()
    };
    let first = arms.first().map(|(_, arms)| accuracies(arms)).unwrap_or_default();
    let against = std::iter::once(Ok(None))
        .chain(arms.iter().skip(1).map(|(_, arms)| Against::of(&accuracies(arms), &first)))
        .collect::<Result<Vec<Option<Against>>>>()?;
    let tested = against.iter().any(Option::is_some);
    Ok(html! {
        @if runs.len() > 1 {
            h2 { "Over the runs" }
            (wide(&html! { table {
                thead { tr {
                    th { "Arm" } th { "Recipe" } th { "Runs" }
                    @for (_, reading) in &shown { th { (reading.title) } }
                    @if tested { th { (shown_first.title) ", against the first" } }
                } }
                tbody { @for (((recipe, name), arms), against) in arms.iter().zip(&against) { tr {
                    td { b { (name) } } td { (recipe) } td { (arms.len()) }
                    @for (name, reading) in &shown { td { (cell(arms, name, reading)) } }
                    @if tested { td { (against.as_ref().map_or_else(|| "–".into(), |one| one.text(shown_first.digits()))) } }
                } } }
            } }))
            p.soft {
                "Mean ± standard deviation over the runs (n − 1)."
                @if let Some(words) = against_in_words(against.iter().flatten()) {
                    " Against the first arm: " (words) "."
                }
            }
        }
        @if names.len() > 1 || runs.len() > 1 {
            (key(names.iter().map(|(_, arm)| *arm)))
            div.pair {
                @if let (Some((_, title)), true) = (leak, points.len() > 1) { figure {
                    (PreEscaped(trade_off(title, &points)?))
                    figcaption { b { "Accuracy against leak," } " one point a run. Up and left is better." }
                } }
                @if runs.len() > 1 { (of_runs(runs, &names)?) }
            }
        }
    })
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
}
