//! The confusions of the linear probe, and its accuracy by class and by group.

use maud::{Markup, html};

use super::charts::series_colour;
use super::parts::wide;
use crate::run_folder::figures::{ConfusionFigure, GroupsFigure};
use crate::units::NOTHING;

/// Most classes of a readable matrix.
const CLASSES: usize = 24;
/// Number of listed entries, if there are more classes.
const LISTED: usize = 12;

/// The section of a run; `run` is its folder where the page has several.
pub(super) fn section(figures: &[ConfusionFigure], run: Option<&str>) -> Markup {
    html! {
        (bars(figures))
        @for figure in figures {
            h3 { (figure.variant) }
            div.pair {
                @if figure.names.len() <= CLASSES { (matrix(figure, run)) } @else { (mistakes(figure)) }
                @if let Some(groups) = &figure.groups { (cells(figure, groups, run)) }
            }
        }
    }
}

/// Accuracy by class, a bar for each variant; of many classes those that are worst for the last one.
fn bars(figures: &[ConfusionFigure]) -> Markup {
    let Some(last) = figures.last() else { return html! {} };
    let mut classes: Vec<usize> = (0..last.names.len()).collect();
    if classes.len() > CLASSES {
        let of_last = |class: usize| accuracy(last, class).unwrap_or(1.0);
        classes.sort_by(|&a, &b| of_last(a).total_cmp(&of_last(b)));
        classes.truncate(LISTED);
    }
    html! {
        figure {
            table.bars { tbody { @for &class in &classes { tr {
                th scope="row" { (last.names[class]) }
                td { @for (index, figure) in figures.iter().enumerate() {
                    @if let Some(accuracy) = accuracy(figure, class) { (bar(accuracy, series_colour(index))) }
                } }
            } } } }
            figcaption {
                b { "Accuracy by class" } ", of the linear probe on evaluation images"
                @if classes.len() < last.names.len() { ": the " (classes.len()) " worst of " (last.names.len()) } "."
            }
        }
    }
}

fn bar(share: f64, colour: &str) -> Markup {
    html! {
        div.bar style=(format!("--share: {share:.4}; --colour: {colour}")) { i {} span { (percent(share)) } }
    }
}

/// Accuracy on the images of a class.
fn accuracy(figure: &ConfusionFigure, class: usize) -> Option<f64> {
    let row = figure.counts.get(class)?;
    let count: usize = row.iter().sum();
    (count > 0).then(|| *row.get(class).unwrap_or(&0) as f64 / count as f64)
}

/// The name of a table of a variant, which no other variant and no other run of the page has.
fn table_name(table: &str, figure: &ConfusionFigure, run: Option<&str>) -> String {
    let run = run.map_or_else(String::new, |run| format!(", {run}"));
    format!("{table} of {}{run}", figure.variant)
}

fn matrix(figure: &ConfusionFigure, run: Option<&str>) -> Markup {
    html! {
        figure {
            (wide(&table_name("Confusion matrix", figure, run), &html! { table.cells {
                thead { tr { th { "class" } @for name in &figure.names { th scope="col" { (name) } } } }
                tbody { @for (class, row) in figure.counts.iter().enumerate() { tr {
                    th scope="row" { (figure.names.get(class).map_or("", String::as_str)) }
                    @for (guess, &count) in row.iter().enumerate() { (cell(count, row.iter().sum(), guess == class)) }
                } } }
            } }))
            figcaption { b { "Confusion matrix" } ": evaluation images by their class and by the linear probe's prediction." }
        }
    }
}

fn cell(count: usize, of: usize, right: bool) -> Markup {
    let share = count as f64 / of.max(1) as f64;
    let class = if right { "right" } else { "wrong" };
    html! {
        td class=(class) style=(format!("--share: {share:.3}")) title=(percent(share)) { @if count > 0 { (count) } }
    }
}

