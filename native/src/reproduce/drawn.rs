//! Figures of data and kernels, for which nothing is trained.

use std::path::Path;

use anyhow::{Context as _, Result};
use maud::{Markup, html};
use serde::Serialize;
use simile_core::numeric::matrix::Matrix;

use super::row::Row;
use super::table::{FigureSection, Scale, Table};
use crate::config::Recipe;
use crate::exit::usage;
use crate::experiment::evaluate::draw::batch_kernel::{BatchKernel, Focus};
use crate::experiment::evaluate::draw::picture::contact_sheet;
use crate::experiment::prepare::splits::Splits;
use crate::markdown;
use crate::report::{document, kernel_figure, sheet_figure, table, with_code};
use crate::run_folder::figures::{ContactSheet, KernelFigure};
use crate::units::NOTHING;

/// Images in a row of samples.
const COLUMNS: usize = 20;

/// A figure with everything that is needed to read it.
#[derive(Debug, Serialize)]
pub(crate) struct Drawn<'t> {
    pub(crate) name: &'t str,
    pub(crate) title: &'t str,
    pub(crate) paper: &'t str,
    pub(crate) notes: &'t str,
    pub(crate) version: &'static str,
    pub(crate) command: String,
    pub(crate) panels: Vec<Panel>,
}

/// The drawings of one row.
#[derive(Debug, Serialize)]
pub(crate) struct Panel {
    pub(crate) name: String,
    pub(crate) caption: String,
    /// The focus of `K` over the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernel: Option<Focus>,
    /// The focus of `(K + λI)⁻¹K`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights: Option<Focus>,
    #[serde(skip)]
    matrices: Option<[Matrix; 2]>,
    #[serde(skip)]
    picture: Picture,
}

#[derive(Debug)]
enum Picture {
    Kernel(KernelFigure),
    Samples(ContactSheet),
}

/// The panels of some rows, or none if the figure is one of runs.
///
/// # Errors
/// If a recipe is wrong, its data cannot be read, or it has nothing to draw.
pub(crate) fn panels(table: &Table, rows: &[&Row], data: Option<&Path>) -> Result<Option<Vec<Panel>>> {
    let one = |row: &&Row| -> Result<Option<Panel>> {
        let in_row = || format!("row `{}`", row.name);
        let recipe = || table.recipe_of(row, Scale::Full, 0);
        Ok(match table.figure {
            Some(FigureSection::Kernels { batch }) => {
                Some(kernels(row, first(recipe()?, batch), batch, data).with_context(in_row)?)
            }
            Some(FigureSection::Samples { count }) => {
                Some(samples(row, &first(recipe()?, count), data).with_context(in_row)?)
            }
            _ => None,
        })
    };
    let drawn: Vec<Option<Panel>> = rows.iter().map(one).collect::<Result<_>>()?;
    Ok(drawn.into_iter().collect())
}

/// The recipe with only as many images as are drawn.
fn first(mut recipe: Recipe, count: usize) -> Recipe {
    (recipe.data.train, recipe.data.test) = (Some(count), Some(count));
    recipe
}

fn kernels(row: &Row, recipe: Recipe, batch: usize, data: Option<&Path>) -> Result<Panel> {
    let splits = Splits::of(&recipe, data)?;
    let variants = recipe.variants();
    let kernel = match variants.first() {
        Some(variant) => BatchKernel::of(variant, &splits.train, batch)?,
        None => None,
    };
    let kernel = kernel.ok_or_else(|| usage("its objective has no kernel of a condition"))?;
    Ok(Panel {
        name: row.name.clone(),
        caption: format!("{} {}", kernel.caption, kernel.order),
        kernel: Some(Focus::of(&kernel.gram)),
        weights: Some(Focus::of(&kernel.weights)),
        picture: Picture::Kernel(kernel.figure(&row.name)?),
        matrices: Some([kernel.gram, kernel.weights]),
    })
}

