//! The recipe of a resumed run: the original one, or one with more iterations on request.

use anyhow::Result;

use crate::config::Recipe;
use crate::config::difference::{Difference, decisive};
use crate::console::line;
use crate::exit::usage;
use crate::run_folder::folder::{RECIPE, RunFolder};
use crate::run_folder::state::RunState;

/// The only key whose value can be increased when a run resumes.
const LENGTH: &str = "train.iterations";

/// The recipe to resume with, and true if it has more iterations. `written` is the present `recipe.toml`.
///
/// # Errors
/// A usage error that names a key whose value differs from that at the start of the run.
pub(super) fn recipe(
    folder: &RunFolder,
    state: &RunState,
    written: &Recipe,
    set: &[String],
) -> Result<(Recipe, bool)> {
    let begun = state.recipe(folder)?;
    let asked = written.with(set)?;
    let is_set = |key: &str| {
        set.iter().any(|setting| setting.split('=').next().is_some_and(|name| name.trim() == key))
    };
    let longer = asked.train.iterations > begun.train.iterations && is_set(LENGTH);
    let mut others = decisive(&begun, &asked)?;
    others.retain(|difference| !(longer && difference.key == LENGTH));
    let Some(Difference { key, .. }) = others.first() else {
        if longer {
            line(format_args!(
                "the run goes on from {} to {} iterations; from here on its schedule is that of the longer run",
                begun.train.iterations, asked.train.iterations
            ));
        }
        return Ok((asked, longer));
    };
    let (was, is) = (others[0].one(), others[0].other());
    let path = folder.path(RECIPE);
    Err(usage(match (key.as_str(), is_set(key)) {
        (LENGTH, true) => {
            format!(
                "the run was begun for {was} iterations; N in --set {LENGTH}=N must be larger than {was}, not {is}"
            )
        }
        (LENGTH, false) => format!(
            "{}: `{key}` is {is}, and the run was begun with {was}; put that back, or ask for more on purpose, such as \
             with --set {key}={}",
            path.display(),
            asked.train.iterations.max(begun.train.iterations + 1)
        ),
        (_, true) => {
            format!(
                "--set {key}: the run was begun with {was}; only {LENGTH} can become more, begin another run"
            )
        }
        (_, false) => format!(
            "{}: `{key}` is {is}, and the run was begun with {was}; put that back, or begin another run",
            path.display()
        ),
    }))
}
