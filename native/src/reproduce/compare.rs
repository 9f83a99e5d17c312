//! Our numbers beside the published ones.

use anyhow::Result;
use serde::Serialize;

use super::plan::RowResult;
use super::row::Row;
use super::table::{Metric, Scale, Table};
use crate::metrics::mean_std::MeanStd;
use crate::metrics::two_sample::TwoSampleTest;

/// One row of the comparison.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ComparedRow {
    pub(crate) name: String,
    /// The line of the figure to which this point belongs, and its place on the axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) series: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) x: Option<String>,
    /// The reason why it cannot be run, or not with further seeds, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing: Option<String>,
    /// The row for comparison, the first of its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline: Option<String>,
    pub(crate) seeds: usize,
    /// Runs that diverged, with the seed; no number counts them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) diverged: Vec<String>,
    pub(crate) cells: Vec<Cell>,
    /// Folders of the runs.
    pub(crate) runs: Vec<String>,
}

/// One metric of one row, in the unit of the paper.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cell {
    pub(crate) metric: String,
    #[serde(skip)]
    pub(crate) seeds: Vec<u64>,
    /// One value a seed.
    pub(crate) values: Vec<f64>,
    pub(crate) mean: Option<f64>,
    /// Standard deviation of the seeds (n − 1); none for one seed.
    pub(crate) std: Option<f64>,
    pub(crate) published: Option<f64>,
    /// The printed value after ±; papers do not define it.
    pub(crate) published_std: Option<f64>,
    /// Ours minus the published mean.
    pub(crate) difference: Option<f64>,
    /// True if our mean is within the published ±.
    pub(crate) within: Option<bool>,
    /// Our seeds against ours of the first row of the block.
    pub(crate) against: Option<TwoSampleTest>,
}

/// Every row with every metric. At a scale without meaningful numbers, none is compared with another one.
///
/// # Errors
/// If a value is not finite.
pub(crate) fn compare(table: &Table, scale: Scale, results: &[RowResult<'_>]) -> Result<Vec<ComparedRow>> {
    let values = |result: &RowResult<'_>, metric: &Metric| -> (Vec<u64>, Vec<f64>) {
        let runs = result.seeds.iter().zip(&result.runs);
        runs.filter_map(|(&seed, run)| Some((seed, run.metric(&metric.name)? * metric.unit))).unzip()
    };
    let first_beside = |row: &Row| {
        let ran = results.iter().filter(|result| !result.runs.is_empty());
        ran.map(|result| (result.row.in_block(), result))
            .find(|(block, _)| *block == row.in_block())
            .map(|(_, first)| first)
            .filter(|first| first.row.name != row.name)
    };
    results
        .iter()
        .map(|result| {
            let baseline = first_beside(result.row);
            let cells = table.metric.iter().map(|metric| {
                let first = baseline.map(|first| values(first, metric).1);
                let published = result.row.published.get(&metric.name).map_or(&[][..], Vec::as_slice);
                let mut cell = cell(metric, values(result, metric), published, first.as_deref())?;
                if !scale.is_comparable() {
                    (cell.difference, cell.within, cell.against) = (None, None, None);
                }
                Ok(cell)
            });
            Ok(ComparedRow {
                name: result.row.name.clone(),
                series: result.row.series.clone(),
                x: result.row.x.clone(),
                missing: table.missing(result.row).map(str::to_owned),
                baseline: baseline.map(|first| first.row.name.clone()),
                seeds: result.runs.len(),
                diverged: result.diverged.clone(),
                cells: cells.collect::<Result<_>>()?,
                runs: result.folders.iter().map(|folder| folder.display().to_string()).collect(),
            })
        })
        .collect()
}

fn cell(
    metric: &Metric,
    (seeds, values): (Vec<u64>, Vec<f64>),
    published: &[f64],
    first: Option<&[f64]>,
) -> Result<Cell> {
    let mean_std = MeanStd::of(&values);
    let (mean, std) = (mean_std.map(|mean_std| mean_std.mean), mean_std.and_then(|mean_std| mean_std.std));
    let (published_mean, plus_minus) = (published.first().copied(), published.get(1).copied());
    let difference = mean.zip(published_mean).map(|(mean, published)| mean - published);
    let against = first.map(|first| TwoSampleTest::of(&values, first)).transpose()?.flatten();
    Ok(Cell {
        metric: metric.name.clone(),
        seeds,
        mean,
        std,
        published: published_mean,
        published_std: plus_minus,
        difference,
        within: difference.zip(plus_minus).map(|(difference, std)| difference.abs() <= std),
        against,
        values,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::run_folder::testing::variant;

    fn metric() -> Metric {
        Metric { name: "top1".into(), title: "Top-1".into(), unit: 100.0, digits: 1 }
    }

    #[test]
    fn a_cell_says_how_far_off_and_whether_within() {
        let compared =
            cell(&metric(), (vec![0, 1, 2], vec![80.0, 82.0, 84.0]), &[83.0, 1.5], Some(&[70.0, 71.0, 72.0]))
                .unwrap();
        assert_eq!((compared.mean, compared.std, compared.difference), (Some(82.0), Some(2.0), Some(-1.0)));
        assert_eq!(compared.within, Some(true));
        assert_eq!(compared.against.map(|against| against.difference), Some(11.0));
    }

    #[test]
    fn one_seed_has_no_spread_and_no_test() {
        let compared = cell(&metric(), (vec![0], vec![80.0]), &[83.0], Some(&[70.0])).unwrap();
        assert_eq!((compared.std, compared.within), (None, None));
        assert!(compared.against.is_none());
        assert_eq!(compared.difference, Some(-3.0));
        assert_eq!(cell(&metric(), (vec![], vec![]), &[83.0], None).unwrap().mean, None);
    }

    #[test]
    fn a_few_steps_are_compared_with_no_other_row() {
        let text = r#"
            title = ""
            paper = ""
            notes = ""
            cost = ""
            recipe = "cifar-10"

            [[metric]]
            name = "top1"
            title = "Top-1"

            [[row]]
            name = "one"
            published = { top1 = [0.5] }

            [[row]]
            name = "other"
        "#;
        let table = Table::parse(text).unwrap();
        let result = |row: usize, top1: f64| RowResult {
            row: &table.row[row],
            folders: vec![],
            seeds: vec![0, 1],
            runs: vec![variant("x", top1), variant("x", top1 + 0.1)],
            diverged: vec![],
        };
        let results = [result(0, 0.2), result(1, 0.8)];
        let of = |scale| compare(&table, scale, &results).unwrap();
        assert!(of(Scale::Cpu)[1].cells[0].against.is_some());
        let smoke = of(Scale::Smoke);
        assert!(smoke[1].cells[0].against.is_none() && smoke[0].cells[0].difference.is_none());
        assert_eq!(smoke[0].cells[0].published, Some(0.5));
    }
}
