//! The section of maps: every variant by t-SNE and by principal components, coloured by an attribute, by class or by error. The
//! switches are plain form controls for the style sheet. The script of the page shows the image of the point under the pointer.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use serde_json::json;

use super::charts::series_colour;
use super::parts::json_script;
use crate::extremes::extremes;
use crate::run_folder::figures::{Attribute, MapFigure, Thumbnails, Values};

/// Side of a map in its own unit.
const SIDE: f64 = 1000.0;
/// Most points of all maps of a page, so that it stays small.
const BUDGET: usize = 5000;
/// Most names of a legend.
const NAMED: usize = 30;

/// A colouring: its value in the switch, which the style sheet knows, and its title.
struct Colouring<'a> {
    value: String,
    title: &'a str,
}

/// The maps of a run. `group` distinguishes its switches from those of other runs, and `maps` is the number of maps on
/// the page.
pub(crate) fn section(
    group: usize,
    figures: &[MapFigure],
    thumbnails: Option<&Thumbnails>,
    maps: usize,
) -> Markup {
    let every = (maps * 600).div_ceil(BUDGET).max(1);
    let any = |has: fn(&MapFigure) -> bool| figures.iter().any(has);
    let planes =
        [("tsne", "t-SNE", any(|map| !map.neighbours.is_empty())), ("pca", "Principal components", true)];
    let planes: Vec<Colouring<'_>> = planes
        .into_iter()
        .filter(|(.., there)| *there)
        .map(|(value, title, _)| Colouring { value: value.into(), title })
        .collect();
    let attributes = figures.first().map_or(&[][..], |figure| figure.attributes.as_slice());
    let by_attribute = attributes
        .iter()
        .enumerate()
        .map(|(at, attribute)| Colouring { value: format!("a{at}"), title: attribute.name.as_str() });
    let class = Colouring { value: "class".into(), title: "class" };
    let error = any(|map| !map.guesses.is_empty())
        .then(|| Colouring { value: "error".into(), title: "errors of the probe" });
    let colourings: Vec<Colouring<'_>> = by_attribute.chain([class]).chain(error).collect();
    html! {
        div.maps {
            div.switches {
                (switch(&format!("plane-{group}"), "Map", &planes))
                (switch(&format!("shown-{group}"), "Coloured by", &colourings))
            }
            div.pair { @for figure in figures { (one(figure, every)) } }
            @if let Some(first) = figures.first() {
                p.soft { (legends(first)) " Point at a dot to see its " (shown_of_a_point(first, thumbnails)) "." }
                (facts(first, thumbnails))
            }
        }
    }
}

fn switch(name: &str, title: &str, choices: &[Colouring<'_>]) -> Markup {
    html! {
        fieldset { legend { (title) } @for (index, Colouring { value, title }) in choices.iter().enumerate() {
            label { input type="radio" name=(name) value=(value) checked[index == 0]; (title) }
        } }
    }
}

fn one(figure: &MapFigure, every: usize) -> Markup {
    let share = figure.explained.iter().sum::<f64>() * 100.0;
    let wrong = figure.guesses.iter().zip(&figure.classes).filter(|(guess, class)| guess != class).count();
    let plane = |points: &[[f64; 2]]| PreEscaped(drawing(figure, points, every));
    html! {
        figure.map data-guesses=(json!(figure.guesses)) {
            @if !figure.neighbours.is_empty() { div.plane.tsne { (plane(&figure.neighbours)) } }
            div.plane.pca { (plane(&figure.points)) }
            figcaption {
                b { (figure.variant) }
                span.of-pca { ". The plane holds " (format!("{share:.0}")) " % of the variance." }
                span.of-tsne { ". Near neighbours stay near; distances between groups say little." }
                " " (shown(figure))
                @if every > 1 { ", one in " (every) " of them drawn" } "."
                span.layer.error { " " (wrong) " of " (figure.guesses.len()) " wrong, in the colour of the linear probe's prediction." }
            }
        }
    }
}

/// The images that are shown, in words.
fn shown(figure: &MapFigure) -> String {
    let points = figure.points.len();
    match figure.drawn_from {
        Some(images) if images > points => format!("{points} of {images} evaluation images, drawn at random"),
        Some(_) => format!("All {points} evaluation images"),
        None => format!("The first {points} evaluation images"),
    }
}

/// The facts that the page shows of a point, in words.
fn shown_of_a_point(figure: &MapFigure, thumbnails: Option<&Thumbnails>) -> &'static str {
    let has_attributes = figure.attributes.iter().any(|one| !matches!(one.values, Values::Colours(_)));
    match (thumbnails.is_some(), has_attributes) {
        (true, true) => "image, class and attributes",
        (true, false) => "image and class",
        (false, true) => "class and attributes",
        (false, false) => "class",
    }
}