/// The most frequent mistakes of many classes.
fn mistakes(figure: &ConfusionFigure) -> Markup {
    let mut all: Vec<(usize, usize, usize)> = Vec::new();
    for (class, row) in figure.counts.iter().enumerate() {
        let wrong = row.iter().enumerate().filter(|(guess, count)| *guess != class && **count > 0);
        all.extend(wrong.map(|(guess, &count)| (count, class, guess)));
    }
    all.sort_by_key(|mistake| std::cmp::Reverse(mistake.0));
    let name = |class: usize| figure.names.get(class).map_or("", String::as_str);
    html! {
        figure {
            table.facts { tbody { @for &(count, class, guess) in all.iter().take(LISTED) {
                tr { td { (count) } td { (name(class)) " taken for " (name(guess)) } }
            } } }
            figcaption { b { "Confusion matrix" } ": the most frequent mistakes of the linear probe among " (figure.names.len()) " classes." }
        }
    }
}

/// Accuracy in the cells of class × attribute.
fn cells(figure: &ConfusionFigure, groups: &GroupsFigure, run: Option<&str>) -> Markup {
    let all = || groups.accuracy.iter().flatten().flatten().copied();
    let worst = all().fold(f64::INFINITY, f64::min);
    html! {
        figure {
            (wide(&table_name("Accuracy by group", figure, run), &html! { table.cells {
                thead { tr { td {} @for name in &groups.names { th scope="col" { (name) } } } }
                tbody { @for (class, row) in groups.accuracy.iter().enumerate() { tr {
                    th scope="row" { (figure.names.get(class).map_or("", String::as_str)) }
                    @for cell in row { @match cell {
                        Some(share) => {
                            td.right.worst[*share <= worst] style=(format!("--share: {share:.3}")) { (percent(*share)) }
                        }
                        None => { td { (NOTHING) } }
                    } }
                } } }
            } }))
            figcaption { b { "Accuracy by group" } ": class and " (groups.attribute) ". The worst group is framed." }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(classes: usize) -> ConfusionFigure {
        ConfusionFigure {
            variant: "Fair".into(),
            names: (0..classes).map(|class| format!("class-{class}")).collect(),
            counts: (0..classes)
                .map(|class| {
                    (0..classes)
                        .map(|guess| if class == guess { 9 } else { usize::from(guess == 0) })
                        .collect()
                })
                .collect(),
            groups: None,
        }
    }

    #[test]
    fn every_count_stands_in_its_cell_and_every_class_has_a_bar() {
        let html = section(&[figure(3), figure(3)], None).into_string();
        assert_eq!(html.matches("class=\"bar\"").count(), 6);
        assert_eq!((html.matches(">9</td>").count(), html.matches(">1</td>").count()), (6, 4));
        assert!(html.contains("90 %") && html.contains("100 %"));
    }

    #[test]
    fn of_many_classes_the_worst_and_the_mistakes_are_listed() {
        let html = section(&[figure(200)], None).into_string();
        assert_eq!(html.matches("class=\"bar\"").count(), LISTED);
        assert_eq!(html.matches(" taken for ").count(), LISTED);
        assert!(html.len() < 20_000);
    }

    #[test]
    fn the_worst_group_is_framed() {
        let names = vec!["land".into(), "water".into()];
        let groups = GroupsFigure {
            attribute: "place".into(),
            names,
            accuracy: vec![vec![Some(0.9), Some(0.2)], vec![None, Some(0.8)]],
        };
        let html = section(&[ConfusionFigure { groups: Some(groups), ..figure(2) }], None).into_string();
        assert_eq!(html.matches("right worst").count(), 1);
        assert!(html.contains("20 %") && html.contains("–") && html.contains("class and place"));
        for name in ["Confusion matrix of Fair", "Accuracy by group of Fair"] {
            let scrolls =
                format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">");
            assert!(html.contains(&scrolls), "{html}");
        }
    }
}
