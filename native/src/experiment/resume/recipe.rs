//! The recipe of a resumed run: the original one, or on request one with more iterations or with another place of its prior.

use std::path::Path;

use anyhow::Result;

use crate::config::Recipe;
use crate::config::difference::{Difference, decisive};
use crate::config::key_path::key_of;
use crate::exit::usage;
use crate::experiment::train::selection::stopped_by_patience;
use crate::run_folder::folder::{RECIPE, RunFolder};
use crate::run_folder::record::{SelectionEvaluation, Stopped};
use crate::run_folder::state::RunState;

/// The only key whose value can be increased when a run resumes.
const LENGTH: &str = "train.iterations";
/// The key of the place of another model, which may be moved.
pub(in crate::experiment) const PRIOR: &str = "data.prior.model";

/// The recipe with which a run resumes.
pub(super) struct Resumed {
    pub(super) recipe: Recipe,
    /// True if it has more iterations.
    pub(super) is_longer: bool,
    /// True if its prior is in another place.
    pub(super) is_moved: bool,
}

/// The recipe to resume with. `written` is the present `recipe.toml`.
///
/// # Errors
/// A usage error that names a key whose value differs from that at the start of the run.
pub(super) fn resumed_recipe(
    folder: &RunFolder,
    state: &RunState,
    written: &Recipe,
    set: &[String],
) -> Result<Resumed> {
    let (begun, mut written) = (state.recipe(folder)?, written.clone());
    if state.extended_at.last() == Some(&written.train.iterations) {
        // The process that made the run longer ended after its state and before its recipe.
        written.train.iterations = begun.train.iterations;
    }
    let asked = written.with(set)?;
    let is_set = |key: &str| set.iter().any(|setting| key_of(setting) == key);
    let is_longer = asked.train.iterations > begun.train.iterations && is_set(LENGTH);
    let mut others = decisive(&begun, &asked)?;
    let is_moved = is_set(PRIOR) && others.iter().any(|difference| difference.key == PRIOR);
    let is_allowed = |key: &str| (is_longer && key == LENGTH) || (is_moved && key == PRIOR);
    others.retain(|difference| !is_allowed(&difference.key));
    if let Some(other) = others.first() {
        let longer = asked.train.iterations.max(begun.train.iterations + 1);
        return Err(usage(match is_set(&other.key) {
            true => setting_message(other),
            false => edit_message(other, &folder.path(RECIPE), longer),
        }));
    }
    if is_longer {
        refuse_after_patience(&asked, state)?;
    }
    Ok(Resumed { recipe: asked, is_longer, is_moved })
}

/// Refuses a longer run if `selection.patience` has ended every variant: it would end each again before its first step.
fn refuse_after_patience(recipe: &Recipe, state: &RunState) -> Result<()> {
    let ended =
        |evaluations: &[SelectionEvaluation]| stopped_by_patience(recipe.selection.as_ref(), evaluations);
    match state.variants.iter().map(|variant| ended(&variant.evaluations)).collect::<Option<Vec<_>>>() {
        Some(ended) => match ended.last() {
            Some(Stopped { message, .. }) => Err(usage(format_args!(
                "selection.patience ended the run ({message}), and would end a longer one there; begin another run with a larger one"
            ))),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// The message for a key that is set and cannot change.
fn setting_message(difference: &Difference) -> String {
    let (was, is) = (difference.one(), difference.other());
    match difference.key.as_str() {
        LENGTH => format!(
            "the run was begun for {was} iterations; N in --set {LENGTH}=N must be larger than {was}, not {is}"
        ),
        key => format!(
            "--set {key}: the run was begun with {was}; only {LENGTH} can grow and {PRIOR} can name another place; begin another run"
        ),
    }
}

/// The message for a key that differs in `recipe.toml`; `longer` is a length that can be asked for.
fn edit_message(difference: &Difference, file: &Path, longer: usize) -> String {
    let (key, was, is) = (difference.key.as_str(), difference.one(), difference.other());
    let remedy = match key {
        LENGTH => format!("ask for more on purpose, such as with --set {key}={longer}"),
        PRIOR => format!("name its new place with --set {key}=PATH"),
        _ => "begin another run".to_owned(),
    };
    format!(
        "{}: `{key}` is {is}, and the run was begun with {was}; put that back, or {remedy}",
        file.display()
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::testing::with_iterations as of;
    use crate::exit::Usage;

    /// The refusal was that it had been begun with the new length.
    #[test]
    fn a_run_whose_process_ended_while_it_was_made_longer_has_its_new_length() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let mut state = RunState::at_start(&of(20), "cpu".into(), None).unwrap();
        state.extend(&folder, &of(30)).unwrap();
        let resumed = |written: usize, set: &[String]| resumed_recipe(&folder, &state, &of(written), set);
        for (written, set) in [(20, vec![]), (20, vec!["train.iterations=30".to_owned()]), (30, vec![])] {
            let Resumed { recipe, is_longer, .. } = resumed(written, &set).unwrap();
            assert_eq!((recipe.train.iterations, is_longer), (30, false));
        }
        let Resumed { recipe, is_longer, .. } = resumed(20, &["train.iterations=40".to_owned()]).unwrap();
        assert_eq!((recipe.train.iterations, is_longer), (40, true));
        assert!(resumed(25, &[]).err().unwrap().is::<Usage>());
    }
}
