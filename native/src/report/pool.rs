//! Which runs are repeats of each other: those whose recipes are equal but for the seed.
//!
//! An arm of one run is pooled with that of another if every key of their recipes that concerns it is equal, and so are
//! device and version. Whatever else is different makes them two experiments, which stand side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::{Table, Value};

use super::RunRecord;
use crate::config::Recipe;
use crate::run_folder::record::ArmResult;

/// Keys that decide nothing about the numbers, or are what repeats differ in.
const IGNORED: [&str; 3] = ["name", "train.seed", "train.log_every"];
/// What keys begin with that say when a run is written down.
const WRITTEN: &str = "train.checkpoint_";
/// Sections that arms of one recipe differ in.
const OF_ARM: [&str; 2] = ["objective", "method"];
/// Sections that decide what an encoder gives before it is trained, and how it is judged.
const OF_UNTRAINED: [&str; 5] = ["data", "encoder", "probe", "device", "version"];
/// More keys than this are counted.
const NAMED: usize = 6;

/// An arm in the runs that are equal but for the seed.
pub(super) struct Pool<'a> {
    pub(super) arm: &'a str,
    /// Name of the recipe of the first of them.
    pub(super) recipe: &'a str,
    pub(super) condition: &'a str,
    pub(super) runs: Vec<(&'a RunRecord, &'a ArmResult)>,
    /// Runs of a seed that is there already, with that seed: no repeats, as they could only be equal.
    pub(super) again: Vec<(&'a RunRecord, u64)>,
    /// What decides it, by dotted key.
    keys: BTreeMap<String, String>,
    /// The keys that differ among what is compared, with their values here.
    pub(super) differs: Vec<(String, String)>,
}

/// What arms are held against, in the runs in which it is the same but for the seed.
pub(super) struct Reference<'a> {
    pub(super) name: &'a str,
    pub(super) condition: &'a str,
    /// The metrics of each run.
    pub(super) runs: Vec<&'a BTreeMap<String, f64>>,
    seeds: BTreeSet<u64>,
    keys: BTreeMap<String, String>,
}

impl Pool<'_> {
    /// The values of a metric, one a run.
    pub(super) fn values(&self, metric: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|(_, arm)| arm.metric(metric)).collect()
    }

    /// What it differs in from others, in words; nothing if it is like all others but for the arm.
    pub(super) fn differences(&self) -> String {
        let named = self.differs.iter().take(NAMED).map(|(key, value)| format!("{key} = {value}"));
        let more = self.differs.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("and {more} more"));
        named.chain(more).collect::<Vec<_>>().join(", ")
    }
}

/// The arms of runs, each with its repeats, in the order in which they come.
pub(super) fn pools(runs: &[RunRecord]) -> Vec<Pool<'_>> {
    let mut pools: Vec<Pool<'_>> = Vec::new();
    for (run, arm) in runs.iter().flat_map(|run| run.result.arms.iter().map(move |arm| (run, arm))) {
        let keys = keys(run, Some(&arm.name));
        match pools.iter_mut().find(|pool| pool.arm == arm.name && pool.keys == keys) {
            None => pools.push(Pool {
                arm: &arm.name,
                recipe: &run.result.recipe,
                condition: &run.result.condition,
                runs: vec![(run, arm)],
                again: Vec::new(),
                keys,
                differs: Vec::new(),
            }),
            Some(pool) => {
                let seed = run.result.seed;
                match pool.runs.iter().any(|(before, _)| before.result.seed == seed) {
                    true => pool.again.push((run, seed)),
                    false => pool.runs.push((run, arm)),
                }
            }
        }
    }
    let differs: Vec<Vec<(String, String)>> = pools.iter().map(|pool| differences(pool, &pools)).collect();
    pools.iter_mut().zip(differs).for_each(|(pool, differs)| pool.differs = differs);
    pools
}

