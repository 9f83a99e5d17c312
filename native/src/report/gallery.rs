//! The section of neighbours: evaluation images with their nearest images, their hardest and their easiest negatives.

use maud::{Markup, html};

use crate::run_folder::figures::{Gallery, ImageStrip};

/// Most rows of all galleries of a page, so that it stays small.
const BUDGET: usize = 48;

/// All variants of a run; the page has `count` galleries.
pub(crate) fn section(galleries: &[Gallery], count: usize) -> Markup {
    let rows = (BUDGET / count.max(1)).max(1);
    html! { @for gallery in galleries {
        figure.gallery {
            @for row in gallery.rows.iter().take(rows) { div.row {
                (sheet("image", &row.anchor, None))
                (sheet("nearest", &row.nearest, row.anchor.classes.first()))
                (sheet("hardest negatives", &row.hardest, None))
                (sheet("easiest negatives", &row.easiest, None))
            } }
            figcaption {
                b { (gallery.variant) }
                ". Nearest: the evaluation images of largest cosine, another class underlined. Negatives are of another class: the \
                 hardest lie nearest, the easiest farthest. All are ordered by this cosine, not by the weight that an objective \
                 gave them in training. Under each its class and its cosine."
            }
        }
    } }
}

/// Images side by side with their classes; classes other than `own` are marked.
fn sheet(title: &str, strip: &ImageStrip, own: Option<&String>) -> Markup {
    let count = strip.classes.len();
    html! {
        @if count > 0 { div.sheet style=(format!("--count: {count}")) {
            span.soft { (title) }
            img src=(strip.picture) alt=(format!("{title}: {}", strip.classes.join(", ")));
            div.under { @for (class, cosine) in strip.classes.iter().zip(&strip.cosines) {
                span {
                    @if own.is_some_and(|own| own != class) { u { (class) } } @else { (class) }
                    @if title != "image" { br; small { (format!("{cosine:.2}")) } }
                }
            } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::figures::GalleryRow;

    #[test]
    fn a_neighbour_of_another_class_is_underlined() {
        let shown = |classes: &[&str]| ImageStrip {
            picture: "data:".into(),
            classes: classes.iter().map(|&class| class.to_owned()).collect(),
            cosines: vec![0.5; classes.len()],
        };
        let row = GalleryRow {
            anchor: shown(&["cat"]),
            nearest: shown(&["cat", "dog"]),
            hardest: shown(&["dog"]),
            easiest: ImageStrip::default(),
        };
        let gallery = Gallery { variant: "A".into(), rows: vec![row.clone(), row] };
        let html = section(&[gallery], BUDGET).into_string();
        assert_eq!((html.matches("<u>").count(), html.matches("<img").count()), (1, 3), "{html}");
        assert!(html.contains("<u>dog</u>") && html.contains("0.50"));
    }
}
