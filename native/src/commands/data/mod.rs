//! `simile data`: one file a command.

mod check;
mod fetch;
mod list;
mod measure;
mod preview;

use anyhow::Result;

use crate::cli::Data;
use crate::commands::shared::shipped::{ShippedKind, refuse_other_kind};
use crate::config::explain::suggestion;
use crate::console::Console;
use crate::data::sets;
use crate::data::source::Source;
use crate::exit::usage;

pub(super) fn run(action: &Data, console: Console) -> Result<()> {
    match action {
        Data::List(arguments) => list::run(arguments, console),
        Data::Fetch(arguments) => fetch::run(arguments, console),
        Data::Check(arguments) => check::run(arguments, console),
        Data::Preview(arguments) => preview::run(arguments, console),
        Data::Measure(arguments) => measure::run(arguments, console),
    }
}

/// The data set of a name.
fn known(name: &str) -> Result<&'static dyn Source> {
    refuse_other_kind(name, &[ShippedKind::Dataset])?;
    let unknown = || {
        let hint = suggestion(name, sets::names().iter().copied());
        usage(format_args!("no data set is named `{name}`{hint}"))
    };
    sets::find(name).ok_or_else(unknown)
}
