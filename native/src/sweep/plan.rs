//! The runs of a sweep, each in a folder named by its settings.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result};

use super::axis::{Axis, Point};
use crate::config::key_path::{is_in, key_of, path_of};
use crate::config::set::variant_of;
use crate::config::{Changes, Recipe};
use crate::data::keys::values::JudgedBy;
use crate::exit::{Subject, Usage, usage};
use crate::experiment::several::task::Task;

/// The key of the seed of a run.
const SEED: &str = "train.seed";
/// The keys, with all below them, that decide on which images and by which measurements the points are compared.
const MEASURING: [&str; 7] =
    ["data.dataset", "data.judged_by", "data.split", "data.table", "data.test", "data.validation", "probe"];

/// The points of a grid that a sweep tries, with the options beside their settings.
#[derive(Debug, Clone)]
pub(crate) struct Plan<'a> {
    pub(crate) recipe: &'a str,
    pub(crate) axes: &'a [Axis],
    pub(crate) points: &'a [Point],
    /// Keys that every run changes.
    pub(crate) set: &'a [String],
    /// The variant to train; the recipe's only one if absent.
    pub(crate) variant: Option<&'a str>,
    pub(crate) seeds: Range<u64>,
    pub(crate) smoke: bool,
    pub(crate) out: &'a Path,
}

