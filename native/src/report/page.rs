//! The report as one self-contained HTML page.

use std::fmt::Display;
use std::path::Path;

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::smoke::smoke;
use super::{accuracy, comparison, curves, gallery, maps, results};
use crate::config::Recipe;
use crate::data::EvaluationSplit;
use crate::run_folder::figures::{ContactSheet, Figures, HeatMap, KernelFigure, Thumbnails};
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::record::ImageCounts;
use crate::units;

const STYLE: &str = include_str!("style.css");
/// Most runs of a page whose points have images.
const RUNS_WITH_THUMBNAILS: usize = 4;

/// The page for one run, or for several side by side.
///
/// # Errors
/// If a chart cannot be drawn.
pub(crate) fn page(runs: &[FinishedRun]) -> Result<String> {
    let title = match runs {
        [run] => run.result.recipe.clone(),
        runs => format!("{} runs", runs.len()),
    };
    let sections = (0..runs.len()).map(|at| section(at, runs)).collect::<Result<Vec<_>>>()?;
    let header = html! {
        h1 { (title) }
        p.soft { (subtitle(runs)) }
    };
    let body = html! {
        @for run in runs {
            @if let Some(words) = smoke(&run.result) {
                p { b { @if runs.len() > 1 { (run.folder) ": " } (words) } }
            }
        }
        @if let [first, rest @ ..] = FinishedRun::verdict(runs)?.as_slice() {
            div.verdict { p { b { (first.replace(" %", "\u{a0}%")) } } @for sentence in rest { p { (with_code(sentence)) } } }
        }
        (contents(runs))
        h2 #results { "Results" }
        (results::table(runs))
        (comparison::comparison(runs)?)
        @if let [run] = runs {
            @for section in &sections { (section) }
            (environment(run))
        } @else {
            @for (at, (run, section)) in runs.iter().zip(&sections).enumerate() {
                details.run id=(format!("run-{at}")) { summary { (run.folder) } (section) (environment(run)) }
            }
        }
        script { (PreEscaped(curves::SCRIPT)) }
    };
    Ok(document(&title, &header, &body))
}

/// Links to the sections, or to the runs of several.
fn contents(runs: &[FinishedRun]) -> Markup {
    let links: Vec<(String, String)> = match runs {
        [run] => {
            let there = parts(run, false).into_iter().filter(|(_, _, there)| *there);
            there.map(|(name, title, _)| (format!("{name}-0"), title.to_owned())).collect()
        }
        runs => runs.iter().enumerate().map(|(at, run)| (format!("run-{at}"), run.folder.clone())).collect(),
    };
    html! { nav aria-label="Contents" {
        a href="#results" { "Results" }
        @for (place, title) in &links { a href=(format!("#{place}")) { (title) } }
    } }
}

/// The parts of a run's section: name, title, and whether the run has it. Parts that would repeat those of an earlier
/// run are left out.
fn parts(run: &FinishedRun, repeats: bool) -> [(&'static str, &'static str, bool); 7] {
    let Figures { samples, kernels, maps, confusions, galleries, .. } = &run.figures;
    [
        ("curves", "Curves", true),
        ("map", "Map of the embeddings", !maps.is_empty()),
        ("accuracy", "Confusion matrix and groups", !confusions.is_empty()),
        ("neighbours", "Neighbours", !galleries.is_empty()),
        ("kernel", "Kernel and weights", !kernels.is_empty() && !repeats),
        ("samples", "Samples", !samples.is_empty() && !repeats),
        ("recipe", "Recipe", true),
    ]
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
                main { (body) }
                footer.soft { "Written by simile " (env!("CARGO_PKG_VERSION")) ". This page loads nothing from the network." }
            }
        }
    };
    markup.into_string()
}

fn subtitle(runs: &[FinishedRun]) -> String {
    match runs {
        [run] => {
            let variants: Vec<&str> =
                run.result.variants.iter().map(|variant| variant.name.as_str()).collect();
            let images = run.result.images.map(|images| format!("{} training images", images.train));
            let day = run.result.date.split('T').next().filter(|day| !day.is_empty()).map(str::to_owned);
            let seed = Some(format!("seed {}", run.result.seed));
            let facts = [Some(listed(&variants)), images, seed, Some(run.result.devices())];
            let facts = facts.into_iter().chain([Some(units::seconds(run.result.seconds)), day]).flatten();
            facts.collect::<Vec<_>>().join(" · ")
        }
        runs => runs.iter().map(|run| run.folder.as_str()).collect::<Vec<_>>().join(" · "),
    }
}

/// Names with commas between them, and a word before the last.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

fn section(at: usize, runs: &[FinishedRun]) -> Result<Markup> {
    let (run, several) = (&runs[at], runs.len() > 1);
    let variants = runs.iter().map(|run| run.figures.maps.len()).sum();
    // Seeds of one recipe share the same kernel.
    let kernels = |run: &FinishedRun| -> Vec<String> {
        run.figures.kernels.iter().map(|figure| format!("{}: {}", figure.variant, figure.caption)).collect()
    };
    let repeats = runs[..at].iter().any(|before| kernels(before) == kernels(run));
    let curves = curves::run_curves(run)?;
    let part = |name: &str| match name {
        "curves" => html! { (curves) },
        "map" => html! {
            p.soft { "Representations of evaluation images." }
            (maps::section(at, &run.figures.maps, thumbnails(runs.len(), run), variants))
        },
        "accuracy" => accuracy::section(&run.figures.confusions, several.then_some(run.folder.as_str())),
        "neighbours" => gallery::section(&run.figures.galleries, variants),
        "kernel" => html! { @for figure in &run.figures.kernels { (kernel_figure(figure)) } },
        "samples" => html! { figure { div.samples { @for sheet in &run.figures.samples {
            span { (sheet.caption) } img src=(sheet.picture) alt=(format!("Row of images: {}", sheet.caption));
        } } } },
        _ => html! { details { summary { "As it was run, every default filled in" } pre { (run.recipe) } } },
    };
    Ok(html! {
        @for (name, title, there) in parts(run, repeats) { @if there {
            @if several { h3 { (title) } } @else { h2 id=(format!("{name}-{at}")) { (title) } }
            (part(name))
        } }
    })
}