fn samples(row: &Row, recipe: &Recipe, data: Option<&Path>) -> Result<Panel> {
    let splits = Splits::of(recipe, data)?;
    let caption = format!("The first {} training images.", splits.train.len());
    let images = splits.train.images.in_memory()?;
    let picture = contact_sheet(&images, COLUMNS)?;
    Ok(Panel {
        name: row.name.clone(),
        caption: caption.clone(),
        kernel: None,
        weights: None,
        matrices: None,
        picture: Picture::Samples(ContactSheet { caption: row.name.clone(), picture }),
    })
}

impl Panel {
    fn markup(&self) -> Markup {
        match &self.picture {
            Picture::Kernel(figure) => kernel_figure(figure),
            Picture::Samples(sheet) => sheet_figure(sheet, &self.caption),
        }
    }

    /// The numbers of a kernel, one cell each.
    fn cells(&self) -> Vec<String> {
        let [kernel, weights] = [self.kernel, self.weights];
        let share = |focus: Option<Focus>| {
            focus.map_or_else(|| NOTHING.into(), |f| format!("{:.1} %", f.own * 100.0))
        };
        let others =
            |focus: Option<Focus>| focus.map_or_else(|| NOTHING.into(), |f| format!("{:.1}", f.others));
        vec![self.name.clone(), share(kernel), share(weights), others(kernel), others(weights)]
    }
}

const HEADS: [&str; 5] = ["", "on itself, K", "on itself, W", "others, K", "others, W"];
const READING: &str = "W is (K + λI)⁻¹K. On itself: share of the absolute weight that an anchor gives to itself, mean \
                       over the batch. Others: effective number of the others that share the rest, (Σ|w|)² / Σw².";

impl Drawn<'_> {
    fn shows_kernels(&self) -> bool {
        self.panels.iter().any(|panel| panel.kernel.is_some())
    }

    fn remarks(&self) -> Vec<String> {
        let Self { paper, notes, version, command, .. } = self;
        let reading = self.shows_kernels().then_some(READING);
        let with = format!("Nothing is trained for it. simile {version}: `{command}`");
        [Some(*paper), reading, Some(*notes), Some(with.as_str())]
            .into_iter()
            .flatten()
            .map(str::to_owned)
            .collect()
    }

    /// The figure as text for a terminal.
    pub(crate) fn text(&self) -> String {
        if !self.shows_kernels() {
            let names: Vec<&str> = self.panels.iter().map(|panel| panel.name.as_str()).collect();
            return format!("{}: {}\n{}", self.title, names.join(", "), self.remarks().join("\n"));
        }
        let mut table = crate::console::table(HEADS);
        self.panels.iter().for_each(|panel| {
            table.add_row(panel.cells());
        });
        format!("{}\n{table}\n{}", self.title, self.remarks().join("\n"))
    }

    /// The figure as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let table = || markdown::table(&HEADS, self.panels.iter().map(Panel::cells)) + "\n";
        let table = if self.shows_kernels() { table() } else { String::new() };
        format!("## {}\n\n{table}{}\n", self.title, self.remarks().join("\n\n"))
    }

    /// The figure as CSV, one line a pair of samples; none for a figure without kernels.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn csv(&self) -> Result<Option<Vec<u8>>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["row", "anchor", "other", "kernel", "weight"])?;
        for panel in &self.panels {
            let Some([gram, weights]) = &panel.matrices else { return Ok(None) };
            for i in 0..gram.rows() {
                for j in 0..gram.columns() {
                    let numbers =
                        [i.to_string(), j.to_string(), gram[(i, j)].to_string(), weights[(i, j)].to_string()];
                    writer.write_record([panel.name.clone()].into_iter().chain(numbers))?;
                }
            }
        }
        Ok(Some(writer.into_inner()?))
    }

    /// The figure as a self-contained page.
    pub(crate) fn html(&self) -> String {
        let body = html! {
            @for panel in &self.panels { h2 { (panel.name) } (panel.markup()) }
            @if self.shows_kernels() {
                h2 { "Where the weight lies" }
                (table(
                    "Where the weight lies",
                    &html! { @for head in HEADS { th { (head) } } },
                    &html! { @for panel in &self.panels { tr { @for cell in panel.cells() { td { (cell) } } } } },
                ))
            }
            @for remark in self.remarks() { p.soft { (with_code(&remark)) } }
        };
        document(self.name, &html! { h1 { (self.title) } }, &body)
    }
}
