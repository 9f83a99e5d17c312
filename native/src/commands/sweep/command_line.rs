//! The commands that a sweep writes: its own, and the one that trains the best point.

use std::path::Path;

use crate::cli::Sweep as Arguments;
use crate::config::key_path::key_of;
use crate::config::{Changes, Recipe};
use crate::data::keys::values::JudgedBy;
use crate::shell::quoted;
use crate::sweep::axis::Axis;
use crate::sweep::final_images::FinalImages;
use crate::sweep::outcome::Outcome;
use crate::sweep::plan::settings;

/// The keys by which images of a sweep are held out: their number, and the split that judges.
const HELD_OUT: &str = "data.validation";
const JUDGED_BY: &str = "data.judged_by";

/// The command line of the sweep, without folders.
pub(super) fn command_of_sweep(arguments: &Arguments) -> String {
    let grid = arguments.grid.iter().map(|grid| format!(" --grid {}", quoted(grid)));
    let random = arguments.random.map(|count| format!(" --random {count}"));
    let rest = [format!(" --by {}", arguments.by), format!(" --seeds {}", arguments.seeds)];
    let options = [
        arguments.seed.map(|seed| format!(" --seed {seed}")),
        arguments.lowest.then(|| " --lowest".to_owned()),
        arguments.leak_at_most.map(|most| format!(" --leak-at-most {most}")),
        arguments.smoke.then(|| " --smoke".to_owned()),
    ];
    let words = grid.chain(random).chain(common(arguments)).chain(rest).chain(options.into_iter().flatten());
    format!("simile sweep {}{}", quoted(&arguments.recipe), words.collect::<String>())
}

/// The command that trains the best point on all training images and evaluates it on the final images, as it can be pasted: a
/// setting that a later one replaces is left out, and so are those by which the sweep held images out, unless the recipe has
/// them too.
pub(super) fn command_of_best(
    arguments: &Arguments,
    axes: &[Axis],
    best: &Outcome,
    final_images: FinalImages,
) -> String {
    let is_on_test = final_images == FinalImages::Test;
    let is_replaced = |at: usize, setting: &str| {
        arguments.set.iter().skip(at + 1).any(|later| key_of(later) == key_of(setting))
    };
    let is_undone = |key: &str| key == HELD_OUT || (key == JUDGED_BY && is_on_test);
    let unchanged = arguments.set.iter().enumerate();
    let unchanged =
        unchanged.filter(|(at, setting)| !is_undone(key_of(setting)) && !is_replaced(*at, setting));
    let settings = unchanged.map(|(_, setting)| setting.clone()).chain(settings(axes, &best.point));
    let own = Recipe::load(&arguments.recipe, &Changes::default()).map(|recipe| recipe.data).ok();
    let holds_out = own.as_ref().is_some_and(|data| data.validation > 0);
    let judges = is_on_test && own.is_some_and(|data| data.judged_by == JudgedBy::Validation);
    let undone = [(holds_out, format!("{HELD_OUT}=0")), (judges, format!("{JUDGED_BY}=test"))];
    let settings =
        settings.chain(undone.into_iter().filter(|(is_own, _)| *is_own).map(|(_, setting)| setting));
    let words = variant_and_data(arguments, |data| quoted(&data.display().to_string()));
    let words = words.chain(settings.map(|setting| format!(" --set {}", quoted(&setting))));
    format!("simile train {}{}", quoted(&arguments.recipe), words.collect::<String>())
}

fn common(arguments: &Arguments) -> impl Iterator<Item = String> + '_ {
    let set = arguments.set.iter().map(|setting| format!(" --set {}", quoted(setting)));
    variant_and_data(arguments, |_| "DIR".to_owned()).chain(set)
}

fn variant_and_data(
    arguments: &Arguments,
    folder: impl Fn(&Path) -> String + 'static,
) -> impl Iterator<Item = String> + '_ {
    let variant = arguments.variant.iter().map(|variant| format!(" --variant {}", quoted(variant)));
    variant.chain(arguments.data.path().into_iter().map(move |data| format!(" --data {}", folder(data))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::sweep::axis::points;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        sweep: Arguments,
    }

    fn parsed(words: &str) -> Arguments {
        Line::try_parse_from(format!("sweep {words} --grid train.batch=16,32").split(' ')).unwrap().sweep
    }

    fn best() -> Outcome {
        let point = points(&Axis::all(&["train.batch=16,32".to_owned()]).unwrap(), None, 0)[1].clone();
        Outcome {
            settings: [].into(),
            metrics: [].into(),
            diverged: Vec::new(),
            folder: String::new(),
            front: None,
            point,
        }
    }

    #[test]
    fn the_best_point_is_judged_on_the_test_images() {
        let trained = |words: &str, final_images| {
            let arguments = parsed(words);
            command_of_best(&arguments, &Axis::all(&arguments.grid).unwrap(), &best(), final_images)
        };
        let (on_test, on_validation) = (FinalImages::Test, FinalImages::Validation);
        assert_eq!(
            trained("waterbirds", on_test),
            "simile train waterbirds --set train.batch=32 --set data.judged_by=test"
        );
        assert_eq!(trained("waterbirds", on_validation), "simile train waterbirds --set train.batch=32");
        let held_out = "fair-digits --set data.judged_by=validation --set data.validation=100";
        assert_eq!(trained(held_out, on_test), "simile train fair-digits --set train.batch=32");
        assert_eq!(
            trained(held_out, on_validation),
            "simile train fair-digits --set data.judged_by=validation --set train.batch=32"
        );
    }

    #[test]
    fn the_command_of_a_sweep_says_all_that_decides() {
        let words = "it's.toml --random 1 --seed 3 --by condition_r2 --lowest --leak-at-most 0.5 --smoke";
        let command = command_of_sweep(&parsed(words));
        for part in [
            r"simile sweep 'it'\''s.toml' --grid",
            "--random 1",
            "--seed 3",
            "--by condition_r2 --seeds",
            "--lowest",
            "--leak-at-most 0.5",
            "--smoke",
        ] {
            assert!(command.contains(part), "{part}: {command}");
        }
    }
}
