//! `simile objectives`

pub(super) mod page;

use anyhow::Result;
use simile_core::loss;
use simile_core::loss::spec::{Family, InputKind, Spec};

use crate::cli::{Have, Objectives};
use crate::console::{Console, table};

pub(super) fn run(arguments: &Objectives, console: Console) -> Result<()> {
    if let Some(name) = &arguments.name {
        return page::run(name, console);
    }
    let have = &arguments.have;
    let enough =
        |spec: &&Spec| have.is_empty() || annotations(spec).iter().all(|needed| have.contains(needed));
    let listed: Vec<&Spec> = loss::specs().filter(enough).collect();
    console.answer(&listed, || {
        let mut rows = table(["Objective", "Learns from", "Needs"]);
        for family in Family::ALL {
            for spec in listed.iter().filter(|spec| spec.family == family) {
                rows.add_row([spec.name.to_owned(), spec.summary.to_owned(), needs(spec)]);
            }
        }
        format!(
            "{rows}\n`simile objectives NAME` prints the page of one; `--have labels`, `bias`, `attribute` or `nothing` lists \
             those that need no more."
        )
    })
}

/// The annotations that an objective cannot do without. A recipe makes clusters of an attribute (`clusters`, `top_attributes`).
fn annotations(spec: &Spec) -> Vec<Have> {
    let clusters = spec.required().any(|input| input.kind == InputKind::Clusters);
    let classes = (spec.needs("labels") && !clusters) || spec.head.scores(2, 1).is_some();
    let attribute = spec.needs("z") || clusters;
    [(Have::Labels, classes), (Have::Bias, spec.needs("bias")), (Have::Attribute, attribute)]
        .into_iter()
        .filter_map(|(have, needed)| needed.then_some(have))
        .collect()
}

fn needs(spec: &Spec) -> String {
    let words: Vec<&str> = annotations(spec)
        .into_iter()
        .map(|have| match have {
            Have::Nothing => "pictures",
            Have::Labels => "labels",
            Have::Bias => "bias labels",
            Have::Attribute => "an attribute",
        })
        .collect();
    let words: String = if words.is_empty() { "pictures alone".into() } else { words.join(", ") };
    let is_trained = !(spec.algorithms.is_empty() && spec.part_of.is_empty());
    if is_trained { words } else { words + "; no method trains it" }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_that_no_method_trains_is_marked() {
        let of = |name: &str| needs(loss::specs().find(|spec| spec.name == name).unwrap());
        assert_eq!(of("fair-cclk-trainable"), "an attribute; no method trains it");
        assert_eq!(of("fair-cclk"), "an attribute");
        assert!(of("max-margin").ends_with("no method trains it"));
    }

    #[test]
    fn clusters_are_made_of_an_attribute() {
        for name in ["fair-info-nce", "weaksup-info-nce"] {
            assert_eq!(annotations(loss::spec(name).unwrap()), [Have::Attribute], "{name}");
        }
        assert_eq!(annotations(loss::spec("supcon").unwrap()), [Have::Labels]);
    }
}