impl Plan<'_> {
    /// The runs of the points, seed by seed.
    ///
    /// # Errors
    /// A usage error if a setting is not valid, is the seed, is replaced by the grid, changes what the points are compared by or belongs
    /// to another variant, a run would be evaluated on test images, or two points share a folder.
    pub(crate) fn tasks(&self) -> Result<Vec<Task>> {
        self.refuse_seed_key()?;
        self.refuse_measuring_key()?;
        self.refuse_overridden_set()?;
        // All recipes come first, so that an invalid value fails before hours are spent on the others.
        for point in self.points {
            judged_by_held_out(&self.recipe_of(point, self.seeds.start)?)?;
        }
        self.refuse_other_variant()?;
        self.refuse_shared_folder()?;
        let of_seed = |seed| self.points.iter().map(move |point| (seed, self.row_of(point)));
        let task = |(seed, row): (u64, String)| Task {
            folder: self.out.join(&row).join(format!("seed-{seed}")),
            group: row,
            seed,
            after: None,
            missing: None,
        };
        Ok(self.seeds.clone().flat_map(of_seed).map(task).collect())
    }

    /// The recipe of a run of [`tasks`](Self::tasks) by its index.
    ///
    /// # Errors
    /// A usage error if a setting is not valid.
    pub(crate) fn recipe_at(&self, index: usize) -> Result<Recipe> {
        let count = self.points.len().max(1);
        let seed = self.seeds.start + (index / count) as u64;
        let point = self.points.get(index % count).context("the sweep has no such run")?;
        self.recipe_of(point, seed)
    }

    /// The folder of the runs of a point, one a seed.
    pub(crate) fn folder_of(&self, point: &Point) -> PathBuf {
        self.out.join(self.row_of(point))
    }

    /// Name of the variant that is trained.
    ///
    /// # Errors
    /// A usage error if a setting is not valid, or there are several variants.
    pub(crate) fn trained_variant(&self) -> Result<String> {
        let Some(point) = self.points.first() else { return Ok(String::new()) };
        let recipe = self.recipe_of(point, self.seeds.start)?;
        Ok(recipe.variants().into_iter().next().map_or_else(String::new, |variant| variant.name))
    }

    /// Refuses the seed as a setting: each run has that of its place among the runs of a point.
    fn refuse_seed_key(&self) -> Result<()> {
        let grid_keys = self.axes.iter().map(|axis| ("--grid", axis.key.as_str()));
        let set_keys = self.set.iter().map(|setting| ("--set", key_of(setting)));
        match grid_keys.chain(set_keys).find(|(_, key)| *key == SEED) {
            Some((flag, _)) => Err(usage(format_args!(
                "{flag} {SEED}: a sweep gives each run its seed; say the first one with --seed and how many with --seeds"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a setting of `--set` that every point of the grid replaces: it changes nothing.
    fn refuse_overridden_set(&self) -> Result<()> {
        let keys = self.set.iter().map(|setting| key_of(setting));
        let mut pairs = keys.flat_map(|key| self.axes.iter().map(move |axis| (key, axis)));
        match pairs.find(|(key, axis)| path_of(key).starts_with(&path_of(&axis.key))) {
            Some((key, axis)) => Err(usage(format_args!(
                "--set {key} has no effect, because every point has its own value of --grid {}; leave out one of the two",
                axis.key
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a setting of a variant that is not trained: it changes nothing.
    fn refuse_other_variant(&self) -> Result<()> {
        let Some(point) = self.points.first() else { return Ok(()) };
        let trained = self.trained_variant()?;
        let set: Vec<String> = self.set.iter().cloned().chain(settings(self.axes, point)).collect();
        let all = Recipe::load(self.recipe, &Changes { set: &set, ..Changes::default() })?;
        let names: Vec<String> = all.variants().into_iter().map(|variant| variant.name).collect();
        let misplaced = self.axes.iter().find_map(|axis| {
            variant_of(&axis.key, &names).filter(|name| *name != trained).map(|name| (&axis.key, name))
        });
        match misplaced {
            Some((key, name)) => Err(usage(format_args!(
                "--grid {key}: it is a key of the variant `{name}`, and the sweep trains `{trained}`; name the variant of \
                 the key with --variant"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses settings by which points would be compared on different images or by different measurements.
    fn refuse_measuring_key(&self) -> Result<()> {
        let measuring = |axis: &&Axis| MEASURING.iter().any(|section| is_in(&axis.key, section));
        match self.axes.iter().find(measuring) {
            Some(Axis { key, .. }) => Err(usage(format_args!(
                "--grid {key}: all points of a sweep are compared on the same images by the same measurements; give {key} one \
                 value with --set"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses two points whose runs would be written to one folder.
    fn refuse_shared_folder(&self) -> Result<()> {
        let mut first_in: BTreeMap<String, &Point> = BTreeMap::new();
        for point in self.points {
            let row = self.row_of(point);
            if let Some(earlier) = first_in.insert(row.clone(), point) {
                let [first, second] =
                    [earlier, point].map(|point| settings(self.axes, point).collect::<Vec<_>>().join(","));
                return Err(usage(format_args!(
                    "--grid: the points `{first}` and `{second}` would share the folder {row}, in which each character of a value that \
                     is not an ASCII letter, a digit or one of `=.+-` is `_`; leave out one of the values"
                )));
            }
        }
        Ok(())
    }

    fn recipe_of(&self, point: &Point, seed: u64) -> Result<Recipe> {
        let grid_settings: Vec<String> = settings(self.axes, point).collect();
        let set = [self.set, &grid_settings].concat();
        let variants: Vec<String> = self.variant.iter().map(|&variant| variant.to_owned()).collect();
        let changes = Changes { set: &set, variants: &variants, seed: Some(seed), smoke: self.smoke };
        let recipe =
            Recipe::load(self.recipe, &changes).map_err(|error| named_by_grid(error, &grid_settings))?;
        let variants: Vec<String> = recipe.variants().into_iter().map(|variant| variant.name).collect();
        if variants.len() != 1 {
            let known = variants.join(", ");
            return Err(usage(format_args!(
                "a sweep is of one variant; name it with --variant; known: {known}"
            )));
        }
        Ok(recipe)
    }

    /// `objective.lambda=0.01,train.batch=128`: unlike a [`slug`](crate::names::slug) it keeps signs and upper case.
    fn row_of(&self, point: &Point) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "=.+-".contains(c) { c } else { '_' };
        let one = |(axis, &value): (&Axis, &usize)| -> String {
            format!("{}={}", axis.short(), axis.values[value]).chars().map(plain).collect()
        };
        self.axes.iter().zip(point).map(one).collect::<Vec<_>>().join(",")
    }
}

/// Refuses a recipe without held-out images: settings chosen on test images would be reported on the same images.
fn judged_by_held_out(recipe: &Recipe) -> Result<()> {
    if recipe.data.validation > 0 || recipe.data.judged_by == JudgedBy::Validation {
        return Ok(());
    }
    Err(usage(
        "the recipe holds no training images out, and settings are not chosen on test images; \
         say how many to hold out with --set data.validation=N, a fifth of them or less",
    ))
}

/// The error with `--grid`, which the user wrote, where it names a setting of the point as one of `--set`.
fn named_by_grid(error: Error, grid_settings: &[String]) -> Error {
    match error.downcast_ref::<Usage>().and_then(|usage| usage.subject.as_ref()) {
        Some(Subject::Setting { setting, reason }) if grid_settings.contains(setting) => {
            usage(format_args!("--grid {setting}: {reason}"))
        }
        _ => error,
    }
}

/// A point as arguments of `--set`.
pub(crate) fn settings<'a>(axes: &'a [Axis], point: &'a Point) -> impl Iterator<Item = String> + 'a {
    axes.iter().zip(point).map(|(axis, &value)| format!("{}={}", axis.key, axis.values[value]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn plan<'a>(
        axes: &'a [Axis],
        points: &'a [Point],
        set: &'a [String],
        variant: Option<&'a str>,
    ) -> Plan<'a> {
        let (recipe, out) = ("fair-digits", Path::new("nowhere"));
        Plan { recipe, axes, points, set, variant, seeds: 0..1, smoke: false, out }
    }

    #[test]
    fn a_folder_tells_points_apart() {
        let axes = Axis::all(&["variant.A.objective.lambda=-1,1".into(), "train.batch=2".into()]).unwrap();
        let row = |point: Point| plan(&axes, &[], &[], None).row_of(&point);
        assert_eq!(row(vec![0, 0]), "objective.lambda=-1,train.batch=2");
        assert_eq!(row(vec![1, 0]), "objective.lambda=1,train.batch=2");
    }

    #[test]
    fn points_that_would_share_a_folder_are_named() {
        let axes = Axis::all(&["objective.condition=年龄,医院".into()]).unwrap();
        let points = super::super::axis::points(&axes, None, 0);
        let error = plan(&axes, &points, &[], None).refuse_shared_folder().unwrap_err().to_string();
        for part in [
            "points `objective.condition=年龄` and `objective.condition=医院`",
            "the folder objective.condition=__, in which each character",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        plan(&axes, &points[..1], &[], None).refuse_shared_folder().unwrap();
        let axes = Axis::all(&["objective.condition=Age,age".into()]).unwrap();
        let points = super::super::axis::points(&axes, None, 0);
        plan(&axes, &points, &[], None).refuse_shared_folder().unwrap();
    }

    #[test]
    fn a_key_of_the_trained_variant_is_tried() {
        let set = ["data.validation=100".to_owned()];
        let axes = Axis::all(&["variant.Fair-CCLK.objective.lambda=0.1,0.2".into()]).unwrap();
        let points = super::super::axis::points(&axes, None, 0);
        assert_eq!(plan(&axes, &points, &set, Some("Fair-CCLK")).tasks().unwrap().len(), 2);
    }

    #[test]
    fn nothing_begins_on_test_images_with_several_variants_or_with_a_wrong_value() {
        let refused = |set: &[&str], variant, grid: &str, reason: &str| {
            let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
            let axes = Axis::all(&[grid.to_owned()]).unwrap();
            let points = super::super::axis::points(&axes, None, 0);
            let error = plan(&axes, &points, &set, variant).tasks().unwrap_err();
            assert!(error.is::<Usage>() && error.to_string().contains(reason), "{error}");
        };
        let held = ["data.validation=100"];
        refused(&[], Some("SimCLR"), "train.batch=16,32", "--set data.validation=");
        refused(&held, None, "train.batch=16,32", "known: SimCLR, Fair-CCLK");
        refused(&held, Some("SimCLR"), "train.batch=16,1", "at least 2");
        refused(
            &held,
            Some("SimCLR"),
            "train.bath=16",
            "--grid train.bath=16: unknown key `bath`; did you mean `batch`?",
        );
        refused(&["train.bath=16"], Some("SimCLR"), "train.batch=16", "--set train.bath=16: ");
        refused(&held, Some("SimCLR"), "train.seed=0,1", "--grid train.seed: a sweep");
        for key in ["variant.Fair-CCLK.objective.lambda", "arm.Fair-CCLK.objective.lambda"] {
            let reason = format!("--grid {key}: it is a key of the variant `Fair-CCLK`");
            refused(&held, Some("SimCLR"), &format!("{key}=0.1,0.2"), &reason);
        }
        for grid in [
            "data.validation=16,32",
            "data.judged_by=test",
            "data.split.seed=0,1",
            "data.test=32,64",
            "probe.condition=a,b",
        ] {
            refused(&held, Some("SimCLR"), grid, "compared on the same images by the same measurements");
        }
        let seeded = ["data.validation=100", "train.seed = 5"];
        refused(&seeded, Some("SimCLR"), "train.batch=16", "how many with --seeds");
        let replaced = |set, grid, key: &str| {
            let reason = format!("--set {key} has no effect");
            refused(&["data.validation=100", set], Some("SimCLR"), grid, &reason);
        };
        replaced("train.batch=32", "train.batch=64,128", "train.batch");
        replaced("optimizer.learning_rate=1", "optimizer={ name = \"sgd\" }", "optimizer.learning_rate");
        let (set, grid) = ("arm.SimCLR.objective.temperature=1", "variant.SimCLR.objective.temperature=1,2");
        replaced(set, grid, "arm.SimCLR.objective.temperature");
    }
}
