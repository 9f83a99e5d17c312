//! The leak by which the points of a sweep are compared: that of the attribute which the swept variant hides or keeps.

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;

use super::outcome::Outcome;
use super::plan::Plan;
use crate::config::probe::ProbeSection;
use crate::metrics::leak::LINEAR;
use crate::metrics::metric::name_for_attribute;

/// The attributes whose leak the runs of a sweep may measure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attributes {
    /// The one by whose leak the points are compared, as [`ProbeSection::judged`] says; `probed` if the points hide or keep different ones.
    pub(crate) judged: String,
    /// The one whose metrics are called those of the condition. It is that of all points, because no grid changes `probe`.
    pub(crate) probed: String,
}

/// A metric of a leak.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Leak {
    #[serde(rename = "leak")]
    pub(crate) metric: String,
    /// The attribute that leaks.
    pub(crate) attribute: String,
}

/// A bound on the leak of the best point.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Limit {
    #[serde(flatten)]
    pub(crate) leak: Leak,
    pub(crate) most: f64,
}

impl Limit {
    pub(crate) fn holds(&self, outcome: &Outcome) -> bool {
        outcome.amount(&self.leak.metric).is_some_and(|leak| leak.mean <= self.most)
    }

    /// The bound in words.
    pub(crate) fn text(&self) -> String {
        format!("a leak of {} ≤ {}", self.leak.attribute, self.most)
    }
}

impl Attributes {
    /// The attributes of the points of a plan.
    ///
    /// # Errors
    /// A usage error if a setting is not valid.
    pub(crate) fn of(plan: &Plan<'_>) -> Result<Self> {
        let mut own: BTreeSet<Option<String>> = BTreeSet::new();
        let mut probe = ProbeSection::default();
        for at in 0..plan.points.len() {
            let recipe = plan.recipe_at(at)?;
            own.extend(recipe.variants().into_iter().map(|variant| variant.objective.condition()));
            probe = recipe.probe;
        }
        let own = if own.len() == 1 { own.pop_first().flatten() } else { None };
        Ok(Self { judged: probe.judged(own.as_deref()).to_owned(), probed: probe.condition })
    }

    /// The leak by which the points are compared, if it is measured.
    pub(crate) fn leak(&self, is_measured: impl Fn(&str) -> bool) -> Option<Leak> {
        let mut leaks = LINEAR.into_iter().map(|metric| Leak {
            metric: name_for_attribute(metric, &self.judged, &self.probed),
            attribute: self.judged.clone(),
        });
        leaks.find(|leak| is_measured(&leak.metric))
    }

    /// The remedy where no leak is measured, in words.
    pub(crate) fn unmeasured(&self) -> String {
        let Self { judged, probed } = self;
        let whose = if judged.is_empty() { String::new() } else { format!(" of `{judged}`") };
        let further = match judged == probed {
            true => String::new(),
            false => format!(", and leave `{judged}` out of probe.also"),
        };
        format!(
            "no run measures a leak{whose}, so --leak-at-most chooses nothing; leave it out, or name another attribute \
             with --set probe.condition=NAME{further}"
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::super::axis::{Axis, points};
    use super::*;
    use crate::config::testing::drawn_text;

    /// The attributes of a sweep of a recipe that hides two of them, and one that it does not probe.
    fn attributes(variant: &str, grid: &str) -> Attributes {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("both.toml");
        let variant_of = |name: &str, objective: &str| {
            format!("[[variant]]\nname = \"{name}\"\nobjective = {{ {objective} }}\n")
        };
        let hiding = |name: &str| {
            let kernel = "kernel = { name = \"cosine\" }";
            let objective = format!("name = \"fair-cclk\", condition = \"{name}\", {kernel}");
            variant_of(&format!("hide {name}"), &objective)
        };
        let held_out = "[data]\nvalidation = 16\n";
        let probe = "[probe]\ncondition = \"hospital\"\nalso = [\"age\"]\n";
        let plain = variant_of("plain", "name = \"nt-xent\"");
        let hiding = ["hospital", "age", "site"].map(hiding).concat();
        fs::write(&file, drawn_text(&format!("{held_out}{probe}{plain}{hiding}"))).unwrap();
        let recipe = file.display().to_string();
        let axes = Axis::all(&[grid.to_owned()]).unwrap();
        let plan = Plan {
            recipe: &recipe,
            axes: &axes,
            points: &points(&axes, None, 0),
            set: &[],
            variant: Some(variant),
            seeds: 0..1,
            smoke: false,
            out: folder.path(),
        };
        Attributes::of(&plan).unwrap()
    }

    #[test]
    fn the_leak_is_that_of_the_attribute_which_the_variant_hides() {
        let measured = ["condition_top1", "age_r2", "top1"];
        let leak = |attributes: &Attributes| {
            let leak = attributes.leak(|metric| measured.contains(&metric)).unwrap();
            (leak.metric, leak.attribute)
        };
        let of_hospital = ("condition_top1".to_owned(), "hospital".to_owned());
        let of_age = ("age_r2".to_owned(), "age".to_owned());
        let rates = "optimizer.learning_rate=1e-3,1e-2";
        assert_eq!(leak(&attributes("hide age", rates)), of_age);
        assert_eq!(leak(&attributes("hide hospital", rates)), of_hospital);
        assert_eq!(leak(&attributes("plain", rates)), of_hospital);
        let differing = attributes("hide age", "variant.hide age.objective.condition=age,hospital");
        assert_eq!(leak(&differing), of_hospital);
        assert_eq!(leak(&attributes("hide site", rates)), of_hospital, "no run probes the site");
        let age = attributes("hide age", rates);
        assert_eq!(age.leak(|metric| metric == "condition_top1"), None, "that of another is not its leak");
        assert!(age.unmeasured().contains("a leak of `age`"), "{}", age.unmeasured());
        assert!(age.unmeasured().ends_with("leave `age` out of probe.also"), "{}", age.unmeasured());
        // Data may have no attribute to name.
        assert!(age.unmeasured().contains("leave it out, or name another"), "{}", age.unmeasured());
        assert_eq!(attributes("plain", rates).leak(|metric| metric == "top1"), None);
    }
}