/// What the arms of runs are held against, each once for the runs that share it.
pub(super) fn references(runs: &[RunRecord]) -> Vec<Reference<'_>> {
    let mut references: Vec<Reference<'_>> = Vec::new();
    for run in runs {
        let of_untrained = |key: &String| OF_UNTRAINED.contains(&section(key));
        let keys: BTreeMap<String, String> =
            keys(run, None).into_iter().filter(|(key, _)| of_untrained(key)).collect();
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

/// The keys of a pool that differ: those of an arm from other arms of its name, the others from all.
fn differences(pool: &Pool<'_>, pools: &[Pool<'_>]) -> Vec<(String, String)> {
    let others = |key: &str| {
        let same_name = OF_ARM.contains(&section(key));
        pools.iter().filter(move |other| !same_name || other.arm == pool.arm)
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

/// Everything that decides a run, or one of its arms, by dotted key.
fn keys(run: &RunRecord, arm: Option<&str>) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::from([
        ("device".to_owned(), run.result.device.clone()),
        ("version".to_owned(), run.result.version.clone()),
    ]);
    match table(run, arm) {
        Some(table) => flatten("", &Value::Table(table), &mut keys),
        // What cannot be read is like nothing else.
        None => drop(keys.insert("recipe".into(), run.place.clone())),
    }
    keys.retain(|key, _| !IGNORED.contains(&key.as_str()) && !key.starts_with(WRITTEN));
    keys
}

/// The recipe of a run with the defaults of today filled in, of its arms the one that is asked for.
fn table(run: &RunRecord, arm: Option<&str>) -> Option<Table> {
    let recipe = Recipe::resolved(&run.recipe, Path::new(&run.place)).ok()?;
    let mut table = Table::try_from(&recipe).ok()?;
    for key in OF_ARM.iter().chain(&["arm"]) {
        table.remove(*key);
    }
    if let Some(name) = arm {
        let arm = recipe.arms().into_iter().find(|arm| arm.name == name)?;
        table.insert("objective".into(), Value::try_from(&arm.objective).ok()?);
        table.insert("method".into(), Value::try_from(arm.method()).ok()?);
    }
    Some(table)
}

fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, into);
            }
        }
        value => drop(into.insert(path.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{arm, run};
    use super::*;

    #[test]
    fn runs_that_differ_in_the_seed_alone_are_pooled() {
        let runs = [run("a", 0, "", vec![arm("x", 0.8)]), run("b", 1, "", vec![arm("x", 0.9)])];
        let pooled = pools(&runs);
        assert_eq!(pooled.len(), 1);
        assert_eq!((pooled[0].values("top1"), pooled[0].differences().as_str()), (vec![0.8, 0.9], ""));
    }

    #[test]
    fn other_settings_stand_side_by_side_and_are_named() {
        let changed = "train.batch=64;objective.temperature=0.9;train.log_every=7;train.checkpoint_every=9";
        let runs = [run("a", 0, "", vec![arm("x", 0.8)]), run("b", 1, changed, vec![arm("x", 0.9)])];
        let pooled = pools(&runs);
        assert_eq!(pooled.len(), 2);
        assert_eq!(pooled[0].differences(), "objective.temperature = 0.5, train.batch = 16");
        assert_eq!(pooled[1].differences(), "objective.temperature = 0.9, train.batch = 64");
    }

    #[test]
    fn a_seed_counts_once() {
        let runs = [
            run("a", 0, "", vec![arm("x", 0.8)]),
            run("b", 0, "", vec![arm("x", 0.8)]),
            run("c", 1, "", vec![arm("x", 0.9)]),
        ];
        let pooled = pools(&runs);
        assert_eq!((pooled.len(), pooled[0].runs.len()), (1, 2));
        let again: Vec<(&str, u64)> =
            pooled[0].again.iter().map(|(run, seed)| (run.place.as_str(), *seed)).collect();
        assert_eq!(again, [("b", 0)]);
    }

    #[test]
    fn the_settings_of_one_arm_do_not_part_the_others() {
        // A run of both arms, and one of the second alone.
        let both = run("a", 0, "", vec![arm("x", 0.5), arm("y", 0.8)]);
        let alone = run("b", 1, "", vec![arm("y", 0.9)]);
        let runs = [both, alone];
        let pooled = pools(&runs);
        assert_eq!(
            pooled.iter().map(|pool| (pool.arm, pool.runs.len())).collect::<Vec<_>>(),
            [("x", 1), ("y", 2)]
        );
        assert!(
            pooled.iter().all(|pool| pool.differs.is_empty()),
            "arms differ in their objectives by nature"
        );
    }
}