/// The legend of each colouring.
fn legends(figure: &MapFigure) -> Markup {
    html! {
        @for (at, Attribute { name, values }) in figure.attributes.iter().enumerate() {
            span class=(format!("layer a{at}")) {
                b { (name) } ": "
                @match values {
                    Values::Categories { names, .. } => { (names_in_colour(names)) }
                    Values::Numbers { values, .. } => { (scale(values)) }
                    Values::Colours(_) => { "each point has its colour, or its place along the first principal component: a \
                                             gradient can be read off." }
                }
            }
        }
        span.layer.class { b { "class" } ": " (names_in_colour(&figure.names)) }
        span.layer.error { b { "errors" } ", in the colour of the class that the probe names: " (names_in_colour(&figure.names)) }
    }
}

fn names_in_colour(names: &[String]) -> Markup {
    html! {
        @if names.len() <= NAMED { span.legend {
            @for (index, name) in names.iter().enumerate() {
                span { i style=(format!("background: {}", series_colour(index))) {} (name) }
            }
        } } @else { (names.len()) " values." }
    }
}

/// The ends of a scale of colours.
fn scale(values: &[f64]) -> Markup {
    let (low, high) = extremes(values.iter().copied());
    html! { span.scale { (low) i {} (high) } }
}

/// The data of a point for the script: its class and attributes, and its place in the picture of thumbnails.
fn facts(figure: &MapFigure, thumbnails: Option<&Thumbnails>) -> Markup {
    let named = |values: &[usize], names: &[String]| -> Vec<String> {
        values.iter().map(|&value| names.get(value).cloned().unwrap_or_default()).collect()
    };
    let attributes = figure.attributes.iter().filter_map(|Attribute { name, values }| {
        let values = match values {
            Values::Categories { values, names } => json!(named(values, names)),
            Values::Numbers { values, .. } => json!(values),
            Values::Colours(_) => return None,
        };
        Some(json!({ "name": name, "values": values }))
    });
    let attributes: Vec<serde_json::Value> = attributes.collect();
    let sheet = thumbnails.map(|thumbnails| json!({ "side": thumbnails.side, "columns": thumbnails.columns, "count": thumbnails.count }));
    let data =
        json!({ "classes": figure.classes, "names": figure.names, "attributes": attributes, "sheet": sheet });
    html! {
        (json_script(&data))
        div.tip hidden {
            @if let Some(thumbnails) = thumbnails { i style=(format!("background-image: url({})", thumbnails.picture)) {} }
            span {}
        }
    }
}

/// The points, each with its colour in every colouring; the style sheet takes one of them.
fn drawing(figure: &MapFigure, points: &[[f64; 2]], every: usize) -> String {
    let mut svg = format!(
        r#"<svg viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="Map of the embeddings of {}">"#,
        escaped(&figure.variant)
    );
    for (at, (x, y)) in placed(points).into_iter().enumerate().step_by(every) {
        let class = figure.classes.get(at).copied().unwrap_or_default();
        let _ = write!(
            svg,
            r#"<circle cx="{x}" cy="{y}" r="9" data-i="{at}" style="--class:{}"#,
            series_colour(class)
        );
        for (index, attribute) in figure.attributes.iter().enumerate() {
            let _ = write!(svg, ";--a{index}:{}", colour(&attribute.values, at));
        }
        match figure.guesses.get(at) {
            Some(&guess) if guess != class => {
                let _ = write!(svg, ";--error:{}\" class=\"wrong\"/>", series_colour(guess));
            }
            _ => svg += "\"/>",
        }
    }
    svg += "</svg>";
    svg
}

/// The colour of a point.
fn colour(values: &Values, at: usize) -> String {
    let written = |colours: &[[u8; 3]]| {
        let [r, g, b] = colours.get(at).copied().unwrap_or_default();
        format!("#{r:02x}{g:02x}{b:02x}")
    };
    match values {
        Values::Categories { values, .. } => {
            series_colour(values.get(at).copied().unwrap_or_default()).to_owned()
        }
        Values::Numbers { colours, .. } | Values::Colours(colours) => written(colours),
    }
}

/// Points in the drawing's unit, both directions by the same scale.
fn placed(points: &[[f64; 2]]) -> Vec<(i32, i32)> {
    let ends = |k: usize| extremes(points.iter().map(|point| point[k]));
    let (x, y) = (ends(0), ends(1));
    let span = (x.1 - x.0).max(y.1 - y.0);
    let scale = if span > 0.0 { 0.94 * SIDE / span } else { 1.0 };
    let place = |value: f64, (low, high): (f64, f64)| SIDE / 2.0 + (value - f64::midpoint(low, high)) * scale;
    points.iter().map(|point| (place(point[0], x) as i32, (SIDE - place(point[1], y)) as i32)).collect()
}

fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> MapFigure {
        let hospital = Values::Categories {
            values: vec![0, 1, 0],
            names: vec!["north".into(), "south</script>".into()],
        };
        let colour = Values::Colours(vec![[255, 0, 0], [1, 0, 1], [0, 0, 255]]);
        let age = Values::Numbers { values: vec![20.0, 30.5, 70.0], colours: vec![[1, 2, 3]; 3] };
        let attribute = |name: &str, values| Attribute { name: name.into(), values };
        MapFigure {
            variant: "A \"<b>".into(),
            points: vec![[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]],
            neighbours: vec![[0.0, 0.0], [-1.0, 2.0], [3.0, 1.0]],
            classes: vec![0, 1, 2],
            names: ["cat", "dog", "owl"].map(str::to_owned).to_vec(),
            guesses: vec![0, 1, 1],
            attributes: vec![
                attribute("hospital", hospital),
                attribute("colour", colour),
                attribute("age", age),
            ],
            ..MapFigure::default()
        }
    }

    fn of(figures: &[MapFigure], maps: usize) -> String {
        section(0, figures, None, maps).into_string()
    }

    #[test]
    fn a_map_is_coloured_by_every_attribute_and_the_probed_one_comes_first() {
        let html = of(&[figure()], 1);
        assert_eq!((html.matches("<svg").count(), html.matches("<circle").count()), (2, 6));
        assert_eq!(html.matches("--a1:#010001").count(), 2);
        assert_eq!(html.matches("class=\"wrong\"").count(), 2, "the owl in both planes");
        let checked: Vec<&str> = html.split("<input").filter(|input| input.contains("checked")).collect();
        assert!(
            checked.len() == 2 && checked[1].contains("value=\"a0\"") && checked[1].contains("hospital"),
            "{html}"
        );
        for text in ["1 of 3 wrong", "owl", "north", "20", "70", "\"values\":[20.0,30.5,70.0]"] {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert!(
            !html.contains("condition") && !html.contains("<b>\"") && !html.contains("south</script>"),
            "{html}"
        );
    }

    #[test]
    fn what_an_older_run_did_not_keep_is_not_offered() {
        let old = MapFigure { neighbours: vec![], guesses: vec![], attributes: vec![], ..figure() };
        let html = of(&[old], 1);
        assert_eq!((html.matches("type=\"radio\"").count(), html.matches("<svg").count()), (2, 1));
        assert!(html.contains("The first 3 evaluation images."), "{html}");
    }

    #[test]
    fn the_caption_says_which_images_are_shown() {
        let caption = |images| of(&[MapFigure { drawn_from: Some(images), ..figure() }], 1);
        assert!(
            caption(50_000).contains("3 of 50000 evaluation images, drawn at random."),
            "{}",
            caption(50_000)
        );
        assert!(caption(3).contains("All 3 evaluation images."), "{}", caption(3));
    }

    fn thumbnails() -> Thumbnails {
        Thumbnails { picture: "data:image/png;base64,AAAA".into(), side: 24, columns: 25, count: 3 }
    }

    /// A colour is no text beside a point, so a run with colours alone was said to show attributes that no point has.
    #[test]
    fn the_caption_promises_of_a_point_only_its_facts() {
        let colour = figure().attributes.remove(1);
        let coloured = MapFigure { attributes: vec![colour], ..figure() };
        for (figure, images, facts) in [
            (figure(), Some(&thumbnails()), "image, class and attributes"),
            (figure(), None, "class and attributes"),
            (coloured.clone(), Some(&thumbnails()), "image and class"),
            (coloured, None, "class"),
        ] {
            let html = section(0, &[figure], images, 1).into_string();
            assert!(html.contains(&format!(" Point at a dot to see its {facts}.")), "{facts}: {html}");
        }
    }

    #[test]
    fn the_images_of_the_points_are_one_picture() {
        let html = section(0, &[figure(), figure()], Some(&thumbnails()), 2).into_string();
        assert_eq!(html.matches("data:image").count(), 1);
        assert!(html.contains("\"columns\":25") && html.contains("data-i=\"2\""), "{html}");
    }

    #[test]
    fn many_maps_have_fewer_points_each() {
        let points: Vec<[f64; 2]> = (0..600).map(|i| [f64::from(i), f64::from(i * i % 97)]).collect();
        let many = MapFigure {
            classes: vec![0; 600],
            guesses: vec![0; 600],
            neighbours: points.clone(),
            points,
            ..MapFigure::default()
        };
        let (few, many) = (of(std::slice::from_ref(&many), 1), of(&[many], 60));
        assert!(60 * many.len() < 2 << 20 && many.len() < few.len() / 3, "{} and {}", few.len(), many.len());
    }

    #[test]
    fn both_directions_have_one_scale_and_equal_points_are_placed() {
        assert_eq!(placed(&[[0.0, 0.0], [2.0, 1.0]]), [(30, 735), (970, 265)]);
        assert_eq!(placed(&[[1.0, 1.0], [1.0, 1.0]]), [(500, 500); 2]);
        assert!(placed(&[]).is_empty());
    }
}
