//! `simile reproduce`

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::Reproduce;
use crate::console::{Console, line};
use crate::exit::usage;
use crate::reproduce::compare::compare;
use crate::reproduce::output::Comparison;
use crate::reproduce::plan::Plan;
use crate::reproduce::shipped::ShippedTable;
use crate::reproduce::table::{Row, Scale, Table};
use crate::run::folder::{self, slug};
use crate::run::interrupt;

pub(super) fn run(arguments: &Reproduce, console: Console) -> Result<()> {
    let shipped = ShippedTable::find(&arguments.table)?;
    let table = shipped.read()?;
    let rows = rows(&table, &arguments.rows)?;
    if let Some(missing) = &table.missing {
        line(format_args!("{}: {missing}", shipped.name));
    }
    let scale = word(arguments.scale);
    let out =
        arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(format!("{}-{scale}", shipped.name)));
    let device = arguments.device.device;
    let plan = Plan {
        scale: arguments.scale,
        seeds: arguments.seeds,
        data: arguments.data.as_deref(),
        device,
        out: &out,
        jobs: arguments.jobs as usize,
    };
    interrupt::listen()?;
    let results = plan.run(&table, &rows)?;

    let comparison = Comparison {
        name: shipped.name,
        title: &table.title,
        paper: &table.paper,
        notes: &table.notes,
        scale: arguments.scale,
        reduction: Comparison::reduction(&table, arguments.scale),
        seeds: arguments.seeds,
        device: device.open()?.to_string(),
        version: env!("CARGO_PKG_VERSION"),
        command: command(arguments, scale),
        metrics: &table.metric,
        rows: compare(&table, &results)?,
    };
    write(&out, &comparison)?;
    console.answer(&comparison, || comparison.text())
}

/// The rows that are asked for, all of them where none is named.
fn rows<'t>(table: &'t Table, names: &[String]) -> Result<Vec<&'t Row>> {
    if names.is_empty() {
        return Ok(table.row.iter().collect());
    }
    let find = |name: &String| {
        table.row.iter().find(|row| row.name == *name || slug(&row.name) == *name).ok_or_else(|| {
            let known: Vec<&str> = table.row.iter().map(|row| row.name.as_str()).collect();
            usage(format_args!("the table has no row `{name}`; known: {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

fn write(out: &Path, comparison: &Comparison<'_>) -> Result<()> {
    let files: [(&str, Vec<u8>); 4] = [
        ("table.md", comparison.markdown().into_bytes()),
        ("table.csv", comparison.csv()?),
        ("table.json", serde_json::to_vec_pretty(comparison)?),
        ("table.html", comparison.html().into_bytes()),
    ];
    for (name, bytes) in files {
        let path: PathBuf = out.join(name);
        folder::write(&path, &bytes)?;
        line(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

fn command(arguments: &Reproduce, scale: &str) -> String {
    let rows: String = arguments.rows.iter().map(|row| format!(" --row {}", slug(row))).collect();
    format!("simile reproduce {} --scale {scale} --seeds {}{rows}", arguments.table, arguments.seeds)
}

fn word(scale: Scale) -> &'static str {
    match scale {
        Scale::Smoke => "smoke",
        Scale::Cpu => "cpu",
        Scale::Full => "full",
    }
}
