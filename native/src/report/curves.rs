//! The section of curves, with the numbers that its cursor reads.

use std::fmt::Display;

use anyhow::Result;
use maud::{Markup, PreEscaped, html};
use serde_json::json;

use super::charts::{Chart, Series, curves, rounded, series_colour, shown};
use super::parts::json_script;
use super::pool::Pool;
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::record::{Measurement, VariantResult};

/// The script of the cursor.
pub(crate) const SCRIPT: &str = include_str!("script.js");

/// The loss and the learning rate of a run's variants.
///
/// # Errors
/// If a chart cannot be drawn.
pub(super) fn run_curves(run: &FinishedRun) -> Result<Markup> {
    let variants = &run.result.variants;
    let losses: Vec<(String, Series)> = variants
        .iter()
        .enumerate()
        .map(|(ink, variant)| {
            (
                variant.name.clone(),
                Series { noisy: true, ink, points: points(run, variant, |line| line.loss) },
            )
        })
        .collect();
    let rates: Vec<(String, Series)> = variants
        .iter()
        .enumerate()
        .map(|(ink, variant)| {
            let points = points(run, variant, |line| line.learning_rate);
            (variant.name.clone(), Series { noisy: false, ink, points })
        })
        .collect();
    let validated: Vec<(String, Series)> = variants
        .iter()
        .enumerate()
        .filter(|(_, variant)| !variant.evaluations.is_empty())
        .map(|(ink, variant)| {
            let points = variant.evaluations.iter().map(|one| (one.iteration as f64, one.value)).collect();
            (variant.name.clone(), Series { noisy: false, ink, points })
        })
        .collect();
    let evaluated = (!validated.is_empty())
        .then(|| {
            let caption = html! { b { "Validation" } ", the metric by which the encoder is chosen." };
            figure("validation", validated, &caption)
        })
        .transpose()?;
    let loss = html! {
        b { "Loss" } " in training: a point of the faint curve is a mean over " code { "train.log_every" } " iterations, the bold \
                      curve their running mean. Different objectives have different scales."
    };
    let rate = html! { b { "Learning rate" } " of every variant; equal curves overlap." };
    Ok(html! {
        (key(variants.iter().map(|variant| variant.name.as_str())))
        div.pair data-curves {
            (figure("loss", losses, &loss)?)
            (figure("learning rate", rates, &rate)?)
            @if let Some(figure) = &evaluated { (figure) }
        }
    })
}

/// The running means of the losses of all variants of all runs, in one chart; runs that are equal but for the seed have one
/// colour in all of them.
///
/// # Errors
/// If the chart cannot be drawn.
pub(super) fn pool_curves(pools: &[Pool<'_>]) -> Result<Markup> {
    let mut losses = Vec::new();
    for (ink, pool) in pools.iter().enumerate() {
        for (run, variant) in &pool.runs {
            let points = points(run, variant, |line| line.loss);
            let smooth = shown(&Series { noisy: true, ink: 0, points });
            let series = Series { noisy: false, ink, points: smooth };
            losses.push((format!("{}, seed {}", variant.name, run.result.seed), series));
        }
    }
    Ok(html! {
        div data-curves { (figure("loss", losses, &html! { b { "Loss" } " of all runs, running means." })?) }
    })
}

/// Curves over the iterations, with the script of their cursor.
///
/// # Errors
/// If the chart cannot be drawn.
pub(crate) fn iteration_curves(y_name: &str, ways: Vec<(String, Vec<(f64, f64)>)>) -> Result<Markup> {
    let names: Vec<String> = ways.iter().map(|(name, _)| name.clone()).collect();
    let series = ways
        .into_iter()
        .enumerate()
        .map(|(ink, (name, points))| (name, Series { noisy: false, ink, points }));
    let drawn = figure(y_name, series.collect(), &html! { b { (y_name) } ", of the first seed." })?;
    Ok(html! {
        (key(names.iter().map(String::as_str)))
        div.pair data-curves { (drawn) }
        script { (PreEscaped(SCRIPT)) }
    })
}

/// A key of series, each with its colour.
pub(crate) fn key(names: impl Iterator<Item = impl Display>) -> Markup {
    html! {
        ul.key { @for (index, name) in names.enumerate() {
            li { i style=(format!("border-color: {}", series_colour(index))) {} (name.to_string()) }
        } }
    }
}

fn points(run: &FinishedRun, variant: &VariantResult, value: fn(&Measurement) -> f64) -> Vec<(f64, f64)> {
    let of_variant = run.measurements.iter().filter(|line| line.variant == variant.name);
    of_variant.map(|line| (line.iteration as f64, value(line))).collect()
}

fn figure(name: &str, all: Vec<(String, Series)>, caption: &Markup) -> Result<Markup> {
    let (names, series): (Vec<String>, Vec<Series>) = all.into_iter().unzip();
    let Chart { svg, area, x, y } = curves(name, &series)?;
    let read = names.iter().zip(&series).map(|(name, one)| {
        let points: Vec<[f64; 2]> =
            shown(one).into_iter().filter(|(_, y)| y.is_finite()).map(|(x, y)| [x, rounded(y)]).collect();
        json!({ "name": name, "colour": series_colour(one.ink), "points": points })
    });
    let read: Vec<serde_json::Value> = read.collect();
    let data = json!({ "area": area, "x": [x.0, x.1], "y": [y.0, y.1], "series": read });
    Ok(html! {
        figure.curve tabindex="0" aria-label=(format!("{name} over iterations; arrow keys move a cursor")) {
            (PreEscaped(svg))
            (json_script(&data))
            figcaption { (caption) " " output {} }
        }
    })
}
