//! `report.html`: one file with the course and the results of a run.

mod accuracy;
mod advice;
mod chance;
pub(crate) mod charts;
mod comparison;
pub(crate) mod curves;
pub(crate) mod gallery;
pub(crate) mod maps;
mod page;
mod parts;
mod pool;
mod results;
mod smoke;
mod verdict;

pub(crate) use self::page::{document, kernel_figure, page, sheet_figure, with_code};
pub(crate) use self::parts::table;
pub(crate) use self::smoke::smoke;
pub(crate) use self::verdict::verdict;