/// The images of a run's points, unless there are too many runs for a small page.
fn thumbnails(runs: usize, run: &FinishedRun) -> Option<&Thumbnails> {
    run.figures.thumbnails.as_ref().filter(|_| runs <= RUNS_WITH_THUMBNAILS)
}

fn environment(run: &FinishedRun) -> Markup {
    html! {
        h3 { "Environment" }
        table.facts { tbody {
            (fact("Device", run.result.devices())) (fact("Seed", run.result.seed)) (fact("Version", &run.result.version))
            (fact("Wall time", units::seconds(run.result.seconds))) (fact("Run folder", &run.folder))
            @if !run.result.date.is_empty() { (fact("Date", &run.result.date)) }
            @if let Some(ImageCounts { train, test, test_subjects }) = run.result.images {
                @let subjects = test_subjects.map_or(String::new(), |count| format!(", of {count} subjects"));
                @let split = evaluation_split(run).map_or_else(String::new, |split| format!("{split} images "));
                (fact("Images", format!("{train} to train on, {test} {split}to evaluate on{subjects}")))
            }
            @if !run.result.command.is_empty() { tr { td { "Command" } td { code { (run.result.command) } } } }
        } }
    }
}

/// The split of the evaluation images of a run, if its recipe can be read.
fn evaluation_split(run: &FinishedRun) -> Option<EvaluationSplit> {
    let recipe = Recipe::resolved(&run.recipe, Path::new(&run.folder)).ok()?;
    Some(recipe.data.evaluation_split())
}

fn fact(name: &str, value: impl Display) -> Markup {
    html! { tr { td { (name) } td { (value.to_string()) } } }
}

/// A kernel beside its weights.
pub(crate) fn kernel_figure(figure: &KernelFigure) -> Markup {
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
        p { b { (figure.variant) } ": " (figure.caption) " " span.soft { (figure.order) " The scale leaves the diagonal out." } }
        div.pair { (one("K", &figure.gram)) (one("(K + λI)⁻¹ K", &figure.weights)) }
    }
}

/// A sheet of images.
pub(crate) fn sheet_figure(sheet: &ContactSheet, caption: &str) -> Markup {
    html! { figure { img src=(sheet.picture) alt=(sheet.caption); figcaption { (caption) } } }
}

fn short(value: f64) -> String {
    match value.abs() {
        size if size < 1e-9 => "0".into(),
        size if size < 1e-3 => format!("{value:.1e}"),
        _ => format!("{value:.3}"),
    }
}

/// A sentence whose parts between backticks are commands or keys.
pub(crate) fn with_code(sentence: &str) -> Markup {
    html! {
        @for (at, part) in sentence.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::run_folder::figures::{ConfusionFigure, GroupsFigure};
    use crate::run_folder::testing::{run, variant};

    #[test]
    fn the_images_of_an_evaluation_are_named_by_their_split() {
        let of = |set: &str| {
            let mut record = run("a", 0, set, vec![variant("x", 0.5)]);
            record.result.images = Some(ImageCounts { train: 56, test: 8, test_subjects: None });
            page(&[record]).unwrap()
        };
        assert!(of("").contains("56 to train on, 8 test images to evaluate on"));
        let held_out = of("data.validation=8");
        assert!(held_out.contains("8 held-out training images to evaluate on"));
        assert!(!held_out.contains("test images"), "{held_out}");
    }

    #[test]
    fn variants_are_listed_with_one_and() {
        let of = |names: &[&str]| {
            subtitle(&[run("a", 0, "", names.iter().map(|name| variant(name, 0.5)).collect())])
        };
        assert!(of(&["plain"]).starts_with("plain · "));
        assert!(of(&["plain", "hide site"]).starts_with("plain and hide site · "));
        let three = of(&["plain", "hide site", "keep age"]);
        assert!(three.starts_with("plain, hide site and keep age · "), "{three}");
    }

    #[test]
    fn no_two_tables_of_a_page_have_one_name() {
        let of_seed = |folder: &str, seed: u64| {
            let groups = GroupsFigure {
                attribute: "place".into(),
                names: vec!["land".into(), "water".into()],
                accuracy: vec![vec![Some(0.9), Some(0.2)], vec![None, Some(0.8)]],
            };
            let confusion = |variant: &str| ConfusionFigure {
                variant: variant.into(),
                names: vec!["a".into(), "b".into()],
                counts: vec![vec![3, 1], vec![0, 4]],
                groups: Some(groups.clone()),
            };
            let less = 0.01 * seed as f64;
            let variants = vec![variant("SimCLR", 0.9 - less), variant("Fair", 0.8 - less)];
            let mut record = run(folder, seed, "", variants);
            record.figures.confusions = vec![confusion("SimCLR"), confusion("Fair")];
            record
        };
        let html = page(&[of_seed("runs/seed-0", 0), of_seed("runs/seed-1", 1)]).unwrap();
        let names: Vec<&str> = html
            .split("role=\"region\" aria-label=\"")
            .skip(1)
            .filter_map(|after| after.split('"').next())
            .collect();
        assert!(names.contains(&"Confusion matrix of SimCLR, runs/seed-1"), "{names:?}");
        assert!(names.contains(&"Accuracy by group of Fair, runs/seed-0"), "{names:?}");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    }
}
