//! Objectives do what they say of themselves, and the tables of the documentation say the same.
//! `SIMILE_WRITE_TABLES=1` writes these anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use burn::tensor::DType;
use serde_json::{Value, json};
use simile_core::loss::batch::Batch;
use simile_core::loss::spec::{Family, Input, InputKind, Needed, Spec};
use simile_core::loss::{build, specs};

use crate::batches::{CLASSES, Inputs, Outcome, evaluate, place};

const LABELS: [usize; 6] = [0, 1, 0, 2, 1, 0];
const BIAS: [usize; 6] = [0, 1, 1, 0, 1, 2];

/// A batch of the named inputs and no other, each of the kind that its description says.
fn batch(spec: &Spec, inputs: &[&Input]) -> Batch {
    let drawn = Inputs::random(spec.name, &LABELS, &BIAS, 4, 11);
    let empty = Batch::default().with_details(true);
    inputs.iter().fold(empty, |batch, Input { name, kind, .. }| match kind {
        InputKind::Integers | InputKind::Clusters => batch.with_indices(name, drawn.indices[*name].clone()),
        InputKind::Host => batch.with_condition(name, drawn.conditions[*name].clone()),
        InputKind::Embeddings | InputKind::Rows if name.starts_with("queue_") => {
            batch.with_tensor(name, place(&drawn.tensors["queue"], DType::F64))
        }
        InputKind::Embeddings | InputKind::Rows => {
            batch.with_tensor(name, place(&drawn.tensors[*name], DType::F64))
        }
    })
}

fn run(spec: &Spec, inputs: &[&Input], mut params: Value) -> Result<Outcome, String> {
    if spec.parameter("domains").is_some() {
        params["domains"] = CLASSES.into();
    }
    let objective = build(spec.name, None, params).map_err(|error| error.to_string())?;
    evaluate(objective.as_ref(), &batch(spec, inputs))
}

/// Without the input it is missed by name, and with it all is well.
fn is_needed(spec: &Spec, inputs: &[&Input], input: &Input, params: &Value) {
    run(spec, inputs, params.clone()).unwrap();
    let without: Vec<&Input> = inputs.iter().filter(|other| other.name != input.name).copied().collect();
    let error = run(spec, &without, params.clone()).err().unwrap_or_default();
    assert_eq!(error, format!("`{}` needs the input `{}`", spec.name, input.name));
}

#[test]
fn required_inputs_are_those_whose_absence_is_an_error() {
    for spec in specs() {
        let required: Vec<&Input> = spec.required().collect();
        for input in spec.inputs {
            match input.needed {
                Needed::Always => is_needed(spec, &required, input, &json!({})),
                Needed::If { setting, value } => {
                    let params = json!({ setting: serde_json::from_str::<Value>(value).unwrap() });
                    let also = |other: &&Input| [input.needed, Needed::Always].contains(&other.needed);
                    is_needed(spec, &spec.inputs.iter().filter(also).collect::<Vec<_>>(), input, &params);
                }
                Needed::OrRepresentation | Needed::Optional => {}
            }
        }
    }
}

#[test]
fn optional_inputs_change_the_result() {
    for spec in specs() {
        let is_used = |input: &&Input| !matches!(input.needed, Needed::If { .. });
        let (required, used): (Vec<_>, Vec<_>) =
            (spec.required().collect(), spec.inputs.iter().filter(is_used).collect());
        // SwAV wants a queue for each view that it assigns.
        let params = if spec.name == "swav" { json!({ "crops_for_assign": [0] }) } else { json!({}) };
        if required.len() < used.len() {
            let [without, with] = [&required, &used].map(|inputs| run(spec, inputs, params.clone()).unwrap());
            assert!(without.loss != with.loss || without.aux != with.aux, "{}", spec.name);
        }
    }
}

#[test]
fn variants_differ_and_a_setting_without_effect_is_none() {
    for spec in specs() {
        let inputs: Vec<&Input> =
            spec.inputs.iter().filter(|input| !input.name.starts_with("queue_")).collect();
        let of = |variant: &str| {
            let outcome = run(spec, &inputs, json!({ "variant": variant })).ok()?;
            Some((outcome.loss, outcome.gradients))
        };
        let listed: Vec<_> = spec.variants.iter().map(|form| of(form.name).unwrap()).collect();
        for (at, outcome) in listed.iter().enumerate() {
            assert!(!listed[..at].contains(outcome), "{} {}", spec.name, spec.variants[at].name);
        }
        let accepted: Vec<_> = ["paper", "released", "normalised"].into_iter().filter_map(of).collect();
        match listed.len() {
            0 => assert!(accepted.iter().all(|outcome| *outcome == accepted[0]), "{}", spec.name),
            count => assert_eq!(count, accepted.len(), "{}", spec.name),
        }
    }
}

/// The file of a description, in the repository.
fn file(spec: &Spec) -> String {
    spec.module.replacen("simile_core::", "core/src/", 1).replace("::", "/") + ".rs"
}

/// The objectives of each family, with the files of their pages.
fn by_family() -> String {
    let mut table = "| | |\n|---|---|\n".to_owned();
    for family in Family::ALL {
        let link = |spec: &Spec| format!("[`{}`]({})", spec.name, file(spec));
        let links: Vec<String> = specs().filter(|spec| spec.family == family).map(link).collect();
        let _ = writeln!(table, "| {} | {} |", family.title(), links.join(", "));
    }
    table
}

/// The learning signal of each objective, with its page.
fn by_page() -> String {
    let mut table = "| name | learns from | page |\n|---|---|---|\n".to_owned();
    for spec in Family::ALL.iter().flat_map(|family| specs().filter(|spec| spec.family == *family)) {
        let page = spec.module.strip_prefix("simile_core::loss::").unwrap();
        let title = page.rsplit("::").next().unwrap();
        let _ = writeln!(table, "| `{}` | {} | [`{title}`]({page}) |", spec.name, spec.summary);
    }
    table
}

/// Compares a part of a file, or writes it.
fn is_kept(path: &Path, text: &str, with: impl Fn(&str) -> String) {
    let found = fs::read_to_string(path).unwrap_or_default();
    let wanted = with(&found);
    if std::env::var_os("SIMILE_WRITE_TABLES").is_some_and(|value| value == "1") {
        fs::write(path, &wanted).unwrap();
    } else {
        assert!(wanted == found, "{} lacks\n{text}\nSIMILE_WRITE_TABLES=1 writes it", path.display());
    }
}

#[test]
fn the_tables_of_the_documentation_are_those_of_the_objectives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages = by_page();
    is_kept(&root.join("core/src/loss/objectives.md"), &pages, |_| pages.clone());
    let families = by_family();
    is_kept(&root.join("README.md"), &families, |readme| {
        let (before, rest) = readme.split_once("<!-- objectives -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- /objectives -->").unwrap();
        format!("{before}<!-- objectives -->\n{families}<!-- /objectives -->{after}")
    });
}
