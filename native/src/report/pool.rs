//! Groups runs that repeat each other: those whose recipes are equal but for the seed.
//!
//! A variant of one run is pooled with that of another if every key of their recipes that concerns it is equal, and so are
//! devices, version, the lengths before a run was made longer, and the digest of their picture files. With any other difference they
//! are two experiments, which stand side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::{Table, Value};

use crate::config::key_path::join;
use crate::config::{Recipe, VARIANTS};
use crate::metrics::Metrics;
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::record::VariantResult;

/// Keys that do not affect the numbers, or that differ between repeats.
const IGNORED: [&str; 3] = ["name", "train.seed", "train.log_every"];
/// The prefix of the keys of checkpoint intervals.
const WRITTEN: &str = "train.checkpoint_";
/// Sections that differ between variants of one recipe.
const VARIANT_KEYS: [&str; 2] = ["objective", "method"];
/// Sections that determine the output of an untrained encoder and its evaluation.
const UNTRAINED_KEYS: [&str; 5] = ["data", "encoder", "probe", "device", "version"];
/// Most keys that are named; more are counted.
const NAMED: usize = 6;

/// A variant in the runs that are equal but for the seed. Where it diverged, its numbers are those of a network before that, and are
/// not counted.
pub(super) struct Pool<'a> {
    pub(super) variant: &'a str,
    /// Name of the recipe of the first of them.
    pub(super) recipe: &'a str,
    pub(super) condition: &'a str,
    pub(super) runs: Vec<(&'a FinishedRun, &'a VariantResult)>,
    /// Runs with a seed that occurred already, with that seed: they are not repeats, because they can only be equal.
    pub(super) again: Vec<(&'a FinishedRun, u64)>,
    /// Runs in which it diverged.
    pub(super) diverged: Vec<&'a FinishedRun>,
    /// The settings that determine it, by dotted key.
    keys: BTreeMap<String, String>,
    /// The keys that differ among the compared pools, with the values of this pool.
    pub(super) differs: Vec<(String, String)>,
}

/// A reference for the variants, in the runs that share it but for the seed.
pub(super) struct Reference<'a> {
    pub(super) name: &'a str,
    pub(super) condition: &'a str,
    /// The metrics of each run.
    pub(super) runs: Vec<&'a Metrics>,
    seeds: BTreeSet<u64>,
    keys: BTreeMap<String, String>,
}

impl<'a> Pool<'a> {
    /// A pool without a run.
    fn new(run: &'a FinishedRun, variant: &'a VariantResult, keys: BTreeMap<String, String>) -> Self {
        Self {
            variant: &variant.name,
            recipe: &run.result.recipe,
            condition: &run.result.condition,
            runs: Vec::new(),
            again: Vec::new(),
            diverged: Vec::new(),
            keys,
            differs: Vec::new(),
        }
    }

    fn add(&mut self, run: &'a FinishedRun, variant: &'a VariantResult) {
        let seed = run.result.seed;
        if variant.diverged().is_some() {
            self.diverged.push(run);
        } else if self.runs.iter().any(|(before, _)| before.result.seed == seed) {
            self.again.push((run, seed));
        } else {
            self.runs.push((run, variant));
        }
    }

    /// The names of its metrics, in each run.
    pub(super) fn metrics(&self) -> impl Iterator<Item = &'a str> {
        self.runs.iter().flat_map(|(_, variant)| variant.metrics.keys().map(String::as_str))
    }

    /// Its differences from others, in words; empty if it is like all others but for the variant.
    pub(super) fn differences(&self) -> String {
        let named = self.differs.iter().take(NAMED).map(|(key, value)| format!("{key} = {value}"));
        let more = self.differs.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("and {more} more"));
        named.chain(more).collect::<Vec<_>>().join(", ")
    }
}

/// The variants of runs, each with its repeats, in the order in which they come.
pub(super) fn pools(runs: &[FinishedRun]) -> Vec<Pool<'_>> {
    let mut pools: Vec<Pool<'_>> = Vec::new();
    for (run, variant) in
        runs.iter().flat_map(|run| run.result.variants.iter().map(move |variant| (run, variant)))
    {
        let keys = keys(run, Some(&variant.name));
        let at = match pools.iter().position(|pool| pool.variant == variant.name && pool.keys == keys) {
            Some(at) => at,
            None => {
                pools.push(Pool::new(run, variant, keys));
                pools.len() - 1
            }
        };
        pools[at].add(run, variant);
    }
    let differs: Vec<Vec<(String, String)>> = pools.iter().map(|pool| differences(pool, &pools)).collect();
    pools.iter_mut().zip(differs).for_each(|(pool, differs)| pool.differs = differs);
    pools
}

