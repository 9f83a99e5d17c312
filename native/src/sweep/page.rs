//! A sweep as a page: the table of its points, a line over one key, heat maps over pairs of several.

use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use super::outcome::{Criterion, Outcome};
use super::output::Sweep;
use crate::metrics::leak::LINEAR;
use crate::metrics::mean_std::MeanStd;
use crate::report::charts::{Cell, Line, lines, surface};
use crate::report::{document, table, with_code};

impl Sweep<'_> {
    /// The sweep as a self-contained page.
    ///
    /// # Errors
    /// If a chart cannot be drawn.
    pub(crate) fn html(&self) -> Result<String> {
        let measured = |name: &&str| self.points.iter().any(|point| point.mean_std(name).is_some());
        let own = self.leak.as_ref().map(|leak| leak.metric.as_str());
        let is_drawn =
            |name: &&str| *name == self.criterion.by || own == Some(*name) || LINEAR.contains(name);
        let drawn = self.metrics().into_iter().filter(is_drawn);
        // A figure marks the best.
        let drawn = drawn.filter(measured).filter(|_| !self.is_smoke);
        let figures = drawn.map(|name| self.figures(name)).collect::<Result<Vec<_>>>()?;
        let body = html! {
            p { b { (self.verdict()) } }
            div.pair style="margin-bottom: 1.2rem" { @for figures in &figures { (figures) } }
            (table(
                "Points of the sweep",
                &html! { @for header in self.headers() { th { (header) } } },
                &html! { @for point in &self.points { tr { @for cell in self.cells(point) { td { (cell) } } } } },
            ))
            @for remark in self.remarks() { p.soft { (with_code(&remark)) } }
        };
        let title = format!("Sweep of {}", self.recipe);
        Ok(document(&title, &html! { h1 { (title) } p.soft { (self.variant) } }, &body))
    }

    /// The best of some points by a criterion.
    fn best_of<'p>(
        &self,
        points: impl Iterator<Item = &'p Outcome>,
        criterion: Criterion<'_>,
    ) -> Option<&'p Outcome> {
        let amount = |point: &Outcome| point.amount(criterion.by).map(|amount| amount.mean);
        let measured = points.filter(|point| amount(point).is_some());
        measured.reduce(|best, other| {
            let (own, others) = (amount(best), amount(other));
            if criterion.better(own, others) == own { best } else { other }
        })
    }

    /// A line over one key, a heat map over each pair of several.
    fn figures(&self, metric: &str) -> Result<Markup> {
        let format = self.format(metric);
        let in_unit = |mean_std: MeanStd| MeanStd {
            mean: format.value(mean_std.mean),
            std: mean_std.std.map(|std| format.value(std)),
        };
        let criterion =
            if metric == self.criterion.by { self.criterion } else { Criterion { by: metric, lowest: true } };
        let rest_words = if self.axes.len() > 2 { ", the best over the other keys" } else { "" };
        let best = self.best_of(self.points.iter(), criterion);
        let mut drawn = Vec::new();
        if let [axis] = self.axes {
            let at = |value| self.points.iter().find(|outcome| outcome.point == [value]);
            let points =
                (0..axis.values.len()).map(|value| at(value)?.mean_std(metric).map(in_unit)).collect();
            drawn.push(lines(axis.short(), &axis.values, &format.title, &[Line { points, joined: true }])?);
        }
        for (x, first) in self.axes.iter().enumerate() {
            for (y, second) in self.axes.iter().enumerate().skip(x + 1) {
                let value = |column, row| {
                    let here = |point: &&Outcome| point.point[x] == column && point.point[y] == row;
                    let point = self.best_of(self.points.iter().filter(here), criterion)?;
                    let is_best = best.is_some_and(|best| self.noise.tied(metric, point, best));
                    Some(Cell { value: format.value(point.mean(metric)?), is_best })
                };
                let sides = [(first.short(), &first.values[..]), (second.short(), &second.values[..])];
                drawn.push(surface(sides[0], sides[1], format.digits(), value)?);
            }
        }
        Ok(html! {
            @for svg in &drawn { figure {
                (PreEscaped(svg))
                figcaption {
                    b { (format.title) } (rest_words) "."
                    @if self.axes.len() > 1 {
                        " Cells that do not differ from the best by more than chance have its colour; where values are written, a = \
                         marks them."
                    }
                }
            } }
        })
    }
}
