//! The report as one HTML page that needs nothing beside itself.

use std::fmt::Display;

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::charts::{Marks, Series, curves, map, series_colour};
use super::figures::{HeatMap, KernelFigure, MapFigure};
use super::{RunRecord, results};
use crate::run::record::{ArmResult, Measurement};

const STYLE: &str = include_str!("style.css");

/// The page for one run, or for several side by side.
///
/// # Errors
/// If a chart cannot be drawn.
pub(crate) fn page(runs: &[RunRecord]) -> Result<String> {
    let title = match runs {
        [run] => run.result.recipe.clone(),
        runs => format!("{} runs", runs.len()),
    };
    let sections = runs.iter().map(|run| section(run, runs.len() > 1)).collect::<Result<Vec<_>>>()?;
    let header = html! {
        h1 { (title) }
        p.soft { (subtitle(runs)) }
    };
    let body = html! {
        h2 { "Results" }
        (results::table(runs))
        (results::comparison(runs)?)
        @for section in &sections { (section) }
    };
    Ok(document(&title, &header, &body))
}

/// A page that loads nothing; `title` is that of its tab.
pub(crate) fn document(title: &str, header: &Markup, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · Simile" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (header) }
                (body)
                footer.soft { "Written by simile " (env!("CARGO_PKG_VERSION")) ". This file loads nothing." }
            }
        }
    };
    markup.into_string()
}

fn subtitle(runs: &[RunRecord]) -> String {
    match runs {
        [run] => {
            let arms: Vec<&str> = run.result.arms.iter().map(|arm| arm.name.as_str()).collect();
            format!(
                "{} · seed {} · {} · {}",
                arms.join(" and "),
                run.result.seed,
                run.result.device,
                time(run.result.seconds)
            )
        }
        runs => runs.iter().map(|run| run.place.as_str()).collect::<Vec<_>>().join(" · "),
    }
}

fn section(run: &RunRecord, several: bool) -> Result<Markup> {
    let kernels = run.figures.kernels.iter().map(kernel_figure);
    let maps = run.figures.maps.iter().map(map_figures).collect::<Result<Vec<_>>>()?;
    Ok(html! {
        @if several { h2 { (run.place) } }
        (heading(several, "Curves"))
        (curve_figures(run)?)
        @if !run.figures.kernels.is_empty() {
            (heading(several, "What the condition weighs"))
            @for figure in kernels { (figure) }
        }
        @if !run.figures.samples.is_empty() {
            (heading(several, "Samples"))
            figure { div.samples { @for sheet in &run.figures.samples {
                span { (sheet.caption) } img src=(sheet.picture) alt=(format!("Row of images: {}", sheet.caption));
            } } }
        }
        @if !maps.is_empty() {
            (heading(several, "Map of the embeddings"))
            p.soft { "The first two principal components of the test images' representation." }
            @for map in &maps { (map) }
        }
        (heading(several, "Recipe"))
        details open[!several] { summary { "As it was run, every default filled in" } pre { (run.recipe) } }
        (heading(several, "Environment"))
        table.facts { tbody {
            (fact("Device", &run.result.device)) (fact("Seed", run.result.seed)) (fact("Version", &run.result.version))
            (fact("Wall time", time(run.result.seconds))) (fact("Run folder", &run.place))
        } }
    })
}

fn heading(several: bool, text: &str) -> Markup {
    html! { @if several { h3 { (text) } } @else { h2 { (text) } } }
}

fn fact(name: &str, value: impl Display) -> Markup {
    html! { tr { td { (name) } td { (value.to_string()) } } }
}

fn curve_figures(run: &RunRecord) -> Result<Markup> {
    let arms = &run.result.arms;
    let of = |arm: &ArmResult, noisy, value: fn(&Measurement) -> f64| Series {
        noisy,
        points: run
            .measurements
            .iter()
            .filter(|line| line.arm == arm.name)
            .map(|line| (line.iteration as f64, value(line)))
            .collect(),
    };
    let losses: Vec<Series> = arms.iter().map(|arm| of(arm, true, |line| line.loss)).collect();
    // Arms share their schedule, so that one curve stands for all.
    let rates: Vec<Series> =
        arms.iter().take(1).map(|arm| of(arm, false, |line| line.learning_rate)).collect();
    Ok(html! {
        ul.key { @for (index, arm) in arms.iter().enumerate() {
            li { i style=(format!("border-color: {}", series_colour(index))) {} (arm.name) }
        } }
        div.pair {
            figure { (PreEscaped(curves("loss", &losses)?)) figcaption { b { "Loss" } " of each batch, and its running mean. Different objectives have different scales." } }
            figure { (PreEscaped(curves("learning rate", &rates)?)) figcaption { b { "Learning rate" } ", the same for every arm." } }
        }
    })
}

fn kernel_figure(figure: &KernelFigure) -> Markup {
    let one = |name: &str, map: &HeatMap| {
        html! {
            figure {
                @if let Some(strip) = &figure.strip { img.strip src=(strip) alt=(figure.order); }
                img src=(map.picture) alt=(format!("Heat map of {name}"));
                div.scale { (short(map.low)) i {} (short(map.high)) }
                figcaption { b { (name) } }
            }
        }
    };
    html! {
        p { b { (figure.arm) } ": " (figure.caption) " " span.soft { (figure.order) " The scale leaves the diagonal out." } }
        div.pair { (one("K", &figure.gram)) (one("(K + λI)⁻¹ K", &figure.weights)) }
    }
}

fn map_figures(figure: &MapFigure) -> Result<Markup> {
    let share = figure.explained.iter().sum::<f64>() * 100.0;
    let one = |caption: &str, svg: String| {
        html! { figure { (PreEscaped(svg)) figcaption { b { (figure.arm) } ", " (caption) } } }
    };
    let by_class = map(&figure.points, &Marks::Classes(&figure.classes))?;
    let by_colour =
        figure.colours.as_ref().map(|colours| map(&figure.points, &Marks::Colours(colours))).transpose()?;
    Ok(html! {
        div.pair style="margin-bottom: 1.2rem" {
            (one(&format!("by class. The plane holds {share:.0} % of the variance."), by_class))
            @if let Some(svg) = by_colour { (one("by the condition's colour. A gradient means that it can be read off.", svg)) }
        }
    })
}

fn short(value: f64) -> String {
    match value.abs() {
        size if size < 1e-9 => "0".into(),
        size if size < 1e-3 => format!("{value:.1e}"),
        _ => format!("{value:.3}"),
    }
}

/// Seconds as people say them.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 60.0 => format!("{seconds:.1} s"),
        seconds if seconds < 3600.0 => {
            format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor())
        }
        seconds => {
            format!("{:.0} h {:02.0} min", (seconds / 3600.0).floor(), (seconds / 60.0 % 60.0).floor())
        }
    }
}