/// The references for the variants of runs, each once for the runs that share it.
pub(super) fn references(runs: &[FinishedRun]) -> Vec<Reference<'_>> {
    let mut references: Vec<Reference<'_>> = Vec::new();
    for run in runs {
        let is_of_untrained = |key: &String| UNTRAINED_KEYS.contains(&section(key));
        let keys: BTreeMap<String, String> =
            keys(run, None).into_iter().filter(|(key, _)| is_of_untrained(key)).collect();
        for (name, metrics) in run.result.references() {
            let seed = run.result.seed;
            match references.iter_mut().find(|one| one.name == name && one.keys == keys) {
                None => references.push(Reference {
                    name,
                    condition: &run.result.condition,
                    runs: vec![metrics],
                    seeds: BTreeSet::from([seed]),
                    keys: keys.clone(),
                }),
                Some(one) => {
                    if one.seeds.insert(seed) {
                        one.runs.push(metrics);
                    }
                }
            }
        }
    }
    references
}

/// The keys of a pool that differ: those of a variant from other variants of its name, the others from all.
fn differences(pool: &Pool<'_>, pools: &[Pool<'_>]) -> Vec<(String, String)> {
    let others = |key: &str| {
        let same_name = VARIANT_KEYS.contains(&section(key));
        pools.iter().filter(move |other| !same_name || other.variant == pool.variant)
    };
    let keys: BTreeSet<&String> = pools.iter().flat_map(|pool| pool.keys.keys()).collect();
    keys.into_iter()
        .filter(|key| others(key).any(|other| other.keys.get(*key) != pool.keys.get(*key)))
        .map(|key| (key.clone(), pool.keys.get(key).cloned().unwrap_or_else(|| "absent".into())))
        .collect()
}

fn section(key: &str) -> &str {
    key.split('.').next().unwrap_or_default()
}

/// All settings that determine a run, or one of its variants, by dotted key.
fn keys(run: &FinishedRun, variant: Option<&str>) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::from([
        ("device".to_owned(), run.result.devices()),
        ("version".to_owned(), run.result.version.clone()),
    ]);
    match table(run, variant) {
        Some(table) => flatten("", &Value::Table(table), &mut keys),
        // An unreadable recipe equals no other.
        None => drop(keys.insert("recipe".into(), run.folder.clone())),
    }
    if !run.result.extended_at.is_empty() {
        // It began on the schedule of another length.
        keys.insert("train.extended_at".into(), format!("{:?}", run.result.extended_at));
    }
    let files = run.result.picture_files;
    keys.extend(files.map(|files| ("data.files".to_owned(), format!("{:08x}", files.crc32c))));
    keys.retain(|key, _| !IGNORED.contains(&key.as_str()) && !key.starts_with(WRITTEN));
    keys
}

/// The recipe of a run with the current defaults filled in, and with the given variant alone.
fn table(run: &FinishedRun, variant: Option<&str>) -> Option<Table> {
    let recipe = Recipe::resolved(&run.recipe, Path::new(&run.folder)).ok()?;
    let mut table = Table::try_from(&recipe).ok()?;
    for key in VARIANT_KEYS.iter().chain(&[VARIANTS]) {
        table.remove(*key);
    }
    if let Some(name) = variant {
        let variant = recipe.variants().into_iter().find(|variant| variant.name == name)?;
        table.insert("objective".into(), Value::try_from(&variant.objective).ok()?);
        table.insert("method".into(), Value::try_from(&variant.algorithm).ok()?);
    }
    Some(table)
}

fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                flatten(&join(path, key), value, into);
            }
        }
        value => drop(into.insert(path.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::run_folder::digest::Digest;
    use crate::run_folder::record::EarlierDevice;
    use crate::run_folder::testing::{diverged, run, variant};

    fn top1(pool: &Pool<'_>) -> Vec<f64> {
        pool.runs.iter().filter_map(|(_, variant)| variant.metric("top1")).collect()
    }

    #[test]
    fn runs_that_differ_in_the_seed_alone_are_pooled() {
        let runs = [run("a", 0, "", vec![variant("x", 0.8)]), run("b", 1, "", vec![variant("x", 0.9)])];
        let pooled = pools(&runs);
        assert_eq!(pooled.len(), 1);
        assert_eq!((top1(&pooled[0]), pooled[0].differences().as_str()), (vec![0.8, 0.9], ""));
    }

    #[test]
    fn other_settings_stand_side_by_side_and_are_named() {
        let changed = "train.batch=64;objective.temperature=0.9;train.log_every=7;train.checkpoint_every=9";
        let runs = [run("a", 0, "", vec![variant("x", 0.8)]), run("b", 1, changed, vec![variant("x", 0.9)])];
        let pooled = pools(&runs);
        assert_eq!(pooled.len(), 2);
        assert_eq!(pooled[0].differences(), "objective.temperature = 0.5, train.batch = 16");
        assert_eq!(pooled[1].differences(), "objective.temperature = 0.9, train.batch = 64");
    }

    #[test]
    fn runs_of_other_pictures_stand_side_by_side() {
        let mut runs = [run("a", 0, "", vec![variant("x", 0.8)]), run("b", 1, "", vec![variant("x", 0.9)])];
        for (run, crc32c) in runs.iter_mut().zip([0xab, 0xcd]) {
            run.result.picture_files = Some(Digest { bytes: 7, crc32c });
        }
        let pooled = pools(&runs);
        assert_eq!(
            pooled.iter().map(Pool::differences).collect::<Vec<_>>(),
            ["data.files = 000000ab", "data.files = 000000cd"]
        );
        assert_eq!(references(&runs).len(), 0);
        runs[1].result.picture_files = runs[0].result.picture_files;
        assert_eq!(pools(&runs).len(), 1);
    }

    #[test]
    fn a_run_that_was_made_longer_stands_beside_a_straight_one() {
        let mut runs = [run("a", 0, "", vec![variant("x", 0.8)]), run("b", 1, "", vec![variant("x", 0.9)])];
        runs[1].result.extended_at = vec![1];
        let pooled = pools(&runs);
        assert_eq!(
            pooled.iter().map(Pool::differences).collect::<Vec<_>>(),
            ["train.extended_at = absent", "train.extended_at = [1]"]
        );
        assert!(FinishedRun::verdict(&runs).unwrap().is_empty());
        runs[0].result.extended_at = vec![1];
        assert_eq!(pools(&runs).len(), 1);
    }

    /// It was pooled with runs of its last device.
    #[test]
    fn a_run_that_changed_its_device_stands_beside_others() {
        let mut runs = [run("a", 0, "", vec![variant("x", 0.8)]), run("b", 1, "", vec![variant("x", 0.9)])];
        runs[1].result.earlier_devices = vec![EarlierDevice {
            device: "gpu".into(),
            variant: "x".into(),
            iteration: 1,
            others: BTreeMap::new(),
        }];
        let pooled = pools(&runs);
        assert_eq!(
            pooled.iter().map(Pool::differences).collect::<Vec<_>>(),
            ["device = cpu", "device = gpu until iteration 1 of x, then cpu"]
        );
        assert!(FinishedRun::verdict(&runs).unwrap().is_empty());
    }

    #[test]
    fn a_seed_counts_once() {
        let runs = [
            run("a", 0, "", vec![variant("x", 0.8)]),
            run("b", 0, "", vec![variant("x", 0.8)]),
            run("c", 1, "", vec![variant("x", 0.9)]),
        ];
        let pooled = pools(&runs);
        assert_eq!((pooled.len(), pooled[0].runs.len()), (1, 2));
        let again: Vec<(&str, u64)> =
            pooled[0].again.iter().map(|(run, seed)| (run.folder.as_str(), *seed)).collect();
        assert_eq!(again, [("b", 0)]);
    }

    #[test]
    fn a_variant_that_diverged_is_in_no_number() {
        let runs = [
            run("a", 0, "", vec![diverged("x", 0.1), variant("y", 0.8)]),
            run("b", 1, "", vec![variant("x", 0.7), variant("y", 0.9)]),
        ];
        let pooled = pools(&runs);
        assert_eq!((pooled.len(), top1(&pooled[0]), pooled[0].diverged.len()), (2, vec![0.7], 1));
        assert_eq!((pooled[0].diverged[0].folder.as_str(), top1(&pooled[1])), ("a", vec![0.8, 0.9]));
    }

    #[test]
    fn the_settings_of_one_variant_do_not_part_the_others() {
        // A run of both variants, and one of the second alone.
        let both = run("a", 0, "", vec![variant("x", 0.5), variant("y", 0.8)]);
        let alone = run("b", 1, "", vec![variant("y", 0.9)]);
        let runs = [both, alone];
        let pooled = pools(&runs);
        assert_eq!(
            pooled.iter().map(|pool| (pool.variant, pool.runs.len())).collect::<Vec<_>>(),
            [("x", 1), ("y", 2)]
        );
        assert!(
            pooled.iter().all(|pool| pool.differs.is_empty()),
            "variants differ in their objectives by nature"
        );
    }
}
