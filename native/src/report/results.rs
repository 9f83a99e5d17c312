//! The numbers of a report: every arm of every run, and over several runs what is the same and what is chance.

use std::collections::BTreeMap;

use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use super::RunRecord;
use super::charts::{series_colour, trade_off};
use super::page::time;
use crate::run::record::{ArmResult, MSE, R2, TOP1};
use crate::spread::{Spread, written};

/// Every arm of every run, one row each.
pub(super) fn table(runs: &[RunRecord]) -> Markup {
    let several = runs.len() > 1;
    let arms = || runs.iter().flat_map(|run| run.result.arms.iter().map(move |arm| (run, arm)));
    let condition = match runs {
        [first, rest @ ..] if rest.iter().all(|run| run.result.condition == first.result.condition) => {
            first.result.condition_title()
        }
        _ => "Condition".into(),
    };
    let others: Vec<&str> = {
        let mut names: Vec<&str> =
            arms().flat_map(|(_, arm)| arm.metrics.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| ![TOP1, MSE, R2].contains(name));
        names
    };
    html! {
        div.scroll { table {
            thead { tr {
                th { "Arm" }
                @if several { th { "Run" } th { "Seed" } }
                th { "Top-1" } th { (condition) " R²" } th { (condition) " MSE" }
                @for name in &others { th { (name) } }
                th { "Final loss" } th { "Iterations" } th { "Training" }
            } }
            tbody { @for (run, arm) in arms() { tr {
                td { b { (arm.name) } " " span.soft { (arm.objective) } }
                @if several { td { (run.place) } td { (run.result.seed) } }
                td { (percent(arm)) }
                td { (number(arm.metric(R2), 3)) }
                td { (number(arm.metric(MSE), 1)) }
                @for name in &others { td { (number(arm.metric(name), 4)) } }
                td { (number(Some(arm.final_loss), 4)) }
                td { (arm.iterations) }
                td { (time(arm.training_seconds)) }
            } } }
        } }
        p.soft {
            "Top-1: a linear classifier on the frozen, standardised representation. R² and MSE: a ridge regression of \
             the condition on the same representation; R² is 1 where the condition can be read off perfectly and 0 \
             where predicting its mean does as well. Lower means less leak."
        }
    }
}

/// Mean and spread of each arm over the runs, and accuracy against leak; nothing for one run.
///
/// # Errors
/// If the chart cannot be drawn.
pub(super) fn comparison(runs: &[RunRecord]) -> Result<Markup> {
    if runs.len() < 2 {
        return Ok(html! {});
    }
    let mut arms: BTreeMap<(&str, &str), Vec<&ArmResult>> = BTreeMap::new();
    for run in runs {
        for arm in &run.result.arms {
            arms.entry((&run.result.recipe, &arm.name)).or_default().push(arm);
        }
    }
    let points: Vec<(f64, f64, usize)> = arms
        .values()
        .enumerate()
        .flat_map(|(index, arms)| {
            arms.iter().filter_map(move |arm| Some((arm.metric(R2)?, arm.metric(TOP1)? * 100.0, index)))
        })
        .collect();
    let cell = |arms: &[&ArmResult], name: &str, scale: f64, digits: usize| {
        let values: Vec<f64> =
            arms.iter().filter_map(|arm| arm.metric(name)).map(|value| value * scale).collect();
        written(Spread::of(&values), digits)
    };
    Ok(html! {
        h2 { "Over the runs" }
        div.scroll { table {
            thead { tr { th { "Arm" } th { "Recipe" } th { "Runs" } th { "Top-1 in %" } th { "R²" } th { "MSE" } } }
            tbody { @for ((recipe, name), arms) in &arms { tr {
                td { b { (name) } } td { (recipe) } td { (arms.len()) }
                td { (cell(arms, TOP1, 100.0, 2)) } td { (cell(arms, R2, 1.0, 3)) } td { (cell(arms, MSE, 1.0, 1)) }
            } } }
        } }
        p.soft { "Mean ± standard deviation over the runs (n − 1)." }
        @if !points.is_empty() {
            ul.key { @for (index, (recipe, name)) in arms.keys().enumerate() {
                li { i style=(format!("border-color: {}", series_colour(index))) {} (name) " " span.soft { (recipe) } }
            } }
            div.pair { figure {
                (PreEscaped(trade_off(&points)?))
                figcaption { b { "Accuracy against leak," } " one point a run. Up and left is better." }
            } }
        }
    })
}

fn percent(arm: &ArmResult) -> String {
    arm.metric(TOP1).map_or_else(|| "–".into(), |value| format!("{:.2} %", value * 100.0))
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
}
